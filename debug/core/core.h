/* A core file of a process and its GPUs, as stock debuggers and ROCm's read it: what is to stand in
 * it, and the call that writes it. Internal.
 *
 * The file is one ELF64 ET_CORE of x86-64: threads of the host, the AMDGPU note of type 33, memory.
 * What is written here is a description: whoever knows queues and waves fills it in. It is all
 * borrowed, for the time of the call; addresses are those of the process and its GPUs, which have
 * one address space, and are never followed: bytes come with a pointer.
 *
 * Nothing on the way allocates, takes a lock or sends a signal: the caller gives scratch. It may
 * be called where a program has just failed, by one thread at a time for a scratch. */
#ifndef RAWHAL_DEBUG_CORE_CORE_H
#define RAWHAL_DEBUG_CORE_CORE_H

#include "base/status.h"

enum {
  CORE_LANES = 64,
  CORE_SGPRS = 108,       /* s0 to s101, FLAT_SCRATCH, two unused, VCC: by operand encoding */
  CORE_QUEUE_BYTES = 256, /* of an amd_queue_t that are kept; the runtime's is not larger */
  CORE_REGISTERS = 27,    /* of struct user_regs_struct, <sys/user.h> */
  CORE_ABI_DEFAULT = 10,  /* r_version that ROCm 6.2 to 7.2 take; builds of 2026 take 12 alone */
};

/* What the memory is. Its order is that in which there is room for it. */
typedef enum core_class {
  CORE_OWN = 0,     /* of the debugger's lists; made here */
  CORE_QUEUE = 1,   /* amd_queue_t, packets in flight */
  CORE_CODE = 2,    /* loaded images: kernel descriptors, code */
  CORE_OBJECT = 3,  /* the bytes of a code object's file */
  CORE_WAVES = 4,   /* registers and LDS */
  CORE_KERNARG = 5, /* of dispatches in flight; users' data, as all that follows */
  CORE_SCRATCH = 6,
  CORE_NEAR = 7,   /* buffers next to the fault, or that kernargs name */
  CORE_BUFFER = 8, /* the rest */
  CORE_HOST = 9,   /* the host's stacks */
  CORE_CLASSES,
} core_class_t;

#define CORE_CLASS_BIT(class) (1u << (class))
/* Without what users computed with. */
#define CORE_NO_CONTENTS (CORE_CLASS_BIT(CORE_KERNARG) - 1)

/* A thread of the host, as struct elf_prstatus tells it. One whose registers are not known is none
 * of these; a note of the caller's may name it. */
typedef struct core_thread {
  int32_t id, signal; /* the first thread is the one that failed */
  uint64_t registers[CORE_REGISTERS];
} core_thread_t;

typedef struct core_process {
  int32_t id;                      /* not 0: debuggers need one */
  const char *program, *arguments; /* cut to 15 and 79 bytes; NULL: empty */
  const core_thread_t *threads;    /* at least one */
  size_t thread_count;
} core_process_t;

/* Fields of the driver's struct kfd_dbg_device_info_entry. Capabilities and apertures are the
 * writer's. */
typedef struct core_agent {
  uint32_t gfx_target_version;                 /* major * 10000 + minor * 100 + stepping */
  uint32_t gpu_id;                             /* unique, not 0 */
  uint32_t location, vendor, device, revision; /* PCI; what the debugger finds a name by */
  uint32_t subsystem_vendor, subsystem_device, firmware;
  uint32_t simds, waves_per_simd;     /* of all XCCs; of one SIMD. None of these is 0 */
  uint32_t arrays, arrays_per_engine; /* of one XCC: the note has them so */
  uint32_t xccs;
  uint64_t memory_base, memory_limit; /* of GPU addresses; the limit is the last one */
} core_agent_t;

/* An AQL queue, of which the debugger reads packets in [read_dispatch_id, write_dispatch_id). */
typedef struct core_queue {
  uint32_t agent, id; /* index of its agent; unique */
  uint64_t address;   /* of the amd_queue_t, a multiple of 64 */
  const void *bytes;  /* CORE_QUEUE_BYTES of it */
  uint64_t ring;
  uint32_t ring_bytes; /* a power of two of packets of 64 bytes; of them some are in `memory` */
  /* Private memory: slices of `slice_bytes` each, interleaved by lane dword by dword, from
   * `scratch` on. 0: none, or not of this form. */
  uint64_t scratch, slice_bytes;
} core_queue_t;

/* Why a wave stands. The trap handler's words; a debugger has no others. */
typedef enum core_stop {
  CORE_STOP_NONE = 0,    /* it was running */
  CORE_STOP_MEMORY = 1,  /* SIGSEGV */
  CORE_STOP_ADDRESS = 2, /* an aperture, or misaligned: SIGBUS */
  CORE_STOP_ILLEGAL = 3, /* SIGILL */
  CORE_STOP_TRAP = 4,    /* at an s_trap of `trap`: 1 breakpoint, 2 assert, 3 debug, up to 14 */
  CORE_STOP_OTHER = 5,   /* stopped by who ran it: a time, a race; shown as trap 4 */
  CORE_STOPS,
} core_stop_t;

