# Break-it experiments as build products: the result of each, which ninja keeps while program, edit, flags, compiler and libraries
# are unchanged. They are not part of "all": only tests need them, and build them.

# Writes `text` to `file` if that changes it, so that an unchanged file keeps its time.
function(tile_write_if_different file text)
  set(old "")
  if(EXISTS "${file}")
    file(READ "${file}" old)
  endif()
  if(NOT EXISTS "${file}" OR NOT old STREQUAL text)
    file(WRITE "${file}" "${text}")
  endif()
endfunction()

# The target NAME.breaks: the experiments of a breaks.json, applied to `source`, built into breaks/NAME and run there. The test
# NAME.breaks-built brings them up to date; tests of them must require it as the fixture NAME.breaks, so that they judge
# the current results.
function(tile_add_break_programs name source experiments)
  set(directory "${PROJECT_BINARY_DIR}/breaks/${name}")
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${experiments}")
  get_property(precompiled GLOBAL PROPERTY TILE_PRECOMPILED)
  if(TARGET ${name}-own)
    list(APPEND precompiled ${name}-own)
  endif()
  file(READ "${experiments}" text)
  string(JSON count ERROR_VARIABLE wrong LENGTH "${text}")
  if(wrong)
    message(FATAL_ERROR "${experiments}: ${wrong}")
  endif()
  set(results "")
  math(EXPR last "${count} - 1")
  foreach(i RANGE ${last})
    string(JSON experiment ERROR_VARIABLE wrong GET "${text}" ${i} name)
    set(program "${directory}/${experiment}")
    if(wrong OR NOT experiment MATCHES "^[a-z0-9-]+$" OR "${program}.result" IN_LIST results)
      message(FATAL_ERROR "${experiments}: an experiment needs a name of its own, of a-z, 0-9 and -, not '${experiment}'")
    endif()
    string(JSON edit GET "${text}" ${i})
    string(JSON test ERROR_VARIABLE compiled GET "${edit}" test)
    if(NOT compiled)  # what a test says is a result
      string(JSON edit REMOVE "${edit}" message)
    endif()
    tile_write_if_different("${program}.edit" "${edit}")
    add_custom_command(OUTPUT "${program}.result"
      COMMAND breaks try --experiment "${program}.edit" --source "${source}" --compiler "${PROJECT_BINARY_DIR}/model-cc"
        --program "${program}"
      DEPENDS breaks "${program}.edit" "${source}" "${PROJECT_BINARY_DIR}/model-cc" ${precompiled} model-source
      DEPFILE "${program}.d" COMMENT "Breaking ${name}: ${experiment}" VERBATIM)
    list(APPEND results "${program}.result")
  endforeach()
  add_custom_command(OUTPUT "${directory}/breaks.json"
    COMMAND breaks capture --experiments "${experiments}" --built "${directory}" --output "${directory}/breaks.json"
    DEPENDS breaks "${experiments}" ${results} COMMENT "Capturing ${name}" VERBATIM)
  add_custom_target(${name}.breaks DEPENDS "${directory}/breaks.json")
  add_dependencies(${name}.breaks precompiled)
  add_dependencies(breaks_built ${name}.breaks)

  add_test(NAME ${name}.breaks-built COMMAND "${CMAKE_COMMAND}" --build "${PROJECT_BINARY_DIR}" --target ${name}.breaks)
  set_tests_properties(${name}.breaks-built PROPERTIES
    FIXTURES_SETUP ${name}.breaks RESOURCE_LOCK build-directory COST 30)  # long tests first
endfunction()
