# A sweep: above, the ratio to the stronger cuBLAS over the size of square problems, with a line through those of which a row is so many
# whole lines of memory; below, that of every other problem. Losses have a colour of their own; whiskers go from the 10th to the 90th percentile. Arguments: data (sweep.tsv, cubes first), out.
data = ARG1
out = ARG2
set datafile separator "\t"  # names contain a space
stats data using ($2 == $3 && $3 == $4 ? 1 : 0) nooutput
all = STATS_records
cubes = int(STATS_sum)
others = all - cubes
stats data using 7 nooutput
measured = STATS_max > 0
if (cubes > 0) {  # all statistics come first: a range would restrict them
  stats data every ::0::cubes-1 using 2 prefix "size" nooutput
  stats data every ::0::cubes-1 using 6 prefix "cube_low" nooutput
  stats data every ::0::cubes-1 using 7 prefix "cube_high" nooutput
}
if (others > 0) {
  stats data every ::cubes using 6 prefix "low" nooutput
  stats data every ::cubes using 7 prefix "high" nooutput
}
# A range shows at least so much around 1.
from(lowest, at_most) = !measured || lowest - 0.03 > at_most ? at_most : lowest - 0.03
to(highest, at_least) = !measured || highest + 0.03 < at_least ? at_least : highest + 0.03
above = 460.0
below = others > 0 ? 126.0 + 24 * others : 0.0
multiple = 64
height = above + below
# So narrow that a telephone shows all of it, with labels large enough to be read there.
set terminal svg size 440,height dynamic font "inherit,16" noenhanced
set output out
set border 3 lc rgb "#090909"
set tics textcolor rgb "#010101" nomirror
set key off
set pointintervalbox 0.01  # else marks with whiskers have a ring, which is white in the dark as well
won(ratio) = ratio >= 1 ? ratio : 1/0
lost(ratio) = ratio > 0 && ratio < 1 ? ratio : 1/0
known(ratio) = ratio > 0 ? ratio : 1/0
# The line goes from one multiple to the next, whatever lies between them: begin() is the x of the one before.
begin_x = NaN
begin_y = NaN
from_x = NaN
from_y = NaN
begin(x, y) = int(x) % multiple == 0 && y > 0 ? (from_x = begin_x, from_y = begin_y, begin_x = x, begin_y = y, from_x) : NaN
set multiplot

# Cubes.
set lmargin at screen 0.18
set rmargin at screen 0.98
set tmargin at screen 1 - 54 / height
set bmargin at screen (below + 62) / height
if (cubes > 0) {
  set xrange [size_min/1.15:size_max*1.15]
  set yrange [from(cube_low_min, 0.95):to(cube_high_max, 1.05)]
  set logscale x 2
  set xlabel "M = N = K" textcolor rgb "#010101"
  set ylabel "times the stronger cuBLAS" offset 1.5,0 textcolor rgb "#010101"
  if (!measured) { set label 1 "not yet measured" at graph 0.5,0.7 center textcolor rgb "#020202" }
  set label 2 "Squares" at screen 0.01,1-16/height left textcolor rgb "#010101"
  set label 3 sprintf("a line through multiples of %d", multiple) at screen 0.98,1-16/height right textcolor rgb "#020202"
  plot 1 with lines lw 1.5 lc rgb "#090909", \
       data every ::0::cubes-1 using (begin($2, $5)):(from_y):($2-from_x):($5-from_y) with vectors nohead lw 1.5 lc rgb "#020202", \
       data every ::0::cubes-1 using 2:(known($5)):6:7 with yerrorbars pt 7 ps 0.1 lw 0.8 lc rgb "#020202", \
       data every ::0::cubes-1 using 2:(won($5)) with points pt 7 ps 0.55 lc rgb "#030303", \
       data every ::0::cubes-1 using 2:(lost($5)) with points pt 9 ps 0.75 lc rgb "#040404"
  unset label
  unset logscale x
}

# All others, a row each.
if (others > 0) {
  set lmargin at screen 0.33
  set label 2 "Other shapes" at screen 0.01,(below-24)/height left textcolor rgb "#010101"
  set tmargin at screen (below - 46) / height
  set bmargin at screen 70 / height
  set xtics 0.5
  set xrange [from(low_min, 0.9):to(high_max, 1.1)]
  set yrange [others-0.4:-0.6]
  set xlabel "times the stronger cuBLAS" textcolor rgb "#010101"
  unset ylabel
  set arrow 1 from 1,graph 0 to 1,graph 1 nohead lw 1.5 lc rgb "#090909"
  plot data every ::cubes using (known($5)):0:6:7:ytic(1) with xerrorbars pt 7 ps 0.1 lw 1.2 lc rgb "#020202", \
       data every ::cubes using (won($5)):0 with points pt 7 ps 0.7 lc rgb "#030303", \
       data every ::cubes using (lost($5)):0 with points pt 9 ps 0.95 lc rgb "#040404"
}
unset multiplot
