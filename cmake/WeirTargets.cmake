# How a folder becomes a library.
include_guard(GLOBAL)

# weir_find_sources(RESULT [TESTS] [FOLDER folder] [WITHOUT pattern...])
#
# RESULT becomes the C++ sources below this folder, or below `folder` in it: the tests (NAME_test.cpp)
# or all others, apart from those whose paths from this folder on match a pattern as a whole. Each
# build looks again, so a new source is entered nowhere.
function(weir_find_sources result)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TESTS" "FOLDER" "WITHOUT")
  set(arg_KEYWORDS_MISSING_VALUES "") # there may be no pattern
  weir_check_arguments(weir_find_sources ${result})
  file(GLOB_RECURSE sources RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS
       "${CMAKE_CURRENT_SOURCE_DIR}/${arg_FOLDER}/*.cpp")
  if(arg_TESTS)
    list(FILTER sources INCLUDE REGEX "_test\\.cpp$")
  else()
    list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  endif()
  foreach(pattern IN LISTS arg_WITHOUT)
    list(FILTER sources EXCLUDE REGEX "^(${pattern})$")
  endforeach()
  set(${result} "${sources}" PARENT_SCOPE)
endfunction()

# weir_add_library(NAME [SOURCES file...] [LINKS target...])
#
# A static library of the listed sources, or of all that weir_find_sources() finds, with Weir's
# warnings, and `weir::X` as its alias when NAME is `weir_X`. LINKS are public.
#
# Below src/, headers are included from src/ ("common/status.hpp"), and the library, its folder's
# headers (those of tests apart) and its `weir::X` target are installed as component `parts`.
# Below bench/, headers are included from bench/ ("measurement/job.hpp"); nothing is installed.
function(weir_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  weir_check_arguments(weir_add_library ${name})
  if(NOT arg_SOURCES)
    weir_find_sources(arg_SOURCES)
  endif()
  string(REGEX REPLACE "^weir_" "" short_name ${name})

  add_library(${name} STATIC ${arg_SOURCES})
  add_library(weir::${short_name} ALIAS ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${short_name})
  target_compile_options(${name} PRIVATE ${WEIR_WARNINGS})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PUBLIC ${arg_LINKS})

  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/src/")
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.hpp"
                                                "${CMAKE_CURRENT_SOURCE_DIR}/*.h")
    list(FILTER headers EXCLUDE REGEX "/(test_[^/]*|[^/]*_test)\\.hpp$")
    target_sources(${name} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/src"
                                  FILES ${headers})
    install(TARGETS ${name} EXPORT weirTargets
            ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT parts EXCLUDE_FROM_ALL
            FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/weir"
                             COMPONENT parts EXCLUDE_FROM_ALL)
  else()
    target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/bench")
  endif()
endfunction()

# weir_add_program(NAME SOURCES file... [LINKS target...]): an installed executable.
function(weir_add_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  weir_check_arguments(weir_add_program ${name})
  add_executable(${name} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE ${WEIR_WARNINGS})
  target_link_libraries(${name} PRIVATE ${arg_LINKS})
  if(DEFINED SKBUILD_SCRIPTS_DIR)
    # A Python wheel: its scripts land in the environment's bin folder.
    install(TARGETS ${name} RUNTIME DESTINATION "${SKBUILD_SCRIPTS_DIR}" COMPONENT program)
  else()
    install(TARGETS ${name} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)
  endif()
endfunction()

# weir_add_preloaded_library(NAME [SOURCES file...] [LINKS target...] [FOLDER name]): libNAME.so, which
# an unchanged program loads, with the version script libNAME.map beside its sources; these are found as
# those of weir_add_library(). One that links nothing brings its own libstdc++, of which nothing is seen,
# as the program may have another one or none. With FOLDER it is in a folder below that of the others.
function(weir_add_preloaded_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER" "SOURCES;LINKS")
  weir_check_arguments(weir_add_preloaded_library ${name})
  if(NOT arg_SOURCES)
    weir_find_sources(arg_SOURCES)
  endif()
  set(version_map "${CMAKE_CURRENT_SOURCE_DIR}/lib${name}.map")
  add_library(${name} SHARED ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  # Nobody replaces one of its functions by another of the same name, so that they may be inlined: they
  # are called for each call of the program.
  target_compile_options(${name} PRIVATE ${WEIR_WARNINGS} -fno-semantic-interposition)
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_link_libraries(${name} PRIVATE ${arg_LINKS} ${CMAKE_DL_LIBS})
  target_link_options(${name} PRIVATE "LINKER:--version-script=${version_map}")
  if(NOT arg_LINKS)
    target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
  set_target_properties(${name} PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION 0 LINK_DEPENDS "${version_map}")
  if(arg_FOLDER)
    set_target_properties(${name} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/${arg_FOLDER}" INSTALL_RPATH "$ORIGIN/..")
  endif()
  if(DEFINED SKBUILD_PLATLIB_DIR)
    # A Python wheel: beside the module that makes programs load it. What is copied into it has been
    # built for its place there.
    if(arg_FOLDER)
      set_target_properties(${name} PROPERTIES BUILD_WITH_INSTALL_RPATH TRUE)
    endif()
    install(FILES "$<TARGET_FILE:${name}>" DESTINATION "${SKBUILD_PLATLIB_DIR}/weir/_core/${arg_FOLDER}"
            RENAME lib${name}.so.0 COMPONENT program)
  else()
    install(TARGETS ${name}
            LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/${arg_FOLDER}" COMPONENT program NAMELINK_SKIP)
  endif()
endfunction()

# A macro, so that it sees the caller's parsed arguments.
macro(weir_check_arguments function name)
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${function}(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "${function}(${name}): no value for ${arg_KEYWORDS_MISSING_VALUES}")
  endif()
endmacro()
