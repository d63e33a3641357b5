# Writes the sources of a program for the SIMT model from one .cu file.
#
# CMake compiles a file as one language per directory, so the model gets a one-line .cpp that includes the .cu.
# `extern __shared__ T name[]` declares an array whose size the launch decides; a C file defines it, large enough for
# any launch, and marks it for the model with an alias.
#
# As a function: tile_model_sources(SOURCE DIRECTORY NAME). As a script: cmake -DSOURCE= -DDIRECTORY= -DNAME= -P.
function(tile_model_sources source directory name)
  file(CONFIGURE OUTPUT ${directory}/${name}.cpp CONTENT "#include \"${source}\"\n" @ONLY)
  file(STRINGS ${source} dynamic REGEX "extern[ \t]+__shared__")
  set(definitions "// Dynamic shared memory of ${name}.\n")
  set(names "")
  foreach(line ${dynamic})
    if(line MATCHES "([A-Za-z_][A-Za-z_0-9]*)[ \t]*\\[[ \t]*\\]" AND NOT CMAKE_MATCH_1 IN_LIST names)
      list(APPEND names ${CMAKE_MATCH_1})
      string(APPEND definitions
        "__thread unsigned char ${CMAKE_MATCH_1}[232448] __attribute__((aligned(1024)))\;\n"
        "extern __thread unsigned char __simt_dynamic_shared_${CMAKE_MATCH_1}[232448] "
        "__attribute__((alias(\"${CMAKE_MATCH_1}\")))\;\n")
    endif()
  endforeach()
  string(REPLACE "\\;" ";" definitions "${definitions}")
  file(CONFIGURE OUTPUT ${directory}/${name}-shared.c CONTENT "${definitions}" @ONLY)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  tile_model_sources(${SOURCE} ${DIRECTORY} ${NAME})
endif()
