# Figures of chapter 14: see book/draw.cmake.
tile_ladder(FASTEST)
