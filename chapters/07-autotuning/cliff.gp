# The cliff: above, how many warps fit on an SM with so many registers a thread; below, what every configuration reached.
# All of it on a telephone. Arguments: data, out. data.fits has registers and warps, data.edge the registers at the edge and the warps on both of its sides.
data = ARG1
out = ARG2
load data.".edge"
set terminal svg size 440,470 dynamic font "inherit,16" noenhanced
set output out
set border 3 lc rgb "#090909"
set tics textcolor rgb "#010101" nomirror
set xrange [30:260]
set lmargin at screen 0.18
set rmargin at screen 0.97
set key off
set multiplot
set arrow 1 from edge+0.5,graph 0 to edge+0.5,graph 1 nohead dt (6,4) lc rgb "#020202"

set tmargin at screen 0.97
set bmargin at screen 0.66
set format x ""
set yrange [0:70]
set ylabel "warps that fit" textcolor rgb "#010101"
set label 1 sprintf("up to %d registers: %d warps", edge, warps) at edge-3,62 right textcolor rgb "#010101" font "inherit,16"
set label 2 sprintf("beyond: %d", beyond) at edge+3,20 left textcolor rgb "#010101" font "inherit,16"
plot data.".fits" using 1:2 with steps lw 2 lc rgb "#030303"

unset label 1
unset label 2
set tmargin at screen 0.6
set bmargin at screen 0.16
set format x "%g"
set yrange [0:50]
set xlabel "registers a thread" textcolor rgb "#010101"
set ylabel "TFLOP/s at 4096" textcolor rgb "#010101"
plot data using 1:($4 == 0 ? $3 : 1/0) with points pt 7 ps 0.5 lc rgb "#030303", \
     data using 1:($4 == 1 ? $3 : 1/0) with points pt 9 ps 0.7 lc rgb "#040404"
unset multiplot
