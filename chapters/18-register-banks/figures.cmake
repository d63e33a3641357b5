# Figures of chapter 18: see book/draw.cmake.
tile_ladder(FASTEST)
