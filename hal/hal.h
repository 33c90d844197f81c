/* rawhal/hal.h: devices, memory, executables and queues on the real HSA runtime.
 *
 * The runtime is opened with dlopen(); nothing links to it. Where there is no GPU, softgpu, a GPU
 * in software below the same runtime, takes its place: no environment variable is needed.
 *
 *     rawhal_instance_create -> rawhal_instance_device -> rawhal_executable_open -> _kernel
 *                                                      -> rawhal_buffer_allocate, _write
 *                                                      -> rawhal_queue_create -> submit -> wait
 *
 * Ownership: buffers, executables and queues keep the runtime open. They may be destroyed in any
 * order, even after their instance and while dispatches run, but a buffer only after the dispatches
 * that use it. Functions that destroy always succeed, and NULL is allowed. A process may end with
 * all of it in use.
 *
 * Thread-safety: all functions are thread-safe unless they say otherwise; destroying an object
 * while another thread uses it is an error of the caller.
 *
 * pthread_cancel(): no call is a cancellation point; a thread that is cancelled in one ends after
 * the call has returned. Cancellation must be deferred, as it is by default.
 *
 * fork(): a child cannot use devices that its parent had open. Calls that have a status return
 * DEVICE_LOST there, others 0 or NULL, and destroying frees nothing of the parent's, which is not
 * affected. A child of a process without an instance may make its own. */
#ifndef RAWHAL_HAL_H
#define RAWHAL_HAL_H

#include <rawhal/container.h>
#include <rawhal/graph.h>
#include <rawhal/hsaco.h>
#include <rawhal/kernarg.h>
#include <rawhal/limit.h>
#include <rawhal/queue.h>
#include <rawhal/semaphore.h>

RAWHAL_BEGIN

/* The runtime, opened; a GPU; memory that it can use; a code object loaded onto it. */
typedef struct rawhal_instance rawhal_instance_t;
typedef struct rawhal_device rawhal_device_t;
typedef struct rawhal_buffer rawhal_buffer_t;
typedef struct rawhal_executable rawhal_executable_t;

/* ---- Instance ---- */

/* Gets one line, without a line break, for whoever runs the program: that a GPU in software takes
 * the place of hardware, that an object is relabelled, that limits are in force, that a device
 * faults or does not answer. Called by any thread, one at a time; `message` is valid during the
 * call. It must call neither rawhal nor fork(), nor wait for a thread that may be in one of them:
 * both may wait for what the caller has locked. */
typedef void rawhal_log_fn(void *context, rawhal_severity_t severity, const char *message);

/* What the runtime is to run on. */
typedef enum rawhal_backend {
  RAWHAL_BACKEND_DEFAULT = 0, /* RAWHAL_DEVICE=softgpu|hsa when set; else hsa with /dev/kfd, else
                             softgpu, with a warning to the log. A program that must have hardware
                             says so: HSA, or RAWHAL_DEVICE=hsa where it runs */
  RAWHAL_BACKEND_SOFTGPU = 1, /* the software GPU */
  RAWHAL_BACKEND_HSA = 2,     /* hardware; NOT_FOUND when there is none */
} rawhal_backend_t;

