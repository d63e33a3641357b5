# Cycles an instruction that a warp waits for dispatch, over the cycles that the register banks need for an instruction. Arguments: data, out.
# data has, for each point: label, x, y. data.correlation gives the text of the rank correlation.
data = ARG1
out = ARG2
load data.".correlation"
width = 340.0
height = 400.0
set terminal svg size width,height dynamic font "inherit,13" noenhanced
set output out
stats data using 2:3 nooutput name "all"
x_low = 0.98
x_high = all_max_x + 0.16 > 1.1 ? all_max_x + 0.16 : 1.1
y_high = 1.1 * all_max_y > 0.1 ? 1.1 * all_max_y : 0.1
y_low = -0.06 * y_high  # labels of points at 0 stand free of the axis
left = 66 / width
right = 1 - 12 / width
top = 1 - 16 / height
bottom = 58 / height
set lmargin at screen left
set rmargin at screen right
set tmargin at screen top
set bmargin at screen bottom
set border 3 lc rgb "#090909"
set tics textcolor rgb "#010101" nomirror
set xtics 0.1
set xrange [x_low:x_high]
set yrange [y_low:y_high]
set xlabel "cycles of the busier register bank for an instruction" textcolor rgb "#010101"
set ylabel "waiting for dispatch, cycles an instruction" offset 1,0 textcolor rgb "#010101"
set key off
set label 1 correlation at graph 0.03,0.96 left textcolor rgb "#010101"
# The points that have a label, at their right or left, and two of them lower: there is no room for more.
at_right = "|01 naive|12 thin_alone|11 adjacent|11 exchanged|04 swapped|12 thin|05 block2d|"
at_left = "|11 tall_split|08 tall|11 crossed|05 unrolled|"
lower = "|12 thin_alone|"
stands(list) = strstrt(list, "|".strcol(1)."|") > 0
x_of_pixel = (x_high - x_low) / ((right - left) * width)
y_of_pixel = (y_high - y_low) / ((top - bottom) * height)
rounded(x) = real(sprintf("%.4f", x))
label_y(y) = rounded(y - (stands(lower) ? 7 * y_of_pixel : 0))
plot data using (rounded($2)):(rounded($3)) with points pt 7 ps 0.7 lc rgb "#030303", \
     data using (stands(at_right) ? rounded($2 + 8 * x_of_pixel) : NaN):(label_y($3)):1 with labels left font "inherit,12" textcolor rgb "#010101", \
     data using (stands(at_left) ? rounded($2 - 8 * x_of_pixel) : NaN):(label_y($3)):1 with labels right font "inherit,12" textcolor rgb "#010101"
