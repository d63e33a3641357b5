# Figures of chapter 10: see book/draw.cmake.
tile_figure(swizzle-large swizzle 08/large)
tile_figure(swizzle-swizzled swizzle swizzled)
tile_figure(banks-xor-row-store-As banks xor_row store-As)
tile_figure(banks-swizzled-store-As banks swizzled store-As)
tile_ladder(FASTEST)
