/* rawhal core: words for numbers, which come from files and may be any. */
#include <stdio.h>
#include <string.h>

#include "tools/core/core.h"

static const char *word(const char *const *words, size_t count, uint32_t value)
{
  return value < count && words[value] ? words[value] : "?";
}

const char *core_class_text(uint32_t kind)
{
  static const char *const words[CORE_CLASSES] = {[CORE_OWN] = "debugger's lists",
                                                  [CORE_QUEUE] = "queue",
                                                  [CORE_CODE] = "code",
                                                  [CORE_OBJECT] = "code object",
                                                  [CORE_WAVES] = "waves",
                                                  [CORE_KERNARG] = "kernel arguments",
                                                  [CORE_SCRATCH] = "private memory",
                                                  [CORE_NEAR] = "buffer near the fault",
                                                  [CORE_BUFFER] = "buffer",
                                                  [CORE_HOST] = "host memory"};
  return word(words, CORE_CLASSES, kind);
}

const char *core_outcome_text(uint32_t outcome)
{
  static const char *const words[CORE_OUTCOMES] = {[CORE_OUTCOME_UNKNOWN] = "unknown",
                                                   [CORE_OUTCOME_WAITING] = "waiting",
                                                   [CORE_OUTCOME_RUNNING] = "running",
                                                   [CORE_OUTCOME_DONE] = "done",
                                                   [CORE_OUTCOME_FAILED] = "failed"};
  return word(words, CORE_OUTCOMES, outcome);
}

const char *core_state_text(uint32_t state)
{
  static const char *const words[CORE_ALLOCATION_STATES] = {[CORE_ALLOCATION_UNKNOWN] = "unknown",
                                                            [CORE_ALLOCATION_LIVE] = "live",
                                                            [CORE_ALLOCATION_FREED] = "freed",
                                                            [CORE_ALLOCATION_FOREIGN] =
                                                                "no access"};
  return word(words, CORE_ALLOCATION_STATES, state);
}

void core_reason_text(uint32_t reason, char text[128])
{
  static const char *const words[] = {[CORE_REASON_BUDGET] = "beyond the budget",
                                      [CORE_REASON_POLICY] = "not asked for",
                                      [CORE_REASON_UNREADABLE] = "cannot be read"};
  if (reason >= CORE_REASON_MISTAKE)
    (void)snprintf(text, 128, "a debugger would refuse it: %s",
                   core_mistake_text((core_mistake_t)(reason - CORE_REASON_MISTAKE)));
  else
    (void)snprintf(text, 128, "%s", word(words, sizeof(words) / sizeof(*words), reason));
}

void core_stop_text(const walk_wave_t *wave, char text[96])
{
  static const struct {
    uint32_t reason;
    const char *word;
  } reasons[] = {{WALK_MEMORY_VIOLATION, "memory violation"},
                 {WALK_ADDRESS_ERROR, "address error"},
                 {WALK_ILLEGAL_INSTRUCTION, "illegal instruction"},
                 {WALK_BREAKPOINT, "breakpoint"},
                 {WALK_DEBUG_TRAP, "debug trap"},
                 {WALK_ASSERT_TRAP, "assert"}};
  size_t used = (size_t)snprintf(text, 96, "%s", wave->reason ? "" : "running");
  for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); ++i)
    if (wave->reason & reasons[i].reason)
      used += (size_t)snprintf(text + used, 96 - used, "%s%s", used ? ", " : "", reasons[i].word);
  if (wave->reason & WALK_TRAP)
    (void)snprintf(text + used, 96 - used, "%strap %u", used ? ", " : "", wave->trap);
}
