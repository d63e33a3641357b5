# What is drawn for each chapter, `number`: book/draw.cmake explains the commands. The test book.unused finds what no page shows.

set(number 00)
tile_summary(rates-00 rates)
tile_plot(roofline-00 roofline)

set(number 01)
tile_figure(access-naive-A access naive load-A)
tile_figure(access-naive-B access naive load-B)
tile_figure(banks-naive-A banks naive load-A)
tile_plot(lda-01 lda facts.tsv)
tile_ladder()

set(number 02)
tile_figure(access-coalesced-A access coalesced load-A)
tile_figure(access-coalesced-B access coalesced load-B)
tile_ladder()

set(number 03)
tile_figure(banks-shared-As banks shared load-As)
tile_figure(banks-shared-Bs banks shared load-Bs)
tile_plot(roofline-03 roofline)
tile_ladder()

set(number 04)
tile_figure(thread-block1d thread block1d)
tile_figure(banks-block1d-As banks block1d load-As)
tile_loads_table()
tile_ladder()

set(number 05)
tile_figure(thread-block2d thread block2d)
tile_figure(banks-block2d-As banks block2d load-As)
tile_figure(banks-block2d-Bs banks block2d load-Bs)
tile_figure(banks-wide-Bs banks 06/vectorised load-Bs)
tile_loads_table()
tile_ladder()

set(number 06)
tile_figure(banks-vectorised-store-As banks vectorised store-As)
tile_figure(banks-vectorised-store-Bs banks vectorised store-Bs)
tile_figure(banks-vectorised-As banks vectorised load-As)
tile_loads_table()
tile_ladder()

set(number 07)
tile_figure(banks-default-Bs banks default load-Bs)
tile_plot(landscape landscape landscape.tsv)
tile_plot(ranking ranking landscape.tsv)
tile_ladder()

set(number 08)
tile_comparison(stalls-08 stalls 08/large 08/unbounded 08/tall 00/cublas)
tile_figure(banks-large-Bs banks large load-Bs)
tile_figure(warps-large warps large 101)
tile_ladder()

set(number 09)
foreach(kernel large padded grouped)
  tile_figure(banks-${kernel}-store-As banks ${kernel} store-As)
endforeach()
tile_figure(banks-flat-Bs banks 09-wavefronts/flat load-Bs)
tile_figure(banks-remapped-Bs banks 09-wavefronts/remapped load-Bs)
tile_ladder(FASTEST)

set(number 10)
tile_figure(swizzle-large swizzle 08/large)
tile_figure(swizzle-swizzled swizzle swizzled)
tile_figure(banks-xor-row-store-As banks xor_row store-As)
tile_figure(banks-swizzled-store-As banks swizzled store-As)
tile_ladder(FASTEST)

set(number 11)
foreach(kernel adjacent split)
  tile_figure(access-${kernel}-C access ${kernel} store-C)
endforeach()
tile_ladder(FASTEST)

set(number 12)
tile_figure(banks-deep-store-As banks deep store-As)
tile_ladder(FASTEST)

set(number 13)
tile_figure(banks-serpentine-load-Bs banks serpentine load-Bs)
tile_ladder(FASTEST)

set(number 14)
tile_ladder(FASTEST)

set(number 15)
tile_ladder(FASTEST)

set(number 16)
tile_ladder(FASTEST)

set(number 17)
tile_ladder(FASTEST)

set(number 18)
tile_figure(banks-swapped-load-operands banks swapped load-operands)
tile_comparison(stalls-18 stalls 16/specialized 18/straight 18/swapped)
tile_ladder(FASTEST)

set(number 19)
tile_figure(banks-tma-load-As banks tma load-As)
tile_figure(banks-rows_of_A-load-As banks rows_of_A load-As)
foreach(half 1 2)
  tile_plot(squares-19-${half} sweep sweep.tsv squares ${half})
  tile_plot(others-19-${half} sweep sweep.tsv others ${half})
endforeach()
tile_ladder(FASTEST)

set(number 21)
tile_figure(banks-packed-store-As banks packed store-As)
