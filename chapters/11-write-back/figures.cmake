# Figures of chapter 11: see book/draw.cmake.
foreach(kernel adjacent split exchanged)
  tile_figure(access-${kernel}-C access ${kernel} store-C)
endforeach()
tile_figure(banks-adjacent-Bs banks adjacent load-Bs)
tile_figure(banks-split-Bs banks split load-Bs)
tile_figure(warps-split warps split 101)
tile_loads_table()
tile_ladder(FASTEST)
