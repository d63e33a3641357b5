# Figures of chapter 20: see book/draw.cmake.
