# How a test is registered. Without WEIR_BUILD_TESTS both functions do nothing.
include_guard(GLOBAL)

if(WEIR_BUILD_TESTS)
  enable_testing()
endif()

# What is preloaded into the ranks of every test (tests/harness/sleeping_ranks.c); tests/mpi_launcher.py
# reads it, too. A sanitizer's library must come first, and would not.
set(preload "")
if(NOT WEIR_SANITIZE)
  weir_dynamic_entries(needed NEEDED ${MPI_C_LIBRARIES})
  if(WEIR_MPI_FAMILY STREQUAL openmpi OR
     (WEIR_MPI_FAMILY STREQUAL mpich AND "libucp.so.0" IN_LIST needed))
    set(preload "${PROJECT_BINARY_DIR}/tests/harness/sleeping_ranks.so")
  endif()
endif()
set(WEIR_RANKS_PRELOAD "${preload}" CACHE INTERNAL "Preloaded into the ranks of tests")

# What the launchers and ranks of every test have in their environment; tests/mpi_launcher.py reads it, too.
# Root may start ranks, as in a container. The rest saves more than half of what Open MPI's start costs:
# no library of a network that joins nodes is loaded (pml), ranks get their places by messages instead
# of files (gds), and hwloc neither asks X servers and accelerators nor loads libxml2 with its tables
# of Unicode. It does not read the PCI devices, neither by its plugin nor from /sys: in a virtual machine
# the host answers each of these reads, and the launcher and every rank would wait 10 ms for them.
set(ranks_environment
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_pml=ob1 PMIX_MCA_gds=hash
    HWLOC_COMPONENTS=-linux:pci
    HWLOC_PLUGINS_BLACKLIST=hwloc_gl.so,hwloc_opencl.so,hwloc_pci.so,hwloc_xml_libxml.so)
set(WEIR_RANKS_ENVIRONMENT "${ranks_environment}" CACHE INTERNAL "Environment of the ranks of tests")

# weir_add_unit_test(NAME [SOURCES file...] [LINKS target...] [TIMEOUT seconds] [VALUES])
#
# One GoogleTest program, one ctest test, of the listed sources or of all NAME_test.cpp in the folder. The label is
# `unit`. VALUES: it computes with values alone, without files, and has the label `values`, too. Default deadline: 60 s.
function(weir_add_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "VALUES" "TIMEOUT" "SOURCES;LINKS")
  weir_check_arguments(weir_add_unit_test ${name})
  if(NOT WEIR_BUILD_TESTS)
    return()
  endif()
  if(NOT arg_SOURCES)
    weir_find_sources(arg_SOURCES TESTS)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(WEIR_SANITIZE)
    math(EXPR arg_TIMEOUT "3 * ${arg_TIMEOUT}")
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE ${WEIR_WARNINGS} ${WEIR_TEST_OPTIONS})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  set(labels unit)
  if(arg_VALUES)
    list(APPEND labels values)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${arg_TIMEOUT})
endfunction()

# weir_add_test_path(PROGRAM FUNCTION PATH)
#
# Gives the test's program a C function that returns the path, whose clone is this one. As a definition for the
# compiler, the path would make all of the program's sources other ones in each clone, and the compiler cache would
# have none of them.
function(weir_add_test_path program function path)
  if(NOT TARGET ${program})
    return()
  endif()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${function}.c")
  file(GENERATE OUTPUT "${source}" CONTENT
"const char* ${function}(void);
const char* ${function}(void) { return \"${path}\"; }
")
  target_sources(${program} PRIVATE "${source}")
endfunction()

# weir_add_mpi_test(NAME COMMAND program argument... RANKS n [TIMEOUT seconds]
#                   [PRELOAD file...] [ENVIRONMENT NAME=value...] [BOUND])
#
# A run of COMMAND on n ranks; PRELOAD: with these libraries; BOUND: each is bound to a core of its
# own (Open MPI). `program` may be a target that is already defined. The label is `mpi`. Default deadline: 120 s; the launcher ends
# the job 5 s before ctest would kill the launcher, so that no rank outlives its test.
function(weir_add_mpi_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "BOUND" "RANKS;TIMEOUT" "COMMAND;PRELOAD;ENVIRONMENT")
  weir_check_arguments(weir_add_mpi_test ${name})
  if(NOT WEIR_BUILD_TESTS)
    return()
  endif()
  if(NOT arg_RANKS)
    message(FATAL_ERROR "weir_add_mpi_test(${name}): RANKS is missing")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(WEIR_SANITIZE) # code that a sanitizer watches takes twice as long
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 2")
  endif()
  list(POP_FRONT arg_COMMAND program)
  if(TARGET ${program})
    set(program "$<TARGET_FILE:${program}>")
  endif()
  weir_mpi_launcher_flags(flags)
  if(arg_BOUND)
    list(TRANSFORM flags REPLACE "^none$" "core:overload-allowed")
  endif()
  if(WEIR_MPI_IS_OPEN_MPI)
    math(EXPR launcher_timeout "${arg_TIMEOUT} - 5")
    list(APPEND flags --timeout ${launcher_timeout})
  endif()
  add_test(NAME ${name}
           COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${arg_RANKS} ${flags}
                   ${program} ${arg_COMMAND})
  # Two ranks fill two cores; more ranks than that yield to each other.
  set(processors 2)
  if(arg_RANKS EQUAL 1)
    set(processors 1)
  endif()
  set_tests_properties(${name} PROPERTIES
    LABELS mpi PROCESSORS ${processors} TIMEOUT ${arg_TIMEOUT})
  weir_set_rank_environment(${name} "${arg_PRELOAD}" ${arg_ENVIRONMENT})
endfunction()

# weir_set_rank_environment(TEST PRELOAD [NAME=value...])
#
# The environment of a test that starts ranks: its own libraries to preload (a list, which may be
# empty) and variables, and what every such test has.
function(weir_set_rank_environment test preload)
  set(environment ${WEIR_RANKS_ENVIRONMENT} ${ARGN})
  list(APPEND preload ${WEIR_RANKS_PRELOAD})
  if(preload)
    list(JOIN preload ":" preload)
    list(APPEND environment "LD_PRELOAD=${preload}")
  endif()
  set_tests_properties(${test} PROPERTIES ENVIRONMENT "${environment}")
endfunction()

# Flags with which the MPI found starts more ranks than there are cores. Other launchers than
# Open MPI's do so by themselves.
function(weir_mpi_launcher_flags result)
  if(NOT DEFINED WEIR_MPI_IS_OPEN_MPI)
    execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version
                    OUTPUT_VARIABLE version ERROR_VARIABLE version TIMEOUT 30)
    if(version MATCHES "Open MPI|OpenRTE|prterun")
      set(is_open_mpi TRUE)
    else()
      set(is_open_mpi FALSE)
    endif()
    set(WEIR_MPI_IS_OPEN_MPI ${is_open_mpi} CACHE INTERNAL "The launcher is Open MPI's")
  endif()
  if(WEIR_MPI_IS_OPEN_MPI)
    # Without yielding, a barrier of 4 ranks on 2 cores takes 34 ms instead of 5 us. Without
    # binding to none, tests that run side by side would share the first cores.
    set(${result} --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 PARENT_SCOPE)
  else()
    set(${result} "" PARENT_SCOPE)
  endif()
endfunction()