/* Zero-initialise, then set what should differ. Strings are read during the call only. */
typedef struct rawhal_instance_options {
  size_t size; /* sizeof(rawhal_instance_options_t), or 0: see types.h */
  rawhal_backend_t backend;
  /* Default: RAWHAL_RUNTIME_LIBRARY in the environment (ignored in a program with more rights than
   * its user); else, with softgpu, the one that is installed with the library, in rawhal/runtime/
   * in librawhal's folder; else "libhsa-runtime64.so.1". */
  const char *runtime_library;
  const char *softgpu_library; /* default: RAWHAL_SOFTGPU_LIBRARY in the environment (ignored in
                                  a program with more rights than its user), else rawhal/softgpu/
                                  in librawhal's folder, as installed; for a program with the
                                  static library, in its own folder or its prefix's folder of
                                  libraries */
  const char *softgpu_options; /* "gpus=2,vram_mib=512,timeout_ms=1000"; names in softgpu's
                                  documentation. They apply until the runtime ends, whichever
                                  instance gave them, and are restored then */
  /* Quota and limits of every device, see limit.h; what is not set here comes from the environment.
   * Only for the instance that starts the runtime: INVALID_ARGUMENT when it runs already. */
  const rawhal_limit_config_t *limits;
  /* How long a device may take for one transfer of a copy: 4 MiB to or from the host, all of it
   * between two buffers of the device. Nanoseconds; 0: a minute, RAWHAL_FOREVER: no limit. Only for
   * the instance that starts the runtime, like `limits`. */
  uint64_t copy_timeout_ns;
  /* Called with `log_context` from the beginning of rawhal_instance_create() to the end of
   * rawhal_instance_destroy(), for what the runtime does, whichever instance it is for. Where no
   * instance has one, lines of RAWHAL_LOG's severity (note, warning or error, in the environment)
   * and above go to stderr; none when it is off or not set. It may be called by threads of the
   * runtime's, one at a time: it must not wait for others, nor destroy queues or instances, nor
   * create instances; of what other functions log that it calls it is not told. The library writes
   * nothing else anywhere, but for the core files that RAWHAL_CORE asks for. */
  rawhal_log_fn *log;
  void *log_context;
  /* For the instance and all that is made with its devices, including the code objects that
   * executables open; NULL: malloc(), or what the runtime runs with. Instances share it: one other
   * than the runtime's is INVALID_ARGUMENT when that runs already. */
  const rawhal_allocator_t *allocator;
} rawhal_instance_options_t;

/* Opens the runtime. There is one runtime per process: instances share it, and all must agree on
 * the backend. `options` may be NULL. NOT_FOUND: no runtime library, no software GPU library, no
 * hardware; INVALID_ARGUMENT: contradictory or misspelt options or RAWHAL_DEVICE; UNSUPPORTED: a
 * chip that softgpu lists but cannot execute, or that the runtime does not know, or a runtime that
 * is too old; OUT_OF_MEMORY; RUNTIME; for limits, as rawhal_limit_config_environment() and
 * rawhal_limiter_open(). */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_instance_create(
    const rawhal_instance_options_t *options, rawhal_instance_t **instance, rawhal_error_t *error);
/* The runtime ends when nothing keeps it open any more: see "Ownership". */
RAWHAL_API void rawhal_instance_destroy(rawhal_instance_t *instance);

/* What RAWHAL_BACKEND_DEFAULT stands for in this environment, for tools that start programs: they
 * need not load what those will. INVALID_ARGUMENT: RAWHAL_DEVICE is misspelt; NOT_FOUND: it asks
 * for hardware, and there is none. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_backend_default(rawhal_backend_t *backend,
                                                                 rawhal_error_t *error);

/* Writes the path where instances find softgpu's library, for tools that use it without a device.
 * Absolute; `given` as softgpu_library above, may be NULL. NOT_FOUND: it is in none of its places;
 * OUT_OF_RANGE: the path is longer than `size`. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_softgpu_library_path(const char *given, char *path,
                                                                      size_t size,
                                                                      rawhal_error_t *error);

/* Writes by which name instances on that backend open the HSA runtime, for tools that look at it
 * without a device: a path, or a name that the dynamic linker looks for. `given` as runtime_library
 * above, may be NULL. Whether there is such a library is not asked. OUT_OF_RANGE: the name is
 * longer than `size`; of RAWHAL_BACKEND_DEFAULT also as rawhal_backend_default(). */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_runtime_library(rawhal_backend_t backend,
                                                                 const char *given, char *name,
                                                                 size_t size,
                                                                 rawhal_error_t *error);

/* How many devices the runtime has. 0 for NULL. */
RAWHAL_API size_t rawhal_instance_device_count(const rawhal_instance_t *instance);
/* Owned by the instance. NULL when index >= count. */
RAWHAL_API rawhal_device_t *rawhal_instance_device(const rawhal_instance_t *instance, size_t index);
/* Finds the device that other users of the same runtime know by the handle of its hsa_agent_t.
 * Owned by the instance. NOT_FOUND: the runtime has no device of that handle. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_instance_find_device(const rawhal_instance_t *instance, uint64_t agent,
                            rawhal_device_t **device, rawhal_error_t *error);

/* ---- Devices ---- */

