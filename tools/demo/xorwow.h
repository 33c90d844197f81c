/* XORWOW on the CPU: the reference the demo holds the device's engines and numbers against.
 *
 * Marsaglia: "Xorshift RNGs", Journal of Statistical Software 8 (2003), section 3.1: a xorshift
 * register of 160 bits plus a Weyl sequence of 32. The register's step is linear over GF(2), so n
 * steps are one 160 x 160 bit matrix, found by repeated squaring. Seeding and the distance of
 * 2^67 between subsequences are rocRAND's. */
#ifndef TOOLS_DEMO_XORWOW_H
#define TOOLS_DEMO_XORWOW_H

#include <stddef.h>
#include <stdint.h>

enum { XORWOW_BITS = 160, XORWOW_SUBSEQUENCE_LOG2 = 67 };

/* Laid out as rocRAND's xorwow_engine. */
typedef struct xorwow {
  uint32_t d; /* the Weyl sequence */
  uint32_t x[5];
} xorwow_t;

/* Subsequence 0, position 0. */
void xorwow_seed(xorwow_t *engine, uint64_t seed);

uint32_t xorwow_next(xorwow_t *engine);

/* Skips `count` numbers. */
void xorwow_discard(xorwow_t *engine, uint64_t count);

/* Engine i stands at subsequence i, position `offset`; the first `ahead` engines one further. */
void xorwow_engines(uint64_t seed, uint64_t offset, size_t ahead, xorwow_t *engines, size_t count);

/* A power of the step matrix: image[b] is what becomes of a register that holds only bit b, where
 * bit b is bit b % 32 of x[b / 32]. */
typedef struct xorwow_jump {
  uint32_t image[XORWOW_BITS][5];
} xorwow_jump_t;

void xorwow_jump_one(xorwow_jump_t *jump);    /* one step */
void xorwow_jump_square(xorwow_jump_t *jump); /* twice as many steps */
void xorwow_jump_apply(const xorwow_jump_t *jump, uint32_t x[5]);

#endif
