# Figures of chapter 14: see book/draw.cmake.
tile_figure(access-stages3-A access stages3 load-A)
tile_figure(banks-stages3-store-As banks stages3 store-As)
tile_ladder(FASTEST)