/* Facts of a device, which do not change. */
typedef struct rawhal_device_info {
  char name[64];         /* as the runtime reports it, "gfx90a" */
  char description[128]; /* one sentence; says plainly when the device is software */
  bool is_software;
  /* The processor whose code it executes. `name` is another where softgpu is listed as another
   * chip, for a runtime that does not know this one (softgpu.h, option listed). Devices of softgpu
   * may be of different chips (option chips). */
  rawhal_target_t target;
  uint64_t memory_bytes; /* device-local */
  uint64_t timestamp_hz; /* of the runtime's clock */
  uint32_t compute_units, wavefront_size;
  uint32_t lds_bytes; /* per work-group */
  uint32_t max_workgroup_size;
  uint16_t max_workgroup_dim[3];
  uint32_t max_grid_dim[3];
  uint32_t max_queue_packets;
  uint64_t agent; /* the handle of its hsa_agent_t */
  /* From here on, what the runtime does not report is 0, "" or -1. */
  char uuid[64]; /* "GPU-" and 16 digits */
  uint32_t pci_domain, pci_bus, pci_device, pci_function;
  uint32_t clock_mhz, memory_clock_mhz; /* at most */
  uint32_t memory_bus_bits;
  int32_t numa_node;       /* of the nearest host agent, as the runtime numbers them */
  uint32_t cache_bytes[4]; /* one cache of each level, the first level first */
  uint32_t cacheline_bytes;
  uint32_t waves_per_cu, simds_per_cu; /* waves: at most, of all its SIMDs together */
  /* What it is sold as, for people and for what HIP calls a device's name: "AMD Instinct MI300X";
   * `name` where the runtime does not tell. Of softgpu a card with the chip that it executes, 39
   * characters at most: "AMD Instinct MI300X (softgpu)". */
  char product[64];
} rawhal_device_info_t;
/* Owned by the device. NULL for NULL. */
RAWHAL_API const rawhal_device_info_t *rawhal_device_info(const rawhal_device_t *device);

/* Whether the device can be given access to the peer's memory, by rawhal_buffer_allow(); it always
 * has access to its own. False for NULL. */
RAWHAL_API bool rawhal_device_can_access(const rawhal_device_t *device,
                                         const rawhal_device_t *peer);

/* The device's limiter, to look at its limits and to change them while it runs. Owned by the
 * device; NULL when nothing is limited, or only from outside by a front: see limit.h. */
RAWHAL_API rawhal_limiter_t *rawhal_device_limiter(const rawhal_device_t *device);

/* ---- Memory ---- */

/* How much of the device's memory this process can ever have, and how much it can still get, in
 * bytes, within the quota if there is one. Zeros for NULL and for a device that is gone. */
RAWHAL_API void rawhal_device_memory(const rawhal_device_t *device, uint64_t *total,
                                     uint64_t *available);

/* Where a buffer's memory is, and how it is kept coherent: fine-grained memory is while kernels
 * run, by atomics of system scope; coarse-grained is when a dispatch begins and has ended. The
 * first two are always there; of the others the runtime is asked, by the flags of its memory pools
 * (hsa_ext_amd.h, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_*). */
typedef enum rawhal_memory_kind {
  RAWHAL_MEMORY_DEVICE = 0,      /* device-local; reach it with read, write, copy, fill */
  RAWHAL_MEMORY_HOST = 1,        /* host memory, fine-grained, that the device can reach as well */
  RAWHAL_MEMORY_HOST_COARSE = 2, /* the same, coarse-grained: the device may cache it */
  RAWHAL_MEMORY_DEVICE_MAPPED = 3,   /* device-local, and the host uses it in place, at
                                      rawhal_buffer_host(): through the BAR, where that shows all of
                                      the device's memory. Slow to read, for the host */
  RAWHAL_MEMORY_DEVICE_FINE = 4,     /* device-local, fine-grained */
  RAWHAL_MEMORY_DEVICE_UNCACHED = 5, /* device-local, kept in no cache beyond its scope, whatever
                                        that of the accesses: for rings. Flag 8, extended scope,
                                        which runtimes have from ROCm 5.6 or so on */
} rawhal_memory_kind_t;

