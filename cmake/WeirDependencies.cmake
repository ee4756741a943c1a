# Every library that Weir is built with. CONTRIBUTING.md says why each is there.
#
# Targets for LINKS: Threads::Threads CLI11::CLI11 fmt::fmt tomlplusplus::tomlplusplus
# nlohmann_json::nlohmann_json, with the bench also MPI::MPI_CXX and PkgConfig::hwloc.
#
# Optional libraries are in variables, which are empty where the library is absent, faulty or of
# another MPI: ask `if(WEIR_LIBURING_TARGET)`. A library that was found and is left out is named with
# the reason. WEIR_LIBURING_TARGET, WEIR_UCX_TARGET, WEIR_MUNGE_TARGET, WEIR_HDF5_TARGET, and with the
# bench WEIR_PARALLEL_HDF5_TARGET, WEIR_PNETCDF_TARGET and WEIR_SIMGRID_TARGET.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(tomlplusplus 3 REQUIRED)
find_package(PkgConfig REQUIRED)
if(WEIR_BUILD_BENCH)
  include(WeirMpi)
  pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc>=2.0)
endif()
include(WeirOptional)

option(WEIR_WITH_LIBURING "Use io_uring through liburing when it is found" ON)
if(WEIR_WITH_LIBURING)
  pkg_check_modules(liburing IMPORTED_TARGET liburing>=2.1)
  weir_take_if_usable(WEIR_LIBURING_TARGET PkgConfig::liburing liburing
                      HEADER liburing.h CALL "io_uring_queue_init(1, 0, 0)")
endif()

# Bytes on their way to stagers of other nodes. Only its headers are used: the library is loaded when
# it is needed. What it has before 1.11 has no active messages with headers.
# Experimental: docs/staging.md, "Over UCX", has what does not work yet.
option(WEIR_WITH_UCX "Send bytes to stagers over UCX where it is found (experimental)" OFF)
set(WEIR_UCX_TARGET "")
if(WEIR_WITH_UCX)
  pkg_check_modules(ucx IMPORTED_TARGET ucx>=1.11)
  weir_take_if_usable(WEIR_UCX_TARGET PkgConfig::ucx UCX HEADER ucp/api/ucp.h
                      CALL "(int)UCP_OP_ATTR_FIELD_FLAGS + (ucp_get_version_string() == 0)")
  weir_take_if_usable(WEIR_UCX_TARGET "${WEIR_UCX_TARGET}" "UCX's log"
                      HEADER ucs/debug/log_def.h CALL "(int)UCS_LOG_FUNC_RC_STOP + (ucs_log_push_handler == 0)")
  if(WEIR_UCX_TARGET)
    message(STATUS "UCX ${ucx_VERSION}: stagers of other nodes may be reached over it")
  else()
    message(STATUS "WEIR_WITH_UCX is ON, but there is no UCX (Debian: libucx-dev)")
  endif()
endif()

# How ranks of other nodes and stagers show each other whose processes they are. Only its headers are
# used, as of UCX.
option(WEIR_WITH_MUNGE "Let stagers and programs know each other by MUNGE where it is found" ON)
set(WEIR_MUNGE_TARGET "")
if(WEIR_WITH_MUNGE)
  pkg_check_modules(munge IMPORTED_TARGET munge)
  weir_take_if_usable(WEIR_MUNGE_TARGET PkgConfig::munge MUNGE HEADER munge.h
                      CALL "munge_strerror(EMUNGE_SUCCESS) == 0")
endif()

if(WEIR_BUILD_BENCH)
  # Parallel HDF5 is a package of its own beside the serial one; both are optional.
  pkg_search_module(hdf5 IMPORTED_TARGET hdf5-${WEIR_MPI_FAMILY} hdf5-mpi)
  weir_take_if_usable(WEIR_PARALLEL_HDF5_TARGET PkgConfig::hdf5 "parallel HDF5"
                      HEADER hdf5.h CALL "H5Pset_fapl_mpio(0, MPI_COMM_NULL, MPI_INFO_NULL)")
  pkg_check_modules(pnetcdf IMPORTED_TARGET pnetcdf)
  weir_take_if_usable(WEIR_PNETCDF_TARGET PkgConfig::pnetcdf PnetCDF
                      HEADER pnetcdf.h CALL "ncmpi_close(0)")
endif()

