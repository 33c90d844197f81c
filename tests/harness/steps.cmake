# rawhal_count_steps(PROGRAM): what steps.h counts in it. Which sources are compiled with STEPS_COMPILE is up to the
# caller.
set(STEPS_COMPILE -fsanitize-coverage=trace-pc)
set(STEPS_WRAPPED __sanitizer_cov_trace_pc memcpy memmove memset memchr memcmp strlen vsnprintf inflate
  ZSTD_findFrameCompressedSize ZSTD_decompressDCtx)

function(rawhal_count_steps program)
  target_sources(${program} PRIVATE ${PROJECT_SOURCE_DIR}/tests/harness/steps.c)
  # What counts is not counted itself, and a compiler must not make a wrapped function of its loop.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/harness/steps.c PROPERTIES
    COMPILE_OPTIONS "-fno-sanitize=all;-fno-sanitize-coverage=trace-pc;-fno-builtin" SKIP_PRECOMPILE_HEADERS ON)
  foreach(name ${STEPS_WRAPPED})
    target_link_options(${program} PRIVATE -Wl,--wrap=${name})
  endforeach()
endfunction()
