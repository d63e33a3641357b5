# A chapter: its programs and its tests.

# CTest entries for the test cases of a program with the chapters' command line, run by `run`. The program lists its own
# test cases, once it is built.
function(tile_discover_tests program name run)
  set(tests ${PROJECT_BINARY_DIR}/tests/${name}.cmake)
  if(NOT EXISTS "${tests}")  # until the program is built
    file(WRITE "${tests}" "add_test([=[${name}.is-not-built]=] \"${CMAKE_COMMAND}\" -E false)\n")
  endif()
  add_custom_command(TARGET ${program} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${program}> -DNAME=${name} -DRUN=${run} -DOUTPUT=${tests}
      -P ${PROJECT_SOURCE_DIR}/ctest/discover.cmake
    VERBATIM)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY TEST_INCLUDE_FILES ${tests})
endfunction()

# The program PROGRAM with the chapters' command line from SOURCE, for the GPU if nvcc is found. The model's program is then
# PROGRAM-model, otherwise PROGRAM itself; the variable model_program has its name. Its tests are NAME.<case> and
# NAME.gpu.<case>.
function(tile_add_program program name source)
  set(model_program ${program})
  if(TILE_CUDA)
    set(model_program ${program}-model)
    add_executable(${program} ${source})
    target_compile_options(${program} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:${TILE_GPU_FLAGS}>)
    target_link_libraries(${program} PRIVATE tile_main tile_on_gpu)
    set_target_properties(${program} PROPERTIES CUDA_ARCHITECTURES ${TILE_CUDA_ARCHITECTURE})
  endif()
  tile_add_model_program(${model_program} ${program} ${source})
  target_link_libraries(${model_program} PRIVATE tile_main)
  tile_discover_tests(${model_program} ${name} ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${program})
  set(model_program ${model_program} PARENT_SCOPE)
endfunction()

# Compiles a chapter's sources beside its .cu, if any, for the model and for the GPU: to own/libNN-name.a, which model-cc
# finds for a program that includes a header of that folder, and to chapterNN-own-gpu.
function(tile_add_own_sources name directory)
  file(GLOB sources CONFIGURE_DEPENDS ${directory}/*.cpp)
  if(NOT sources)
    return()
  endif()
  get_filename_component(folder ${directory} NAME)
  set(others ${sources})
  list(FILTER others EXCLUDE REGEX "_gpu[.]cpp$")
  add_library(${name}-own STATIC ${others})
  target_link_libraries(${name}-own PUBLIC tile_on_model)
  set_target_properties(${name}-own PROPERTIES OUTPUT_NAME ${folder} ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/own)
  if(TILE_CUDA)
    list(FILTER sources EXCLUDE REGEX "_model[.]cpp$")
    add_library(${name}-own-gpu STATIC ${sources})
    target_link_libraries(${name}-own-gpu PUBLIC tile_on_gpu)
  endif()
endfunction()

# The test NAME.records of a program: whether its records agree with its counts and, if there is nvcc, whether nvcc still makes the
# machine code that was measured. If the book is woven, its counts are used.
function(tile_check_records program name)
  set(described $<TARGET_FILE:${model_program}>)
  if(TILE_BOOK)
    string(REGEX REPLACE "^chapter" "" number ${program})
    set(described ${PROJECT_BINARY_DIR}/weave/emit/${number}/description.json)
  endif()
  set(compiled "")
  if(TILE_CUDA)
    set(compiled --compiled $<TARGET_FILE:${program}> --architecture ${TILE_CUDA_ARCHITECTURE})
  endif()
  add_test(NAME ${name}.records COMMAND tile-record --check ${described} ${compiled})
  set_tests_properties(${name}.records PROPERTIES SKIP_RETURN_CODE 77)
endfunction()

# Defines, for chapters/NN-name/chapterNN.cu, the program chapterNN (and chapterNN-model, if chapterNN is for the
# GPU), and the tests chapterNN.<case>, chapterNN.gpu.<case>, .page, .records and .breaks. For each lab/QUESTION.cu beside it,
# chapterNN-QUESTION and chapterNN.QUESTION.<case>.
function(tile_add_chapter source)
  get_filename_component(name ${source} NAME_WE)
  get_filename_component(directory ${PROJECT_SOURCE_DIR}/${source} DIRECTORY)
  set_property(GLOBAL APPEND PROPERTY TILE_CHAPTERS ${name})
  set_property(GLOBAL PROPERTY TILE_DIRECTORY_${name} ${directory})

  tile_add_own_sources(${name} ${directory})
  tile_add_program(${name} ${name} ${PROJECT_SOURCE_DIR}/${source})
  set_property(GLOBAL PROPERTY TILE_MODEL_PROGRAM_${name} ${model_program})
  tile_check_records(${name} ${name})
  if(TARGET ${name}-own)
    target_link_libraries(${model_program} PRIVATE ${name}-own)
  endif()
  if(TARGET ${name}-own-gpu)
    target_link_libraries(${name} PRIVATE ${name}-own-gpu)
  endif()
  if(TILE_CUDA)
    # A program with too many kernels for one nvcc says which of them belong to which compilation unit.
    file(STRINGS ${source} in_units REGEX "defined[(]TILE_UNIT[)]")
    if(in_units)
      target_compile_definitions(${name} PRIVATE TILE_UNITS=10)
      foreach(unit RANGE 9)
        add_library(${name}-unit${unit} OBJECT ${source})
        target_compile_definitions(${name}-unit${unit} PRIVATE TILE_UNITS=10 TILE_UNIT=${unit})
        target_compile_options(${name}-unit${unit} PRIVATE ${TILE_GPU_FLAGS})
        target_link_libraries(${name}-unit${unit} PRIVATE tile_common)
        set_target_properties(${name}-unit${unit} PROPERTIES CUDA_ARCHITECTURES ${TILE_CUDA_ARCHITECTURE})
        target_link_libraries(${name} PRIVATE ${name}-unit${unit})
      endforeach()
    endif()
  endif()

  file(GLOB labs CONFIGURE_DEPENDS ${directory}/lab/*.cu)
  foreach(lab ${labs})
    get_filename_component(question ${lab} NAME_WE)
    tile_add_program(${name}-${question} ${name}.${question} ${lab})
    set_property(GLOBAL APPEND PROPERTY TILE_LABS ${lab})
    set_property(GLOBAL PROPERTY TILE_MODEL_PROGRAM_${name}-${question} ${model_program})
    tile_check_records(${name}-${question} ${name}.${question})
  endforeach()
endfunction()
