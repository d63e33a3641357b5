# A part's ladder: what each chapter's kernel reached, and the ceilings as written and as compiled; all of it on a telephone.
# Arguments: data, out.
# data.cublas gives cublas, TFLOP/s; 0 is not yet measured.
data = ARG1
out = ARG2
load data.".cublas"
set datafile separator "\t"
stats data using 2 nooutput
rows = STATS_records
set terminal svg size 440,132+34*rows dynamic font "inherit,16" noenhanced
set output out
set border 3 lc rgb "#090909"
set tics textcolor rgb "#010101" nomirror
set ytics scale 0
set xrange [0:68]
set xlabel "TFLOP/s" textcolor rgb "#010101"
set yrange [rows-0.4:-0.6]
set style fill solid 1.0 noborder
set lmargin at screen 0.28
set rmargin at screen 0.97
set key at screen 0.01,0.995 left top vertical Left reverse samplen 1.5 textcolor rgb "#010101"  # above, where a narrow window begins
set tmargin 4.4
set grid xtics lc rgb "#060606"
if (cublas > 0) { set arrow 1 from cublas,graph 0 to cublas,graph 1 nohead lw 1.5 lc rgb "#020202" }
if (cublas > 0) { set label 1 "cuBLAS" at cublas,graph 1 center offset 0,0.6 textcolor rgb "#020202" font "inherit,16" }
# Marks stand on a rim of paper, or a bar would swallow them; those of the two kinds above and below each other, or one would hide the other.
known(x) = x > 0 ? x : 1/0
plot data using (0):0:(0):2:($0-0.28):($0+0.28):ytic(1) with boxxyerror lc rgb "#030303" title "measured", \
     data using (known($3)):($0-0.25) with points pt 5 ps 0.8 lc rgb "#080808" notitle, \
     data using (known($4)):($0+0.25) with points pt 9 ps 1 lc rgb "#080808" notitle, \
     data using (known($3)):($0-0.25) with points pt 5 ps 0.6 lc rgb "#050505" title "ceiling, as written", \
     data using (known($4)):($0+0.25) with points pt 9 ps 0.75 lc rgb "#040404" title "ceiling, as compiled"
