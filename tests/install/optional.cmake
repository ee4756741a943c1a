# Configures tests/install/optional: a faulty optional library never ends the configuration.
#
#   cmake -D PROJECT=folder -D FOLDER=where -D MODULES=cmake -D CC=compiler -D MPICC=compiler -D MPICXX=compiler
#         -P optional.cmake
file(REMOVE_RECURSE "${FOLDER}")
execute_process(
  COMMAND ${CMAKE_COMMAND} -S "${PROJECT}" -B "${FOLDER}" -D "MODULES=${MODULES}"
          -D "CMAKE_C_COMPILER=${CC}" -D "MPI_C_COMPILER=${MPICC}" -D "MPI_CXX_COMPILER=${MPICXX}"
  OUTPUT_VARIABLE told ERROR_VARIABLE told RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "the configuration failed:\n${told}")
endif()
foreach(line IN ITEMS
    "good: 'good_target'"
    "elsewhere: 'elsewhere_target'"
    "headerless is left out: a program with fine.h does not compile"
    "headerless: ''"
    "broken is left out: a program with broken.h does not compile"
    "broken: ''"
    "libraryless is left out: a program with fine.h does not compile"
    "libraryless: ''"
    "absent: ''"
    "foreign is left out: it is linked with libmpi.so.4711"
    "foreign: ''")
  string(FIND "${told}" "-- ${line}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "the configuration did not print '${line}', but:\n${told}")
  endif()
endforeach()