# The module weir wants a compiler with assumed type and rank (TS 29113; gfortran 12 and later), its
# header for C, and MPI built for it. WEIR_FORTRAN says whether there is all of that.
option(WEIR_WITH_FORTRAN "Build the Fortran module weir when a Fortran compiler is found" ON)
set(WEIR_FORTRAN FALSE)
if(WEIR_WITH_FORTRAN AND WEIR_BUILD_BENCH AND NOT DEFINED SKBUILD_PLATLIB_DIR)
  include(CheckLanguage)
  include(CheckIncludeFile)
  check_language(Fortran)
  check_include_file(ISO_Fortran_binding.h WEIR_HAVE_FORTRAN_BINDING_HEADER)
  if(CMAKE_Fortran_COMPILER AND WEIR_HAVE_FORTRAN_BINDING_HEADER)
    enable_language(Fortran)
    find_package(MPI QUIET COMPONENTS Fortran)
    if(TARGET MPI::MPI_Fortran)
      set(WEIR_FORTRAN TRUE)
      # Some of them (MPICH's -fallow-argument-mismatch) are errors to a C compiler.
      get_target_property(weir_options MPI::MPI_Fortran INTERFACE_COMPILE_OPTIONS)
      if(weir_options AND NOT weir_options MATCHES "COMPILE_LANGUAGE")
        set_target_properties(MPI::MPI_Fortran PROPERTIES
          INTERFACE_COMPILE_OPTIONS "$<$<COMPILE_LANGUAGE:Fortran>:${weir_options}>")
      endif()
    endif()
  endif()
  if(NOT WEIR_FORTRAN)
    message(STATUS "No Fortran module: it needs a Fortran compiler, its ISO_Fortran_binding.h and "
                   "MPI for Fortran (Debian: gfortran)")
  endif()
endif()

# HDF5 files themselves need no MPI. One process cannot have two HDF5 libraries, so where the bench
# has the parallel one, that is it. Its high-level library (dimension scales) has no module of its own.
option(WEIR_WITH_HDF5 "Write and read HDF5 files when HDF5 (1.10.5 or later) is found" ON)
set(weir_hdf5_module hdf5)
set(weir_hdf5_found "${WEIR_PARALLEL_HDF5_TARGET}")
if(WEIR_WITH_HDF5 AND NOT weir_hdf5_found)
  set(weir_hdf5_module hdf5_serial)
  pkg_search_module(hdf5_serial IMPORTED_TARGET hdf5-serial hdf5)
  weir_take_if_usable(weir_hdf5_found PkgConfig::hdf5_serial HDF5 HEADER hdf5.h CALL "H5open()")
endif()
if(WEIR_WITH_HDF5 AND weir_hdf5_found
   AND ${weir_hdf5_module}_VERSION VERSION_GREATER_EQUAL 1.10.5)
  find_library(WEIR_HDF5_HL_LIBRARY hdf5_hl HINTS ${${weir_hdf5_module}_LIBRARY_DIRS}
               DOC "HDF5's high-level library, beside the HDF5 that is used")
  if(WEIR_HDF5_HL_LIBRARY)
    set(WEIR_HDF5_TARGET ${weir_hdf5_found})
  endif()
endif()

# HDF5's shared library may load forty others for the sake of files in clouds, and the parallel one
# loads MPI, whose network libraries take 0.15 s to start with Open MPI 5 (PSM2 measures a clock). The
# program that reads headers (src/formats/CMakeLists.txt) needs neither. It starts in 5 ms with static
# libraries: those of a serial HDF5 of the same version where there is one, otherwise those beside the
# shared library, if either can be linked with what is found of their own libraries.
set(WEIR_HDF5_ARCHIVES "")
if(WEIR_HDF5_TARGET)
  set(weir_archives "")
  get_filename_component(weir_hdf5_folder ${WEIR_HDF5_HL_LIBRARY} DIRECTORY)
  foreach(name IN ITEMS libhdf5_hl.a libhdf5.a sz aec z curl crypto dl m)
    if(name MATCHES "^libhdf5")
      set(weir_where PATHS ${weir_hdf5_folder}/../serial ${weir_hdf5_folder} NO_DEFAULT_PATH)
    else()
      set(weir_where HINTS ${${weir_hdf5_module}_LIBRARY_DIRS})
    endif()
    find_library(WEIR_HDF5_NEEDS_${name} ${name} ${weir_where}
                 DOC "Linked where the static HDF5 is")
    mark_as_advanced(WEIR_HDF5_NEEDS_${name})
    if(WEIR_HDF5_NEEDS_${name})
      list(APPEND weir_archives ${WEIR_HDF5_NEEDS_${name}})
    endif()
  endforeach()
  if(TARGET MPI::MPI_C)
    list(APPEND weir_archives MPI::MPI_C)
  endif()
  include(CheckCSourceRuns)
  include(CMakePushCheckState)
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_LIBRARIES ${weir_archives})
  set(CMAKE_REQUIRED_LINK_OPTIONS LINKER:--as-needed)
  set(CMAKE_REQUIRED_INCLUDES ${${weir_hdf5_module}_INCLUDE_DIRS})
  # H5open() ends the program if the libraries and the header are of different versions.
  check_c_source_runs("#include <hdf5.h>
#include <hdf5_hl.h>
int main(int count, char** words) { return H5open() + (count > 1 ? H5DSis_scale(0) : 0); }"
                      WEIR_HDF5_ARCHIVES_LINK)
  cmake_pop_check_state()
  if(WEIR_HDF5_ARCHIVES_LINK)
    set(WEIR_HDF5_ARCHIVES ${weir_archives})
  endif()
endif()

