# Figures of chapter 15: see book/draw.cmake.
tile_ladder(FASTEST)
