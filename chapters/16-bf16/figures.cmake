# Figures of chapter 16: see book/draw.cmake.
tile_figure(banks-packed-store-As banks packed store-As)
