# The model's ceiling of every configuration against its measured throughput, the fastest ringed; all of it on a telephone. Arguments: data, out.
data = ARG1
out = ARG2
set terminal svg size 440,440 dynamic font "inherit,16" noenhanced
set output out
set datafile separator "\t"  # names contain a space
set border 3 lc rgb "#090909"
set tics textcolor rgb "#010101" nomirror
set xlabel "ceiling from the model's counts, TFLOP/s" textcolor rgb "#010101"
set ylabel "measured, TFLOP/s" textcolor rgb "#010101"
set key at screen 0.02,0.99 left top vertical Left reverse samplen 1.5 textcolor rgb "#010101"  # above the data, which are everywhere
set tmargin 4.2
set lmargin at screen 0.17
set rmargin at screen 0.97
stats data using 8 nooutput
set yrange [5*floor((STATS_min-1)/5):STATS_max > 0 ? STATS_max*1.04 : 1]  # without any measurement all are 0
plot data using ($9 > 8 ? $7 : 1/0):8 with points pt 7 ps 0.6 lc rgb "#030303" title "more than 8 warps an SM", \
     data using ($9 <= 8 ? $7 : 1/0):8 with points pt 9 ps 0.9 lc rgb "#040404" title "8 warps an SM", \
     data every ::0::0 using 7:8 with points pt 6 ps 1.5 lw 2 lc rgb "#040404" notitle, \
     data every ::0::0 using 7:8:1 with labels right offset -1.2,0.4 textcolor rgb "#010101" font "inherit,16" notitle
