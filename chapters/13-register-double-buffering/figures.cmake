# Figures of chapter 13: see book/draw.cmake.
tile_figure(banks-serpentine-load-Bs banks serpentine load-Bs)
tile_ladder(FASTEST)
