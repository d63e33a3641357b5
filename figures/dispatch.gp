# Warps that wait for dispatch over the cycles that a register bank needs for an instruction. Arguments: data, out.
data = ARG1
out = ARG2
set terminal svg size 720,380 dynamic font "inherit,13" noenhanced
set output out
set border 3 lc rgb "#060606"
set tics textcolor rgb "#010101" nomirror
set xrange [0.95:1.6]
set yrange [0:3]
set xlabel "cycles of the busier register bank for an instruction, in fours" textcolor rgb "#010101"
set ylabel "warps waiting for dispatch" textcolor rgb "#010101" offset 1,0
set key off
plot data using 2:3 with points pt 7 ps 0.7 lc rgb "#030303", \
     data using 2:3:1 with labels left offset 0.8,0 font "inherit,10" textcolor rgb "#010101"
