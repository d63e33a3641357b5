# Measured throughput of every configuration, by the value of each parameter, the fastest ringed. Arguments: data, out.
data = ARG1
out = ARG2
set terminal svg size 440,520 dynamic font "inherit,16" noenhanced
set output out
set datafile separator "\t"  # names contain a space
set border 3 lc rgb "#090909"
set tics textcolor rgb "#010101" nomirror
stats data using 8 nooutput
set yrange [5*floor((STATS_min-1)/5):STATS_max > 0 ? STATS_max*1.04 : 1]  # without any measurement all are 0
set logscale x 2
unset key
set multiplot
names = "BM BN BK TM TN"
do for [i = 1:5] {  # three above two, so that a telephone shows all of it
  row = i > 3
  place = row ? i - 4 : i - 1
  set lmargin at screen 0.17 + 0.275 * place
  set rmargin at screen 0.42 + 0.275 * place
  set tmargin at screen row ? 0.47 : 0.98
  set bmargin at screen row ? 0.14 : 0.65
  field = i + 1
  set xlabel word(names, i) textcolor rgb "#010101"
  if (place == 0) { set ylabel "TFLOP/s" textcolor rgb "#010101"; set format y } else { unset ylabel; set format y "" }
  if (i <= 2) { set xrange [22:370]; set xtics (32, 64, 128, 256) }
  if (i == 3) { set xrange [6:43]; set xtics (8, 16, 32) }
  if (i >= 4) { set xrange [3:21]; set xtics (4, 8, 16) }
  plot data using (column(field) * (1 + 0.06 * (rand(0) - 0.5))):8 with points pt 7 ps 0.45 lc rgb "#030303", \
       data every ::0::0 using field:8 with points pt 6 ps 1.5 lw 2 lc rgb "#040404"
}
unset multiplot
