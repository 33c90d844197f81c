/* The tables of functions that the HSA runtime hands to its tools, of both kinds there are.
 *
 * The tables are C++ structures of function pointers; here an entry is its offset. Every table
 * begins with {u32 major, u32 minor, u32 step, u32 reserved}, and `minor` is its size in bytes: an
 * entry exists when all of it lies below. Between the majors 1 (ROCr 5) and 2 (ROCr 2025) of AMD's
 * table two entries were inserted after the 16th and three after the 47th, so that most have two
 * offsets. Facts: hsa_api_trace.h of both. */
#ifndef RAWHAL_FRONT_TABLES_H
#define RAWHAL_FRONT_TABLES_H

#include "base/status.h"

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_image.h>

enum {
  TABLE_CORE_BYTES = 1016, /* of the core table that both have */
  TABLE_AMD_BYTES = 1024,  /* more than any known */
  TABLE_IMAGE_BYTES = 128, /* likewise */
};

/* Signatures that C headers of ROCr 5 lack. */
typedef struct front_vmem_handle {
  uint64_t handle;
} front_vmem_handle_t;
typedef hsa_status_t front_vmem_create_t(hsa_amd_memory_pool_t pool, size_t size, int type,
                                         uint64_t flags, front_vmem_handle_t *handle);
typedef hsa_status_t front_vmem_release_t(front_vmem_handle_t handle);
typedef hsa_status_t front_copy_on_engine_t(void *to, hsa_agent_t to_agent, const void *from,
                                            hsa_agent_t from_agent, size_t size, uint32_t waits,
                                            const hsa_signal_t *wait_for, hsa_signal_t completion,
                                            int engine, bool force);
typedef hsa_status_t front_intercept_t(hsa_queue_t *queue, void (*handler)(void), void *data);
typedef hsa_status_t front_queue_info_t(hsa_queue_t *queue, int attribute, void *value);

typedef hsa_status_t front_vmem_map_t(void *address, size_t size, size_t offset,
                                      front_vmem_handle_t handle, uint64_t flags);
typedef hsa_status_t front_vmem_unmap_t(void *address, size_t size);
typedef hsa_status_t front_vmem_export_t(int *fd, front_vmem_handle_t handle, uint64_t flags);
typedef hsa_status_t front_vmem_import_t(int fd, front_vmem_handle_t *handle);
typedef hsa_status_t front_vmem_retain_t(front_vmem_handle_t *handle, void *address);
typedef hsa_status_t front_vmem_properties_t(front_vmem_handle_t handle,
                                             hsa_amd_memory_pool_t *pool, int *type);
typedef hsa_status_t front_dmabuf_export_t(const void *memory, size_t size, int *fd,
                                           uint64_t *offset);
typedef hsa_status_t front_dmabuf_export_v2_t(const void *memory, size_t size, int *fd,
                                              uint64_t *offset, uint64_t flags);
typedef hsa_status_t front_dmabuf_close_t(int fd);
typedef hsa_status_t front_scratch_limit_t(hsa_agent_t agent, size_t most);

/* Of the newer ways to make queues. Facts: hsa_ext_amd.h and hsa_api_trace.h of HSA 1.31. */
typedef struct front_description {
  uint16_t version, flags;
  uint8_t engine, reserved_header[3];
  uint32_t size_bytes, priority;
  void (*callback)(hsa_status_t status, hsa_queue_t *source, void *data);
  void *data;
  hsa_queue_t *queue; /* out; NULL: it was not made */
  struct {            /* of compute; of other engines its bytes are others */
    const uint32_t *cu_mask;
    uint32_t type, private_bytes, cu_mask_count, reserved[3];
  } compute;
  uint32_t traffic_class;
  uint8_t reserved[20];
} front_description_t;
typedef struct front_semaphore {
  uint64_t handle;
} front_semaphore_t;
typedef hsa_status_t front_described_t(hsa_agent_t agent, front_description_t *queues,
                                       uint32_t count);
typedef hsa_status_t front_acquire_t(hsa_agent_t agent, hsa_queue_type32_t type, uint32_t priority,
                                     void (*callback)(hsa_status_t, hsa_queue_t *, void *),
                                     void *data, uint64_t flags, hsa_queue_t **queue);
typedef hsa_status_t front_semaphores_t(hsa_queue_t *queue, front_semaphore_t semaphore,
                                        uint64_t value);

/* X(name, type, offset) of the core table, X(name, type, major 1, major 2) of AMD's; 0: not there.
 */
