# Figures of the pages that are no chapter's: see draw.cmake.
tile_figure(sm sm)
tile_plot(dispatch dispatch)
tile_part(part-1 14)
