# How a .cu file becomes a program for the SIMT model.

# -fsanitize=thread announces every load and store (common/model answers, libtsan is not linked); -O1 keeps the loop
# structure of the source, -fno-tree-sra keeps a float4 copy one 16-byte access. See the appendix "The SIMT model".
set(TILE_MODEL_FLAGS -O1 -g -fno-tree-sra -fsanitize=thread --param=tsan-instrument-func-entry-exit=0
    -Wno-unknown-pragmas)

# CMake compiles a file as one language per directory, so the model gets a one-line .cpp that includes the .cu.
# `extern __shared__ T name[]` declares an array whose size the launch decides; a C file defines it, large enough for
# any launch, and marks it for the model with an alias.
function(tile_model_sources output name source)
  set(directory ${PROJECT_BINARY_DIR}/model-sources)
  file(CONFIGURE OUTPUT ${directory}/${name}.cpp CONTENT "#include \"${source}\"\n" @ONLY)
  file(STRINGS ${source} dynamic REGEX "extern[ \t]+__shared__")
  set(definitions "// Dynamic shared memory of ${name}.\n")
  foreach(line ${dynamic})
    if(line MATCHES "([A-Za-z_][A-Za-z_0-9]*)[ \t]*\\[[ \t]*\\]")
      string(APPEND definitions
        "__thread unsigned char ${CMAKE_MATCH_1}[232448] __attribute__((aligned(1024)));\n"
        "extern __thread unsigned char __simt_dynamic_shared_${CMAKE_MATCH_1}[232448] "
        "__attribute__((alias(\"${CMAKE_MATCH_1}\")));\n")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${directory}/${name}-shared.c CONTENT "${definitions}" @ONLY)
  set(${output} ${directory}/${name}.cpp ${directory}/${name}-shared.c PARENT_SCOPE)
endfunction()

# A program for the model from one .cu file.
function(tile_add_model_program target name source)
  tile_model_sources(sources ${name} ${source})
  add_executable(${target} ${sources})
  list(GET sources 0 wrapper)
  set_source_files_properties(${wrapper} PROPERTIES COMPILE_OPTIONS "${TILE_MODEL_FLAGS}" OBJECT_DEPENDS ${source})
  target_link_libraries(${target} PRIVATE tile_on_model)
endfunction()
