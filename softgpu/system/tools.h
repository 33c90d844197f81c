/* What a tools library of the HSA runtime (HSA_TOOLS_LIB) sees of it: the beginnings of the
 * runtime's tables, whose own header is C++. */
#ifndef SOFTGPU_SYSTEM_TOOLS_H
#define SOFTGPU_SYSTEM_TOOLS_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tools_version {
  uint32_t major, size, step, reserved;
} tools_version_t;

enum { TOOLS_MAJORS = 2 }; /* the second is ROCr 6's */

typedef hsa_status_t tools_agent_info_fn(hsa_agent_t agent, hsa_agent_info_t attribute,
                                         void *value);
typedef hsa_signal_value_t tools_wait_fn(hsa_signal_t signal, hsa_signal_condition_t condition,
                                         hsa_signal_value_t value, uint64_t timeout,
                                         hsa_wait_state_t hint);

typedef hsa_status_t tools_ipc_create_fn(void *memory, size_t size, hsa_amd_ipc_memory_t *handle);

typedef struct tools_core {
  tools_version_t version;
  void (*before_agent_get_info[6])(void);
  tools_agent_info_fn *agent_get_info;
  void (*before_wait[36])(void);
  tools_wait_fn *wait_relaxed, *wait_scacquire;
} tools_core_t;

enum { AMD_IPC_CREATE = 28, AMD_IPC_CREATE_OF_2 = 30, AMD_FUNCTIONS };

typedef struct tools_amd {
  tools_version_t version;
  tools_ipc_create_fn *functions[AMD_FUNCTIONS];
} tools_amd_t;

typedef struct tools_table {
  tools_version_t version;
  tools_core_t *core;
  tools_amd_t *amd;
} tools_table_t;

static inline bool tools_knows(const tools_version_t *version, size_t size)
{
  return version->major >= 1 && version->major <= TOOLS_MAJORS && version->size >= size;
}

/* The functions to replace; NULL when they are another version's, which is left alone. */
static inline tools_core_t *tools_core(const tools_table_t *table)
{
  return tools_knows(&table->core->version, sizeof(*table->core)) ? table->core : NULL;
}

static inline tools_ipc_create_fn **tools_ipc_create(const tools_table_t *table)
{
  tools_amd_t *amd = table->amd;
  if (!tools_knows(&amd->version, sizeof(*amd)))
    return NULL;
  return &amd->functions[amd->version.major == 1 ? AMD_IPC_CREATE : AMD_IPC_CREATE_OF_2];
}

/* Called by the runtime before the program has anything of it, and at its end. */
#pragma GCC visibility push(default)
bool OnLoad(tools_table_t *table, uint64_t runtime_version, uint64_t failed_count,
            const char *const *failed);
void OnUnload(void);
#pragma GCC visibility pop

#endif