/* Allocates `size` > 0 bytes, aligned to at least 4096. The contents are undefined. OUT_OF_MEMORY;
 * QUOTA_EXCEEDED (device memory only); UNSUPPORTED: there is no memory of that kind, and why. For
 * much that comes and goes, <rawhal/pool.h> has memory in the order of queues. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_buffer_allocate(rawhal_device_t *device,
                                                                 rawhal_memory_kind_t kind,
                                                                 size_t size,
                                                                 rawhal_buffer_t **buffer,
                                                                 rawhal_error_t *error);
/* Makes a buffer of memory that was allocated elsewhere: `size` > 0 bytes at `pointer`, however
 * aligned.
 *
 * What the HSA runtime did not allocate (malloc(), mmap(), the stack) becomes a RAWHAL_MEMORY_HOST
 * buffer: it is pinned, and the device gets access, until the buffer is freed. What the runtime
 * allocated for others keeps its access rights and is a RAWHAL_MEMORY_DEVICE buffer when it is a
 * device's own; then it counts towards the quota as long as the buffer lives. In both cases the
 * memory stays its owner's and must outlive the buffer.
 *
 * Exactly the same bytes may be a buffer of several devices, each with an address for that device,
 * which may be the same; they are freed in any order.
 *
 * INVALID_ARGUMENT: it overlaps a live buffer in any other way, or the device has no access;
 * OUT_OF_RANGE: it ends beyond the allocation that the runtime knows; UNSUPPORTED: the runtime's
 * host memory without a host address; OUT_OF_MEMORY; QUOTA_EXCEEDED; RUNTIME. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_buffer_import(rawhal_device_t *device,
                                                               void *pointer, size_t size,
                                                               rawhal_buffer_t **buffer,
                                                               rawhal_error_t *error);

/* The same, and rawhal_buffer_address() is `pointer`: what already holds that address, such as a
 * data structure of the program's or a pointer that another library passes to kernels, holds for
 * the device, too. UNSUPPORTED, and nothing imported: the device has the memory at another address.
 * On hardware the driver must have SVM, and the thunk be of ROCm 5.5 or later, which registers
 * memory through it (unless HSA_USE_SVM is 0). softgpu keeps the address under each of its
 * runtimes, unless the memory overlaps what is pinned otherwise, or managed. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_buffer_import_in_place(rawhal_device_t *device,
                                                                        void *pointer, size_t size,
                                                                        rawhal_buffer_t **buffer,
                                                                        rawhal_error_t *error);

/* Lets these devices use the buffer, too, at the same address; those that could before still can.
 * It counts once, towards its own device's quota. Dispatches of a device that has no access fail
 * with FAULT. INVALID_ARGUMENT: an imported buffer, whose owner says who has access; UNSUPPORTED: a
 * device cannot reach the memory, and none is given access. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_buffer_allow(rawhal_buffer_t *buffer,
                                                              rawhal_device_t *const *devices,
                                                              size_t count, rawhal_error_t *error);

/* Gives the memory back at once, or ends the import. Dispatches that use it must have finished:
 * addresses are in arguments, so only the caller knows which these are. Free from a completion
 * callback (rawhal_queue_on_complete()) what should live as long as a ticket. A dispatch that uses
 * freed memory fails with FAULT, naming the address, as long as the memory has no new owner; then
 * it uses the new owner's. Freeing a freed buffer again does nothing. */
RAWHAL_API void rawhal_buffer_free(rawhal_buffer_t *buffer);

/* Names a buffer in causes of faults, core files and events, or takes its name away (NULL); longer
 * text than RAWHAL_LABEL_BYTES is cut, never within a character of UTF-8. */
RAWHAL_API void rawhal_buffer_label(rawhal_buffer_t *buffer, const char *label);

/* Device address: what goes into kernel arguments. 0 for NULL or a freed buffer. */
RAWHAL_API uint64_t rawhal_buffer_address(const rawhal_buffer_t *buffer);
/* In bytes. 0 for NULL or a freed buffer. */
RAWHAL_API size_t rawhal_buffer_size(const rawhal_buffer_t *buffer);
/* Host pointer of host memory, or of RAWHAL_MEMORY_DEVICE_MAPPED; else NULL, as for NULL or a freed
 * buffer. */
RAWHAL_API void *rawhal_buffer_host(const rawhal_buffer_t *buffer);

