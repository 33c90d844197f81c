/* The functions of the HSA runtime rawhal uses, resolved once from the library that was opened.
 * Internal. Nothing in rawhal links to the runtime. */
#ifndef RAWHAL_QUEUE_HSA_TABLE_H
#define RAWHAL_QUEUE_HSA_TABLE_H

#include "base/status.h"

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

/* An attribute of hsa_agent_get_info() that only a front answers, an HSA tools library in the
 * process that enforces the limits set from outside (front/): a uint32_t, 1 where it enforces any
 * on that agent. Code that opens limiters leaves those to the front: by asking through the runtime
 * it is found however it was loaded, and only where it is between this program and the device. No
 * runtime has such an attribute. */
enum { LIMIT_AGENT_INFO_FRONT = 0x52415748 };

/* And one by which a front is told, before it is loaded, that a code object is a changed copy of
 * another, as of one for a chip that the runtime does not know: the value is a code_copy_t. What a
 * front keeps and writes of the copy are then the original's bytes. */
enum { CODE_AGENT_INFO_COPY = 0x52415743 };
typedef struct code_copy {
  const void *loaded;
  rawhal_bytes_t original; /* as many bytes, which stay; NULL: the copy is about to go */
} code_copy_t;

#define HSA_TABLE_FUNCTIONS(X)                                                                     \
  X(hsa_init)                                                                                      \
  X(hsa_shut_down)                                                                                 \
  X(hsa_status_string)                                                                             \
  X(hsa_system_get_major_extension_table)                                                          \
  X(hsa_system_get_info)                                                                           \
  X(hsa_iterate_agents)                                                                            \
  X(hsa_agent_get_info)                                                                            \
  X(hsa_agent_iterate_isas)                                                                        \
  X(hsa_isa_get_info_alt)                                                                          \
  X(hsa_queue_create)                                                                              \
  X(hsa_queue_destroy)                                                                             \
  X(hsa_queue_add_write_index_screlease)                                                           \
  X(hsa_queue_load_read_index_scacquire)                                                           \
  X(hsa_queue_load_write_index_scacquire)                                                          \
  X(hsa_queue_cas_write_index_scacq_screl)                                                         \
  X(hsa_signal_create)                                                                             \
  X(hsa_signal_destroy)                                                                            \
  X(hsa_signal_load_scacquire)                                                                     \
  X(hsa_signal_subtract_screlease)                                                                 \
  X(hsa_signal_store_screlease)                                                                    \
  X(hsa_signal_exchange_scacq_screl)                                                               \
  X(hsa_signal_wait_scacquire)                                                                     \
  X(hsa_code_object_reader_create_from_memory)                                                     \
  X(hsa_code_object_reader_destroy)                                                                \
  X(hsa_executable_create_alt)                                                                     \
  X(hsa_executable_destroy)                                                                        \
  X(hsa_executable_agent_global_variable_define)                                                   \
  X(hsa_executable_load_agent_code_object)                                                         \
  X(hsa_executable_freeze)                                                                         \
  X(hsa_executable_get_symbol_by_name)                                                             \
  X(hsa_executable_symbol_get_info)                                                                \
  X(hsa_amd_agent_iterate_memory_pools)                                                            \
  X(hsa_amd_memory_pool_get_info)                                                                  \
  X(hsa_amd_agent_memory_pool_get_info)                                                            \
  X(hsa_amd_memory_pool_allocate)                                                                  \
  X(hsa_amd_memory_pool_free)                                                                      \
  X(hsa_amd_memory_lock_to_pool)                                                                   \
  X(hsa_amd_memory_unlock)                                                                         \
  X(hsa_amd_pointer_info)                                                                          \
  X(hsa_amd_agents_allow_access)                                                                   \
  X(hsa_amd_memory_async_copy)                                                                     \
  X(hsa_amd_ipc_memory_create)                                                                     \
  X(hsa_amd_ipc_memory_attach)                                                                     \
  X(hsa_amd_ipc_memory_detach)                                                                     \
  X(hsa_amd_interop_map_buffer)                                                                    \
  X(hsa_amd_interop_unmap_buffer)                                                                  \
  X(hsa_amd_signal_create)                                                                         \
  X(hsa_amd_signal_wait_any)                                                                       \
  X(hsa_amd_profiling_set_profiler_enabled)                                                        \
  X(hsa_amd_profiling_get_dispatch_time)                                                           \
  X(hsa_amd_profiling_async_copy_enable)                                                           \
  X(hsa_amd_profiling_get_async_copy_time)                                                         \
  X(hsa_amd_queue_cu_get_mask)                                                                     \
  X(hsa_amd_queue_cu_set_mask)                                                                     \
  X(hsa_amd_queue_set_priority)                                                                    \
  X(hsa_amd_register_system_event_handler)

/* Of virtual memory, as later versions of hsa_ext_amd.h have it. */
typedef struct hsa_vmem_handle {
  uint64_t handle;
} hsa_vmem_handle_t;

typedef struct hsa_vmem_access {
  hsa_access_permission_t permission;
  hsa_agent_t agent;
} hsa_vmem_access_t;

typedef struct hsa_vmem {
  bool complete; /* all of them are there */
  hsa_status_t (*address_reserve)(void **at, size_t size, uint64_t address, uint64_t flags);
  hsa_status_t (*address_free)(void *at, size_t size);
  hsa_status_t (*handle_create)(hsa_amd_memory_pool_t pool, size_t size, int type, uint64_t flags,
                                hsa_vmem_handle_t *handle);
  hsa_status_t (*handle_release)(hsa_vmem_handle_t handle);
  hsa_status_t (*map)(void *at, size_t size, size_t offset, hsa_vmem_handle_t handle,
                      uint64_t flags);
  hsa_status_t (*unmap)(void *at, size_t size);
  hsa_status_t (*set_access)(void *at, size_t size, const hsa_vmem_access_t *access, size_t count);
} hsa_vmem_t;

typedef struct hsa_table {
#define X(name) __typeof__(name) *name;
  HSA_TABLE_FUNCTIONS(X)
#undef X
  /* hsa_amd_vmem_*() of runtimes since ROCm 6.0. */
  hsa_vmem_t vmem;
  /* Provisional in the runtime's header; NULL where there is none. */
  __typeof__(hsa_amd_memory_async_copy_rect) *copy_rect;
  /* hsa_amd_portable_*() of runtimes since 5.5; NULL where there is none. */
  hsa_status_t (*portable_export_dmabuf)(const void *memory, size_t size, int *dmabuf,
                                         uint64_t *offset);
  hsa_status_t (*portable_close_dmabuf)(int dmabuf);
} hsa_table_t;

/* Resolves every function from `library`, a dlopen() handle. UNSUPPORTED names the first that is
 * missing, but for those that may be. */
RAWHAL_CHECKED rawhal_status_t hsa_table_load(void *library, hsa_table_t *table,
                                              rawhal_error_t *error);

/* Fails with RUNTIME (OUT_OF_MEMORY when the runtime says so) and "WHAT: the runtime's words". */
RAWHAL_CHECKED rawhal_status_t hsa_fail(const hsa_table_t *table, hsa_status_t status,
                                        rawhal_error_t *error, const char *what);

/* The runtime's words for a status, without a line break at the end. */
const char *hsa_status_text(const hsa_table_t *table, hsa_status_t status);

#endif
