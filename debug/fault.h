/* rawhal/fault.h: why a queue stopped, as a structure: what failed where, and the likely causes.
 *
 * rawhal_queue_fault() in queue.h fills it in. What is known depends on the device: softgpu tells
 * instruction, lane and address; hardware, through the HSA runtime, an error code of the queue or
 * an address without a queue. `known` says which members hold something; the others are zero. */
#ifndef RAWHAL_FAULT_H
#define RAWHAL_FAULT_H

#include <rawhal/types.h>

RAWHAL_BEGIN

/* Bytes of a label, of a buffer, a queue or a dispatch, with the NUL that ends it. */
#define RAWHAL_LABEL_BYTES 32

/* What failed. */
typedef enum rawhal_fault_kind {
  RAWHAL_FAULT_UNKNOWN = 0,      /* the runtime says that the queue failed, and no more */
  RAWHAL_FAULT_MEMORY = 1,       /* an access where no memory is */
  RAWHAL_FAULT_READ_ONLY = 2,    /* a write to memory that kernels may not write */
  RAWHAL_FAULT_NO_ACCESS = 3,    /* memory that the device was not given access to */
  RAWHAL_FAULT_LDS = 4,          /* beyond the work-group's LDS: softgpu's check_lds */
  RAWHAL_FAULT_SCRATCH = 5,      /* beyond the work-item's private segment */
  RAWHAL_FAULT_KERNARG = 6,      /* the kernarg segment: not there, or bytes not supplied */
  RAWHAL_FAULT_MISALIGNED = 7,   /* an access whose address is not a multiple of what it must be */
  RAWHAL_FAULT_INSTRUCTION = 8,  /* an illegal instruction, or a use of one that cannot be */
  RAWHAL_FAULT_FETCH = 9,        /* pc where no code is */
  RAWHAL_FAULT_TRAP = 10,        /* s_trap: its number in `address`; 2 is abort() and assert() */
  RAWHAL_FAULT_TIME_LIMIT = 11,  /* it ran, or waited, longer than it may */
  RAWHAL_FAULT_PACKET = 12,      /* the packet, or the kernel that it names, is wrong */
  RAWHAL_FAULT_RESOURCES = 13,   /* more registers, LDS or work-groups at once than there can be */
  RAWHAL_FAULT_DEVICE_LOST = 14, /* the device has gone, not this queue alone */
  RAWHAL_FAULT_DESTROYED = 15,   /* the queue was destroyed while it ran */
  RAWHAL_FAULT_UNWRITTEN = 16,   /* a read of memory that nothing has written: what softgpu's option
                                    check_memory finds */
  RAWHAL_FAULT_LDS_UNWRITTEN = 17, /* a read of LDS that nothing has written: check_lds */
  RAWHAL_FAULT_LDS_RACE = 18, /* waves use the same bytes of LDS with no barrier in between, and
                                      one writes: check_races */
  RAWHAL_FAULT_MOMENT = 19,   /* none: it stopped where rawhal replay was to stop it */
} rawhal_fault_kind_t;
/* "memory access fault"; "unknown fault" for a value that is none. Never NULL; static. */
RAWHAL_API const char *rawhal_fault_kind_name(rawhal_fault_kind_t kind);

typedef enum rawhal_fault_access {
  RAWHAL_FAULT_ACCESS_UNKNOWN = 0,
  RAWHAL_FAULT_ACCESS_READ = 1,
  RAWHAL_FAULT_ACCESS_WRITE = 2,
  RAWHAL_FAULT_ACCESS_ATOMIC = 3,
} rawhal_fault_access_t;

/* Bits of rawhal_fault_t.known. */
typedef enum rawhal_fault_known {
  RAWHAL_FAULT_KNOWS_DISPATCH = 1u << 0, /* ticket (of rawhal_queue_t), packet, dispatch, kernel */
  RAWHAL_FAULT_KNOWS_PC = 1u << 1,       /* pc, pc_offset, instruction, group, wave */
  RAWHAL_FAULT_KNOWS_OBJECT = 1u << 2,   /* object_address */
  RAWHAL_FAULT_KNOWS_ADDRESS = 1u << 3,  /* address; `bytes` where not 0 */
  RAWHAL_FAULT_KNOWS_LANE = 1u << 4,     /* lane */
  RAWHAL_FAULT_KNOWS_LANES = 1u << 5,    /* lanes */
} rawhal_fault_known_t;

