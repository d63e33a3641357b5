# The roofline: flops per byte against TFLOP/s, from DRAM and from the SM. Arguments: data, out.
# data has, for each point: name, level, x, y, and where its name stands: x, side. data.rates gives peak, sm_tbs, l2_tbs, dram_tbs.
data = ARG1
out = ARG2
load data.".rates"
set terminal svg size 620,400 dynamic font "inherit,13" noenhanced
set output out
set border 3 lc rgb "#090909"
set tics textcolor rgb "#010101" nomirror
set logscale xy
set xrange [0.05:2000]
set yrange [0.2:300]
set xlabel "flop per byte" textcolor rgb "#010101"
set ylabel "TFLOP/s" textcolor rgb "#010101"
set key off
set samples 400
# Slopes end at the roof that they share.
slope(x, tbs) = x * tbs < peak ? x * tbs : 1/0
set label 1 "FFMA peak" at 1500,peak*1.35 right textcolor rgb "#010101" font "inherit,12"
set label 2 "L1 and shared memory" at 0.28,0.28*sm_tbs*1.5 rotate by 42 textcolor rgb "#030303" font "inherit,12"
set label 3 "L2" at 1.5,1.5*l2_tbs*1.45 rotate by 42 textcolor rgb "#050505" font "inherit,12"
set label 4 "DRAM" at 5,5*dram_tbs*1.45 rotate by 42 textcolor rgb "#040404" font "inherit,12"
plot slope(x, sm_tbs) lc rgb "#030303" lw 2, slope(x, l2_tbs) lc rgb "#050505" lw 2, slope(x, dram_tbs) lc rgb "#040404" lw 2, \
     (x * sm_tbs < peak ? 1/0 : peak) lc rgb "#010101" lw 2, \
     data using (strcol(2) eq "sm" ? $3 : 1/0):4 with points pt 7 ps 0.9 lc rgb "#030303", \
     data using (strcol(2) eq "dram" ? $3 : 1/0):4 with points pt 7 ps 0.9 lc rgb "#040404", \
     data using (strcol(6) eq "right" ? $5 : 1/0):4:1 with labels left textcolor rgb "#010101" font "inherit,12", \
     data using (strcol(6) eq "left" ? $5 : 1/0):4:1 with labels right textcolor rgb "#010101" font "inherit,12"
