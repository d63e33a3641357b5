# Figures of chapter 08: see book/draw.cmake.
tile_comparison(stalls-08 stalls 08/large 08/unbounded 08/tall 00/cublas)
tile_figure(banks-large-Bs banks large load-Bs)
tile_figure(warps-large warps large 101)
tile_ladder()
