# What other projects find Weir by: a CMake package and pkg-config files.
#
#   find_package(weir): weir::weir, which is libweir.so, for C and C++; with MPI. weir::files, which
#       is libweir_files.so, for C and C++; without MPI. For Fortran weir::fortran, the module weir,
#       where it was built. With COMPONENTS parts, for C++, also the static libraries inside:
#       weir::common, weir::array, weir::topology, weir::plan, weir::system, weir::engines,
#       weir::codecs, weir::stored, weir::checksums, weir::sections, weir::formats and,
#       with MPI, weir::aggregation, weir::capi
#   pkg-config weir: libweir.so; weir-files: libweir_files.so; weir-fortran: the module weir;
#       weir-parts: the static libraries (those with MPI are linked by
#       MPI's compiler)
#
# The static ones are installed by `cmake --install BUILD --component parts` alone, and name exactly the libraries that the installed ones are linked with. Include after
# the folders.
include(CMakePackageConfigHelpers)

set(weir_package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/weir")
set(weir_archives "")       # in link order: who needs comes before who is needed
set(weir_linked "")
set(weir_libraries files_calls formats sections checksums stored codecs engines system
    plan topology array common)
if(TARGET weir_aggregation)
  list(PREPEND weir_libraries capi aggregation ranks)
endif()
foreach(library IN LISTS weir_libraries)
  string(APPEND weir_archives " -lweir_${library}")
  get_target_property(links weir_${library} INTERFACE_LINK_LIBRARIES)
  list(APPEND weir_linked ${links})
endforeach()

# weir_requires(TARGET FIND PKG_CONFIG): when an installed library links TARGET, the CMake package
# runs the line FIND and the pkg-config file names the module PKG_CONFIG.
set(weir_find_dependencies "")
set(weir_pkg_config_requires "")
macro(weir_requires target find pkg_config)
  # A private link of a static library still has to be linked by its users.
  if("${target}" IN_LIST weir_linked OR "$<LINK_ONLY:${target}>" IN_LIST weir_linked)
    string(APPEND weir_find_dependencies "${find}\n")
    string(APPEND weir_pkg_config_requires " ${pkg_config}")
  endif()
endmacro()
weir_requires(Threads::Threads "find_dependency(Threads)" "")
weir_requires(CLI11::CLI11 "find_dependency(CLI11)" CLI11)
weir_requires(MPI::MPI_CXX "set(MPI_CXX_SKIP_MPICXX ON)
find_dependency(MPI COMPONENTS CXX)" "")
weir_requires(fmt::fmt "find_dependency(fmt)" fmt)
weir_requires(tomlplusplus::tomlplusplus "find_dependency(tomlplusplus)" tomlplusplus)
weir_requires(nlohmann_json::nlohmann_json "find_dependency(nlohmann_json)" nlohmann_json)
weir_requires(PkgConfig::liburing "find_dependency(PkgConfig)
pkg_check_modules(liburing REQUIRED IMPORTED_TARGET liburing)" liburing)
weir_requires(ZLIB::ZLIB "find_dependency(ZLIB)" zlib)
foreach(module IN ITEMS libzstd liblz4 blosc blosc2)
  weir_requires(PkgConfig::${module} "find_dependency(PkgConfig)
pkg_check_modules(${module} REQUIRED IMPORTED_TARGET ${module})" ${module})
endforeach()
weir_requires(zfp::zfp "find_dependency(zfp)" "")
weir_requires("${WEIR_HDF5_TARGET}" "find_dependency(PkgConfig)
pkg_check_modules(${weir_hdf5_module} REQUIRED IMPORTED_TARGET ${${weir_hdf5_module}_MODULE_NAME})"
              "${${weir_hdf5_module}_MODULE_NAME}")
# Those that no pkg-config file tells of.
set(weir_other_libraries "")
if(CMAKE_DL_LIBS)
  string(APPEND weir_other_libraries " -l${CMAKE_DL_LIBS}")
endif()
if(WEIR_HDF5_TARGET)
  string(APPEND weir_other_libraries " ${WEIR_HDF5_HL_LIBRARY}")
endif()
if(zfp::zfp IN_LIST WEIR_CODEC_TARGETS)
  string(APPEND weir_other_libraries " -lzfp")
endif()
if(WEIR_WITH_SZIP IN_LIST WEIR_CODEC_DEFINITIONS)
  string(APPEND weir_other_libraries " -lsz")
endif()

configure_package_config_file(cmake/weirConfig.cmake.in weirConfig.cmake
                              INSTALL_DESTINATION "${weir_package_folder}")
# Before 1.0 a new minor version may change what is installed.
write_basic_package_version_file(weirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/weirConfig.cmake"
              "${PROJECT_BINARY_DIR}/weirConfigVersion.cmake"
        DESTINATION "${weir_package_folder}" COMPONENT development)
install(EXPORT weirTargets NAMESPACE weir:: DESTINATION "${weir_package_folder}"
        COMPONENT parts EXCLUDE_FROM_ALL)
if(TARGET weir AND NOT DEFINED SKBUILD_PLATLIB_DIR)
  install(EXPORT weirLibraryTargets NAMESPACE weir:: DESTINATION "${weir_package_folder}"
          COMPONENT development)
  if(TARGET weir_fortran)
    install(EXPORT weirFortranTargets NAMESPACE weir:: DESTINATION "${weir_package_folder}"
            COMPONENT development)
  endif()
endif()

if(NOT DEFINED SKBUILD_PLATLIB_DIR)
  install(EXPORT weirFilesTargets NAMESPACE weir:: DESTINATION "${weir_package_folder}"
          COMPONENT development)
endif()

# The pkg-config files find the prefix from where they lie, so the installed folder may be moved.
file(RELATIVE_PATH weir_prefix_from_pc "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" weir_prefix_from_pc "${weir_prefix_from_pc}")
configure_file(cmake/weir-parts.pc.in weir-parts.pc @ONLY)
configure_file(cmake/weir-files.pc.in weir-files.pc @ONLY)
set(weir_pkg_config_files "${PROJECT_BINARY_DIR}/weir-files.pc")
install(FILES "${PROJECT_BINARY_DIR}/weir-parts.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT parts EXCLUDE_FROM_ALL)
if(TARGET weir)
  configure_file(cmake/weir.pc.in weir.pc @ONLY)
  list(APPEND weir_pkg_config_files "${PROJECT_BINARY_DIR}/weir.pc")
  if(TARGET weir_fortran)
    configure_file(cmake/weir-fortran.pc.in weir-fortran.pc @ONLY)
    list(APPEND weir_pkg_config_files "${PROJECT_BINARY_DIR}/weir-fortran.pc")
  endif()
endif()
install(FILES ${weir_pkg_config_files} DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
        COMPONENT development)
