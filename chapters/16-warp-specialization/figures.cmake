# Figures of chapter 16: see book/draw.cmake.
tile_ladder(FASTEST)
