# What the fit to the others predicts for every configuration against its measured throughput. Arguments: data, out.
data = ARG1
out = ARG2
set terminal svg size 620,380 dynamic font "inherit,13" noenhanced
set output out
set datafile separator "\t"  # names contain a space
set border 3 lc rgb "#090909"
set tics textcolor rgb "#010101" nomirror
set xlabel "predicted, TFLOP/s" textcolor rgb "#010101"
set ylabel "measured, TFLOP/s" textcolor rgb "#010101"
set key top left textcolor rgb "#010101"
stats data using 3 nooutput
top = STATS_max > 0 ? STATS_max*1.08 : 1  # without any measurement all are 0
set xrange [0:top]
set yrange [0:top]
plot x with lines lc rgb "#090909" notitle, \
     data using ($4 == 1 ? $2 : 1/0):3 with points pt 9 ps 0.7 lc rgb "#040404" title "pruned", \
     data using ($4 == 0 ? $2 : 1/0):3 with points pt 7 ps 0.6 lc rgb "#030303" title "not pruned"
