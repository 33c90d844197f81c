# rawhal_single(OUTPUT KEEP OBJECTS...): links objects, and what they need of archives among them, into one object, in
# which all becomes local but the names that KEEP, a pattern, matches and that are not hidden.
#
# Packages are built with -flto. GCC then would make it of intermediate code again, whose symbols objcopy cannot change,
# and which other compilers and linkers without its plugin cannot read.
function(rawhal_single output keep)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_C_FLAGS}")
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    list(APPEND flags -flinker-output=nolto-rel)
  endif()
  add_custom_command(OUTPUT ${output} VERBATIM COMMAND_EXPAND_LISTS DEPENDS ${ARGN}
    COMMAND ${CMAKE_C_COMPILER} ${flags} -r -nostdlib -o ${output} ${ARGN}
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden --wildcard --keep-global-symbol=${keep} ${output})
endfunction()
