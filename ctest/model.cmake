# How a .cu file becomes a program for the SIMT model.

# -fsanitize=thread announces every load and store, trace-pc every basic block (to hooks in common/sim; libtsan is not
# linked). -O1 keeps values in registers. Passes before the instrumentation that merge, drop or move loads and stores
# are off, -fno-tree-fre to -fno-thread-jumps, so that the counts are those of the source; -fno-tree-sra keeps a float4
# copy one 16-byte access, and -fno-ipa-reference-addressable hides that a table is never written, because reads of
# constants are not announced. -Wno-psabi silences a note that GCC 4.6 passed 64-byte aligned parameters differently.
# The -fno-builtin options, block_copies.hpp and -U_FORTIFY_SOURCE make every block copy a call that the linker's --wrap
# redirects to the model. ctest/source_counts_test.cu provokes these passes (with g++ 12 all except -fno-thread-jumps
# and those of mempcpy and memcmp). -fsanitize=bounds-strict announces indices outside an array whose extent is known,
# also where it is the last member of a struct. Only line numbers are read from the debug information, so -g1 suffices; it
# and doctest's cheaper assertions halve the time of a break-it experiment. See the appendix "The SIMT model".
set(TILE_MODEL_FLAGS -O1 -fsanitize=thread,bounds-strict --param=tsan-instrument-func-entry-exit=0
    --param=tsan-distinguish-volatile=1 -fsanitize-coverage=trace-pc
    -fno-tree-fre -fno-tree-dominator-opts -fno-tree-dse -fno-tree-loop-im -fno-tree-sink -fno-tree-phiprop -fno-thread-jumps
    -fno-tree-sra -fno-ipa-reference-addressable -Wno-psabi
    -g1 -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-mempcpy -fno-builtin-memset -fno-builtin-memcmp
    -U_FORTIFY_SOURCE -Wno-unknown-pragmas -DDOCTEST_CONFIG_SUPER_FAST_ASSERTS)
# hooks.s does the test of most hooks inline; it is for one architecture. A path with a comma would be split in two; with -pipe, the
# assembler would read no other file.
set(TILE_MODEL_ASSEMBLED "")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NOT PROJECT_SOURCE_DIR MATCHES "," AND NOT "${CMAKE_CXX_FLAGS}" MATCHES "-pipe")
  set(TILE_MODEL_ASSEMBLED "-Wa,${PROJECT_SOURCE_DIR}/common/sim/hooks/hooks.s")
endif()
set(TILE_MODEL_FIRST -include common/sim/block_copies.hpp)  # part of what is precompiled, which must itself come first
set(TILE_MODEL_LINK_FLAGS "")
foreach(name memcpy memmove mempcpy memset memcmp)
  list(APPEND TILE_MODEL_LINK_FLAGS -Wl,--wrap=${name})
endforeach()

# A program for the model from one .cu file.
function(tile_add_model_program target name source)
  set(copy ${PROJECT_BINARY_DIR}/model-sources/${name}.cpp)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/model-sources)
  file(STRINGS ${source} parts REGEX "^#include \"chapters/.*[.]cu\"")
  string(REGEX REPLACE "#include \"([^\"]*)\"" "${PROJECT_SOURCE_DIR}/\\1" parts "${parts}")
  add_custom_command(OUTPUT ${copy} DEPENDS ${source} ${parts} model-source VERBATIM
    COMMAND model-source ${source} ${copy} ${PROJECT_BINARY_DIR}/model-sources)
  add_executable(${target} ${copy})
  set(header ${PROJECT_BINARY_DIR}/precompiled/chapter.hpp)
  set_source_files_properties(${copy} PROPERTIES
    COMPILE_OPTIONS "${TILE_MODEL_FLAGS};${TILE_MODEL_ASSEMBLED};-include;${header}"
    OBJECT_DEPENDS "${header}.gch;${PROJECT_SOURCE_DIR}/common/sim/hooks/hooks.s")
  target_link_libraries(${target} PRIVATE tile_on_model)
endfunction()

