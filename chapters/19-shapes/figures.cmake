# Figures of chapter 19: see book/draw.cmake.
tile_figure(banks-tma-load-As banks tma load-As)
tile_figure(banks-rows_of_A-load-As banks rows_of_A load-As)
foreach(half 1 2)
  tile_plot(squares-19-${half} sweep sweep.tsv squares ${half})
  tile_plot(others-19-${half} sweep sweep.tsv others ${half})
endforeach()
tile_ladder(FASTEST)
