# Writes CTest entries for the test cases of one chapter program: each once on the model and, if there is a GPU when ctest starts, once
# there, unless its test suite begins with "model" or "gpu". `./tile test --quick` runs those on the model, except for those whose
# suite ends with "thorough", which test exhaustively what another test samples.
# Input: PROGRAM, NAME, RUN, OUTPUT.
execute_process(COMMAND ${PROGRAM} --list-tests OUTPUT_VARIABLE listing RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --list-tests failed (${status})")
endif()
string(REPLACE ";" "\\;" lines "${listing}")
string(REPLACE "\n" ";" lines "${lines}")
set(script "")
set(on_gpu "")
foreach(line ${lines})
  if(NOT line MATCHES "^([a-z ]*)\t(.*)$")
    continue()
  endif()
  set(suite "${CMAKE_MATCH_1}")
  set(case "${CMAKE_MATCH_2}")
  string(REGEX REPLACE "[^A-Za-z0-9]+" "-" slug "${case}")
  string(REGEX REPLACE "^-|-$" "" slug "${slug}")
  set(labels "")
  if(NOT suite MATCHES "thorough$")
    set(labels quick)
  endif()
  if(NOT suite MATCHES "^gpu")
    string(APPEND script "add_test([=[${NAME}.${slug}]=] \"${RUN}\" --on model --test [=[${case}]=])\n"
      "set_tests_properties([=[${NAME}.${slug}]=] PROPERTIES SKIP_RETURN_CODE 77 LABELS \"${labels}\")\n")
  endif()
  if(NOT suite MATCHES "^model")
    string(APPEND on_gpu "add_test([=[${NAME}.gpu.${slug}]=] \"${RUN}\" --on gpu --test [=[${case}]=])\n"
      "set_tests_properties([=[${NAME}.gpu.${slug}]=] PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)\n")
  endif()
endforeach()
file(WRITE ${OUTPUT} "${script}if(EXISTS /dev/nvidiactl OR EXISTS /dev/dxg)\n${on_gpu}endif()\n")
