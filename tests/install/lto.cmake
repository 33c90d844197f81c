# Builds and runs a program with names of its own for what an archive hides, whose objects are of each kind.
foreach(flags "" "-flto" "-flto=auto -ffat-lto-objects")
  file(REMOVE_RECURSE ${BUILD})
  foreach(step "-S;${SOURCE};-B;${BUILD};-DCMAKE_BUILD_TYPE=Release;-DSINGLE=${SINGLE};-DCMAKE_C_COMPILER=${C_COMPILER};-DCMAKE_C_FLAGS=${flags}"
      "--build;${BUILD}" "-E;env;${BUILD}/main")
    execute_process(COMMAND ${CMAKE_COMMAND} ${step} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT result EQUAL 0)
      message(FATAL_ERROR "with \"${flags}\": ${step}\nended with ${result}:\n${output}")
    endif()
  endforeach()
endforeach()
