# The ladder so far: TFLOP/s at 4096^3, so narrow that a telephone shows all of it. Arguments: data, out.
data = ARG1
out = ARG2
stats data using 2 nooutput
rows = STATS_records
set terminal svg size 440,84+33*rows dynamic font "inherit,16" noenhanced
set output out
set border 3 lc rgb "#090909"
set tics textcolor rgb "#010101" nomirror out
set ytics scale 0
set xrange [0:104]
set xlabel "TFLOP/s" textcolor rgb "#010101"
set yrange [rows-0.4:-0.6]
set style fill solid 1.0 noborder
set lmargin at screen 0.37
set rmargin at screen 0.99
unset key
plot data using (0):0:(0):2:($0-0.3):($0+0.3):ytic(1) with boxxyerror lc rgb "#030303", \
     data using 2:0:(sprintf("  %.2f  (%s)", $2, stringcolumn(3))) with labels left textcolor rgb "#010101" font "inherit,16"
