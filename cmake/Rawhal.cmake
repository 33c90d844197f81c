# Warnings, sanitizers and the helpers every folder uses.

set(RAWHAL_WARNINGS -Wall -Wextra $<$<BOOL:${RAWHAL_WERROR}>:-Werror>)
add_library(rawhal_flags INTERFACE)
target_compile_options(rawhal_flags INTERFACE ${RAWHAL_WARNINGS}
  $<$<COMPILE_LANGUAGE:C>:-Wconversion -Wstrict-prototypes -Wmissing-prototypes>)
target_compile_definitions(rawhal_flags INTERFACE _GNU_SOURCE)
if(RAWHAL_SANITIZE)
  add_compile_options(-fsanitize=${RAWHAL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${RAWHAL_SANITIZE})
  # Only tests are C++: compiled so, they take a quarter of the time, and most of a run is compiling.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O0 -g1 -DNDEBUG")
  # GCC's -Og takes half of the time of -O2, and removes fewer accesses before they are looked at. Release has what -O3 makes
  # of it. Lines are all a report needs.
  set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(CMAKE_C_FLAGS_RELWITHDEBINFO "-Og -g1 -DNDEBUG")
  endif()
  # A trap in place of a report, which GCC has a table for and a relocation of each process: a quarter of what starts one. Below
  # AddressSanitizer with handle_sigill=1 (./dev) it has the place, too.
  add_compile_options($<$<AND:$<COMPILE_LANGUAGE:C>,$<C_COMPILER_ID:GNU>>:-fsanitize-undefined-trap-on-error>)
  # GCC sees uninitialised variables in std::regex and std::function where a sanitizer's checks are between.
  add_compile_options($<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>)
  # Tests may be Clang's (.ci/run) where the library is GCC's. Then GCC links, for there to be one runtime, and what that of
  # tsan has not, copies of memory, is left to the C library's functions, which are watched.
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-gdwarf-4>) # which its runtime finds lines in
    set(CMAKE_CXX_LINK_EXECUTABLE "<CMAKE_C_COMPILER> <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES> -lstdc++ -lm")
    if(RAWHAL_SANITIZE STREQUAL "thread")
      add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-mllvm -tsan-instrument-memintrinsics=0 -D__SANITIZE_THREAD__>")
    else()
      add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-fno-sanitize=function -D__SANITIZE_ADDRESS__>")
    endif()
  endif()
  # It warns that it takes no fence for an order. Ours are between atomics, which it sees as such.
  if(RAWHAL_SANITIZE STREQUAL "thread")
    add_compile_options($<$<AND:$<COMPILE_LANGUAGE:C>,$<C_COMPILER_ID:GNU>>:-Wno-tsan>)
  endif()
endif()

# The build tree has programs and libraries where the installed tree has them, as seen from each other: programs in
# folders beside this one, softgpu below it. So both find what they need by the same relative paths.
file(RELATIVE_PATH RAWHAL_LIBDIR_FROM_BINDIR ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
get_filename_component(RAWHAL_LIBDIR ${PROJECT_BINARY_DIR}/bin/${RAWHAL_LIBDIR_FROM_BINDIR} ABSOLUTE)
file(MAKE_DIRECTORY ${RAWHAL_LIBDIR}/rawhal)
file(CREATE_LINK ${PROJECT_BINARY_DIR}/softgpu ${RAWHAL_LIBDIR}/rawhal/softgpu SYMBOLIC)

# rawhal_static_here(): programs of this folder that have the library linked in find softgpu beside themselves.
function(rawhal_static_here)
  file(CREATE_LINK ${RAWHAL_LIBDIR}/rawhal ${CMAKE_CURRENT_BINARY_DIR}/rawhal SYMBOLIC)
endfunction()

# The build tree shows public headers as the installed tree does: <rawhal/NAME.h>, one flat folder.
set(RAWHAL_INCLUDE_DIR ${PROJECT_BINARY_DIR}/include)
set(RAWHAL_CODE_DIRS ${PROJECT_SOURCE_DIR})
function(rawhal_public_headers)
  foreach(header ${ARGN})
    get_filename_component(name ${header} NAME)
    file(MAKE_DIRECTORY ${RAWHAL_INCLUDE_DIR}/rawhal)
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${header} ${RAWHAL_INCLUDE_DIR}/rawhal/${name} SYMBOLIC)
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rawhal)
    set_property(GLOBAL APPEND PROPERTY RAWHAL_PUBLIC_HEADERS ${CMAKE_CURRENT_SOURCE_DIR}/${header})
  endforeach()
endfunction()

# rawhal_folder(NAME SOURCES...): one folder of the library, as an object library rawhal_NAME.
function(rawhal_folder name)
  if(NOT ARGN)
    return()
  endif()
  add_library(rawhal_${name} OBJECT ${ARGN})
  target_link_libraries(rawhal_${name} PRIVATE rawhal_flags)
  target_include_directories(rawhal_${name} PRIVATE ${PROJECT_SOURCE_DIR} ${RAWHAL_INCLUDE_DIR})
  set_property(GLOBAL APPEND PROPERTY RAWHAL_FOLDERS rawhal_${name})
endfunction()
