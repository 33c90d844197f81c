/* Matrix multiply-add, D = A * B + C, over a whole wave; of sparse matrices, where A has two of
 * each four elements along k, D += A * B. Internal to softgpu. */
#ifndef SOFTGPU_ISA_DESCRIBE_MATRIX_H
#define SOFTGPU_ISA_DESCRIBE_MATRIX_H

#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/describe/inst.h"

typedef enum mfma_format {
  MFMA_F32,
  MFMA_XF32, /* f32 with 10 bits of mantissa, rounded to nearest even */
  MFMA_F16,
  MFMA_BF16,
  MFMA_FP8,
  MFMA_BF8,
  MFMA_I8,
  MFMA_F64,
  MFMA_MIXED, /* of A what cbsz says, of B what blgp says: the following, in this order */
  MFMA_E4M3,
  MFMA_E5M2,
  MFMA_E2M3,
  MFMA_E3M2,
  MFMA_E2M1,
} mfma_format_t;

enum { ISA_MFMA_LANES = 64 }; /* only waves of 64 have these instructions */

typedef struct mfma {
  uint16_t op;
  uint8_t a, b; /* mfma_format_t */
  uint8_t size; /* A is size x k, B is k x size, C and D are size x size */
  uint8_t k;
  uint8_t blocks; /* independent products side by side */
  bool is_sparse;
} mfma_t;

/* Elements of B that each lane holds, in the order of k; of A as many, or, when sparse, half. */
static inline unsigned mfma_items(const mfma_t *m)
{
  return (unsigned)m->k * m->size * m->blocks / ISA_MFMA_LANES;
}

extern const uint8_t isa_mfma_bits[]; /* of an element, by format */

static inline unsigned mfma_element_bits(unsigned format)
{
  return isa_mfma_bits[format];
}

/* Those with ISA_F_MIXED, whose sources have 32 elements a lane in one of five formats. */
enum { ISA_MFMA_LAST_MIXED = MFMA_E2M1 - MFMA_E4M3, MFMA_SCALE_BLOCK = 32 };

static inline unsigned isa_mfma_mixed_dwords(unsigned which)
{
  return which > ISA_MFMA_LAST_MIXED ? 0 : mfma_element_bits(MFMA_E4M3 + which);
}

/* Of source n, A or B. The 8-bit floats of gfx950 are OCP's. */
static inline unsigned mfma_format(const mfma_t *m, const isa_inst_t *inst, unsigned n)
{
  const unsigned format = n ? m->b : m->a;
  if (format == MFMA_MIXED)
    return MFMA_E4M3 + (n ? inst->vop.blgp : inst->vop.cbsz);
  if (isa_chip(inst->chip)->ocp_floats && (format == MFMA_FP8 || format == MFMA_BF8))
    return MFMA_E4M3 + (format == MFMA_BF8);
  return format;
}

/* Which k a lane's item is: `part` counts the groups of lanes that hold the rows once. Lanes hold
 * neighbours, of mixed formats with more than 4 bits in two runs of 16 (a note in Triton's
 * chooseScaledMfmaScaleLayout, from hardware; which k it is matters to scales and between formats
 * only). */
static inline unsigned mfma_k(const mfma_t *m, unsigned format, unsigned part, unsigned item)
{
  const unsigned items = mfma_items(m), parts = m->k / items;
  if (m->a != MFMA_MIXED || format == MFMA_E2M1)
    return part * items + item;
  return item / 16 * 16 * parts + part * 16 + item % 16;
}

/* Sparse matrices. Group q is k from 4q to 4q + 3, of which A has two elements: A's lanes hold
 * neighbouring groups, B's the same ones in the shapes of gfx942. In those of gfx950, which are
 * twice as deep, half of what a lane of A holds is one run of groups: B's runs are dealt to each
 * part of the lanes once, then to each again. (AMD's matrix instruction calculator; gfx950: what
 * AMD's fpsan found by probing hardware, and IREE's kernels rely on.) */
static inline unsigned mfma_groups(const mfma_t *m) /* in a lane */
{
  return mfma_items(m) / 4;
}

static inline bool mfma_deals_in_halves(const mfma_t *m)
{
  return mfma_items(m) * mfma_element_bits(m->b) == 256;
}

/* Which group the n-th four items of B are that the lanes of `part` hold. */
static inline unsigned mfma_group_of_b(const mfma_t *m, unsigned part, unsigned n)
{
  const unsigned groups = mfma_groups(m), half = groups / 2;
  if (!mfma_deals_in_halves(m))
    return part * groups + n;
  return (n / half * (ISA_MFMA_LANES / m->size) + part) * half + n % half;
}

/* Where in the register of indices, which has two bits for each element of A that a lane holds, the
 * set that cbsz and abid say begins. Four bits a group; abid counts when cbsz's low bits are 0. */
static inline unsigned mfma_index_shift(const mfma_t *m, const isa_inst_t *inst)
{
  const unsigned bits = 4 * mfma_groups(m);
  return inst->vop.cbsz & 3 ? 0 : inst->vop.abid % (32 / bits) * bits;
}

/* NULL when `op` is not one of them. */
const mfma_t *isa_mfma_find(unsigned op);

#endif