# Codecs of chunks: each library is optional, and a codec without one is refused by name. One process
# should have one zlib, so it is the one that HDF5 uses, too.
option(WEIR_WITH_CODECS "Compress chunks by zlib, zstd, LZ4, Blosc, Blosc 2, zfp and szip where they are found" ON)
set(WEIR_CODEC_TARGETS "")
set(WEIR_CODEC_DEFINITIONS "")
# weir_codec_library(DEFINITION TARGET NAME HEADER CALL)
macro(weir_codec_library definition target name header call)
  weir_take_if_usable(weir_codec_target ${target} ${name} HEADER ${header} CALL "${call}")
  if(weir_codec_target)
    list(APPEND WEIR_CODEC_TARGETS ${weir_codec_target})
    list(APPEND WEIR_CODEC_DEFINITIONS ${definition})
  endif()
endmacro()
if(WEIR_WITH_CODECS)
  find_package(ZLIB QUIET)
  pkg_check_modules(libzstd IMPORTED_TARGET libzstd>=1.4)
  pkg_check_modules(liblz4 IMPORTED_TARGET liblz4)
  pkg_check_modules(blosc IMPORTED_TARGET blosc>=1.21)
  pkg_check_modules(blosc2 IMPORTED_TARGET blosc2>=2.0)
  # zfp's own package ends the configuration where the compiler has no OpenMP, which only zfp needs.
  find_package(OpenMP QUIET COMPONENTS C)
  find_library(WEIR_ZFP_LIBRARY zfp DOC "zfp, where the compiler has no OpenMP")
  mark_as_advanced(WEIR_ZFP_LIBRARY)
  if(OpenMP_C_FOUND)
    find_package(zfp 1.0 CONFIG QUIET)
  elseif(WEIR_ZFP_LIBRARY)
    add_library(zfp::zfp UNKNOWN IMPORTED)
    set_target_properties(zfp::zfp PROPERTIES IMPORTED_LOCATION ${WEIR_ZFP_LIBRARY})
  endif()
  weir_codec_library(WEIR_WITH_ZLIB ZLIB::ZLIB zlib zlib.h "(int)crc32(0, 0, 0)")
  weir_codec_library(WEIR_WITH_ZSTD PkgConfig::libzstd zstd zstd.h "(int)ZSTD_versionNumber()")
  weir_codec_library(WEIR_WITH_LZ4 PkgConfig::liblz4 LZ4 lz4.h "LZ4_versionNumber()")
  weir_codec_library(WEIR_WITH_BLOSC PkgConfig::blosc Blosc blosc.h "blosc_get_nthreads()")
  weir_codec_library(WEIR_WITH_BLOSC2 PkgConfig::blosc2 "Blosc 2" blosc2.h "blosc2_get_nthreads()")
  weir_codec_library(WEIR_WITH_ZFP zfp::zfp zfp zfp.h "zfp_stream_open(0) != 0")
  # No pkg-config file tells of it; packages of libaec have it beside their own library.
  find_library(WEIR_SZIP_LIBRARY sz DOC "SZIP's interface, of libaec")
  mark_as_advanced(WEIR_SZIP_LIBRARY)
  if(WEIR_SZIP_LIBRARY)
    add_library(weir_szip INTERFACE IMPORTED)
    target_link_libraries(weir_szip INTERFACE "${WEIR_SZIP_LIBRARY}")
    weir_take_if_usable(weir_codec_target weir_szip szip HEADER szlib.h CALL
                        "SZ_BufftoBuffDecompress(0, 0, 0, 0, 0)")
    if(weir_codec_target)
      list(APPEND WEIR_CODEC_TARGETS "${WEIR_SZIP_LIBRARY}")
      list(APPEND WEIR_CODEC_DEFINITIONS WEIR_WITH_SZIP)
    endif()
  endif()
endif()

# What weir-sim lets share links; nothing else uses it.
option(WEIR_WITH_SIMGRID "Build weir-sim, which simulates plans on other machines, when SimGrid is found" ON)
set(WEIR_SIMGRID_TARGET "")
if(WEIR_WITH_SIMGRID AND WEIR_BUILD_BENCH)
  pkg_check_modules(simgrid IMPORTED_TARGET simgrid>=3.32)
  weir_take_if_usable(WEIR_SIMGRID_TARGET PkgConfig::simgrid SimGrid
                      HEADER simgrid/engine.h CALL "simgrid_get_clock() > 0")
  if(NOT WEIR_SIMGRID_TARGET)
    message(STATUS "weir-sim is left out: it needs SimGrid 3.32 or later (Debian: libsimgrid-dev)")
  endif()
  # SimGrid's own MPI, whose header is in a folder of its own.
  find_path(WEIR_SMPI_INCLUDE mpi.h HINTS ${simgrid_INCLUDEDIR} PATH_SUFFIXES smpi NO_DEFAULT_PATH
            DOC "Folder of SMPI's mpi.h, with which weir-sim-library is compiled")
  mark_as_advanced(WEIR_SMPI_INCLUDE)
endif()

if(WEIR_BUILD_TESTS)
  find_package(GTest 1.11 REQUIRED)
endif()
