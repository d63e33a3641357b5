# Figures of chapter 12: see book/draw.cmake.
tile_figure(banks-deep-store-As banks deep store-As)
tile_ladder(FASTEST)
