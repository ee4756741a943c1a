# Settings that hold for every target of Weir.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# The static libraries may end up in a shared one: a Python module, an interposed adapter.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

get_property(weir_is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT CMAKE_BUILD_TYPE AND NOT weir_is_multi_config)
  # A measurement program built without optimisation would measure itself.
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Type of the build" FORCE)
endif()

find_program(WEIR_CCACHE ccache DOC "Compiler cache, used when found")
if(WEIR_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${WEIR_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${WEIR_CCACHE}")
endif()

# Headers and the templates of headers are most of what a compiler works on. Sixteen files at a time
# (WeirBatches.cmake) take half the time of each alone, if everything is to be built; for a change in
# one file, it takes longer.
option(WEIR_IN_BATCHES "Compile several sources of a target as one: quicker from nothing" OFF)

# Line tables name functions in profiles and traces; variables are for a debugger, whose builds are
# of type Debug, and cost a fifth of the compiler's time. Who builds in batches wants tests to pass:
# a tenth of the time goes into line tables, and a quarter of what a test's own sources take into
# optimising these as the libraries are that they test. Not at all is too little: such tests run
# longer by half of what is gained.
set(WEIR_TEST_OPTIONS "")
if(WEIR_IN_BATCHES)
  add_compile_options($<$<CONFIG:RelWithDebInfo>:-g0>)
  set(WEIR_TEST_OPTIONS $<$<CONFIG:RelWithDebInfo>:-O1>)
  # Below this size of its memory in KiB gcc does not look for what it may free, which takes a tenth
  # of its time; a batch takes 0.3 to 0.5 GB.
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=400000>)
else()
  add_compile_options($<$<CONFIG:RelWithDebInfo>:-g1>)
endif()

set(WEIR_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wshadow)

set(WEIR_SANITIZE "" CACHE STRING "Sanitizers for every target, as in -fsanitize=, or empty")
if(WEIR_SANITIZE)
  # Instrumented code makes gcc take members of an absent std::optional for uninitialised ones.
  add_compile_options(-fsanitize=${WEIR_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all -Wno-maybe-uninitialized)
  add_link_options(-fsanitize=${WEIR_SANITIZE})
  # Clang's counterpart of gcc's macros is no macro.
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    if(WEIR_SANITIZE MATCHES address)
      add_compile_definitions(__SANITIZE_ADDRESS__=1)
    elseif(WEIR_SANITIZE MATCHES thread)
      add_compile_definitions(__SANITIZE_THREAD__=1)
    endif()
  endif()
endif()

option(WEIR_FUZZ "Build weir_fuzz; Clang's libFuzzer counts what of the readers was reached" OFF)
if(WEIR_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link -Wno-unknown-warning-option)
  # The fuzzer counts what of the readers is reached. In tests' own sources, counting takes a seventh
  # of the compiler's time and a third of the object for nothing.
  set(WEIR_TEST_OPTIONS ${WEIR_TEST_OPTIONS} -fno-sanitize=fuzzer-no-link)
endif()
