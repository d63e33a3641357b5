# A part of a sweep: a row for each problem, with its ratio to the stronger cuBLAS. Whiskers go from the 10th to the 90th percentile. Where they
# cross 1 it is a tie; wins, ties and losses each have a mark of their own. Arguments: data (sweep.tsv, squares first), out, "squares" or "others", and which
# half of them: 1 or 2. Both halves have one scale.
data = ARG1
out = ARG2
squares = ARG3 eq "squares"
set datafile separator "\t"  # names contain a space
stats data using ($2 == $3 && $3 == $4 ? 1 : 0) nooutput
begin = squares ? 0 : int(STATS_sum)
count = squares ? int(STATS_sum) : STATS_records - int(STATS_sum)
half = (count + 1) / 2
first = ARG4 == 1 ? begin : begin + half
rows = ARG4 == 1 ? half : count - half
low_min = 1
high_max = 0
if (count > 0) {  # all statistics come first: a range would restrict them
  stats data every ::begin::begin+count-1 using 6 prefix "low" nooutput
  stats data every ::begin::begin+count-1 using 7 prefix "high" nooutput
}
measured = high_max > 0
# The scale shows at least a tenth on both sides of 1.
from = !measured || low_min > 0.93 ? 0.9 : low_min - 0.03
to = !measured || high_max < 1.07 ? 1.1 : high_max + 0.03

above = 52.0
below = 72.0
slots = half > 0 ? half : 1
height = above + below + 22 * slots
# So narrow that a telephone shows all of it, with labels large enough to be read there.
set terminal svg size 440,height dynamic font "inherit,16" noenhanced
set output out
set border 7 lc rgb "#090909"
set tics textcolor rgb "#010101" nomirror
set grid xtics ytics lt 1 lw 0.6 lc rgb "#060606"
set key off
set pointintervalbox 0.01  # else marks with whiskers have a ring, which is white in the dark as well
won(ratio, low) = low > 1 ? ratio : 1/0
lost(ratio, high) = ratio > 0 && high < 1 ? ratio : 1/0
tied(ratio, low, high) = ratio > 0 && low <= 1 && high >= 1 ? ratio : 1/0
known(ratio) = ratio > 0 ? ratio : 1/0
set lmargin at screen squares ? 0.14 : 0.33
set rmargin at screen 0.97
set tmargin at screen 1 - above / height
set bmargin at screen below / height
set xtics to - from > 0.6 ? 0.2 : 0.1
set x2tics to - from > 0.6 ? 0.2 : 0.1
set xrange [from:to]
set x2range [from:to]
set yrange [slots-0.4:-0.6]
set ytics scale 0
set xlabel "times the stronger cuBLAS" textcolor rgb "#010101"
set label 1 (squares ? "M = N = K" : "M x N x K") at screen 0.01,1-16/height left textcolor rgb "#020202"
if (!measured) { set label 2 "not yet measured" at graph 0.5,0.5 center textcolor rgb "#020202" }
set arrow 1 from 1,graph 0 to 1,graph 1 nohead lw 1.5 lc rgb "#090909"
if (rows > 0) {
  plot data every ::first::first+rows-1 using (known($5)):0:6:7:ytic(1) with xerrorbars pt 7 ps 0.1 lw 1.2 lc rgb "#020202", \
       data every ::first::first+rows-1 using (won($5, $6)):0 with points pt 7 ps 0.7 lc rgb "#030303", \
       data every ::first::first+rows-1 using (lost($5, $7)):0 with points pt 9 ps 0.95 lc rgb "#040404", \
       data every ::first::first+rows-1 using (tied($5, $6, $7)):0 with points pt 6 ps 0.8 lw 1.5 lc rgb "#010101"
} else {
  plot 1/0
}
