# A step of the ladder: TFLOP/s at 4096^3, so narrow that a telephone shows all of it. The chapter's own kernels have a colour of their
# own. Where all are close together, dots stand on an axis that does not begin at 0. Arguments: data, out.
data = ARG1
out = ARG2
stats data using 2 nooutput
rows = STATS_records
longest = STATS_max
from = STATS_min > longest / 2 ? 5 * floor(STATS_min / 5 - 0.2) : 0
height = 78.0 + 33 * rows
set terminal svg size 440,height dynamic font "inherit,16" noenhanced
set output out
set border 2 lc rgb "#090909"
set tics textcolor rgb "#010101" nomirror out
set ytics scale 0
# The axis ends where the bars do; beside them, in columns, stand what was reached and its ratio to cuBLAS.
span = longest - from
end = from + 1.04 * span
set xrange [from:from + 1.95*span]
set xtics from,(span < longest ? 5 : longest > 40 ? 10 : longest > 4 ? 2 * ceil(longest / 8) : longest),end
set arrow 1 from from,graph 0 to end,graph 0 nohead lc rgb "#090909"
set label 1 "TFLOP/s" at from + 0.52*span,graph 0 center offset 0,-2.6 textcolor rgb "#010101"
set yrange [rows-0.4:-0.6]
set style fill solid 1.0 noborder
set lmargin at screen 0.36
set rmargin at screen 0.99
set tmargin at screen 1 - 6 / height
set bmargin at screen 72 / height
unset key
bar(x) = from > 0 ? 1/0 : x
dot(x) = from > 0 ? x : 1/0
plot data using (0):0:(0):(bar($2)):($0-0.3):($0+0.3):ytic(1) with boxxyerror lc rgb "#030303", \
     data using (0):0:(0):($4 == 1 ? bar($2) : 1/0):($0-0.3):($0+0.3) with boxxyerror lc rgb "#040404", \
     data using (dot($2)):0:ytic(1) with points pt 7 ps 0.9 lc rgb "#030303", \
     data using ($4 == 1 ? dot($2) : 1/0):0 with points pt 7 ps 0.9 lc rgb "#040404", \
     data using (from + 1.44*span):0:(sprintf("%.2f", $2)) with labels right textcolor rgb "#010101" font "inherit,16", \
     data using (from + 1.93*span):0:(sprintf("(%s)", stringcolumn(3))) with labels right textcolor rgb "#010101" font "inherit,16"
