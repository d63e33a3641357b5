# Cycles an instruction that a warp waits for dispatch, over the cycles that the register banks need for an instruction. Arguments: data, out.
# data has, for each point: label, x, y, and where its label stands: side, x, y. data.frame gives the plot's frame.
data = ARG1
out = ARG2
load data.".frame"
set terminal svg size width,height dynamic font "inherit,13" noenhanced
set output out
set lmargin at screen left
set rmargin at screen right
set tmargin at screen top
set bmargin at screen bottom
set border 3 lc rgb "#090909"
set tics textcolor rgb "#010101" nomirror
set xtics 0.1
set xrange [x_low:x_high]
set yrange [y_low:y_high]
set xlabel "cycles of the busier register bank for an instruction" textcolor rgb "#010101"
set ylabel "waiting for dispatch, cycles an instruction" offset 1,0 textcolor rgb "#010101"
set key off
set label 1 correlation at graph 0.03,0.96 left textcolor rgb "#010101"
plot data using 2:3 with points pt 7 ps 0.7 lc rgb "#030303", \
     data using (strcol(4) eq "left" ? $5 : NaN):6:1 with labels left font "inherit,12" textcolor rgb "#010101", \
     data using (strcol(4) eq "right" ? $5 : NaN):6:1 with labels right font "inherit,12" textcolor rgb "#010101"
