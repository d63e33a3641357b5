# Figures of chapter 03: see book/draw.cmake.
tile_figure(banks-shared-As banks shared load-As)
tile_figure(banks-shared-Bs banks shared load-Bs)
tile_figure(tiles-shared tiles shared)
tile_figure(races-03 races shared)
tile_figure(occupancy-a6000 occupancy shared)
tile_plot(roofline-03 roofline)
tile_ladder()
