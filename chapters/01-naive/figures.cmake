# Figures of chapter 01: see book/draw.cmake.
tile_figure(access-naive-A access naive load-A)
tile_figure(access-naive-B access naive load-B)
tile_figure(banks-naive-A banks naive load-A)
tile_plot(lda-01 lda facts.tsv)
tile_ladder()
