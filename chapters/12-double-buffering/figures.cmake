# Figures of chapter 12: see book/draw.cmake.
tile_figure(banks-buffered-store-As banks buffered store-As)
tile_ladder(FASTEST)