/* Blocking copies, not ordered with what queues do: wait for dispatches first. Offsets and sizes in
 * bytes; OUT_OF_RANGE beyond a buffer, INVALID_ARGUMENT for overlapping ranges and for a buffer
 * that has been freed. Size 0 does nothing.
 *
 * Between the memory of two devices, the device of `from` copies if it has access to `to`
 * (rawhal_buffer_allow()), else that of `to` if it has access to `from`, else both do, through the
 * host. The device that copies is charged.
 *
 * TIMED_OUT: the device took longer than copy_timeout_ns for a transfer. It may still carry it out:
 * the destination is undefined until it has. Until then copies of the device first wait for it, for
 * as long again, and then fail; freeing a buffer of the device waits a second, and then leaves the
 * memory allocated until the runtime ends. The caller's own memory is not touched after the call.
 * Limits charge the transfer when it has ended, whenever that is, by the device's times; until then
 * it counts as running.
 * DEVICE_LOST: the device says that it failed. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_buffer_write(rawhal_buffer_t *buffer,
                                                              uint64_t offset, const void *data,
                                                              size_t size, rawhal_error_t *error);
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_buffer_read(const rawhal_buffer_t *buffer,
                                                             uint64_t offset, void *data,
                                                             size_t size, rawhal_error_t *error);
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_buffer_copy(rawhal_buffer_t *to,
                                                             uint64_t to_offset,
                                                             const rawhal_buffer_t *from,
                                                             uint64_t from_offset, size_t size,
                                                             rawhal_error_t *error);
/* Stores `value` in every dword; offset and size are multiples of 4. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_buffer_fill(rawhal_buffer_t *buffer,
                                                             uint64_t offset, uint32_t value,
                                                             size_t size, rawhal_error_t *error);

/* ---- Memory of several processes ---- */

/* The runtime's hsa_amd_ipc_memory_t: programs that use the runtime directly can use these handles,
 * and theirs can be used here. */
typedef struct rawhal_ipc_handle {
  unsigned char bytes[32];
} rawhal_ipc_handle_t;

/* Makes a handle of a device-local buffer, to be sent to other processes by any means. It is valid
 * as long as the buffer lives; on softgpu, processes that have imported it by then keep the memory.
 * Nothing should use the buffer during the call: softgpu waits up to 30 s for whatever does.
 * INVALID_ARGUMENT: an imported buffer; UNSUPPORTED: host memory (let both processes map one file,
 * and import that); RUNTIME. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_buffer_export_ipc(const rawhal_buffer_t *buffer,
                                                                   rawhal_ipc_handle_t *handle,
                                                                   rawhal_error_t *error);
/* Makes a RAWHAL_MEMORY_DEVICE buffer, which `device` has access to, of the first `size` > 0 bytes
 * of another process's buffer, or of one of this process. All of the allocation, 2 MiB at least,
 * counts towards the quota as long as the buffer lives, and where it was allocated until it is
 * freed there. Processes must order their dispatches and copies between themselves. OUT_OF_RANGE:
 * more than is shared, which is whole pages of 4096 bytes, if the runtime reports that: 5.7 does
 * not; QUOTA_EXCEEDED; RUNTIME: not a valid handle, the memory is gone, or it belongs to another
 * user. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_buffer_import_ipc(rawhal_device_t *device, const rawhal_ipc_handle_t *handle, size_t size,
                         rawhal_buffer_t **buffer, rawhal_error_t *error);

/* Makes a dma-buf of a device-local buffer, for other drivers: a file descriptor, which is the
 * caller's to close(), and where in it the buffer begins, in bytes. INVALID_ARGUMENT, UNSUPPORTED:
 * as above; UNSUPPORTED: the runtime is older than 5.5; RUNTIME.
 *
 * No dma-buf has been made or imported yet: Debian's runtime 5.2.3 cannot make one, and softgpu has
 * none. Tests cover that both say so, and a stand-in for a runtime that has them. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_buffer_export_dmabuf(const rawhal_buffer_t *buffer,
                                                                      int *fd, uint64_t *offset,
                                                                      rawhal_error_t *error);
/* Makes a RAWHAL_MEMORY_DEVICE buffer, which `device` has access to, of `size` > 0 bytes at an
 * offset of a dma-buf. `fd` stays the caller's, and may be closed afterwards. Counts as above.
 * OUT_OF_RANGE: beyond its end; QUOTA_EXCEEDED; RUNTIME: not a dma-buf, or not one that the device
 * can use. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_buffer_import_dmabuf(rawhal_device_t *device,
                                                                      int fd, uint64_t offset,
                                                                      size_t size,
                                                                      rawhal_buffer_t **buffer,
                                                                      rawhal_error_t *error);

/* ---- Executables ---- */

