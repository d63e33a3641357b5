# Figures of chapter 21: see book/draw.cmake.
tile_figure(banks-packed-store-As banks packed store-As)