#define FRONT_CORE(X)                                                                              \
  X(init, __typeof__(hsa_init), 16)                                                                \
  X(system_get_info, __typeof__(hsa_system_get_info), 32)                                          \
  X(extension_table, __typeof__(hsa_system_get_extension_table), 48)                               \
  X(iterate_agents, __typeof__(hsa_iterate_agents), 56)                                            \
  X(agent_get_info, __typeof__(hsa_agent_get_info), 64)                                            \
  X(queue_create, __typeof__(hsa_queue_create), 72)                                                \
  X(soft_queue_create, __typeof__(hsa_soft_queue_create), 80)                                      \
  X(queue_destroy, __typeof__(hsa_queue_destroy), 88)                                              \
  X(queue_inactivate, __typeof__(hsa_queue_inactivate), 96)                                        \
  X(load_read_scacquire, __typeof__(hsa_queue_load_read_index_scacquire), 104)                     \
  X(load_read_relaxed, __typeof__(hsa_queue_load_read_index_relaxed), 112)                         \
  X(load_write_scacquire, __typeof__(hsa_queue_load_write_index_scacquire), 120)                   \
  X(load_write_relaxed, __typeof__(hsa_queue_load_write_index_relaxed), 128)                       \
  X(store_write_relaxed, __typeof__(hsa_queue_store_write_index_relaxed), 136)                     \
  X(store_write_screlease, __typeof__(hsa_queue_store_write_index_screlease), 144)                 \
  X(cas_write_scacq_screl, __typeof__(hsa_queue_cas_write_index_scacq_screl), 152)                 \
  X(cas_write_scacquire, __typeof__(hsa_queue_cas_write_index_scacquire), 160)                     \
  X(cas_write_relaxed, __typeof__(hsa_queue_cas_write_index_relaxed), 168)                         \
  X(cas_write_screlease, __typeof__(hsa_queue_cas_write_index_screlease), 176)                     \
  X(add_write_scacq_screl, __typeof__(hsa_queue_add_write_index_scacq_screl), 184)                 \
  X(add_write_scacquire, __typeof__(hsa_queue_add_write_index_scacquire), 192)                     \
  X(add_write_relaxed, __typeof__(hsa_queue_add_write_index_relaxed), 200)                         \
  X(add_write_screlease, __typeof__(hsa_queue_add_write_index_screlease), 208)                     \
  X(store_read_relaxed, __typeof__(hsa_queue_store_read_index_relaxed), 216)                       \
  X(store_read_screlease, __typeof__(hsa_queue_store_read_index_screlease), 224)                   \
  X(memory_allocate, __typeof__(hsa_memory_allocate), 280)                                         \
  X(memory_free, __typeof__(hsa_memory_free), 288)                                                 \
  X(memory_copy, __typeof__(hsa_memory_copy), 296)                                                 \
  X(signal_create, __typeof__(hsa_signal_create), 312)                                             \
  X(signal_destroy, __typeof__(hsa_signal_destroy), 320)                                           \
  X(signal_load_relaxed, __typeof__(hsa_signal_load_relaxed), 328)                                 \
  X(signal_load_scacquire, __typeof__(hsa_signal_load_scacquire), 336)                             \
  X(signal_store_relaxed, __typeof__(hsa_signal_store_relaxed), 344)                               \
  X(signal_store_screlease, __typeof__(hsa_signal_store_screlease), 352)                           \
  X(signal_wait_relaxed, __typeof__(hsa_signal_wait_relaxed), 360)                                 \
  X(signal_wait_scacquire, __typeof__(hsa_signal_wait_scacquire), 368)                             \
  X(signal_subtract, __typeof__(hsa_signal_subtract_screlease), 552)                               \
  X(code_object_deserialize, __typeof__(hsa_code_object_deserialize), 632)                         \
  X(code_object_destroy, __typeof__(hsa_code_object_destroy), 640)                                 \
  X(executable_destroy, __typeof__(hsa_executable_destroy), 688)                                   \
  X(load_code_object, __typeof__(hsa_executable_load_code_object), 696)                            \
  X(executable_freeze, __typeof__(hsa_executable_freeze), 704)                                     \
  X(symbol_get_info, __typeof__(hsa_executable_symbol_get_info), 760)                              \
  X(major_extension_table, __typeof__(hsa_system_get_major_extension_table), 800)                  \
  X(silent_store_relaxed, __typeof__(hsa_signal_silent_store_relaxed), 832)                        \
  X(silent_store_screlease, __typeof__(hsa_signal_silent_store_screlease), 840)                    \
  X(isa_get_info_alt, __typeof__(hsa_isa_get_info_alt), 888)                                       \
  X(reader_from_file, __typeof__(hsa_code_object_reader_create_from_file), 936)                    \
  X(reader_from_memory, __typeof__(hsa_code_object_reader_create_from_memory), 944)                \
  X(reader_destroy, __typeof__(hsa_code_object_reader_destroy), 952)                               \
  X(executable_create, __typeof__(hsa_executable_create_alt), 960)                                 \
  X(load_program_code_object, __typeof__(hsa_executable_load_program_code_object), 968)            \
  X(load_agent_code_object, __typeof__(hsa_executable_load_agent_code_object), 976)                \
  X(get_symbol, __typeof__(hsa_executable_get_symbol_by_name), 992)