/* Loads a code object onto a device. The executable keeps its own copy of the object: `hsaco` may
 * be closed afterwards. Refused before the runtime sees it: TARGET_MISMATCH (says which part),
 * UNSUPPORTED (not safe to load, with the reason); afterwards: RUNTIME with the loader's reason;
 * QUOTA_EXCEEDED, as code takes device memory; OUT_OF_MEMORY.
 *
 * The same bytes are loaded once per device: loading them again gives the same executable, which
 * must be destroyed as often. Devices share the copy. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_executable_load(rawhal_device_t *device,
                                                                 const rawhal_hsaco_t *hsaco,
                                                                 rawhal_executable_t **executable,
                                                                 rawhal_error_t *error);
/* The same for an object that also stands in a file, at `offset`: the runtime is told so, and
 * debuggers and profilers find it there ("file://PATH#offset=..&size=.."). The file must not change
 * meanwhile. An executable that is loaded already keeps what it was loaded from. NOT_FOUND: the
 * file cannot be opened; INVALID_ARGUMENT: it holds other bytes there. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_executable_load_file(
    rawhal_device_t *device, const rawhal_hsaco_t *hsaco, const char *path, uint64_t offset,
    rawhal_executable_t **executable, rawhal_error_t *error);

/* A variable that an object needs and does not define (`extern`), by its name in the object, and
 * where it is on the device: a variable of another executable, or memory of the caller's. */
typedef struct rawhal_external {
  rawhal_string_t name;
  uint64_t address; /* of the device; not 0 */
} rawhal_external_t;

/* Zero-initialise, then set what should differ. Everything is read during the call only. */
typedef struct rawhal_executable_options {
  size_t size;      /* sizeof(rawhal_executable_options_t), or 0: see types.h */
  const char *path; /* of the file that has the object, as rawhal_executable_load_file() */
  uint64_t offset;
  const rawhal_external_t *externals; /* those that the object does not need are ignored */
  size_t external_count;
  size_t external_size; /* sizeof(rawhal_external_t), or 0: see types.h */
} rawhal_executable_options_t;

/* rawhal_executable_load() with options, which may be NULL. An object that needs variables of
 * others (rawhal_relocation_t.external) is refused unless all are supplied: NOT_FOUND names the
 * first that is not. It is then loaded once per device and set of addresses, and what is at them
 * must outlive it. INVALID_ARGUMENT: a name that is empty or has a NUL in it, an address of 0, a
 * name given twice, or one that the object defines. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_executable_load_with(rawhal_device_t *device, const rawhal_hsaco_t *hsaco,
                            const rawhal_executable_options_t *options,
                            rawhal_executable_t **executable, rawhal_error_t *error);

/* Zero-initialise, then set what should differ. Everything is read during the call only. */
typedef struct rawhal_open_options {
  size_t size; /* sizeof(rawhal_open_options_t), or 0: see types.h */
  const rawhal_container_options_t *container; /* how the carrier is read; NULL: the defaults */
  const rawhal_hsaco_options_t *hsaco;         /* the same for the object in it */
  rawhal_string_t kernel; /* must be in the object; empty: there is one object for the device */
  const rawhal_external_t *externals; /* as rawhal_executable_options_t */
  size_t external_count, external_size;
} rawhal_open_options_t;

