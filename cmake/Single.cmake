# rawhal_single(OUTPUT OBJECTS...): links objects into one, in which what is hidden becomes local.
#
# Packages are built with -flto. GCC then would make it of intermediate code again, whose symbols objcopy cannot change,
# and which other compilers and linkers without its plugin cannot read.
function(rawhal_single output)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_C_FLAGS}")
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    list(APPEND flags -flinker-output=nolto-rel)
  endif()
  add_custom_command(OUTPUT ${output} VERBATIM COMMAND_EXPAND_LISTS DEPENDS ${ARGN}
    COMMAND ${CMAKE_C_COMPILER} ${flags} -r -nostdlib -o ${output} ${ARGN}
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${output})
endfunction()
