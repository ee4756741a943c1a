# Optional libraries: a faulty one is left out by name, and never ends the configuration.
include_guard(GLOBAL)
include(CheckCSourceCompiles)
include(CMakePushCheckState)

# weir_take_if_usable(RESULT TARGET NAME HEADER header CALL expression)
#
# RESULT becomes TARGET, or empty where there is no such target, where a C program that includes
# `header` and evaluates `expression` cannot be compiled and linked with it, or where its libraries
# belong to another MPI than Weir's. NAME is what the reason calls it.
function(weir_take_if_usable result target name)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "HEADER;CALL" "")
  set(${result} "" PARENT_SCOPE)
  if(NOT TARGET ${target})
    return()
  endif()

  # A folder that pkg-config names and that does not exist would end the configuration. The header may
  # yet be found: Debian 13's PnetCDF names the folder that it was built in, and is in /usr/include.
  get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
  set(existing "")
  foreach(folder IN LISTS folders)
    if(folder MATCHES "^[$]<" OR IS_DIRECTORY "${folder}")
      list(APPEND existing "${folder}")
    endif()
  endforeach()
  if(folders AND NOT "${existing}" STREQUAL "${folders}")
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${existing}")
  endif()

  get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
  if(COMMAND weir_other_mpi)
    weir_other_mpi(other ${libraries})
    if(other)
      message(STATUS "${name} is left out: it is linked with ${other}, and Weir with "
                     "${WEIR_MPI_SONAMES}, another MPI")
      return()
    endif()
  endif()

  string(MAKE_C_IDENTIFIER "WEIR_LINKS_${name}" links)
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_QUIET ON)
  set(CMAKE_REQUIRED_LIBRARIES ${target})
  if(TARGET MPI::MPI_C)
    list(APPEND CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
  endif()
  check_c_source_compiles("#include <${arg_HEADER}>
int main(void) { return ${arg_CALL}; }" ${links})
  cmake_pop_check_state()
  if(NOT ${links})
    message(STATUS "${name} is left out: a program with ${arg_HEADER} does not compile and link with "
                   "it (the compiler's words are in ${CMAKE_BINARY_DIR}/CMakeFiles)")
    return()
  endif()
  set(${result} ${target} PARENT_SCOPE)
endfunction()