/* Why it happened, as far as arguments and memory tell. */
typedef enum rawhal_cause_kind {
  RAWHAL_CAUSE_UNKNOWN = 0,
  RAWHAL_CAUSE_OUT_OF_BOUNDS = 1,  /* past the end, or before the start, of an allocation that an
                                         argument points into */
  RAWHAL_CAUSE_FREED = 2,          /* memory that was freed */
  RAWHAL_CAUSE_NO_ACCESS = 3,      /* memory that is another device's or the host's alone */
  RAWHAL_CAUSE_NULL = 4,           /* a null pointer, or a small offset from one */
  RAWHAL_CAUSE_WILD = 5,           /* an argument that points to no memory, now or lately */
  RAWHAL_CAUSE_ARGUMENTS = 6,      /* arguments swapped, or those of another kernel */
  RAWHAL_CAUSE_SHORT_BLOB = 7,     /* bytes of the arguments that were not supplied */
  RAWHAL_CAUSE_GRID = 8,           /* more work-items than the buffers have elements */
  RAWHAL_CAUSE_INDIRECT = 9,       /* a pointer in memory, further than was looked; where one was
                                         found, the kind says what is wrong with it */
  RAWHAL_CAUSE_LDS = 10,           /* the work-group's LDS */
  RAWHAL_CAUSE_SCRATCH = 11,       /* the private segment, such as an array of the kernel's */
  RAWHAL_CAUSE_READ_ONLY = 12,     /* it writes to what may only be read */
  RAWHAL_CAUSE_MISALIGNED = 13,    /* an argument that is less aligned than the access */
  RAWHAL_CAUSE_ABORT = 14,         /* the kernel ended itself: assert(), abort(), s_trap */
  RAWHAL_CAUSE_ENDLESS = 15,       /* a loop that does not end */
  RAWHAL_CAUSE_CODE_UNLOADED = 16, /* code that was unloaded while it ran, or is none */
  RAWHAL_CAUSE_PACKET = 17,        /* a packet that asks for what cannot be */
  RAWHAL_CAUSE_RESOURCES = 18,     /* a work-group that no compute unit has room for */
  RAWHAL_CAUSE_DEVICE_LOST = 19,   /* the device, not the program */
  RAWHAL_CAUSE_DESTROYED = 20,     /* the queue was destroyed */
  RAWHAL_CAUSE_INSTRUCTION = 21,   /* an instruction that the chip does not have */
  RAWHAL_CAUSE_DEPENDENCY = 22,    /* it waits for what does not happen: an s_barrier that other
                                         waves have not reached, a signal, each other's ends */
  RAWHAL_CAUSE_UNWRITTEN = 23,     /* it reads what nothing has written since it was allocated */
} rawhal_cause_kind_t;
/* "out of bounds", "freed memory", ...; never NULL; static. */
RAWHAL_API const char *rawhal_cause_kind_name(rawhal_cause_kind_t kind);

#define RAWHAL_NO_ARGUMENT UINT32_MAX

/* One possible cause. */
typedef struct rawhal_cause {
  rawhal_cause_kind_t kind;
  uint32_t confidence; /* percent, against the others of the fault */
  uint32_t argument;   /* index, in metadata order, of the argument that leads there; or
                          RAWHAL_NO_ARGUMENT */
  uint32_t levels; /* 0: the argument points there; 1: memory, or a structure, that it leads to */
  int64_t offset;  /* of the address from the allocation's start, bytes */
  uint64_t allocation, allocation_bytes; /* as the program asked for it; 0, 0: none */
  uint64_t freed_ns;                     /* for how long it has been freed; 0: it lives */
  uint64_t queue_id, ticket, packet; /* of the dispatch that it is about: the fault's own, or one
                                            that ran, where the fault has none; 0: none */
  uint32_t dispatch;                 /* index in its submission */
  uint32_t reserved;
  char argument_name[64];
  char label[32]; /* of the allocation; "" without */
  char text[256]; /* "one element past the end of argument 2 'b' (4096 bytes): ..." */
} rawhal_cause_t;

enum { RAWHAL_FAULT_CAUSES = 6 };

/* A fault. A copy: it stays valid when the queue, its kernels and their code are gone. */
typedef struct rawhal_fault {
  size_t size; /* set it to sizeof(rawhal_fault_t), or 0: see types.h */
  rawhal_fault_kind_t kind;
  uint32_t known;          /* RAWHAL_FAULT_KNOWS_* */
  int32_t hsa_status;      /* hsa_status_t of the runtime; 0: it gave none */
  uint32_t dispatch;       /* index in its submission */
  uint64_t queue_id;       /* hsa_queue_t.id */
  uint64_t ticket, packet; /* submission; index of the packet in the HSA queue */
  uint64_t kernel_object;  /* device address of the kernel's descriptor */
  uint64_t entry;          /* of the kernel's first instruction; 0: not known */
  uint64_t pc;             /* device address of the instruction */
  int64_t pc_offset;       /* of it from the kernel's entry, bytes */
  uint64_t object_address; /* pc as an address of the code object, for .debug_line */
  uint64_t address;        /* device address that was accessed; offset in LDS or scratch */
  uint32_t bytes;          /* of one lane's access */
  rawhal_fault_access_t access;
  uint32_t instruction[2]; /* first dwords at pc */
  uint32_t group[3];       /* work-group, in work-groups */
  uint32_t wave, lane;     /* wave in its work-group; the first lane that failed */
  uint64_t lanes;          /* all lanes of the wave that failed, a bit each */
  uint32_t cause_count;    /* the most likely first */
  uint32_t reserved;
  rawhal_cause_t causes[RAWHAL_FAULT_CAUSES];
  char kernel[256];                     /* its name, truncated; "" unknown */
  char device_text[640];                /* the device's own words; "" without */
  char label[RAWHAL_LABEL_BYTES];       /* of the dispatch; "" without, or where it is not known */
  char queue_label[RAWHAL_LABEL_BYTES]; /* of the queue; "" without */
  char instruction_text[160]; /* the instruction at pc, "s_trap 0x2"; "" where it is not known */
} rawhal_fault_t;

RAWHAL_END

#endif
