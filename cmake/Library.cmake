# One shared and one static library out of the folders.

get_property(folders GLOBAL PROPERTY RAWHAL_FOLDERS)
set(objects)
foreach(folder ${folders})
  list(APPEND objects $<TARGET_OBJECTS:${folder}>)
endforeach()

add_library(rawhal_shared SHARED ${objects})
add_library(rawhal_static STATIC ${objects})
set_target_properties(rawhal_shared PROPERTIES OUTPUT_NAME rawhal EXPORT_NAME rawhal
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
set_target_properties(rawhal_static PROPERTIES OUTPUT_NAME rawhal EXPORT_NAME rawhal_static)
foreach(library rawhal_shared rawhal_static)
  target_include_directories(${library} INTERFACE
    $<BUILD_INTERFACE:${RAWHAL_INCLUDE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${library} PRIVATE elf ${CMAKE_DL_LIBS} Threads::Threads)
endforeach()
