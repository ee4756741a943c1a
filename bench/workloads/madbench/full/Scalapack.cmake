# Writes workloads/madbench/full/scalapack_library.hpp: which ScaLAPACK full mode loads, if any
# (scalapack.hpp says why it is not linked).
option(WEIR_WITH_SCALAPACK "Find ScaLAPACK, which madbench --full and madcap load" ON)
set(WEIR_SCALAPACK_RUNTIME "")
if(WEIR_WITH_SCALAPACK)
  # Built for the MPI that is used: Debian has one for each.
  find_library(WEIR_SCALAPACK_LIBRARY NAMES scalapack-${WEIR_MPI_FAMILY} scalapack)
  # A static library cannot be loaded.
  if(WEIR_SCALAPACK_LIBRARY AND NOT WEIR_SCALAPACK_LIBRARY MATCHES "[.]a$")
    get_filename_component(WEIR_SCALAPACK_RUNTIME "${WEIR_SCALAPACK_LIBRARY}" REALPATH)
  endif()
endif()
if(WEIR_SCALAPACK_RUNTIME)
  weir_other_mpi(weir_scalapack_mpi "${WEIR_SCALAPACK_RUNTIME}")
  if(weir_scalapack_mpi)
    message(STATUS "${WEIR_SCALAPACK_RUNTIME} is left out: it is linked with ${weir_scalapack_mpi}, and "
                   "Weir with ${WEIR_MPI_SONAMES}, another MPI")
    set(WEIR_SCALAPACK_RUNTIME "")
  endif()
endif()
set_property(GLOBAL PROPERTY WEIR_SCALAPACK_RUNTIME "${WEIR_SCALAPACK_RUNTIME}")
if(WEIR_SCALAPACK_RUNTIME)
  message(STATUS "ScaLAPACK: ${WEIR_SCALAPACK_RUNTIME}")
else()
  message(STATUS "ScaLAPACK: none, so madbench --full and madcap are refused")
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/scalapack_library.hpp.in"
               "${WEIR_BUILD_INFO_INCLUDE}/workloads/madbench/full/scalapack_library.hpp" @ONLY)
