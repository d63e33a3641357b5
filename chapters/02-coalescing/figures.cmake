# Figures of chapter 02: see book/draw.cmake.
tile_comparison(lanes-02 lanes 01/naive 02/coalesced)
tile_figure(access-coalesced-A access coalesced load-A)
tile_figure(access-coalesced-B access coalesced load-B)
tile_ladder()
