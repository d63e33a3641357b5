# Tests of the book: included by CMakeLists.txt, whose ${pages}, ${work} and tile_pandoc() these are.

# What the prose names must exist.
foreach(number ${chapter_pages})
  tile_pandoc(weave ${number} weave)
  add_test(NAME chapter${number}.page COMMAND ${weave} -M only=tests --to plain --output ${work}/labels/${number}.page)
endforeach()

# On every page that is ours, each result has a key.
function(tile_words name page)
  tile_pandoc(words ${page} words)
  list(TRANSFORM words REPLACE "weave[.]lua$" words.lua)
  if(ARGN)
    list(TRANSFORM words REPLACE "^${page_text}$" ${ARGN})
  endif()
  add_test(NAME ${name} COMMAND ${words} --to plain --output ${work}/labels/${name})
endfunction()
set(pages_with_words ${pages})
list(REMOVE_ITEM pages_with_words claims bibliography)  # what others claimed, and what they wrote
foreach(page ${pages_with_words})
  string(REGEX REPLACE "^([0-9]+)$" "chapter\\1" name ${page})
  tile_words(${name}.words ${page})
endforeach()

add_test(NAME book.woven COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target book)
set_tests_properties(book.woven PROPERTIES FIXTURES_SETUP book RUN_SERIAL TRUE)

# A page that names what does not exist must not weave, and must say what is missing.
# It takes the place of a chapter's, chapter 01's unless another is given.
function(tile_refused name complaint text)
  set(number ${ARGN} 01)
  list(GET number 0 number)
  file(WRITE ${work}/refused/${name}.md "${text}\n")
  tile_pandoc(weave ${number} weave)
  list(TRANSFORM weave REPLACE "^.*/chapter${number}[.]md$" ${work}/refused/${name}.md)
  add_test(NAME book.refuses-${name} COMMAND ${weave} ${to_html} --output ${work}/refused/${name}.html)
  set_tests_properties(book.refuses-${name} PROPERTIES PASS_REGULAR_EXPRESSION "${complaint}" FIXTURES_REQUIRED book)
endfunction()
tile_refused(unknown-number "no number has the key 01/naive.nonsense" "[]{.counted key=naive.nonsense}")
tile_refused(number-of-another-kind "is predicted, the prose calls it measured" "[]{.measured key=lines_per_fma}")
tile_refused(formula-of-unknown-constant "no number has the key 01/BX" "[]{.predicted is=\"2 * BX\"}")
tile_refused(formula-of-a-count "load-A.sectors_per_request is counted, and so no prediction"
  "[]{.predicted is=\"2 * naive.load-A.sectors_per_request\"}")
tile_refused(malformed-formula "formula \"BM .\": it ends too early" "[]{.predicted is=\"BM *\"}")
tile_refused(unknown-region "no region nowhere in" "::: {.listing region=nowhere}\nx\n:::")
tile_refused(unknown-region-of-shared "no region nowhere in common/cuda/ptx.hpp"
  "::: {.listing file=common/cuda/ptx.hpp region=nowhere}\nx\n:::")
tile_refused(listing-of-unknown-file "a listing of common/none.hpp, which has no page"
  "::: {.listing file=common/none.hpp region=main-loop}\nx\n:::")
tile_refused(counts-of-shared "a listing of common/cuda/ptx.hpp with counts"
  "::: {.listing file=common/cuda/ptx.hpp region=copies counts=naive}\nx\n:::")
tile_refused(unknown-counts "no counts of a kernel nobody" "::: {.listing region=main-loop counts=nobody}\nx\n:::")
tile_refused(unknown-table "emits no table-nothing.tsv" "::: {.table name=nothing}\n:::")
tile_refused(table-of-unknown-kernel "table measured has nothing of nobody" "::: {.table name=measured of=\"naive nobody\"}\n:::")
tile_refused(unknown-figure "no figure nothing.svg" "::: {.figure src=nothing.svg alt=x}\nx\n:::")
set(explorer "::: {.explorer src=sm.svg alt=x")
tile_refused(explorer-without-traces "a figure of class explorer without traces" "${explorer}}\nx\n:::")
tile_refused(explorer-of-unknown-access "chapter 06 has no trace of vectorised store-Cs"
  "${explorer} traces=\"06/vectorised/store-Cs:128\"}\nx\n:::")
tile_refused(explorer-of-global-memory "load-A of naive is not in shared memory" "${explorer} traces=\"naive/load-A:256\"}\nx\n:::")
tile_refused(explorer-without-row "an explorer's trace is KERNEL/SITE:ROW.* not vectorised/store-As"
  "${explorer} traces=\"vectorised/store-As\"}\nx\n:::")
tile_refused(explorer-of-half-a-swizzle "an explorer's trace is KERNEL/SITE:ROW.* not 06/vectorised/store-As:128.2"
  "${explorer} traces=\"06/vectorised/store-As:128^2\"}\nx\n:::")
