# Which MPI Weir is built with, and which MPI another library was built with.
#
# WEIR_MPI names the one to take where several are installed: openmpi or mpich. Empty, it is the one
# that CMake finds first. Include after project(); afterwards there are MPI::MPI_C, MPI::MPI_CXX and
#
#   WEIR_MPI_FAMILY   openmpi; mpich, which MVAPICH, Intel MPI and Cray MPICH are, too; or other
#   WEIR_MPI_SONAMES  what the loader knows MPI's shared libraries by, such as libmpi.so.40; empty
#                     where they are static
include_guard(GLOBAL)
include(CheckCSourceCompiles)
include(CMakePushCheckState)

set(WEIR_MPI "" CACHE STRING "The MPI to build with: openmpi or mpich; empty: the first one found")
set_property(CACHE WEIR_MPI PROPERTY STRINGS "" openmpi mpich)
if(NOT WEIR_MPI MATCHES "^(|openmpi|mpich)$")
  message(FATAL_ERROR "WEIR_MPI is '${WEIR_MPI}'; it can be openmpi, mpich or empty")
endif()
if(WEIR_MPI)
  # Debian's names where there are several; elsewhere a module puts one of them first on PATH.
  foreach(language_and_name IN ITEMS C:mpicc CXX:mpicxx Fortran:mpifort)
    string(REGEX MATCH "^(.*):(.*)$" ignored ${language_and_name})
    find_program(MPI_${CMAKE_MATCH_1}_COMPILER NAMES ${CMAKE_MATCH_2}.${WEIR_MPI} ${CMAKE_MATCH_2})
  endforeach()
  find_program(MPIEXEC_EXECUTABLE NAMES mpiexec.${WEIR_MPI} mpiexec)
endif()

# The C interface is what Weir calls; MPI's C++ bindings left the standard in 2012.
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI REQUIRED COMPONENTS C CXX)

# weir_mpi_header_defines(RESULT macro...): whether mpi.h defines one of the macros.
function(weir_mpi_header_defines result)
  list(TRANSFORM ARGN REPLACE "(.+)" "defined(\\1)" OUTPUT_VARIABLE conditions)
  list(JOIN conditions " || " condition)
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
  check_c_source_compiles("#include <mpi.h>
#if !(${condition})
#error another MPI
#endif
int main(void) { return 0; }" ${result})
  cmake_pop_check_state()
endfunction()

set(WEIR_MPI_FAMILY other)
weir_mpi_header_defines(WEIR_MPI_HEADER_IS_OPEN_MPI OPEN_MPI)
if(WEIR_MPI_HEADER_IS_OPEN_MPI)
  set(WEIR_MPI_FAMILY openmpi)
else()
  weir_mpi_header_defines(WEIR_MPI_HEADER_IS_MPICH MPICH MPICH_NAME MPICH_VERSION I_MPI_VERSION)
  if(WEIR_MPI_HEADER_IS_MPICH)
    set(WEIR_MPI_FAMILY mpich)
  endif()
endif()
if(WEIR_MPI AND NOT WEIR_MPI STREQUAL WEIR_MPI_FAMILY)
  message(FATAL_ERROR "WEIR_MPI is ${WEIR_MPI}, but ${MPI_C_COMPILER} is of another MPI "
                      "(${WEIR_MPI_FAMILY}); install ${WEIR_MPI} (Debian: lib${WEIR_MPI}-dev), or "
                      "load its module")
endif()

# weir_dynamic_entries(RESULT KIND file...): the entries NEEDED or SONAME of shared libraries. A file
# that is no shared library has none.
function(weir_dynamic_entries result kind)
  set(found "")
  foreach(file IN LISTS ARGN)
    if(CMAKE_OBJDUMP AND EXISTS "${file}" AND NOT IS_DIRECTORY "${file}")
      execute_process(COMMAND ${CMAKE_OBJDUMP} -p "${file}"
                      OUTPUT_VARIABLE told ERROR_QUIET TIMEOUT 30)
      string(REGEX MATCHALL "${kind} +[^ \n]+" entries "${told}")
      list(TRANSFORM entries REPLACE "^${kind} +" "")
      list(APPEND found ${entries})
    endif()
  endforeach()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

weir_dynamic_entries(WEIR_MPI_SONAMES SONAME ${MPI_C_LIBRARIES})

# weir_other_mpi(RESULT file...): the MPI library that one of the shared libraries is linked with, if
# it is not the one that Weir is linked with; otherwise empty. A process with two MPIs takes itself
# for rank 0 of 1 in one of them, and no linker complains.
function(weir_other_mpi result)
  set(${result} "" PARENT_SCOPE)
  if(NOT WEIR_MPI_SONAMES)
    return()
  endif()
  weir_dynamic_entries(needed NEEDED ${ARGN})
  # Libraries for Fortran and C++ (libmpi_mpifh.so, libmpichfort.so) come with one of these.
  list(FILTER needed INCLUDE REGEX "^lib(mpi|mpich)(_(aocc|amd|cray|gnu|intel|nvidia|pgi)[^.]*)?[.]so")
  list(REMOVE_ITEM needed ${WEIR_MPI_SONAMES})
  if(needed)
    list(GET needed 0 other)
    set(${result} "${other}" PARENT_SCOPE)
  endif()
endfunction()
