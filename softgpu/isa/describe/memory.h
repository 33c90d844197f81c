/* What memory instructions do with each lane, from the *.isa files of this folder. Internal to
 * softgpu. */
#ifndef SOFTGPU_ISA_DESCRIBE_MEMORY_H
#define SOFTGPU_ISA_DESCRIBE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* From ISA_STORE to ISA_ATOMIC, it writes to memory. */
typedef enum isa_access_kind {
  ISA_LOAD = 1,
  ISA_LOAD_LDS,
  ISA_STORE,
  ISA_STORE_LDS, /* from there to memory */
  ISA_ATOMIC,
  ISA_CACHE
} isa_access_kind_t;
typedef enum isa_access_form {
  ISA_FORM_ZERO, /* zero-extended to a dword */
  ISA_FORM_SIGN,
  ISA_FORM_D16_ZERO, /* into the lower half of the register; the other: isa_half_kept() */
  ISA_FORM_D16_SIGN,
  ISA_FORM_HIGH_ZERO, /* into or from the upper half */
  ISA_FORM_HIGH_SIGN,
} isa_access_form_t;

/* Atomic operations on one element. */
typedef enum isa_atomic {
  ISA_ATOMIC_SWAP,
  ISA_ATOMIC_CMPSWAP,
  ISA_ATOMIC_ADD,
  ISA_ATOMIC_SUB,
  ISA_ATOMIC_RSUB,
  ISA_ATOMIC_SMIN,
  ISA_ATOMIC_UMIN,
  ISA_ATOMIC_SMAX,
  ISA_ATOMIC_UMAX,
  ISA_ATOMIC_AND,
  ISA_ATOMIC_OR,
  ISA_ATOMIC_XOR,
  ISA_ATOMIC_INC,
  ISA_ATOMIC_DEC,
  ISA_ATOMIC_MSKOR,
  ISA_ATOMIC_CSUB, /* not below 0 */
  ISA_ATOMIC_ADD_F,
  ISA_ATOMIC_MIN_F,
  ISA_ATOMIC_MAX_F,
  ISA_ATOMIC_CMPSWAP_F,
  ISA_ATOMIC_PK_ADD_F16,
  ISA_ATOMIC_PK_ADD_BF16,
} isa_atomic_t;

typedef struct isa_access {
  uint8_t kind;         /* isa_access_kind_t */
  uint8_t bytes;        /* moved or exchanged per lane; 0 where a format says it */
  uint8_t form;         /* isa_access_form_t, loads and stores below a dword */
  uint8_t atomic;       /* isa_atomic_t */
  uint16_t unit;        /* of DS with two 8-bit offsets: bytes per unit of them; else 0 */
  uint8_t element_bits; /* of DS reads that transpose; else 0 */
  uint8_t components;   /* of buffers with a format: x, xy, xyz or xyzw; else 0 */
  bool is_half;         /* such a component is 16 bits */
  bool is_high;         /* of those: in the upper half */
  bool is_mip;          /* of images: the address names a level */
  bool is_packed;       /* of images: texels as they are, without conversion */
} isa_access_t;

/* NULL for an instruction that moves no memory by these rules: permutations, clocks. */
const isa_access_t *isa_access_of(unsigned op);

#endif