#define FRONT_AMD(X)                                                                               \
  X(set_profiler_enabled, __typeof__(hsa_amd_profiling_set_profiler_enabled), 32, 32)              \
  X(async_copy_enable, __typeof__(hsa_amd_profiling_async_copy_enable), 40, 40)                    \
  X(get_dispatch_time, __typeof__(hsa_amd_profiling_get_dispatch_time), 48, 48)                    \
  X(get_copy_time, __typeof__(hsa_amd_profiling_get_async_copy_time), 56, 56)                      \
  X(cu_set_mask, __typeof__(hsa_amd_queue_cu_set_mask), 96, 96)                                    \
  X(pool_get_info, __typeof__(hsa_amd_memory_pool_get_info), 104, 104)                             \
  X(iterate_pools, __typeof__(hsa_amd_agent_iterate_memory_pools), 112, 112)                       \
  X(pool_allocate, __typeof__(hsa_amd_memory_pool_allocate), 120, 120)                             \
  X(pool_free, __typeof__(hsa_amd_memory_pool_free), 128, 128)                                     \
  X(async_copy, __typeof__(hsa_amd_memory_async_copy), 136, 136)                                   \
  X(copy_on_engine, front_copy_on_engine_t, 0, 144)                                                \
  X(allow_access, __typeof__(hsa_amd_agents_allow_access), 152, 168)                               \
  X(memory_migrate, __typeof__(hsa_amd_memory_migrate), 168, 184)                                  \
  X(memory_lock, __typeof__(hsa_amd_memory_lock), 176, 192)                                        \
  X(memory_unlock, __typeof__(hsa_amd_memory_unlock), 184, 200)                                    \
  X(memory_fill, __typeof__(hsa_amd_memory_fill), 192, 208)                                        \
  X(interop_map, __typeof__(hsa_amd_interop_map_buffer), 200, 216)                                 \
  X(interop_unmap, __typeof__(hsa_amd_interop_unmap_buffer), 208, 224)                             \
  X(pointer_info, __typeof__(hsa_amd_pointer_info), 224, 240)                                      \
  X(ipc_attach, __typeof__(hsa_amd_ipc_memory_attach), 248, 264)                                   \
  X(ipc_detach, __typeof__(hsa_amd_ipc_memory_detach), 256, 272)                                   \
  X(amd_signal_create, __typeof__(hsa_amd_signal_create), 264, 280)                                \
  X(intercept_create, __typeof__(hsa_queue_create), 296, 312)                                      \
  X(intercept_register, front_intercept_t, 304, 320)                                               \
  X(register_event_handler, __typeof__(hsa_amd_register_system_event_handler), 288, 304)           \
  X(queue_set_priority, __typeof__(hsa_amd_queue_set_priority), 312, 328)                          \
  X(copy_rect, __typeof__(hsa_amd_memory_async_copy_rect), 320, 336)                               \
  X(memory_lock_to_pool, __typeof__(hsa_amd_memory_lock_to_pool), 336, 352)                        \
  X(signal_value_pointer, __typeof__(hsa_amd_signal_value_pointer), 360, 376)                      \
  X(svm_attributes_set, __typeof__(hsa_amd_svm_attributes_set), 368, 384)                          \
  X(svm_prefetch, __typeof__(hsa_amd_svm_prefetch_async), 384, 400)                                \
  X(cu_get_mask, __typeof__(hsa_amd_queue_cu_get_mask), 392, 432)                                  \
  X(dmabuf_export, front_dmabuf_export_t, 0, 440)                                                  \
  X(dmabuf_close, front_dmabuf_close_t, 0, 448)                                                    \
  X(vmem_handle_create, front_vmem_create_t, 0, 472)                                               \
  X(vmem_handle_release, front_vmem_release_t, 0, 480)                                             \
  X(vmem_map, front_vmem_map_t, 0, 488)                                                            \
  X(vmem_unmap, front_vmem_unmap_t, 0, 496)                                                        \
  X(vmem_export, front_vmem_export_t, 0, 520)                                                      \
  X(vmem_import, front_vmem_import_t, 0, 528)                                                      \
  X(vmem_retain, front_vmem_retain_t, 0, 536)                                                      \
  X(vmem_get_properties, front_vmem_properties_t, 0, 544)                                          \
  X(scratch_limit, front_scratch_limit_t, 0, 552)                                                  \
  X(queue_get_info, front_queue_info_t, 0, 560)                                                    \
  X(dmabuf_export_v2, front_dmabuf_export_v2_t, 0, 600)                                            \
  X(counted_acquire, front_acquire_t, 0, 624)                                                      \
  X(counted_release, __typeof__(hsa_queue_destroy), 0, 632)                                        \
  X(described_create, front_described_t, 0, 704)                                                   \
  X(queue_signal_semaphore, front_semaphores_t, 0, 712)                                            \
  X(queue_wait_semaphore, front_semaphores_t, 0, 720)

