# Writes measurement/build_info.hpp, from which a result tells what its program was built from, below
# the folder that WEIR_BUILD_INFO_INCLUDE names. The revision is that of the last configuration,
# which a new commit brings about by itself.
set(WEIR_REVISION "unknown")
find_package(Git QUIET)
if(Git_FOUND)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} -C "${PROJECT_SOURCE_DIR}" describe --always --dirty --abbrev=12
    OUTPUT_VARIABLE weir_described OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE weir_describe_result ERROR_QUIET TIMEOUT 30)
  if(weir_describe_result EQUAL 0)
    set(WEIR_REVISION "${weir_described}")
  endif()
  execute_process(
    COMMAND ${GIT_EXECUTABLE} -C "${PROJECT_SOURCE_DIR}" rev-parse --path-format=absolute
            --git-path logs/HEAD
    OUTPUT_VARIABLE weir_head_log OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE weir_head_log_result ERROR_QUIET TIMEOUT 30)
  if(weir_head_log_result EQUAL 0 AND EXISTS "${weir_head_log}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${weir_head_log}")
  endif()
endif()

string(TOUPPER "${CMAKE_BUILD_TYPE}" weir_build_type_upper)
set(WEIR_BUILD_TYPE_TEXT "${CMAKE_BUILD_TYPE}")
set(WEIR_COMPILER_FLAGS_TEXT "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${weir_build_type_upper}}")
string(STRIP "${WEIR_COMPILER_FLAGS_TEXT}" WEIR_COMPILER_FLAGS_TEXT)
# They become C++ string literals.
string(REPLACE "\\" "\\\\" WEIR_COMPILER_FLAGS_TEXT "${WEIR_COMPILER_FLAGS_TEXT}")
string(REPLACE "\"" "\\\"" WEIR_COMPILER_FLAGS_TEXT "${WEIR_COMPILER_FLAGS_TEXT}")
set(WEIR_BUILD_INFO_INCLUDE "${CMAKE_CURRENT_BINARY_DIR}/generated")
configure_file("${CMAKE_CURRENT_LIST_DIR}/build_info.hpp.in"
               "${WEIR_BUILD_INFO_INCLUDE}/measurement/build_info.hpp" @ONLY)