/* Opens and loads in one step: finds the best object for the device in whatever carries it, bytes
 * or a file (container.h), and loads it. `options` may be NULL. Nothing of the bytes or the file is
 * used after the call. Fails as rawhal_container_open(), _select(), rawhal_hsaco_open() and
 * rawhal_executable_load_with(): TARGET_MISMATCH lists what was there. AMBIGUOUS: several objects
 * are equally good and hold different code, as in libraries of several translation units, and no
 * `kernel` is named. NOT_FOUND: none of them has that kernel. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_executable_open(
    rawhal_device_t *device, const void *bytes, size_t size, const rawhal_open_options_t *options,
    rawhal_executable_t **executable, rawhal_error_t *error);
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_executable_open_file(
    rawhal_device_t *device, const char *path, const rawhal_open_options_t *options,
    rawhal_executable_t **executable, rawhal_error_t *error);

/* The facts of what is loaded: of the executable's own copy of the object. Owned by the executable.
 * NULL for NULL. */
RAWHAL_API const rawhal_hsaco_t *rawhal_executable_hsaco(const rawhal_executable_t *executable);

/* What the runtime was given: the object's bytes or, if the runtime does not know what their ELF
 * header says, a copy that differs in its header only, and no file. (An object linked with
 * --emit-relocs is copied, too, without those relocations; `relabelled` is then false.)
 *  - The processor is the one that softgpu is listed as (see rawhal_device_info_t).
 *  - An object of version 6 becomes one of version 5, when the runtime has refused it and it is not
 *    for a generic target: nothing else in it needs version 6. */
typedef struct rawhal_executable_info {
  bool relabelled;
  rawhal_target_t target;       /* as the runtime was told */
  uint32_t code_object_version; /* the same, 3..6 */
} rawhal_executable_info_t;
/* Owned by the executable. NULL for NULL. */
RAWHAL_API const rawhal_executable_info_t *
rawhal_executable_info(const rawhal_executable_t *executable);

/* Its kernels must not be submitted any more, nor added to graphs. What is submitted or in a graph
 * may go on: the code leaves the device after the last such dispatch has finished, or its queue or
 * graph is destroyed; this call does not wait for it. Whether code can be unloaded is checked
 * whenever a queue, graph or executable is destroyed, an executable is loaded, or a buffer is
 * allocated.
 */
RAWHAL_API void rawhal_executable_destroy(rawhal_executable_t *executable);

/* Finds a kernel by `.name` or symbol, and compiles its layout; owned by the executable, the same
 * pointer every time. `stated_size`: kernarg bytes of a kernel whose facts do not state them, else
 * 0 (see rawhal_kernarg_layout_create(), whose errors are also this call's). NOT_FOUND;
 * UNSUPPORTED: an unusable kernel, with the reason. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_executable_kernel(
    rawhal_executable_t *executable, rawhal_string_t name, uint32_t stated_size,
    const rawhal_device_kernel_t **kernel, rawhal_error_t *error);

/* Where an exported variable is on the device, and its size in bytes, by its name in the object;
 * for one that was supplied, the address supplied, and 0 bytes. `address` and `size` may be NULL.
 * The address is valid, and rawhal_buffer_import() can make it a buffer, until the executable is
 * destroyed. NOT_FOUND. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_executable_variable(const rawhal_executable_t *executable, rawhal_string_t name,
                           uint64_t *address, uint64_t *size, rawhal_error_t *error);

/* ---- Queues: everything else is in queue.h, and copies in queue order in transfer.h ---- */

/* `options` may be NULL; the comments of its members say what errors they cause. OUT_OF_MEMORY,
 * also for want of HSA signals or queues; RUNTIME; DEVICE_LOST: the device is the parent's. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_queue_create(rawhal_device_t *device,
                                                              const rawhal_queue_options_t *options,
                                                              rawhal_queue_t **queue,
                                                              rawhal_error_t *error);

/* A timeline semaphore of this value, for queues of all devices: everything else is in semaphore.h.
 * It keeps the runtime open. OUT_OF_MEMORY; DEVICE_LOST: the device is the parent's. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_semaphore_create(rawhal_device_t *device,
                                                                  uint64_t value,
                                                                  rawhal_semaphore_t **semaphore,
                                                                  rawhal_error_t *error);

/* ---- Graphs: everything else is in graph.h ---- */

/* Makes an empty graph of what is to run on `device`. OUT_OF_MEMORY; DEVICE_LOST: the device is the
 * parent's. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_graph_create(rawhal_device_t *device,
                                                              rawhal_graph_t **graph,
                                                              rawhal_error_t *error);

RAWHAL_END

#endif
