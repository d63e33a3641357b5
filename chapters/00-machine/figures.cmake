# Figures of chapter 00: see book/draw.cmake.
tile_summary(rates-00 rates)
tile_plot(roofline-00 roofline)
