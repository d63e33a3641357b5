# Figures of chapter 09: see book/draw.cmake.
foreach(kernel large padded grouped)
  tile_figure(banks-${kernel}-store-As banks ${kernel} store-As)
endforeach()
tile_figure(banks-flat-Bs banks 09-wavefronts/flat load-Bs)
tile_figure(banks-remapped-Bs banks 09-wavefronts/remapped load-Bs)
tile_ladder(FASTEST)
