# The model's ceiling of every configuration against its measured throughput. Arguments: data, out.
data = ARG1
out = ARG2
set terminal svg size 620,380 dynamic font "inherit,13" noenhanced
set output out
set datafile separator "\t"  # names contain a space
set border 3 lc rgb "#090909"
set tics textcolor rgb "#010101" nomirror
set xlabel "ceiling from the model's counts, TFLOP/s" textcolor rgb "#010101"
set ylabel "measured, TFLOP/s" textcolor rgb "#010101"
set key outside top right horizontal textcolor rgb "#010101"  # beside the data, which are everywhere
stats data using 8 nooutput
set yrange [5*floor((STATS_min-1)/5):STATS_max > 0 ? STATS_max*1.04 : 1]  # without any measurement all are 0
plot data using ($9 > 8 ? $7 : 1/0):8 with points pt 7 ps 0.6 lc rgb "#030303" title "more than 8 warps an SM", \
     data using ($9 <= 8 ? $7 : 1/0):8 with points pt 9 ps 0.9 lc rgb "#040404" title "8 warps an SM", \
     data every ::0::0 using 7:8:1 with labels right offset -1,0.4 textcolor rgb "#010101" font "inherit,12" notitle