typedef struct core_wave {
  uint32_t queue;    /* index */
  uint32_t xcc;      /* of the queue's agent */
  uint64_t packet;   /* id of its dispatch, as read_dispatch_id counts */
  uint32_t group[3]; /* its work-group's position */
  uint32_t index;    /* in the work-group */
  core_stop_t stop;
  uint32_t trap;
  uint64_t pc; /* of the instruction that failed, or that comes next; of an s_trap its own */
  uint64_t exec;
  uint32_t scc, m0, mode;
  const uint32_t *sgprs;               /* CORE_SGPRS */
  const uint32_t (*vgprs)[CORE_LANES]; /* rows: v0 first, lane 0 first */
  const uint32_t (*agprs)[CORE_LANES];
  uint32_t vgpr_count, agpr_count;
  uint64_t scratch; /* its slice; 0: none */
  const void *lds;  /* the work-group's: its first wave's are taken */
  uint32_t lds_bytes;
} core_wave_t;

/* A code object, as it was given to be loaded, before anybody changed a byte of it. */
typedef struct core_object {
  rawhal_bytes_t bytes; /* without data: there was no room to copy it */
  uint64_t delta;       /* from the object's own addresses to those where it was loaded */
} core_object_t;

typedef struct core_memory {
  uint64_t address;
  const void *bytes; /* NULL: they cannot be read here, and are listed as left out */
  uint64_t size;
  core_class_t kind;
  bool writes, executes;
  uint64_t cut; /* so many of the last are not in `bytes`: there was no room to copy them */
} core_memory_t;

/* A note of the caller's: of owner "RAWHAL" those below, of "CORE" NT_AUXV and its like. */
typedef struct core_note {
  const char *owner;
  uint32_t type;
  rawhal_bytes_t bytes;
} core_note_t;

/* Types of owner "RAWHAL", all made with notes.h; the writer makes LEFT_OUT. Small types would be
 * read as NT_PRSTATUS. */
enum {
  CORE_NOTE_PROCESS = 0x52480001,
  CORE_NOTE_MODULES = 0x52480002,
  CORE_NOTE_DISPATCHES = 0x52480003,
  CORE_NOTE_ALLOCATIONS = 0x52480004,
  CORE_NOTE_CAUSE = 0x52480005, /* a fault and its causes */
  CORE_NOTE_LIMITS = 0x52480006,
  CORE_NOTE_LEFT_OUT = 0x52480007,
};

typedef struct core_description {
  core_process_t process;
  const core_agent_t *agents;
  size_t agent_count;
  const core_queue_t *queues;
  size_t queue_count;
  const core_wave_t *waves; /* those of a work-group one after the other */
  size_t wave_count;
  const core_object_t *objects;
  size_t object_count;
  const core_memory_t *memory; /* where ranges overlap, the class that comes first is taken */
  size_t memory_count;
  const core_note_t *notes;
  size_t note_count;
  /* Addresses at which the process has nothing: the debugger's lists and the save areas get theirs
   * here. A multiple of 4096. */
  uint64_t own_base, own_size;
} core_description_t;

typedef struct core_options {
  uint64_t budget;   /* bytes that the file may have; 0: no bound */
  const char *bound; /* what says so, for messages; NULL: the budget */
  uint32_t abi;      /* r_version, 8 to 12; 0: CORE_ABI_DEFAULT */
  uint32_t classes;  /* CORE_CLASS_BIT() of what may stand in it; 0: all. Below KERNARG all do */
  uint64_t deadline; /* of CLOCK_MONOTONIC, in ns, for the output; 0: none */
  void *scratch;     /* for the call; a multiple of 64 */
  size_t scratch_size;
} core_options_t;

/* Of what was written. */
typedef struct core_written {
  uint64_t bytes;          /* of the file */
  uint64_t left_out_bytes; /* of memory that has no place in it */
  size_t waves, queues;    /* that stand in it */
} core_written_t;

/* Scratch that is surely enough. 0: more than can be. */
size_t core_scratch_size(const core_description_t *description, const core_options_t *options);

/* What takes the file's bytes, in order. False, with errno. */
typedef bool core_put_fn(void *context, const void *bytes, size_t size);

/* Writes a core file. Before its first byte it is checked by the rules of the debugger's library: a
 * queue that these would refuse, which would hide all others, is left out and listed so.
 * INVALID_ARGUMENT: the description contradicts itself; QUOTA_EXCEEDED: there is no room within the
 * budget for the notes alone; OUT_OF_MEMORY: the scratch is too small; TIMED_OUT: the deadline
 * passed; RUNTIME: it could not be written. */
RAWHAL_CHECKED rawhal_status_t core_write(const core_description_t *description,
                                          const core_options_t *options, core_put_fn *put,
                                          void *context, core_written_t *written,
                                          rawhal_error_t *error);

#endif
