# What `cmake --install` lays down: the program, the layers as one CMake package and one pkg-config module, and the
# headers that are public. The layers of the package are static archives; which allocator a user links is the user's.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(fastserve_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fastserve)

get_property(layers GLOBAL PROPERTY FASTSERVE_LAYERS)
get_property(dirs GLOBAL PROPERTY FASTSERVE_LAYER_DIRS)
set(fastserve_pc_libs "")
foreach(layer dir IN ZIP_LISTS layers dirs)
  install(TARGETS fastserve_${layer} EXPORT fastserve ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
  if(EXISTS ${dir}/include) # what lies in internal/ is ours
    install(DIRECTORY ${dir}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library
            FILES_MATCHING PATTERN "*.hpp")
  endif()
  # The highest layer first: an archive is searched for what stands before it.
  string(PREPEND fastserve_pc_libs " -lfastserve_${layer}")
endforeach()

install(TARGETS fastserve_library EXPORT fastserve COMPONENT library)
install(EXPORT fastserve FILE fastserve-targets.cmake NAMESPACE fastserve:: DESTINATION ${fastserve_package_dir}
        COMPONENT library)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/fastserve-config.cmake.in fastserve-config.cmake
  INSTALL_DESTINATION ${fastserve_package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(fastserve-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/codecs.cmake RENAME fastserve-codecs.cmake
        DESTINATION ${fastserve_package_dir} COMPONENT library)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/fastserve-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/fastserve-config-version.cmake
        DESTINATION ${fastserve_package_dir} COMPONENT library)

# Who links the archives links what they need; a module of each library's own need not be there.
set(fastserve_pc_codecs "")
foreach(codec IN LISTS FASTSERVE_CODECS)
  if(codec STREQUAL brotli)
    string(APPEND fastserve_pc_codecs " -lbrotlienc -lbrotlidec -lbrotlicommon")
  else()
    string(REGEX REPLACE "^zlib$" "z" codec ${codec})
    string(APPEND fastserve_pc_codecs " -l${codec}")
  endif()
endforeach()

# The file finds its prefix from where it lies, so that an installed tree can be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
           OUTPUT_VARIABLE fastserve_pc_prefix)
cmake_path(NORMAL_PATH fastserve_pc_prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/fastserve.pc.in fastserve.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/fastserve.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)

if(TARGET fastserve_program)
  install(TARGETS fastserve_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()
