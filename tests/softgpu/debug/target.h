/* What target.c runs, and where its parts are: for its tests, too. */
#ifndef TESTS_SOFTGPU_DEBUG_TARGET_H
#define TESTS_SOFTGPU_DEBUG_TARGET_H

#include <stdint.h>

/* Kernels: offsets of their code from that of the first. The same words for gfx90a, gfx942 and
 * gfx950. */
enum {
  CODE_WORK = 0,
  CODE_WORK_LOOP = 0x28, /* v_add_u32 */
  CODE_WORK_STORE = 0x38,
  CODE_WORK_END = 0x40,
  CODE_FAULT = 0x100,
  CODE_FAULT_STORE = 0x110,
  CODE_ASSERT = 0x200,
  CODE_ASSERT_TRAP = 0x204,
  CODE_DEBUG_TRAP = 0x300, /* s_trap is the second instruction */
  CODE_SPIN = 0x400,
  CODE_SPIN_LOOP = 0x414,
  CODE_LANES = 0x500, /* s_trap 2 in one lane: LANES_LANE */
  CODE_LANES_TRAP = 0x510,
  CODE_ILLEGAL = 0x540,    /* the second word is no instruction */
  CODE_MISALIGNED = 0x580, /* adds to half of one word and half of another */
  CODE_MISALIGNED_ADD = 0x590,
  CODE_BARE_TRAP = 0x5c0, /* s_trap 1 as a debugger leaves it behind that is killed */
  CODE_TOUCH = 0x600,     /* loads, adds to and stores words */
  CODE_TOUCH_LOADED = 0x61c,
  CODE_TOUCH_ADDED = 0x628,
  CODE_TOUCH_STORED = 0x634,
  CODE_MIX = 0x700, /* 1,331 instructions of all kinds, a loop of 33 */
  CODE_MIX_LOOP = 0x744,
  CODE_END = 0x800,
  KERNELS = 11,
  KERNEL_WORK = 0, /* as `run` numbers them */
  KERNEL_FAULT,
  KERNEL_ASSERT,
  KERNEL_DEBUG_TRAP,
  KERNEL_SPIN,
  KERNEL_LANES,
  KERNEL_ILLEGAL,
  KERNEL_MISALIGNED,
  KERNEL_BARE_TRAP,
  KERNEL_TOUCH,
  KERNEL_MIX,
  TARGET_QUEUES = 2, /* of which the second is on the last device */
  WORK_RESULT = 16,  /* in each lane of what KERNEL_WORK stores */
  LANES_LANE = 37,
  SPIN_FLAG = 1024, /* offset of the word that ends KERNEL_SPIN, in `out` */
};

/* The first thing that it writes to its output. */
typedef struct target_places {
  uint64_t code, out[TARGET_QUEUES], r_debug;
} target_places_t;

#endif
