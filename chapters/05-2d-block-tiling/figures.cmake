# Figures of chapter 05: see book/draw.cmake.
tile_figure(thread-block2d thread block2d)
tile_figure(banks-block2d-As banks block2d load-As)
tile_figure(banks-block2d-Bs banks block2d load-Bs)
tile_figure(banks-wide-Bs banks 06/vectorised load-Bs)
tile_loads_table()
tile_ladder()
