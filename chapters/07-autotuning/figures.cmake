# Figures of chapter 07: see book/draw.cmake.
tile_plot(cliff-07 cliff)
tile_figure(banks-default-Bs banks default load-Bs)
tile_plot(landscape landscape landscape.tsv)
tile_plot(ranking ranking landscape.tsv)
tile_plot(fit fit fit.tsv)
tile_loads_table()
tile_ladder()
