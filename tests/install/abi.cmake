# Holds the interface of the shared library against abi/librawhal.abi, the one that programs were built against; with
# UPDATE, writes that file anew. Needs a library with debugging information and Debian's abigail-tools.
find_program(ABIDW abidw)
find_program(ABIDIFF abidiff)
find_program(READELF readelf)
if(NOT ABIDW OR NOT ABIDIFF OR NOT READELF)
  message("skipped: abigail-tools is not installed")
  return()
endif()
execute_process(COMMAND ${READELF} -SW ${LIBRARY} OUTPUT_VARIABLE sections)
if(NOT sections MATCHES "\\.debug_info")
  message("skipped: a library without debugging information")
  return()
endif()

set(now ${WORK}/librawhal.abi)
# What is visible, by the public headers: nothing of this build or this machine.
execute_process(COMMAND ${ABIDW} --exported-interfaces-only --headers-dir ${HEADERS} --drop-private-types --no-corpus-path
  --no-comp-dir-path --no-show-locs --no-architecture --no-elf-needed --type-id-style hash --out-file ${now} ${LIBRARY}
  RESULT_VARIABLE result ERROR_VARIABLE problem)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "abidw: ${problem}")
endif()
file(READ ${now} text)
string(REGEX REPLACE "path='${SOURCE}/" "path='" text "${text}")
file(WRITE ${now} "${text}")
if(UPDATE)
  file(COPY_FILE ${now} ${COMMITTED})
  return()
endif()
execute_process(COMMAND ${ABIDIFF} ${COMMITTED} ${now} RESULT_VARIABLE result OUTPUT_VARIABLE changes ERROR_VARIABLE changes)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "the interface has changed (if it is meant: ./dev abi --update, and a line in CHANGELOG.md)\n${changes}")
endif()

# And it would be seen: in the same interface with one member less.
string(REGEX REPLACE "<data-member[^>]*>[^<]*<var-decl name='share_ppm'[^>]*>[^<]*</data-member>" "" without "${text}")
file(WRITE ${now}.without "${without}")
execute_process(COMMAND ${ABIDIFF} ${COMMITTED} ${now}.without RESULT_VARIABLE result OUTPUT_QUIET)
if(result EQUAL 0)
  message(FATAL_ERROR "abidiff does not see that a member is gone")
endif()
