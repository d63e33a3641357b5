# How figures are drawn. chapters/figures.cmake lists those of the chapters, and CMakeLists.txt those of the other pages, with
#   tile_figure(NAME KIND KERNEL [ARGUMENT...])  a map of what KERNEL did, drawn by `figures KIND` (see figures/figures.cpp); NN/KERNEL is
#                                                another chapter's or a lab's, as in keys
#   tile_summary(NAME KIND)                      a picture of the chapter's facts
#   tile_comparison(NAME KIND NN/KERNEL...)      a picture of kernels, each of the chapter that is named
#   tile_plot(NAME KIND [FILE [ARGUMENT...]])    a plot by KIND.gp, of figures/ or the chapter's own: of the records and facts of all chapters up to this one, or of FILE,
#                                                which the chapter's program emits; the script is given the arguments as well
#   tile_ladder()                                the chapter is a rung: the plot ladder-NN
#   tile_loads_table()                           its table "loads", which grows from chapter to chapter
#   tile_part(PAGE LAST)                         the last page of a part that ends with chapter LAST: its table and facts, and the plot ladder-PAGE
# Pictures that no data changes are drawn by hand: pictures/NAME.svg beside the text.
# The prose shows NAME.svg by `src=NAME.svg`. A figure that no page shows fails the test book.unused.
#
# In: ${work}, where everything is made; ${number} of the chapter; ${emitted} of all programs.
# Out: the global properties TILE_DRAWN, the files, and TILE_FIGURES, what unused.sh calls them.

# tile_drawn(NAME "FILE;..." [COMMAND ...]... DEPENDS ...): how a figure or a table is made.
function(tile_drawn name files)
  add_custom_command(OUTPUT ${files} ${ARGN} VERBATIM)
  set_property(GLOBAL APPEND PROPERTY TILE_DRAWN ${files})
  set_property(GLOBAL APPEND PROPERTY TILE_FIGURES ${name})
endfunction()

file(GLOB pictures CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/chapters/*/pictures/*.svg ${CMAKE_CURRENT_SOURCE_DIR}/pictures/*.svg)
foreach(picture ${pictures})
  get_filename_component(name ${picture} NAME_WE)
  tile_drawn(${name} ${work}/figures/${name}.svg COMMAND ${CMAKE_COMMAND} -E copy ${picture} ${work}/figures/${name}.svg DEPENDS ${picture})
endforeach()

# With kernels of several chapters the program is given all of emit/, else the chapter's.
function(tile_figure name kind kernel)
  string(REGEX MATCH "^(([0-9][0-9][^/]*)/)?(.*)$" kernel ${kernel})
  set(from ${CMAKE_MATCH_2} ${number})
  list(GET from 0 from)
  tile_drawn_by_figures(${name} ${kind} /${from} "${from}" ${CMAKE_MATCH_3} ${ARGN})
endfunction()

function(tile_summary name kind)
  tile_drawn_by_figures(${name} ${kind} /${number} ${number})
endfunction()

function(tile_comparison name kind)
  string(REGEX MATCHALL "[0-9][0-9]/" chapters "${ARGN}")
  list(TRANSFORM chapters REPLACE "/" "")
  list(REMOVE_DUPLICATES chapters)
  tile_drawn_by_figures(${name} ${kind} "" "${chapters}" ${ARGN})
endfunction()

function(tile_drawn_by_figures name kind directory chapters)
  set(out ${work}/figures/${name}.svg)
  list(TRANSFORM chapters REPLACE "(.+)" "${work}/emit/\\1/facts.tsv" OUTPUT_VARIABLE facts)
  tile_drawn(${name} ${out} COMMAND figures ${kind} ${work}/emit${directory} ${out} ${ARGN} DEPENDS figures ${facts})
endfunction()

function(tile_plot name kind)
  file(GLOB script ${PROJECT_SOURCE_DIR}/figures/${kind}.gp ${PROJECT_SOURCE_DIR}/chapters/${number}-*/${kind}.gp)
  set(out ${work}/figures/${name}.svg)
  set(data ${work}/figures/${name}.tsv)
  set(gather COMMAND figures ${kind} ${PROJECT_SOURCE_DIR}/chapters ${work}/emit ${number} ${data})
  if(ARGN)
    list(POP_FRONT ARGN file)
    set(data ${work}/emit/${number}/${file})
    set(gather "")
  endif()
  tile_drawn(${name} ${out} ${gather} COMMAND ${GNUPLOT} -c ${script} ${data} ${out} ${ARGN}
    DEPENDS figures ${emitted} ${all_records} ${script})
endfunction()

function(tile_ladder)
  tile_plot(ladder-${number} ladder)
endfunction()

function(tile_loads_table)
  set(out ${work}/emit/${number}/table-loads.tsv)
  tile_drawn(${number}/table-loads ${out} COMMAND figures loads ${work}/emit ${number} ${out} DEPENDS figures ${emitted})
endfunction()

function(tile_part page last)
  set(data ${work}/figures/ladder-${page}.tsv)
  set(out ${work}/figures/ladder-${page}.svg)
  set(to ${work}/emit/${page})
  set(script ${PROJECT_SOURCE_DIR}/figures/part.gp)
  file(GLOB texts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/chapters/*/chapter*.md)
  # A page that is edited seldom changes them, and then no other page is woven anew.
  tile_drawn(${page}/table-ladder "${to}/table-ladder.tsv;${to}/facts.tsv;${to}/places.tsv;${out}"
    COMMAND figures part ${PROJECT_SOURCE_DIR}/chapters ${work}/emit ${last} ${data} ${data}.new
    COMMAND ${GNUPLOT} -c ${script} ${data} ${data}.new/${page}.svg
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${data}.new/table-ladder.tsv ${data}.new/facts.tsv ${data}.new/places.tsv ${to}
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${data}.new/${page}.svg ${out}
    DEPENDS figures ${emitted} ${texts} ${script})
  set_property(GLOBAL APPEND PROPERTY TILE_FIGURES ladder-${page})
endfunction()
