# How a .cu file becomes a program for the SIMT model.

# -fsanitize=thread announces every load and store, trace-pc every basic block (common/model answers; libtsan is not
# linked). -O1 keeps values in registers. The passes that come before the announcing one and merge, drop or move loads and
# stores are off, -fno-tree-fre to -fno-thread-jumps, so that the counts are those of the source; -fno-tree-sra keeps a float4
# copy one 16-byte access, and -fno-ipa-reference-addressable hides that a table is never written, for reads of constants are
# not announced. The -fno-builtin ones, block_copies.hpp and -U_FORTIFY_SOURCE make every block copy a call that the linker's
# --wrap sends to the model. ctest/source_counts_test.cu provokes them (with g++ 12 all but -fno-thread-jumps and those of
# mempcpy and memcmp). Lines are all that is read of the debug information, so -g1 does; it and doctest's cheaper assertions
# halve the time of a break-it experiment. See the appendix "The SIMT model".
set(TILE_MODEL_FLAGS -O1 -g1 -fsanitize=thread --param=tsan-instrument-func-entry-exit=0 -fsanitize-coverage=trace-pc
    -fno-tree-fre -fno-tree-dominator-opts -fno-tree-dse -fno-tree-loop-im -fno-tree-sink -fno-tree-phiprop -fno-thread-jumps
    -fno-tree-sra -fno-ipa-reference-addressable -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-mempcpy
    -fno-builtin-memset -fno-builtin-memcmp -U_FORTIFY_SOURCE -include common/model/block_copies.hpp
    -Wno-unknown-pragmas -DDOCTEST_CONFIG_SUPER_FAST_ASSERTS)
set(TILE_MODEL_LINK_FLAGS "")
foreach(name memcpy memmove mempcpy memset memcmp __memcpy_chk __memmove_chk __mempcpy_chk __memset_chk)
  list(APPEND TILE_MODEL_LINK_FLAGS -Wl,--wrap=${name})
endforeach()

# A program for the model from one .cu file.
function(tile_add_model_program target name source)
  set(copy ${PROJECT_BINARY_DIR}/model-sources/${name}.cpp)
  set(script ${PROJECT_SOURCE_DIR}/ctest/model-sources.cmake)
  add_custom_command(OUTPUT ${copy} DEPENDS ${source} ${script} VERBATIM
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${source} -DOUTPUT=${copy} -P ${script})
  add_executable(${target} ${copy})
  set_source_files_properties(${copy} PROPERTIES COMPILE_OPTIONS "${TILE_MODEL_FLAGS}")
  target_link_libraries(${target} PRIVATE tile_on_model)
endfunction()

# model-cc SOURCE.cu OUTPUT: the same from the command line, for `tile count` and the break-it experiments. What a chapter
# includes is compiled once for all of them; g++ takes a precompiled header where it looks for the header itself.
function(tile_generate_model_cc)
  set(precompiled ${PROJECT_BINARY_DIR}/precompiled)
  set(header ${precompiled}/common/report/chapter.hpp.gch)
  file(MAKE_DIRECTORY ${precompiled}/common/report)
  add_custom_command(OUTPUT ${header}
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -w ${TILE_MODEL_FLAGS} -I${PROJECT_SOURCE_DIR} -MD -MF ${header}.d
      -MQ ${header} -x c++-header ${PROJECT_SOURCE_DIR}/common/report/chapter.hpp -o ${header}
    DEPENDS ${PROJECT_SOURCE_DIR}/common/report/chapter.hpp DEPFILE ${header}.d VERBATIM)
  add_custom_target(precompiled_header ALL DEPENDS ${header})
  list(JOIN TILE_MODEL_FLAGS " " flags)
  list(JOIN TILE_MODEL_LINK_FLAGS " " link_flags)
  set(libraries "\"$<TARGET_FILE:tile_on_model>\" \"$<TARGET_FILE:tile_common>\" \"$<TARGET_FILE:simt>\"")
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/model-cc CONTENT "#!/bin/sh
# Compiles SOURCE.cu for the SIMT model. Usage: model-cc SOURCE.cu OUTPUT MAIN, where MAIN is chapter or count.
set -e
source=$(realpath \"$1\") output=$(realpath \"$2\")
parts=$(mktemp -d)
trap 'rm -rf \"$parts\"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
\"${CMAKE_COMMAND}\" -DSOURCE=\"$source\" -DOUTPUT=\"$parts/program.cpp\" -P \"${PROJECT_SOURCE_DIR}/ctest/model-sources.cmake\"
case $3 in
  chapter) main=\"$<TARGET_OBJECTS:tile_main>\" ;;
  count) main=\"$<TARGET_OBJECTS:tile_count_main>\" ;;
esac
\"${CMAKE_CXX_COMPILER}\" -std=c++20 -Wall -Wextra -fmax-errors=1 ${flags} -I\"${precompiled}\" -I\"${PROJECT_SOURCE_DIR}\" -I\"$(dirname \"$source\")\" -c \"$parts/program.cpp\" -o \"$parts/program.o\"
\"${CMAKE_CXX_COMPILER}\" \"$parts/program.o\" \"$main\" ${link_flags} ${libraries} \"$<TARGET_FILE:Boost::context>\" -lfmt -ldw -lelf -lpthread -o \"$output\"
" FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()
