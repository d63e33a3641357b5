# A chapter: its programs and its tests.

# Defines, for chapters/NN-name/chapterNN.cu, the program chapterNN (and chapterNN-model, where chapterNN is for the
# GPU), and the tests chapterNN.<case>, chapterNN.gpu.<case>, .listings, .numbers and .breaks.
function(tile_add_chapter source)
  get_filename_component(name ${source} NAME_WE)
  get_filename_component(directory ${PROJECT_SOURCE_DIR}/${source} DIRECTORY)
  set_property(GLOBAL APPEND PROPERTY TILE_CHAPTERS ${name})
  set_property(GLOBAL PROPERTY TILE_DIRECTORY_${name} ${directory})

  if(TILE_CUDA)
    set(model_program ${name}-model)
    add_executable(${name} ${source})
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-lineinfo>)
    target_link_libraries(${name} PRIVATE tile_main tile_on_gpu)
    set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES ${TILE_CUDA_ARCHITECTURE})
  else()
    set(model_program ${name})
  endif()
  tile_add_model_program(${model_program} ${name} ${PROJECT_SOURCE_DIR}/${source})
  target_link_libraries(${model_program} PRIVATE tile_main)
  set_property(GLOBAL PROPERTY TILE_MODEL_PROGRAM_${name} ${model_program})

  # The program itself knows its test cases; ask it once built.
  set(tests ${PROJECT_BINARY_DIR}/tests/${name}.cmake)
  add_custom_command(TARGET ${model_program} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${model_program}> -DNAME=${name}
      -DRUN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name} -DOUTPUT=${tests} -P ${PROJECT_SOURCE_DIR}/ctest/discover.cmake
    VERBATIM)
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${tests})
endfunction()
