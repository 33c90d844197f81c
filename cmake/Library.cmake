# One shared and one static library out of the folders.

get_property(folders GLOBAL PROPERTY RAWHAL_FOLDERS)
set(objects)
foreach(folder ${folders})
  list(APPEND objects $<TARGET_OBJECTS:${folder}>)
endforeach()

# Tests, benchmarks and fuzz targets see everything.
add_library(rawhal_parts STATIC ${objects})

# Others see RAWHAL_API alone. A shared library is made so by its symbols' visibility, which an archive does not have:
# its objects are linked into one. With them what they need of zlib and zstd: a program's own functions of these names
# are then not taken for theirs. libelf, of another licence, stays outside; jansson is opened by name (base/jansson.h).
include(cmake/Single.cmake)
set(RAWHAL_INSIDE)
set(outside z zstd)
set(pkgconfig_z zlib)
set(pkgconfig_zstd libzstd)
foreach(name z zstd)
  find_library(RAWHAL_${name}_ARCHIVE NAMES lib${name}.a)
  mark_as_advanced(RAWHAL_${name}_ARCHIVE)
  if(RAWHAL_${name}_ARCHIVE)
    list(APPEND RAWHAL_INSIDE ${RAWHAL_${name}_ARCHIVE})
    list(REMOVE_ITEM outside ${name})
  else()
    message(STATUS "Without lib${name}.a: librawhal.a leaves its functions to the program's linker")
  endif()
endforeach()
set(single ${PROJECT_BINARY_DIR}/rawhal.o)
rawhal_single(${single} rawhal_* ${objects} ${RAWHAL_INSIDE})
add_library(rawhal_static STATIC ${single})
add_dependencies(rawhal_static ${folders}) # make(1) does not see the objects' makers behind a custom command
set_target_properties(rawhal_static PROPERTIES OUTPUT_NAME rawhal EXPORT_NAME rawhal_static LINKER_LANGUAGE C)

# Until 1.0 a minor version may change the interface.
configure_file(cmake/exports.map.in ${PROJECT_BINARY_DIR}/exports.map @ONLY)
add_library(rawhal_shared SHARED ${objects})
target_link_options(rawhal_shared PRIVATE -Wl,--version-script,${PROJECT_BINARY_DIR}/exports.map)
set_property(TARGET rawhal_shared APPEND PROPERTY LINK_DEPENDS ${PROJECT_BINARY_DIR}/exports.map)
set_target_properties(rawhal_shared PROPERTIES OUTPUT_NAME rawhal EXPORT_NAME rawhal VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} LIBRARY_OUTPUT_DIRECTORY ${RAWHAL_LIBDIR}
  INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON) # where a package brings what it needs of others

set(foreign_rawhal_parts z zstd)
set(foreign_rawhal_shared z zstd)
set(foreign_rawhal_static ${outside})
foreach(library rawhal_parts rawhal_shared rawhal_static)
  target_include_directories(${library} INTERFACE
    $<BUILD_INTERFACE:${RAWHAL_INCLUDE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${library} PRIVATE elf ${foreign_${library}} ${CMAKE_DL_LIBS} Threads::Threads)
endforeach()

# Both, unless BUILD_SHARED_LIBS says which. rawhal::rawhal: what our own programs link.
set(installed rawhal_shared rawhal_static)
if(DEFINED BUILD_SHARED_LIBS AND BUILD_SHARED_LIBS)
  set(installed rawhal_shared)
elseif(DEFINED BUILD_SHARED_LIBS)
  set(installed rawhal_static)
endif()
foreach(library rawhal_shared rawhal_static)
  if(NOT library IN_LIST installed)
    set_target_properties(${library} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endforeach()
list(GET installed 0 first)
add_library(rawhal::rawhal ALIAS ${first})

# ---- Installation: libraries, headers (each folder's own), CMake package, pkg-config ----
include(CMakePackageConfigHelpers)
install(TARGETS ${installed} EXPORT rawhalTargets)
install(EXPORT rawhalTargets NAMESPACE rawhal:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rawhal)
configure_package_config_file(cmake/rawhalConfig.cmake.in ${PROJECT_BINARY_DIR}/rawhalConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rawhal)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rawhalConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
set(RAWHAL_PC_PRIVATE ".private") # what an archive needs is the program's affair where there is nothing else
if(NOT rawhal_shared IN_LIST installed)
  set(RAWHAL_PC_PRIVATE "")
endif()
set(RAWHAL_PC_OUTSIDE "")
foreach(name ${outside})
  string(APPEND RAWHAL_PC_OUTSIDE " ${pkgconfig_${name}}")
endforeach()
file(RELATIVE_PATH RAWHAL_LIBDIR_TO_PREFIX /x/${CMAKE_INSTALL_LIBDIR} /x)
configure_file(cmake/rawhal.pc.in ${PROJECT_BINARY_DIR}/rawhal.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rawhalConfig.cmake ${PROJECT_BINARY_DIR}/rawhalConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rawhal)
install(FILES ${PROJECT_BINARY_DIR}/rawhal.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
