# Figures of chapter 04: see book/draw.cmake.
tile_figure(thread-block1d thread block1d)
tile_figure(banks-block1d-As banks block1d load-As)
tile_loads_table()
tile_ladder()
