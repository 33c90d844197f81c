#include "hsaco/diagnostics.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

static const struct {
  rawhal_severity_t severity;
  const char *text; /* follows "N kernels (first 'NAME'): " */
} quirk_texts[QUIRK_COUNT] = {
    [QUIRK_UNNAMED_ARGUMENTS] = {RAWHAL_SEVERITY_NOTE, "arguments without a name"},
    [QUIRK_SEGMENT_SIZE_UNALIGNED] = {RAWHAL_SEVERITY_NOTE,
                                      "kernarg segment size is not a multiple of its alignment"},
    [QUIRK_POINTER_UNALIGNED] = {RAWHAL_SEVERITY_NOTE,
                                 "8-byte pointer arguments at offsets that are not "
                                 "multiples of 8; used as they are"},
    [QUIRK_UNKNOWN_KERNEL_KEY] = {RAWHAL_SEVERITY_NOTE, "unknown metadata keys; kept verbatim"},
    [QUIRK_UNKNOWN_ARGUMENT_KEY] = {RAWHAL_SEVERITY_NOTE, "unknown argument keys; kept verbatim"},
    [QUIRK_UNKNOWN_VALUE_KIND] = {RAWHAL_SEVERITY_WARNING,
                                  "unknown argument value kinds; \"hidden_\" ones "
                                  "are zero-filled, others are the caller's"},
    [QUIRK_ARGUMENTS_UNORDERED] = {RAWHAL_SEVERITY_NOTE, "arguments not in order of their offsets"},
    [QUIRK_REGISTER_COUNT] = {RAWHAL_SEVERITY_NOTE,
                              "register counts of metadata and descriptor differ"},
    [QUIRK_DESCRIPTOR_RESERVED] = {RAWHAL_SEVERITY_NOTE, "reserved descriptor bytes are not zero"},
    [QUIRK_NO_DESCRIPTOR_SYMBOL] = {RAWHAL_SEVERITY_ERROR,
                                    "no global NAME.kd symbol for the metadata"},
    [QUIRK_NAME_TWICE] = {RAWHAL_SEVERITY_NOTE, "a name that an earlier kernel has, too: by name "
                                                "that one is found, by their symbols each"},
};

void diagnostics_init(diagnostics_t *diagnostics, arena_t *arena, size_t most)
{
  *diagnostics = (diagnostics_t){.arena = arena, .most = most};
}

void diagnose(diagnostics_t *diagnostics, rawhal_severity_t severity, rawhal_string_t kernel,
              uint64_t offset, rawhal_string_t message)
{
  if (diagnostics->count >= diagnostics->most ||
      !arena_reserve(diagnostics->arena, &diagnostics->items, &diagnostics->capacity,
                     diagnostics->count, sizeof(*diagnostics->items), 4)) {
    ++diagnostics->unrecorded;
    return;
  }
  diagnostics->items[diagnostics->count++] =
      (rawhal_diagnostic_t){severity, kernel, offset, message};
}

void diagnose_print(diagnostics_t *diagnostics, rawhal_severity_t severity, rawhal_string_t kernel,
                    uint64_t offset, const char *format, ...)
{
  if (diagnostics->count >= diagnostics->most) {
    ++diagnostics->unrecorded;
    return;
  }
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  diagnose(diagnostics, severity, kernel, offset, arena_print(diagnostics->arena, "%s", text));
}

void diagnose_quirk(diagnostics_t *diagnostics, quirk_t quirk, rawhal_string_t kernel)
{
  quirk_count_t *count = &diagnostics->quirks[quirk];
  if (count->kernels++ == 0)
    count->first = kernel;
}

void diagnostics_finish(diagnostics_t *diagnostics)
{
  for (size_t i = 0; i < QUIRK_COUNT; ++i) {
    const quirk_count_t *count = &diagnostics->quirks[i];
    if (!count->kernels)
      continue;
    const char *text = quirk_texts[i].text;
    rawhal_string_t message = {text, strlen(text)};
    if (count->kernels > 1)
      message = arena_print(diagnostics->arena, "%zu kernels: %s", count->kernels, text);
    diagnose(diagnostics, quirk_texts[i].severity, count->first, RAWHAL_NO_OFFSET, message);
  }
  if (diagnostics->unrecorded && diagnostics->count)
    diagnostics->items[diagnostics->count - 1] = (rawhal_diagnostic_t){
        RAWHAL_SEVERITY_NOTE,
        {0},
        RAWHAL_NO_OFFSET,
        arena_print(diagnostics->arena, "%zu more diagnostics are not recorded (max_diagnostics)",
                    diagnostics->unrecorded + 1)};
}
