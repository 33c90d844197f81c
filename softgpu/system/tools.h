/* What a tools library of the HSA runtime (HSA_TOOLS_LIB) sees of it: the beginnings of the
 * runtime's tables, whose own header is C++. */
#ifndef SOFTGPU_SYSTEM_TOOLS_H
#define SOFTGPU_SYSTEM_TOOLS_H

#include <hsa/hsa.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tools_version {
  uint32_t major, size, step, reserved;
} tools_version_t;

enum { TOOLS_CORE_MAJOR = 1 };

typedef hsa_status_t tools_agent_info_fn(hsa_agent_t agent, hsa_agent_info_t attribute,
                                         void *value);
typedef hsa_signal_value_t tools_wait_fn(hsa_signal_t signal, hsa_signal_condition_t condition,
                                         hsa_signal_value_t value, uint64_t timeout,
                                         hsa_wait_state_t hint);

typedef struct tools_core {
  tools_version_t version;
  void (*before_agent_get_info[6])(void);
  tools_agent_info_fn *agent_get_info;
  void (*before_wait[36])(void);
  tools_wait_fn *wait_relaxed, *wait_scacquire;
} tools_core_t;

typedef struct tools_table {
  tools_version_t version;
  tools_core_t *core;
} tools_table_t;

/* The functions to replace; NULL when they are another version's, which is left alone. */
static inline tools_core_t *tools_core(const tools_table_t *table)
{
  tools_core_t *core = table->core;
  return core->version.major == TOOLS_CORE_MAJOR && core->version.size >= sizeof(*core) ? core
                                                                                        : NULL;
}

/* Called by the runtime before the program has anything of it, and at its end. */
#pragma GCC visibility push(default)
bool OnLoad(tools_table_t *table, uint64_t runtime_version, uint64_t failed_count,
            const char *const *failed);
void OnUnload(void);
#pragma GCC visibility pop

#endif
