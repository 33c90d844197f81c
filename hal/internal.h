/* The inside of the HAL: one runtime per process, its devices, what they own. Internal. */
#ifndef RAWHAL_HAL_INTERNAL_H
#define RAWHAL_HAL_INTERNAL_H

#include "hal/hal.h"
#include "queue/internal.h"
#include "queue/limit/memory.h"

#define HASH_NONFATAL_OOM    1 /* a failed insertion leaves the element out, it does not exit() */
#define uthash_malloc(size)  runtime_allocate(size)
#define uthash_free(p, size) runtime_free(p)
#include <uthash.h>

/* ---- log.c ---- */

/* Of an instance, in whose memory it is; all zero: none. */
typedef struct log_hook {
  rawhal_log_fn *function;
  void *context;
  struct log_hook *next;
} log_hook_t;

/* Also reads RAWHAL_LOG. INVALID_ARGUMENT: a value that it may not have. */
RAWHAL_CHECKED rawhal_status_t log_hook_add(log_hook_t *hook, rawhal_log_fn *function,
                                            void *context, rawhal_error_t *error);
void log_hook_remove(log_hook_t *hook);
/* Puts `to` in the place of `from`. */
void log_hook_move(log_hook_t *from, log_hook_t *to);
void hal_log(rawhal_severity_t severity, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void log_fault(const char *message); /* an error, as it stands */

/* ---- loader.c: which libraries, from where ---- */

/* Which the runtime has its thunk from: up to ROCm 6, and from 7 on. */
#define RUNTIME_LIBRARY "libhsa-runtime64.so.1"
#define THUNK_LIBRARY   "libhsakmt.so.1"
#define DTIF_LIBRARY    "libdtif.so"

/* Optional functions of softgpu's thunk; all NULL on hardware. Resolved by name, so that nothing
 * here depends on softgpu. */
typedef struct softgpu_thunk {
  bool (*option_set)(const char *name, uint64_t value);
  bool (*option_set_text)(const char *name, const char *text);
  bool (*option_get)(const char *name, uint64_t *value);
  size_t (*option_messages)(char *text, size_t size);
  size_t (*queue_fault)(const void *hsa_queue, char *text, size_t size);
  /* How many instructions it finds, in the code of a chip; none where it executes no such chip. */
  uint64_t (*coverage)(uint32_t chip, const void *code, size_t bytes, void (*missing)(void),
                       void *context);
} softgpu_thunk_t;

/* What this process has loaded. Libraries are never unloaded: the runtime's threads and the memory
 * it handed out may outlive every instance. */
typedef struct loaded_libraries {
  rawhal_backend_t backend; /* DEFAULT until something is loaded */
  void *runtime;            /* dlopen() handle of the HSA runtime */
  softgpu_thunk_t softgpu;
} loaded_libraries_t;

/* Loads what is missing and applies softgpu's options. The caller holds the runtime's lock. */
RAWHAL_CHECKED rawhal_status_t loader_open(const rawhal_instance_options_t *options,
                                           loaded_libraries_t *libraries, rawhal_error_t *error);

/* softgpu.c: path, thunk and options of softgpu. `given` may be NULL; `why` it is wanted, for
 * messages. */
RAWHAL_CHECKED rawhal_status_t softgpu_load(const char *given, const char *why,
                                            softgpu_thunk_t *thunk, rawhal_error_t *error);
/* Makes `thunk` that of the softgpu which `runtime` takes. */
RAWHAL_CHECKED rawhal_status_t softgpu_follow(void *runtime, softgpu_thunk_t *thunk,
                                              rawhal_error_t *error);
RAWHAL_CHECKED rawhal_status_t softgpu_configure(const softgpu_thunk_t *thunk, const char *options,
                                                 rawhal_error_t *error);
/* Undoing sets what softgpu_configure() has set since the mark back to what it was, as far as the
 * device is closed; keeping leaves it until an earlier mark is undone. 0 is the mark before all. */
size_t softgpu_options_mark(void);
void softgpu_options_undo(const softgpu_thunk_t *thunk, size_t mark);
void softgpu_options_keep(size_t mark);
/* False when `library` is not softgpu. */
bool softgpu_resolve(void *library, softgpu_thunk_t *thunk);

/* ---- runtime.c: one runtime per process, counted ---- */

typedef struct hal_runtime {
  allocator_t allocator; /* of all that is made with its devices */
  hsa_table_t hsa;
  bool is_software;
  bool (*softgpu_option)(const char *name, uint64_t *value); /* NULL for hardware */
  size_t (*queue_fault)(const void *hsa_queue, char *text, size_t size);
  /* Of the loader's extension; NULL where it has none. */
  hsa_status_t (*reader_from_file)(hsa_file_t file, size_t offset, size_t size,
                                   hsa_code_object_reader_t *reader);
  uint64_t timestamp_hz, copy_timeout_ns;
  hsa_agent_t host_agent;
  hsa_amd_memory_pool_t host_pool, kernarg_pool; /* fine-grained host memory */
  rawhal_device_t *devices;
  size_t device_count;
} hal_runtime_t;

RAWHAL_CHECKED rawhal_status_t runtime_open(const rawhal_instance_options_t *options,
                                            hal_runtime_t **runtime, rawhal_error_t *error);
/* Every object that uses the runtime holds it, so that it shuts down after the last of them. */
void runtime_hold(void);
void runtime_release(void);
/* Memory of the runtime's allocator, for code that holds the runtime and has no place for a
 * pointer. */
void *runtime_allocate(size_t size);
void runtime_free(void *memory);
/* OK, or DEVICE_LOST in a child of fork(): the runtime is the parent's, and locks may be held by
 * threads that are not here. Comes first in everything that touches either. */
RAWHAL_CHECKED rawhal_status_t runtime_check(rawhal_error_t *error);

/* ---- device.c ---- */

/* The device's side of copies; copy.c. */
typedef struct copy_engine {
  pthread_mutex_t lock;
  void *staging; /* host memory the device reaches; allocated by the first copy */
  hsa_signal_t signal;
  atomic_bool stuck;    /* a transfer was given up: its signal and its memory are still in use */
  limit_lease_t *lease; /* where the device has limits; made by the first copy */
} copy_engine_t;

struct rawhal_device {
  hal_runtime_t *runtime;
  rawhal_device_info_t info;
  rawhal_target_t listed; /* as what the runtime knows it; info.target is what it executes */
  queue_device_t queue;
  hsa_amd_memory_pool_t pool; /* device memory */
  size_t granule;             /* in which it is allocated */
  bool alone;                 /* its limits are in no region: queue/limit/only_copy.h */
  copy_engine_t copies;
};

/* Finds all agents: runtime->devices and the host's pools. */
RAWHAL_CHECKED rawhal_status_t devices_find(hal_runtime_t *runtime, rawhal_error_t *error);
void devices_free(hal_runtime_t *runtime);

/* ---- device_facts.c ---- */

/* Fills in the handle and everything after it. */
void device_facts(const hsa_table_t *hsa, hsa_agent_t agent, rawhal_device_info_t *info);
/* What all processes call the device, whatever part of the machine they see. */
void device_identity(const rawhal_device_info_t *info, char identity[64]);

/* ---- executable.c ---- */

/* Unloads what has no users and the device no longer needs. */
void executables_reap(void);

/* ---- buffer.c ---- */

struct rawhal_buffer {
  rawhal_device_t *device;
  rawhal_memory_kind_t kind;
  bool foreign;           /* imported: not ours to free */
  rawhal_device_t *payer; /* imported memory: whose quota it counts towards; NULL: no one's */
  uint64_t counted;       /* bytes */
  /* Imported: ends that, of the address `held`; NULL when the runtime knew the memory before. */
  hsa_status_t (*part_with)(void *held);
  void *held;
  unsigned char *memory; /* device address */
  unsigned char *host;   /* of host memory */
  size_t size;
  rawhal_device_t **allowed; /* other devices that were given access; peer.c, under its lock */
  size_t allowed_count;
  const rawhal_buffer_t *self; /* the registry's key */
  UT_hash_handle hh;
};

/* The beginning of making a buffer: it holds the runtime, and nothing else yet. NULL: out of
 * memory, as `error` says. */
RAWHAL_CHECKED rawhal_buffer_t *buffer_begin(rawhal_device_t *device, rawhal_memory_kind_t kind,
                                             size_t size, rawhal_error_t *error);
/* The end of making a buffer, which came to `status`: registers it, or gives back what it has. */
RAWHAL_CHECKED rawhal_status_t buffer_finish(rawhal_buffer_t *created, rawhal_status_t status,
                                             rawhal_buffer_t **buffer, rawhal_error_t *error);

/* What a call needs of its buffers: alive, in range, apart. */
RAWHAL_CHECKED rawhal_status_t buffer_check_host(const rawhal_buffer_t *buffer, uint64_t offset,
                                                 const void *data, size_t size,
                                                 rawhal_error_t *error);
RAWHAL_CHECKED rawhal_status_t buffer_check_copy(const rawhal_buffer_t *to, uint64_t to_offset,
                                                 const rawhal_buffer_t *from, uint64_t from_offset,
                                                 size_t size, rawhal_error_t *error);
RAWHAL_CHECKED rawhal_status_t buffer_check_fill(const rawhal_buffer_t *buffer, uint64_t offset,
                                                 size_t size, rawhal_error_t *error);

/* import.c: of memory that is imported, towards a device's quota while the buffer lives. */
RAWHAL_CHECKED rawhal_status_t import_count(rawhal_buffer_t *buffer, rawhal_device_t *payer,
                                            uint64_t bytes, rawhal_error_t *error);
/* Whether the device can reach that host memory as it is, and where. */
bool import_reachable(const rawhal_device_t *device, const void *data, size_t size, void **memory);

/* OK for a buffer that is alive. */
RAWHAL_CHECKED rawhal_status_t buffer_check(const rawhal_buffer_t *buffer, rawhal_error_t *error);

/* ---- peer.c ---- */

/* Has the device access to the buffer, its own or given? */
bool peer_reaches(const rawhal_device_t *device, const rawhal_buffer_t *buffer);
/* Copies between the device memory of two devices. */
RAWHAL_CHECKED rawhal_status_t peer_copy(rawhal_buffer_t *to, uint64_t to_offset,
                                         const rawhal_buffer_t *from, uint64_t from_offset,
                                         size_t size, rawhal_error_t *error);
/* copy_engine_settle() of all devices whose copies may use the buffer. */
bool peer_settle(const rawhal_buffer_t *buffer);

/* ---- copy.c ---- */

typedef enum copy_direction { COPY_TO_DEVICE, COPY_FROM_DEVICE } copy_direction_t;

RAWHAL_CHECKED rawhal_status_t copy_host(rawhal_device_t *device, copy_direction_t direction,
                                         void *device_memory, void *host_memory, size_t size,
                                         rawhal_error_t *error);
RAWHAL_CHECKED rawhal_status_t copy_between(rawhal_device_t *device, void *to, const void *from,
                                            size_t size, rawhal_error_t *error);
/* `size` is a multiple of 4. */
RAWHAL_CHECKED rawhal_status_t copy_fill(rawhal_device_t *device, void *to, uint32_t value,
                                         size_t size, rawhal_error_t *error);
void copy_engine_init(copy_engine_t *engine);
void copy_engine_free(rawhal_device_t *device);
/* Gives a transfer that was given up another second. False: it is still under way, and no memory it
 * may use can be freed. */
bool copy_engine_settle(rawhal_device_t *device);

/* ---- limits.c ---- */

/* Joins each device's tenant where anything is limited. `given` may be NULL. */
RAWHAL_CHECKED rawhal_status_t limits_open(hal_runtime_t *runtime,
                                           const rawhal_limit_config_t *given,
                                           rawhal_error_t *error);
void limits_close(rawhal_device_t *device);
/* Device memory, before it is allocated and after it was freed. */
RAWHAL_CHECKED rawhal_status_t limits_reserve(const rawhal_device_t *device, ledger_class_t class,
                                              uint64_t bytes, rawhal_error_t *error);
void limits_release(const rawhal_device_t *device, ledger_class_t class, uint64_t bytes);
/* Device time of copies. The caller holds the engine's lock. */
RAWHAL_CHECKED rawhal_status_t limits_admit_copy(rawhal_device_t *device, uint64_t bytes,
                                                 limit_grant_t *grant, rawhal_error_t *error);
void limits_complete_copy(rawhal_device_t *device, const limit_grant_t *grant);

#endif