tile_refused(explorer-of-another-row "lane 16 is in the padding, so the row is another"
  "${explorer} traces=\"06/vectorised/store-As:4+124\"}\nx\n:::")
tile_refused(lookups-without-traces "a figure of class lookups without traces" "::: {.lookups src=sm.svg alt=x}\nx\n:::")
tile_refused(lookups-of-shared-memory "load-As of shared is not in global memory"
  "::: {.lookups src=sm.svg alt=x traces=\"03/shared/load-As\"}\nx\n:::")
tile_refused(lookups-with-row "a trace of global memory is KERNEL/SITE, not naive/load-A:256"
  "::: {.lookups src=sm.svg alt=x traces=\"naive/load-A:256\"}\nx\n:::")
tile_refused(unknown-reference "no label is called fig:nothing" "[](#fig:nothing)")
tile_refused(unknown-citation "the bibliography has no entry nobody1900" "Says [@nobody1900].")
tile_refused(unknown-experiment "breaks.json of chapter 01 has no experiment nothing" "::: {.break name=nothing}\nx\n:::")
tile_refused(false-claim
  "claim \"fewer lines\": lines_per_fma < 02/lines_per_fma: does not hold, with 01/lines_per_fma = 33, 02/lines_per_fma = 2"
  "It needs [*fewer* lines]{.claim holds=\"lines_per_fma < 02/lines_per_fma\"} than chapter 02.")
tile_refused(claim-of-unknown-number "no number has the key 01/naive.nonsense" "[more]{.claim holds=\"naive.nonsense > 1\"}")
tile_refused(malformed-claim "claim \"more\": lines_per_fma >: it ends too early"
  "[more]{.claim holds=\"lines_per_fma >\"}")
tile_refused(measured-above-a-ceiling "shared was measured at [0-9.]+ TFLOP/s, above its ceiling of [0-9.]+ .banks.: explain it" "x" 03)
tile_refused(explanation-of-nothing "naive was not measured above a ceiling"
  "[x]{.claim above=naive holds=\"lines_per_fma > 1\"}")
tile_refused(claim-without-numbers "claim \"more\": 2 > 1: no key, so nothing is tested" "[more]{.claim holds=\"2 > 1\"}")
tile_refused(claim-without-expression "claim \"more\" without holds" "[more]{.claim}")
tile_refused(claim-in-a-claim "claim \"more\" is part of another"
  "[much [more]{.claim holds=\"lines_per_fma > 1\"}]{.claim holds=\"lines_per_fma > 2\"}")

# So must a row of the page of all claims that nothing settles.
set(settled "::: {.settled of=01 at=#tab:rates")
tile_refused(row-without-verdict "\"It is so.\" has no verdict" "${settled} holds=\"01/lines_per_fma > 1\"}\nIt is so.\n:::")
tile_refused(row-of-another-verdict "\"It is so.\" has no verdict confirmed, corrected, open, but likely"
  "${settled} verdict=likely holds=\"01/lines_per_fma > 1\"}\nIt is so.\n:::")
tile_refused(row-without-evidence "nothing settles \"It is so.\"" "${settled} verdict=confirmed}\nIt is so.\n:::")
tile_refused(row-that-is-false "claim \"It is so.\": 01/lines_per_fma < 2: does not hold, with 01/lines_per_fma = 33"
  "${settled} verdict=confirmed holds=\"01/lines_per_fma < 2\"}\nIt is so.\n:::")
tile_refused(row-without-correction "what is true instead is missing: \"It is so.\""
  "${settled} verdict=corrected holds=\"01/lines_per_fma > 2\"}\nIt is so.\n:::")
tile_refused(row-without-attempt "what was tried is missing: \"It is so.\"" "${settled} verdict=open}\nIt is so.\n:::")
tile_refused(row-of-unknown-test "no test is called chapter01.nobody" "${settled} verdict=confirmed tests=chapter01.nobody}\nIt is so.\n:::")
tile_refused(row-of-unknown-experiment "breaks.json of chapter 01 has no experiment nothing"
  "${settled} verdict=confirmed experiments=nothing}\nIt is so.\n:::")
tile_refused(row-of-unknown-place "no label is called tab:nowhere"
  "::: {.settled of=01 at=#tab:nowhere verdict=confirmed holds=\"01/lines_per_fma > 1\"}\nIt is so.\n:::")

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

add_test(NAME book.records COMMAND sh ${PROJECT_SOURCE_DIR}/ctest/record-page.sh ${site}/source)
set_tests_properties(book.records PROPERTIES FIXTURES_REQUIRED book)


set(texts "")
foreach(page ${pages})
  tile_pandoc(command ${page} unused)
  list(APPEND texts ${page_text})
endforeach()
add_test(NAME book.unused COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/unused.sh "${figure_names}" ${texts})
