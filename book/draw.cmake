# How figures are drawn. Each chapter lists its own in its figures.cmake, and book/figures.cmake those of the other pages, with
#   tile_figure(NAME KIND [KERNEL ARGUMENT...])  a map of what KERNEL did, drawn by `figures KIND` (see figures/figures.cpp); NN/KERNEL is
#                                                another chapter's, as in keys
#   tile_summary(NAME KIND)                      a picture of the chapter's facts
#   tile_comparison(NAME KIND [ARGUMENT...] NN/KERNEL...)  a picture of kernels, each of the chapter that is named
#   tile_plot(NAME KIND [FILE [ARGUMENT...]])    a plot by KIND.gp, of figures/ or the chapter's own: of the records and facts of all chapters up to this one, or of FILE,
#                                                which the chapter's program emits; the script is given the arguments as well
#   tile_ladder([FASTEST])                       the chapter is a rung: the plot ladder-NN; FASTEST: of earlier chapters the fastest kernel alone
#   tile_loads_table()                           its table "loads", which grows from chapter to chapter
#   tile_part(PAGE LAST)                         the last page of a part that ends with chapter LAST: its table and facts, and the plot ladder-PAGE
# Pictures that no data changes are drawn by hand: pictures/NAME.svg beside the text.
# The prose shows NAME.svg by `src=NAME.svg`. A figure that no page shows fails the test book.unused.
#
# In: ${work}, where everything is made; ${number} of the chapter, the last one for other pages; ${emitted} of all programs.
# Out: ${drawn}, the files; ${figure_names}, what unused.lua calls them.
set(drawn "")
set(figure_names "")

macro(tile_drawn name file)
  list(APPEND drawn ${file})
  list(APPEND figure_names ${name})
  set(drawn ${drawn} PARENT_SCOPE)
  set(figure_names ${figure_names} PARENT_SCOPE)
endmacro()

file(GLOB pictures CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/chapters/*/pictures/*.svg ${CMAKE_CURRENT_SOURCE_DIR}/pictures/*.svg)
foreach(picture ${pictures})
  get_filename_component(name ${picture} NAME_WE)
  add_custom_command(OUTPUT ${work}/figures/${name}.svg COMMAND ${CMAKE_COMMAND} -E copy ${picture} ${work}/figures/${name}.svg DEPENDS ${picture} VERBATIM)
  list(APPEND drawn ${work}/figures/${name}.svg)
  list(APPEND figure_names ${name})
endforeach()

function(tile_figure name kind)
  set(out ${work}/figures/${name}.svg)
  set(arguments ${out})
  set(facts "")
  if(ARGC GREATER 2)
    set(of ${ARGN})
    set(from ${number})
    if(ARGV2 MATCHES "^([0-9][0-9])/(.+)$")
      set(from ${CMAKE_MATCH_1})
      list(POP_FRONT of)
      list(PREPEND of ${CMAKE_MATCH_2})
    endif()
    set(arguments ${work}/emit/${from} ${out} ${of})
    set(facts ${work}/emit/${from}/facts.tsv)
  endif()
  add_custom_command(OUTPUT ${out} COMMAND figures ${kind} ${arguments} DEPENDS figures ${facts} VERBATIM)
  tile_drawn(${name} ${out})
endfunction()

function(tile_summary name kind)
  set(out ${work}/figures/${name}.svg)
  add_custom_command(OUTPUT ${out} COMMAND figures ${kind} ${work}/emit/${number} ${out} DEPENDS figures ${work}/emit/${number}/facts.tsv VERBATIM)
  tile_drawn(${name} ${out})
endfunction()

function(tile_comparison name kind)
  set(out ${work}/figures/${name}.svg)
  set(facts "")
  foreach(argument ${ARGN})
    if(argument MATCHES "^([0-9][0-9])/")
      list(APPEND facts ${work}/emit/${CMAKE_MATCH_1}/facts.tsv)
    endif()
  endforeach()
  list(REMOVE_DUPLICATES facts)
  add_custom_command(OUTPUT ${out} COMMAND figures ${kind} ${work}/emit ${out} ${ARGN} DEPENDS figures ${facts} VERBATIM)
  tile_drawn(${name} ${out})
endfunction()

# ${plot_options} of the caller are options of the program that gathers the data.
function(tile_plot name kind)
  set(out ${work}/figures/${name}.svg)
  file(GLOB script ${PROJECT_SOURCE_DIR}/figures/${kind}.gp ${PROJECT_SOURCE_DIR}/chapters/${number}-*/${kind}.gp)
  set(arguments ${ARGN})
  if(ARGC GREATER 2)
    list(POP_FRONT arguments)
    set(data ${work}/emit/${number}/${ARGV2})
    set(gather "")
  else()
    set(data ${work}/figures/${name}.tsv)
    set(gather COMMAND figures ${kind} ${PROJECT_SOURCE_DIR}/chapters ${work}/emit ${number} ${data} ${plot_options})
  endif()
  add_custom_command(OUTPUT ${out} ${gather} COMMAND ${GNUPLOT} -c ${script} ${data} ${out} ${arguments}
    DEPENDS figures ${emitted} ${all_records} ${script} VERBATIM)
  tile_drawn(${name} ${out})
endfunction()

function(tile_ladder)
  set(plot_options "")
  if("FASTEST" IN_LIST ARGV)
    set(plot_options --fastest)
  endif()
  tile_plot(ladder-${number} ladder)
  set(drawn ${drawn} PARENT_SCOPE)
  set(figure_names ${figure_names} PARENT_SCOPE)
endfunction()

function(tile_loads_table)
  set(out ${work}/emit/${number}/table-loads.tsv)
  add_custom_command(OUTPUT ${out} COMMAND figures loads ${work}/emit ${number} ${out} DEPENDS figures ${emitted} VERBATIM)
  tile_drawn(${number}/table-loads ${out})
endfunction()

function(tile_part page last)
  set(data ${work}/figures/ladder-${page}.tsv)
  set(out ${work}/figures/ladder-${page}.svg)
  set(table ${work}/emit/${page}/table-ladder.tsv)
  set(script ${PROJECT_SOURCE_DIR}/figures/part.gp)
  file(GLOB texts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/chapters/*/chapter*.md)
  add_custom_command(OUTPUT ${table} ${work}/emit/${page}/facts.tsv ${work}/emit/${page}/places.tsv ${out}
    COMMAND figures part ${PROJECT_SOURCE_DIR}/chapters ${work}/emit ${last} ${data} ${work}/emit/${page}
    COMMAND ${GNUPLOT} -c ${script} ${data} ${out} DEPENDS figures ${emitted} ${texts} ${script} VERBATIM)
  tile_drawn(${page}/table-ladder ${table})
  tile_drawn(ladder-${page} ${out})
  set(drawn ${drawn} PARENT_SCOPE)
  set(figure_names ${figure_names} PARENT_SCOPE)
endfunction()
