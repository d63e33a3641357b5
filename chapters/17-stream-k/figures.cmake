# Figures of chapter 17: see book/draw.cmake.
tile_ladder(FASTEST)
