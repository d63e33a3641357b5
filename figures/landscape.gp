# Measured throughput of every configuration, by the value of each parameter. Arguments: data, out.
data = ARG1
out = ARG2
set terminal svg size 720,300 dynamic font "inherit,13" noenhanced
set output out
set datafile separator "\t"  # names contain a space
set border 3 lc rgb "#090909"
set tics textcolor rgb "#010101" nomirror
stats data using 8 nooutput
set yrange [5*floor((STATS_min-1)/5):STATS_max > 0 ? STATS_max*1.04 : 1]  # without any measurement all are 0
set logscale x 2
unset key
set multiplot layout 1,5 margins 0.08,0.99,0.2,0.97 spacing 0.02
set ylabel "TFLOP/s" textcolor rgb "#010101" offset 1,0
names = "BM BN BK TM TN"
do for [i = 1:5] {
  field = i + 1
  set xlabel word(names, i) textcolor rgb "#010101"
  if (i > 1) { unset ylabel; set format y "" }
  if (i <= 2) { set xrange [22:370]; set xtics (32, 64, 128, 256) }
  if (i == 3) { set xrange [6:43]; set xtics (8, 16, 32) }
  if (i >= 4) { set xrange [3:21]; set xtics (4, 8, 16) }
  plot data using (column(field) * (1 + 0.06 * (rand(0) - 0.5))):8 with points pt 7 ps 0.45 lc rgb "#030303", \
       data every ::0::0 using field:8 with points pt 6 ps 1.5 lw 2 lc rgb "#040404"
}
unset multiplot
