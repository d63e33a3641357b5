# Figures of chapter 15: see book/draw.cmake.
tile_figure(banks-at_use-store-As banks at_use store-As)
tile_figure(banks-packed-store-As banks packed store-As)
