# The reference manual, section 3, out of the public headers. Without Python there is none.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  get_property(headers GLOBAL PROPERTY RAWHAL_PUBLIC_HEADERS)
  set(RAWHAL_MANUAL ${PROJECT_BINARY_DIR}/man/man3)
  set(script ${PROJECT_SOURCE_DIR}/docs/man/man3.py)
  file(MAKE_DIRECTORY ${RAWHAL_MANUAL}) # for whoever installs without having built everything
  add_custom_command(OUTPUT ${RAWHAL_MANUAL}/rawhal.3 VERBATIM DEPENDS ${script} ${PROJECT_SOURCE_DIR}/bindings/headers.py ${headers}
    COMMAND Python3::Interpreter -B ${script} ${RAWHAL_MANUAL} ${PROJECT_VERSION} ${headers})
  add_custom_target(rawhal_manual ALL DEPENDS ${RAWHAL_MANUAL}/rawhal.3)
  install(DIRECTORY ${RAWHAL_MANUAL} DESTINATION ${CMAKE_INSTALL_MANDIR} FILES_MATCHING PATTERN "*.3")
endif()
