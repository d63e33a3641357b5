# Time of the naive kernel over the leading dimension of A: predicted by the rule (line), with what pairs of requests cost
# beyond it (dashed, in a colour of its own), and measured (points); readable on a telephone. Arguments: the chapter's facts, out.
facts = ARG1
out = ARG2
set terminal svg size 440,340 dynamic font "inherit,16" noenhanced
set output out
set border 3 lc rgb "#090909"
set tics textcolor rgb "#010101" nomirror
set xrange [4095:4129]
set xtics (4096, 4104, 4112, 4120, 4128)
set mxtics 2
set yrange [0:300]
set xlabel "lda, words" textcolor rgb "#010101"
set ylabel "ms at 4096" textcolor rgb "#010101" offset 1,0
set lmargin at screen 0.18
set rmargin at screen 0.97
set key off
set label 1 "predicted" at 4097.4,200 textcolor rgb "#030303"
set label 3 "with pairs of requests" at 4106,235 textcolor rgb "#050505"
set label 2 "measured" at 4102.6,132 textcolor rgb "#040404"
# lda, which is the number in a key, and the value, of the facts whose keys match a pattern.
values(key) = sprintf("< awk -F'\\t' 'match($1, /^%s$/) && $3 != \"\" { lda = $1; gsub(/[^0-9]/, \"\", lda); print lda, $3 }' '%s' | sort -n", key, facts)
plot values("lda[.][0-9]+[.]ms") with lines lw 2 lc rgb "#030303", \
     values("lda[.][0-9]+[.]paired[.]ms") with lines lw 1.5 dt (6,4) lc rgb "#050505", \
     values("rates[.]lda[.][0-9]+") with points pt 7 ps 0.6 lc rgb "#040404"
