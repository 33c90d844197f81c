/* The inside of the HAL: one runtime per process, its devices, what they own. Internal. */
#ifndef RAWHAL_HAL_INTERNAL_H
#define RAWHAL_HAL_INTERNAL_H

#include "debug/softgpu.h"
#include "hal/hal.h"
#include "queue/gate/copies.h"
#include "queue/internal.h"
#include "queue/limit/memory.h"

#define HASH_NONFATAL_OOM    1 /* a failed insertion leaves the element out, it does not exit() */
#define uthash_malloc(size)  runtime_allocate(size)
#define uthash_free(p, size) runtime_free(p)
#include <uthash.h>

/* Of an instance, in whose memory it is; all zero: none. */
typedef struct log_hook {
  rawhal_log_fn *function;
  void *context;
  struct log_hook *next;
} log_hook_t;

/* Which the runtime has its thunk from: up to ROCm 6, and from 7 on. */
#define RUNTIME_LIBRARY "libhsa-runtime64.so.1"
#define THUNK_LIBRARY   "libhsakmt.so.1"
#define DTIF_LIBRARY    "libdtif.so"

/* Optional functions of softgpu's thunk; all NULL on hardware. Resolved by name, so that nothing
 * here depends on softgpu. */
typedef struct softgpu_thunk {
  bool (*option_set)(const char *name, uint64_t value);
  /* All of a list, or none; `before` is told what they were. */
  bool (*options_set_text)(const char *list,
                           bool (*before)(void *context, const char *name, uint64_t value),
                           void *context, char *why, size_t size);
  bool (*option_get)(const char *name, uint64_t *value);
  size_t (*option_messages)(char *text, size_t size);
  debug_softgpu_t tells; /* of devices and faults */
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

typedef struct hal_runtime {
  allocator_t allocator; /* of all that is made with its devices */
  hsa_table_t hsa;
  bool is_software;
  const softgpu_thunk_t *softgpu; /* what it has is NULL for hardware */
  /* Of the loader's extension; NULL where it has none. */
  hsa_status_t (*reader_from_file)(hsa_file_t file, size_t offset, size_t size,
                                   hsa_code_object_reader_t *reader);
  uint64_t timestamp_hz, copy_timeout_ns;
  hsa_agent_t host_agent;
  hsa_amd_memory_pool_t host_pool, kernarg_pool; /* fine-grained host memory */
  rawhal_device_t *devices;
  size_t device_count;
} hal_runtime_t;

/* The device's side of copies; copy.c. */
typedef struct copy_engine {
  pthread_mutex_t lock;
  void *staging; /* host memory the device reaches; allocated by the first copy */
  hsa_signal_t signal;
  atomic_bool stuck;  /* a transfer was given up: its signal and its memory are still in use */
  copies_t turns;     /* open where the device has limits */
  copies_turn_t turn; /* of the transfer under way, until it has ended, however late */
  uint64_t started;   /* copies that it is */
  uint64_t last_end;  /* of the last one whose times are known: ticks of the runtime's clock */
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

struct rawhal_buffer {
  rawhal_device_t *device;
  rawhal_memory_kind_t kind;  /* DEVICE or HOST: where it is */
  hsa_amd_memory_pool_t pool; /* of the runtime's; of imported memory none */
  bool parted;                /* a pool's: see buffer_allocate_parted() */
  uint32_t kept;              /* by graphs; the registry's lock */
  bool freed;                 /* but kept; likewise */
  bool foreign;               /* imported: not ours to free */
  rawhal_device_t *payer;     /* imported memory: whose quota it counts towards; NULL: no one's */
  uint64_t counted;           /* bytes */
  /* Imported: ends that, of the address `held`; NULL when the runtime knew the memory before. */
  hsa_status_t (*part_with)(void *held);
  void *held;
  unsigned char *memory; /* device address */
  unsigned char *host;   /* of host memory */
  size_t size;
  char label[RAWHAL_LABEL_BYTES];
  uint64_t number, made_at;  /* in the order in which they were made; CLOCK_MONOTONIC ns */
  rawhal_device_t **allowed; /* other devices that were given access; peer.c, under its lock */
  size_t allowed_count;
  tell_entry_t told;
  const rawhal_buffer_t *self; /* the registry's key */
  UT_hash_handle hh;
};

typedef enum copy_direction { COPY_TO_DEVICE, COPY_FROM_DEVICE } copy_direction_t;

#endif
