# Figures of chapter 09: see book/draw.cmake.
foreach(kernel large padded grouped)
  tile_figure(banks-${kernel}-store-As banks ${kernel} store-As)
endforeach()
foreach(kernel remapped flat flat_padded)
  tile_figure(banks-${kernel}-Bs banks ${kernel} load-Bs)
endforeach()
tile_ladder(FASTEST)
