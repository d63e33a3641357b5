# Figures of chapter 06: see book/draw.cmake.
tile_figure(banks-vectorised-store-As banks vectorised store-As)
tile_figure(banks-vectorised-store-Bs banks vectorised store-Bs)
tile_figure(banks-wide-As banks wide_reads load-As-wide)
tile_loads_table()
tile_ladder()
