# Installs the build into an empty prefix, builds the consumer against it in both ways, runs it.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY TIMEOUT 200
                  OUTPUT_VARIABLE output ECHO_OUTPUT_VARIABLE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect_output expected)
  if(NOT output MATCHES "${expected}")
    message(FATAL_ERROR "expected ${expected} in the output, got: ${output}")
  endif()
endfunction()

set(prefix "${FOLDER}/prefix")
file(REMOVE_RECURSE "${prefix}" "${FOLDER}/consumer")
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(${prefix}/bin/weir-bench --version)
expect_output("${VERSION}")

if(HAS_HDF5)
  execute_process(COMMAND ${prefix}/libexec/weir/weir-hdf5-header TIMEOUT 60 ERROR_VARIABLE output)
  expect_output("part of Weir")
endif()

set(sanitizer "")
if(SANITIZE)
  set(sanitizer -fsanitize=${SANITIZE})
endif()

set(fortran "")
if(HAS_FORTRAN)
  set(fortran -D FORTRAN_EXAMPLE=${FORTRAN_EXAMPLE} -D CMAKE_Fortran_FLAGS=${sanitizer})
endif()

message("-- with CMake")
run(${CMAKE_COMMAND} -S ${CONSUMER}/consumer -B ${FOLDER}/consumer -G Ninja
    -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_CXX_COMPILER=${CXX}
    -D CMAKE_CXX_FLAGS=${sanitizer} -D CMAKE_C_FLAGS=${sanitizer} -D EXAMPLE=${EXAMPLE}
    -D FILES_EXAMPLE=${FILES_EXAMPLE} ${fortran})
run(${CMAKE_COMMAND} --build ${FOLDER}/consumer)
run(${FOLDER}/consumer/consumer ${FOLDER}/consumer)
expect_output("7 of 7 bytes through posix")

message("-- with pkg-config")
set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig:$ENV{PKG_CONFIG_PATH}")
run(${PKG_CONFIG} --cflags --libs weir-parts)
separate_arguments(flags UNIX_COMMAND "${output}")
run(${CXX} -std=c++20 ${sanitizer} ${CONSUMER}/consumer/main.cpp
    -o ${FOLDER}/consumer/by_pkg_config ${flags})
run(${FOLDER}/consumer/by_pkg_config ${FOLDER}/consumer)
expect_output("7 of 7 bytes through posix")

message("-- libweir_files.so, with CMake and with pkg-config")
file(WRITE ${FOLDER}/consumer/text "no array")
run(${PKG_CONFIG} --cflags --libs weir-files)
separate_arguments(flags UNIX_COMMAND "${output}")
run(${CC} ${sanitizer} ${FILES_EXAMPLE} -o ${FOLDER}/consumer/files_by_pkg_config ${flags}
    -Wl,-rpath,${prefix}/${LIBDIR})
foreach(program IN ITEMS files files_by_pkg_config)
  execute_process(COMMAND ${FOLDER}/consumer/${program} ${FOLDER}/consumer/text
                  ERROR_VARIABLE output OUTPUT_QUIET TIMEOUT 60)
  expect_output("is neither HDF5 nor NetCDF")
endforeach()

if(HAS_ARRAYS)
  message("-- libweir.so, with CMake and with pkg-config, on one rank")
  set(shown "written by rows, read by columns")
  file(MAKE_DIRECTORY ${FOLDER}/arrays)
  run(${CMAKE_COMMAND} -E chdir ${FOLDER}/arrays ${FOLDER}/consumer/arrays)
  expect_output("${shown}")
  run(${PKG_CONFIG} --cflags --libs weir)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run(${MPICC} ${sanitizer} ${EXAMPLE} -o ${FOLDER}/consumer/arrays_by_pkg_config ${flags}
      -Wl,-rpath,${prefix}/${LIBDIR})
  run(${CMAKE_COMMAND} -E chdir ${FOLDER}/arrays ${FOLDER}/consumer/arrays_by_pkg_config)
  expect_output("${shown}")
endif()

if(HAS_FORTRAN)
  message("-- the module weir, with CMake and with pkg-config, on one rank")
  file(REMOVE ${FOLDER}/arrays/temperature)
  run(${CMAKE_COMMAND} -E chdir ${FOLDER}/arrays ${FOLDER}/consumer/fortran_arrays)
  file(SIZE ${FOLDER}/arrays/temperature bytes)
  set(output "${bytes} bytes")
  expect_output("960000 bytes")
  run(${PKG_CONFIG} --cflags --libs weir-fortran)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run(${MPIFORT} ${sanitizer} ${FORTRAN_EXAMPLE} -o ${FOLDER}/consumer/fortran_by_pkg_config
      ${flags} -Wl,-rpath,${prefix}/${LIBDIR})
  run(${CMAKE_COMMAND} -E chdir ${FOLDER}/arrays ${FOLDER}/consumer/fortran_by_pkg_config)
endif()
