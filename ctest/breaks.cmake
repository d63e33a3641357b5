# Break-it experiments as build products: a program for each and what it says, which ninja keeps while program, edit, flags,
# compiler and libraries are unchanged. They are not part of "all": only tests need them, and see to them.

option(TILE_WHOLE_BREAKS "Build break-it experiments with all tests of their programs: slower; does an edit keep another test from compiling?" OFF)

# Writes `text` to `file` unless it says so already: its time is that of its last change.
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
# NAME.breaks-built, which a test of them must require as the fixture NAME.breaks, brings them up to date, so that what is
# judged is what is there.
function(tile_add_break_programs name source experiments)
  set(directory "${PROJECT_BINARY_DIR}/breaks/${name}")
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${experiments}")
  get_property(precompiled GLOBAL PROPERTY TILE_PRECOMPILED)
  file(READ "${experiments}" text)
  string(JSON count ERROR_VARIABLE wrong LENGTH "${text}")
  if(wrong)
    message(FATAL_ERROR "${experiments}: ${wrong}")
  endif()
  set(logs "")
  set(outputs "")
  math(EXPR last "${count} - 1")
  foreach(i RANGE ${last})
    foreach(key name find replace)
      string(JSON ${key}_${i} ERROR_VARIABLE wrong GET "${text}" ${i} ${key})
      if(wrong)
        message(FATAL_ERROR "${experiments}: experiment ${i}: ${wrong}")
      endif()
    endforeach()
    set(experiment "${name_${i}}")
    set(program "${directory}/${experiment}")
    if(NOT experiment MATCHES "^[a-z0-9-]+$" OR "${program}.log" IN_LIST logs)
      message(FATAL_ERROR "${experiments}: an experiment needs a name of its own, of a-z, 0-9 and -, not '${experiment}'")
    endif()
    string(JSON test ERROR_VARIABLE none GET "${text}" ${i} test)
    tile_write_if_different("${program}.edit" "${find_${i}}\n${replace_${i}}\n${test}\n")
    add_custom_command(OUTPUT "${program}.log"  # the program is one only if it compiles
      COMMAND breaks build --experiments "${experiments}" --name ${experiment} --source "${source}"
        --compiler "${PROJECT_BINARY_DIR}/model-cc" --program "${program}" $<$<BOOL:${TILE_WHOLE_BREAKS}>:--whole>
      DEPENDS breaks "${program}.edit" "${source}" "${PROJECT_BINARY_DIR}/model-cc" ${precompiled}
        model-source
      DEPFILE "${program}.d" COMMENT "Breaking ${name}: ${experiment}" VERBATIM COMMAND_EXPAND_LISTS)
    list(APPEND logs "${program}.log")
    # On one thread of the host, what a broken kernel is told for is the same in each run: the book shows it.
    add_custom_command(OUTPUT "${program}.out"
      COMMAND "${CMAKE_COMMAND}" -E env SIMT_THREADS=1 $<TARGET_FILE:breaks> try --experiments "${experiments}" --name ${experiment}
        --program "${program}"
      DEPENDS breaks "${program}.log" COMMENT "Trying ${name}: ${experiment}" VERBATIM)
    list(APPEND outputs "${program}.out")
  endforeach()
  # Not an output for ninja: what a page shows of it must not make the book run experiments.
  add_custom_command(OUTPUT "${directory}/captured"
    COMMAND breaks capture --experiments "${experiments}" --built "${directory}"
    COMMAND "${CMAKE_COMMAND}" -E touch "${directory}/captured"
    DEPENDS breaks "${experiments}" ${outputs} COMMENT "Capturing ${name}" VERBATIM)
  add_custom_target(${name}.breaks DEPENDS "${directory}/captured")
  add_dependencies(${name}.breaks precompiled)
  add_dependencies(breaks_built ${name}.breaks)

  add_test(NAME ${name}.breaks-built COMMAND "${CMAKE_COMMAND}" --build "${PROJECT_BINARY_DIR}" --target ${name}.breaks)
  set_tests_properties(${name}.breaks-built PROPERTIES
    FIXTURES_SETUP ${name}.breaks RESOURCE_LOCK build-directory COST 30)  # long tests first
endfunction()
