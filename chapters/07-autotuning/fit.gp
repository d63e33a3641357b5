# What the fit to the others predicts for every configuration against its measured throughput; all of it on a telephone. Arguments: data, out.
data = ARG1
out = ARG2
set terminal svg size 440,440 dynamic font "inherit,16" noenhanced
set output out
set datafile separator "\t"  # names contain a space
set border 3 lc rgb "#090909"
set tics textcolor rgb "#010101" nomirror
set xlabel "predicted, TFLOP/s" textcolor rgb "#010101"
set ylabel "measured, TFLOP/s" textcolor rgb "#010101"
set key at screen 0.02,0.99 left top vertical Left reverse samplen 1.5 textcolor rgb "#010101"  # above the data
set tmargin 4.2
set lmargin at screen 0.17
set rmargin at screen 0.97
stats data using 3 nooutput
top = STATS_max > 0 ? STATS_max*1.08 : 1  # without any measurement all are 0
set xrange [0:top]
set yrange [0:top]
plot x with lines lc rgb "#090909" notitle, \
     data using ($4 == 1 ? $2 : 1/0):3 with points pt 9 ps 0.7 lc rgb "#040404" title "pruned", \
     data using ($4 == 0 ? $2 : 1/0):3 with points pt 7 ps 0.6 lc rgb "#030303" title "not pruned"
