# Bandwidth at each problem: TB/s of the fastest kernel, and its ratio to the stronger cuBLAS; at the top the copy of chapter 00.
# Arguments: the chapter's facts.tsv, out, and the program that gathers the data.
out = ARG2
data = '< awk -f "'.ARG3.'" "'.system('dirname "'.ARG1.'"').'/../00/facts.tsv" "'.ARG1.'"'
set datafile separator "\t"
stats data using 2 nooutput
rows = STATS_records
longest = STATS_max
height = 78.0 + 33 * rows
set terminal svg size 440,height dynamic font "inherit,16" noenhanced
set output out
set border 2 lc rgb "#090909"
set tics textcolor rgb "#010101" nomirror out
set ytics scale 0
end = 1.04 * longest
set xrange [0:1.95*longest]
set xtics 0,1,end
set arrow 1 from 0,graph 0 to end,graph 0 nohead lc rgb "#090909"
set label 1 "TB/s" at end/2,graph 0 center offset 0,-2.6 textcolor rgb "#010101"
set yrange [rows-0.4:-0.6]
set style fill solid 1.0 noborder
set lmargin at screen 0.43
set rmargin at screen 0.99
set tmargin at screen 1 - 6 / height
set bmargin at screen 72 / height
unset key
plot data using (0):0:(0):2:($0-0.3):($0+0.3):ytic(1) with boxxyerror lc rgb "#030303", \
     data using (0):0:(0):($4 == 1 ? $2 : 1/0):($0-0.3):($0+0.3) with boxxyerror lc rgb "#040404", \
     data using (1.44*longest):0:(sprintf("%.2f", $2)) with labels right textcolor rgb "#010101" font "inherit,16", \
     data using (1.93*longest):0:(stringcolumn(3)) with labels right textcolor rgb "#010101" font "inherit,16"
