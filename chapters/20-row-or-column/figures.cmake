# Figures of chapter 20: see book/draw.cmake.
tile_figure(access-rows-B access rows load-stream)
tile_plot(bandwidth-20 bandwidth facts.tsv ${CMAKE_CURRENT_LIST_DIR}/bandwidth.awk)
