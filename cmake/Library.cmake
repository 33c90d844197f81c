# One shared and one static library out of the folders.

get_property(folders GLOBAL PROPERTY RAWHAL_FOLDERS)
set(objects)
foreach(folder ${folders})
  list(APPEND objects $<TARGET_OBJECTS:${folder}>)
endforeach()

add_library(rawhal_shared SHARED ${objects})
add_library(rawhal_static STATIC ${objects})
set_target_properties(rawhal_shared PROPERTIES OUTPUT_NAME rawhal EXPORT_NAME rawhal
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LIBRARY_OUTPUT_DIRECTORY ${RAWHAL_LIBDIR})
set_target_properties(rawhal_static PROPERTIES OUTPUT_NAME rawhal EXPORT_NAME rawhal_static)
foreach(library rawhal_shared rawhal_static)
  target_include_directories(${library} INTERFACE
    $<BUILD_INTERFACE:${RAWHAL_INCLUDE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${library} PRIVATE elf z zstd ${CMAKE_DL_LIBS} Threads::Threads)
endforeach()

# ---- Installation: libraries, headers (each folder's own), CMake package, pkg-config ----
include(CMakePackageConfigHelpers)
install(TARGETS rawhal_shared rawhal_static EXPORT rawhalTargets)
install(EXPORT rawhalTargets NAMESPACE rawhal:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rawhal)
configure_package_config_file(cmake/rawhalConfig.cmake.in ${PROJECT_BINARY_DIR}/rawhalConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rawhal)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rawhalConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH RAWHAL_LIBDIR_TO_PREFIX /x/${CMAKE_INSTALL_LIBDIR} /x)
configure_file(cmake/rawhal.pc.in ${PROJECT_BINARY_DIR}/rawhal.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rawhalConfig.cmake ${PROJECT_BINARY_DIR}/rawhalConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rawhal)
install(FILES ${PROJECT_BINARY_DIR}/rawhal.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
