# Tests of the book: included by CMakeLists.txt, whose ${pages}, ${work} and tile_pandoc() these are.

# What the prose names must exist.
foreach(number ${chapter_pages})
  tile_pandoc(weave ${number} weave)
  add_test(NAME chapter${number}.page COMMAND ${weave} -M only=tests --to plain --output ${work}/labels/${number}.page)
endforeach()

# On every page that is ours, each result has a key.
function(tile_words name page text)
  add_test(NAME ${name} COMMAND ${PANDOC} ${text} --from markdown-implicit_figures --lua-filter ${book}/words.lua -M page=${page} --to plain
    --output ${work}/labels/${name})
endfunction()
foreach(page ${pages})
  tile_pandoc(words ${page} words)
  string(REGEX REPLACE "^([0-9]+)$" "chapter\\1" name ${page})
  if(NOT page MATCHES "^(claims|bibliography)$")  # what others claimed, and what they wrote
    tile_words(${name}.words ${page} ${page_text})
  endif()
  list(APPEND texts ${page_text})
endforeach()
add_test(NAME book.unused COMMAND sh ${book}/unused.sh "${figure_names}" ${texts})

add_test(NAME book.woven COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target book)
set_tests_properties(book.woven PROPERTIES FIXTURES_SETUP book RUN_SERIAL TRUE)

# Pages that must not weave, and what is then said: refused.tsv.
file(STRINGS refused.tsv refusals REGEX "^[^#]")
foreach(refusal ${refusals})
  string(REPLACE "\t" ";" refusal "${refusal}")
  list(POP_FRONT refusal name number complaint text)
  string(REPLACE "\\n" "\n" text "${text}")
  file(WRITE ${work}/refused/${name}.md "${text}\n")
  tile_pandoc(weave ${number} weave)
  list(TRANSFORM weave REPLACE "^.*/chapter${number}[.]md$" ${work}/refused/${name}.md)
  add_test(NAME book.refuses-${name} COMMAND ${weave} ${to_html} --output ${work}/refused/${name}.html)
  set_tests_properties(book.refuses-${name} PROPERTIES PASS_REGULAR_EXPRESSION "${complaint}" FIXTURES_REQUIRED book)
endforeach()

# A page with a typed result is refused too.
file(WRITE ${work}/refused/typed.md "It takes 85 ms here.\n\nOr 33.5: 309 GFLOP/s [@boehm2022].\n\n::: {.figure src=x.svg alt=\"4 pages, 5 passes\"}\n:::\n")
tile_words(book.refuses-typed-result 01 ${work}/refused/typed.md)
set_tests_properties(book.refuses-typed-result PROPERTIES PASS_REGULAR_EXPRESSION
  "\"85 ms\" in: It takes 85 ms here[.].*\"33[.]5\" in: Or 33[.]5.*\"5 passes\" in: 4 pages.*page 01: 3 findings")
file(WRITE ${work}/refused/keyed.md "[twice as fast]{.claim holds=\"naive.lines_per_fma > 2\"}, []{.measured key=naive.4096.tflops} TFLOP/s, \
see `85 ms`, $1.5$. The worklog reports 309 GFLOP/s [@boehm2022]; it has [65,536]{.given}. 3.5?\n\n# Exercises\n\n1. Make it 3.5 ms.\n")
tile_words(book.accepts-keyed-results 01 ${work}/refused/keyed.md)

# The weaver's modules, each by itself.
file(GLOB module_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/weave/tests/*_test.lua)
foreach(module_test ${module_tests})
  string(REGEX REPLACE "^.*/([a-z]+)_test[.]lua$" "\\1" module ${module_test})
  add_test(NAME book.weaver.${module} COMMAND ${PANDOC} --from markdown --lua-filter ${module_test} /dev/null)
  set_tests_properties(book.weaver.${module} PROPERTIES LABELS quick)
endforeach()
