# Figures of the pages that are no chapter's: see draw.cmake.
set(number 12)  # the appendix is about the kernels up to there
tile_plot(dispatch dispatch)
tile_part(part-1 14)