/* X(name, type, offset) of the table of images, which a runtime may not have. */
#define FRONT_IMAGE(X)                                                                             \
  X(image_import, __typeof__(hsa_ext_image_import), 40)                                            \
  X(image_export, __typeof__(hsa_ext_image_export), 48)                                            \
  X(image_copy, __typeof__(hsa_ext_image_copy), 56)                                                \
  X(image_clear, __typeof__(hsa_ext_image_clear), 64)

/* Functions by name. NULL where the table has none, or, in a set of hooks, nothing is replaced. */
typedef struct front_calls {
#define X(name, type, ...) type *name;
  FRONT_CORE(X)
  FRONT_AMD(X)
  FRONT_IMAGE(X)
#undef X
} front_calls_t;

typedef struct table_version {
  uint32_t major, minor, step, reserved;
} table_version_t;

/* The root table, as far as it is used; the same in both. */
typedef struct table_root {
  table_version_t version;
  void *core, *amd;
  void *finalizer, *image; /* if its size says so, and NULL without */
} table_root_t;

/* The tables as they were found. */
typedef struct front_tables {
  void *core, *amd, *image; /* the runtime's; image NULL: it has none */
  uint32_t amd_major;
  bool newer_queues; /* it may have ways to make queues that are not known here */
  _Alignas(8) unsigned char core_found[TABLE_CORE_BYTES], amd_found[TABLE_AMD_BYTES],
      image_found[TABLE_IMAGE_BYTES];
} front_tables_t;

/* Reads the tables and changes nothing. UNSUPPORTED: of an unknown major, or without functions that
 * are needed. */
RAWHAL_CHECKED rawhal_status_t tables_read(const table_root_t *root, front_tables_t *tables,
                                           front_calls_t *calls, rawhal_error_t *error);
/* Are the functions for signals and queues those of the runtime itself, to which the tables belong?
 * Else those of a tool that was there before. */
bool tables_are_direct(const table_root_t *root, const front_calls_t *calls);
/* Are they those of the library that has the code at this address? */
bool tables_are_of(const front_tables_t *tables, const void *code);
/* Replaces those entries in `hooks` that the tables have. */
void tables_replace(const front_tables_t *tables, const front_calls_t *hooks);
/* What is in `hooks` takes the place of what is in `calls`. */
void calls_overlay(front_calls_t *calls, const front_calls_t *hooks);
/* Puts back those of the entries that still are ours. */
void tables_restore(const front_tables_t *tables, const front_calls_t *hooks);
/* Are these the tables that were read, with the hooks in them or what another tool put over them?
 * False: they are as they were found. */
bool tables_have(const front_tables_t *tables, const table_root_t *root,
                 const front_calls_t *hooks);
/* Would any of the hooks call itself? */
bool tables_recur(const front_calls_t *calls, const front_calls_t *hooks);

/* For tables of which nothing else is known: the first entries of the core have always been the
 * same. Replaces hsa_init(), hsa_iterate_agents() and hsa_queue_create(), if it has them. */
void tables_refuse(const table_root_t *root, const front_calls_t *refusing);
/* Has it been done? */
bool tables_refused(const table_root_t *root, const front_calls_t *refusing);

#endif
