# The roofline: flops per byte against TFLOP/s, from DRAM and from the SM; all of it on a telephone. Arguments: data, out.
# data has, for each point: name, level, x, y. data.rates gives peak, sm_tbs, l2_tbs, dram_tbs.
data = ARG1
out = ARG2
load data.".rates"
set terminal svg size 440,500 dynamic font "inherit,16" noenhanced
set output out
set border 3 lc rgb "#090909"
set tics textcolor rgb "#010101" nomirror
set logscale xy
set xrange [0.02:2000]
set yrange [0.2:300]
set xlabel "flop per byte" textcolor rgb "#010101"
set ylabel "TFLOP/s" offset 2.5,0 textcolor rgb "#010101"
set lmargin at screen 0.17
set rmargin at screen 0.98
set tmargin at screen 0.83
set bmargin at screen 0.14
set key at screen 0.02,0.99 left top vertical Left reverse samplen 1.5 textcolor rgb "#010101"  # above the roofs
set samples 400
# Slopes end at the roof that they share.
slope(x, tbs) = x * tbs < peak ? x * tbs : 1/0
set label 1 "FFMA peak" at 1500,peak*1.35 right textcolor rgb "#010101" font "inherit,16"
# Names stand beside their points where no roof goes through them.
name(row) = strcol(1)." ".strcol(2)
at_right(name) = name eq "naive sm" || name eq "no reuse dram"
gap(name) = name eq "coalesced sm" ? 1.6 : 1.3
rounded(x) = real(sprintf("%.4f", x))
plot slope(x, sm_tbs) lc rgb "#030303" lw 2 title "L1 and shared memory", slope(x, l2_tbs) lc rgb "#050505" lw 2 title "L2", slope(x, dram_tbs) lc rgb "#040404" lw 2 title "DRAM", \
     (x * sm_tbs < peak ? 1/0 : peak) lc rgb "#010101" lw 2 notitle, \
     data using (strcol(2) eq "sm" ? $3 : 1/0):4 with points pt 7 ps 0.9 lc rgb "#030303" notitle, \
     data using (strcol(2) eq "dram" ? $3 : 1/0):4 with points pt 7 ps 0.9 lc rgb "#040404" notitle, \
     data using (at_right(name(0)) ? rounded($3 * 1.3) : 1/0):4:1 with labels left textcolor rgb "#010101" font "inherit,16" notitle, \
     data using (at_right(name(0)) ? 1/0 : rounded($3 / gap(name(0)))):4:1 with labels right textcolor rgb "#010101" font "inherit,16" notitle
