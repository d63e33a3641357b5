# Figures of chapter 03: see book/draw.cmake.
tile_figure(banks-shared-As banks shared load-As)
tile_figure(banks-shared-Bs banks shared load-Bs)
tile_plot(roofline-03 roofline)
tile_ladder()
