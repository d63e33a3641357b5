# Figures of chapter 04: see book/draw.cmake.
tile_figure(thread-block1d thread block1d 0)
tile_comparison(reuse-04 reuse 03/shared 04/block1d)
tile_figure(compiled-04 compiled block1d)
tile_figure(banks-block1d-As banks block1d load-As)
tile_loads_table()
tile_ladder()
