# Figures of chapter 11: see book/draw.cmake.
foreach(kernel adjacent split)
  tile_figure(access-${kernel}-C access ${kernel} store-C)
endforeach()
tile_ladder(FASTEST)
