# Figures of chapter 07: see book/draw.cmake.
tile_figure(banks-default-Bs banks default load-Bs)
tile_plot(landscape landscape landscape.tsv)
tile_plot(ranking ranking landscape.tsv)
tile_ladder()