# Writes a script that does the same from the command line.
function(tile_write_model_cc script compiler first_of_chapter)
  execute_process(COMMAND ${compiler} --version OUTPUT_VARIABLE version)
  string(REGEX REPLACE "\n.*" "" version "${version}")  # in the script, so that another compiler makes another script
  list(JOIN TILE_MODEL_FLAGS " " flags)
  set(assembled "")
  if(TILE_MODEL_ASSEMBLED)
    set(assembled "\"${TILE_MODEL_ASSEMBLED}\"")
  endif()
  list(JOIN TILE_MODEL_FIRST " " first)
  list(JOIN TILE_MODEL_LINK_FLAGS " " link_flags)
  set(runtime ${PROJECT_BINARY_DIR}/precompiled/chapter.o)
  set(libraries "\"$<TARGET_FILE:tile_common>\" \"$<TARGET_FILE:simt>\"")
  file(GENERATE OUTPUT ${script} CONTENT "#!/bin/sh
# Compiles SOURCE.cu for the SIMT model with ${version}.
# Usage: model-cc SOURCE.cu OUTPUT MAIN [DEPFILE], where MAIN is chapter or count; of the latter, TILE_ARCH is __CUDA_ARCH__.
set -e
source=$(realpath \"$1\") output=$(realpath \"$2\")
parts=$(mktemp -d)
trap 'rm -rf \"$parts\"' EXIT
trap 'exit 130' HUP INT TERM
main=$3 depfile=\${4:-\"$parts/depfile\"}
\"$<TARGET_FILE:model-source>\" \"$source\" \"$parts/program.cpp\" \"$parts\"
case $main in
  chapter) set -- ${first_of_chapter} ;;
  count) # the macros of nvcc, and all that is wrong
    set -- ${first} -D__CUDA_ARCH__=\"\${TILE_ARCH:-900}\" -D__CUDACC__ -D__CUDACC_VER_MAJOR__=13 -DCUDART_VERSION=13000 -DTILE_ON_MODEL=1 \\
      -fmax-errors=200 -w ;;
esac
\"${compiler}\" -std=c++20 -Wall -Wextra -fmax-errors=1 ${flags} ${assembled} \"$@\" -I\"${PROJECT_SOURCE_DIR}\" -I\"${PROJECT_BINARY_DIR}/toolkit\" -I\"$(dirname \"$source\")\" -MMD -MF \"$depfile\" -o \"$parts/program.o\" -c -x c++ - <\"$parts/program.cpp\"
case $main in
  chapter)
    # The library of the sources beside the chapter's program, if any.
    own=\"${PROJECT_BINARY_DIR}/own/lib$(sed -n 's|^#include \"chapters/\\([^/]*\\)/.*|\\1|p' \"$source\" | head -n 1).a\"
    if [ -e \"$own\" ]; then set -- \"$own\" \"${runtime}\"; else set -- \"${runtime}\"; fi ;;
  count) set -- \"$<JOIN:$<TARGET_OBJECTS:tile_count_main>,\" \">\" ${libraries} ;;
esac
\"${compiler}\" \"$parts/program.o\" \"$@\" ${link_flags} \"$<TARGET_FILE:Boost::context>\" -lfmt -ldw -lelf -lpthread -o \"$output\"
" FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

# model-cc: such a script, for `tile count` and the break-it experiments. The headers that every chapter includes are precompiled
# for all programs of the model, and for the experiments its libraries are linked once, without their debug information, which makes
# programs of one megabyte instead of twenty.
function(tile_generate_model_cc)
  set(precompiled ${PROJECT_BINARY_DIR}/precompiled)
  set(header ${precompiled}/chapter.hpp.gch)
  set(runtime ${precompiled}/chapter.o)
  set(chapter ${precompiled}/chapter.hpp)
  file(CONFIGURE OUTPUT ${chapter} CONTENT "#include \"common/sim/block_copies.hpp\"\n#include \"common/report/chapter.hpp\"\n")
  list(JOIN TILE_MODEL_FLAGS " " flags)
  separate_arguments(flags)
  # A precompiled header is used only where the same macros are defined.
  set(definitions $<TARGET_PROPERTY:tile_main,COMPILE_DEFINITIONS>)
  add_custom_command(OUTPUT ${header}
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -w -DNDEBUG "-D$<JOIN:${definitions},;-D>" ${flags} -I${PROJECT_SOURCE_DIR} -MD
      -MF ${header}.d -MQ ${header} -x c++-header ${chapter} -o ${header}
    DEPENDS ${chapter} ${PROJECT_BINARY_DIR}/model-cc DEPFILE ${header}.d COMMAND_EXPAND_LISTS VERBATIM)
  set(archives $<TARGET_FILE:tile_on_model> $<TARGET_FILE:tile_common> $<TARGET_FILE:simt>)
  add_custom_command(OUTPUT ${runtime}
    COMMAND ${CMAKE_CXX_COMPILER} -r -nostdlib -Wl,--strip-debug $<TARGET_OBJECTS:tile_main>
      -Wl,--whole-archive ${archives} -o ${runtime}
    DEPENDS $<TARGET_OBJECTS:tile_main> tile_on_model tile_common simt ${PROJECT_BINARY_DIR}/model-cc VERBATIM)
  add_custom_target(precompiled ALL DEPENDS ${header} ${runtime})
  set_property(GLOBAL PROPERTY TILE_PRECOMPILED ${header} ${runtime} ${PROJECT_SOURCE_DIR}/common/sim/hooks/hooks.s)
  tile_write_model_cc(${PROJECT_BINARY_DIR}/model-cc ${CMAKE_CXX_COMPILER}
    "-include \"${chapter}\" -DNDEBUG \"-D$<JOIN:${definitions},\" \"-D>\"")
endfunction()
