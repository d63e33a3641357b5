# Figures of chapter 14: see book/draw.cmake.
tile_figure(stretches-14 stretches whole_tiles tma)
tile_figure(banks-tma-load-As banks tma load-As)
tile_figure(banks-rows_of_A-load-As banks rows_of_A load-As)
tile_plot(sweep-14 sweep sweep.tsv)
tile_ladder(FASTEST)
