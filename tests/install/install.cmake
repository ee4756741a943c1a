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

# A user of libweir.so gets two shared libraries and their headers, and no part of Weir's inside.
file(GLOB archives "${prefix}/${LIBDIR}/*.a")
file(GLOB folders LIST_DIRECTORIES true "${prefix}/include/weir/storage")
if(archives OR folders)
  message(FATAL_ERROR "static libraries were installed without being asked for: ${archives} ${folders}")
endif()

# The example as a CMake project of that language alone and by pkg-config, each run on one rank:
# `expected` must be in what it says, or be the size of the file that it makes.
set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig:$ENV{PKG_CONFIG_PATH}")
file(MAKE_DIRECTORY ${FOLDER}/arrays)
function(run_example program expected)
  file(REMOVE ${FOLDER}/arrays/temperature)
  run(${CMAKE_COMMAND} -E chdir ${FOLDER}/arrays ${program})
  file(SIZE ${FOLDER}/arrays/temperature bytes)
  string(APPEND output "\n${bytes} bytes")
  expect_output("${expected}")
endfunction()
function(in_language language target example module compiler expected)
  set(folder ${FOLDER}/consumer/${language})
  message("-- ${target} in ${language} alone, with CMake")
  run(${CMAKE_COMMAND} -S ${CONSUMER}/user -B ${folder} -G Ninja -D LANGUAGE=${language}
      -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_C_COMPILER=${CC} -D CMAKE_CXX_COMPILER=${CXX}
      -D CMAKE_${language}_FLAGS=${sanitizer} -D ARRAYS_TARGET=${target}
      -D EXAMPLE=${EXAMPLES}/${example})
  run(${CMAKE_COMMAND} --build ${folder})
  run_example(${folder}/arrays "${expected}")
  message("-- ${target} in ${language}, with pkg-config")
  run(${PKG_CONFIG} --cflags --libs ${module})
  separate_arguments(flags UNIX_COMMAND "${output}")
  separate_arguments(compiler)
  run(${compiler} ${sanitizer} ${EXAMPLES}/${example} -o ${folder}/by_pkg_config ${flags})
  run_example(${folder}/by_pkg_config "${expected}")
endfunction()

if(HAS_ARRAYS)
  set(shown "written by rows, read by columns")
  in_language(C weir::weir 01_write_and_read.c weir "${MPICC}" "${shown}")
  in_language(CXX weir::weir 02_write_and_read.cpp weir "${MPICXX} -std=c++20" "960000 bytes")
  foreach(other IN ITEMS openmpi mpich)
    find_program(wrapper_${other} mpicc.${other})
    if(wrapper_${other} AND NOT other STREQUAL MPI_FAMILY AND MPI_FAMILY MATCHES "openmpi|mpich")
      message("-- weir::weir with ${other}")
      execute_process(
        COMMAND ${CMAKE_COMMAND} -S ${CONSUMER}/user -B ${FOLDER}/consumer/other_mpi -G Ninja
                -D LANGUAGE=C -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_C_COMPILER=${CC}
                -D MPI_C_COMPILER=${wrapper_${other}} -D ARRAYS_TARGET=weir::weir
                -D EXAMPLE=${EXAMPLES}/01_write_and_read.c
        RESULT_VARIABLE status ERROR_VARIABLE output OUTPUT_QUIET TIMEOUT 60)
      expect_output("Weir[ \n]+was[ \n]+built[ \n]+with[ \n]+${MPI_FAMILY}")
    endif()
  endforeach()
  message("-- weir.hpp before C++20")
  file(WRITE ${FOLDER}/consumer/old.cpp "#include <weir/weir.hpp>\n")
  execute_process(COMMAND ${CXX} -std=c++17 -fsyntax-only -I${prefix}/include
                          ${FOLDER}/consumer/old.cpp
                  ERROR_VARIABLE output TIMEOUT 60)
  expect_output("weir.hpp is C..20: compile with")
endif()
if(HAS_FORTRAN)
  in_language(Fortran weir::fortran 04_write_and_read.f90 weir-fortran "${MPIFORT}" "960000 bytes")
endif()

message("-- libweir_files.so, with CMake and with pkg-config")
set(files_example ${EXAMPLES}/06_read_without_mpi.c)
set(folder ${FOLDER}/consumer/files)
run(${CMAKE_COMMAND} -S ${CONSUMER}/user -B ${folder} -G Ninja -D LANGUAGE=C
    -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_C_COMPILER=${CC} -D CMAKE_C_FLAGS=${sanitizer}
    -D FILES_EXAMPLE=${files_example})
run(${CMAKE_COMMAND} --build ${folder})
file(WRITE ${folder}/text "no array")
run(${PKG_CONFIG} --cflags --libs weir-files)
separate_arguments(flags UNIX_COMMAND "${output}")
run(${CC} ${sanitizer} ${files_example} -o ${folder}/by_pkg_config ${flags})
foreach(program IN ITEMS files by_pkg_config)
  execute_process(COMMAND ${folder}/${program} ${folder}/text
                  ERROR_VARIABLE output OUTPUT_QUIET TIMEOUT 60)
  expect_output("is neither HDF5 nor NetCDF")
endforeach()

message("-- the static libraries inside, with CMake and with pkg-config")
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} --component parts)
run(${CMAKE_COMMAND} -S ${CONSUMER}/consumer -B ${FOLDER}/consumer/parts -G Ninja
    -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_C_COMPILER=${CC}
    -D CMAKE_CXX_FLAGS=${sanitizer} -D CMAKE_C_FLAGS=${sanitizer})
run(${CMAKE_COMMAND} --build ${FOLDER}/consumer/parts)
run(${FOLDER}/consumer/parts/consumer ${FOLDER}/consumer)
expect_output("7 of 7 bytes in 1 call")
run(${PKG_CONFIG} --cflags --libs weir-parts)
separate_arguments(flags UNIX_COMMAND "${output}")
run(${CXX} -std=c++20 ${sanitizer} ${CONSUMER}/consumer/main.cpp
    -o ${FOLDER}/consumer/by_pkg_config ${flags})
run(${FOLDER}/consumer/by_pkg_config ${FOLDER}/consumer)
expect_output("7 of 7 bytes in 1 call")
