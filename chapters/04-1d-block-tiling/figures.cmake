# Figures of chapter 04: see book/draw.cmake.
tile_figure(thread-block1d thread block1d 0)
tile_loads_table()
tile_ladder()
