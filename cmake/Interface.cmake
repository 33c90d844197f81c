# The interface as data, out of the public headers, and as the text that cffi reads: docs/bindings.md. It lies where it
# will be installed, as seen from the libraries. Without Python there is none.
if(Python3_FOUND)
  get_property(headers GLOBAL PROPERTY RAWHAL_PUBLIC_HEADERS)
  set(RAWHAL_BINDINGS ${PROJECT_SOURCE_DIR}/bindings)
  file(RELATIVE_PATH from_bindir ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DATADIR}/rawhal)
  get_filename_component(folder ${PROJECT_BINARY_DIR}/bin/${from_bindir} ABSOLUTE)
  set(RAWHAL_INTERFACE ${folder}/interface.json)
  set(RAWHAL_CDEF ${folder}/interface.cdef)
  add_custom_command(OUTPUT ${RAWHAL_INTERFACE} VERBATIM
    DEPENDS ${RAWHAL_BINDINGS}/describe.py ${RAWHAL_BINDINGS}/headers.py ${RAWHAL_BINDINGS}/ctype.py ${headers}
    COMMAND Python3::Interpreter -B ${RAWHAL_BINDINGS}/describe.py ${RAWHAL_INTERFACE} ${PROJECT_VERSION} ${headers})
  add_custom_command(OUTPUT ${RAWHAL_CDEF} VERBATIM
    DEPENDS ${RAWHAL_BINDINGS}/python/cdef.py ${RAWHAL_BINDINGS}/ctype.py ${RAWHAL_INTERFACE}
    COMMAND Python3::Interpreter -B ${RAWHAL_BINDINGS}/python/cdef.py ${RAWHAL_INTERFACE} ${RAWHAL_CDEF})
  add_custom_target(rawhal_interface ALL DEPENDS ${RAWHAL_INTERFACE} ${RAWHAL_CDEF})
  install(FILES ${RAWHAL_INTERFACE} ${RAWHAL_CDEF} DESTINATION ${CMAKE_INSTALL_DATADIR}/rawhal)
endif()
