# Figures of chapter 06: see book/draw.cmake.
tile_figure(banks-vectorised-store-As banks vectorised store-As)
tile_figure(banks-vectorised-store-Bs banks vectorised store-Bs)
tile_figure(banks-vectorised-As banks vectorised load-As)
tile_loads_table()
tile_ladder()
