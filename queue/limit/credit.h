/* What a lease may spend without looking at any limit: amounts of several kinds in one word, spent
 * by one compare-and-swap. Internal; header only.
 *
 * Each amount has a spare bit above it. With all spare bits set, subtracting what is asked for
 * clears those of the amounts that are too small, and borrows from no neighbour. */
#ifndef RAWHAL_QUEUE_LIMIT_CREDIT_H
#define RAWHAL_QUEUE_LIMIT_CREDIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum credit_kind {
  CREDIT_NS,
  CREDIT_LAUNCHES,
  CREDIT_WORKGROUPS,
  CREDIT_BLOCKS, /* of kernargs, CREDIT_BLOCK_BYTES each */
  CREDIT_KINDS
} credit_kind_t;

/* Amounts by kind, in 64 bits each. */
typedef struct credit {
  uint64_t of[CREDIT_KINDS];
} credit_t;

enum { CREDIT_BLOCK_BYTES = 64 }; /* kernargs are reserved in such blocks */

enum {
  CREDIT_NS_BITS = 20,
  CREDIT_LAUNCHES_AT = CREDIT_NS_BITS + 1,
  CREDIT_LAUNCHES_BITS = 13,
  CREDIT_WORKGROUPS_AT = CREDIT_LAUNCHES_AT + CREDIT_LAUNCHES_BITS + 1,
  CREDIT_WORKGROUPS_BITS = 14,
  CREDIT_BLOCKS_AT = CREDIT_WORKGROUPS_AT + CREDIT_WORKGROUPS_BITS + 1,
  CREDIT_BLOCKS_BITS = 13,
};

_Static_assert(CREDIT_BLOCKS_AT + CREDIT_BLOCKS_BITS == 63, "amounts and spare bits fill a word");

static const struct credit_field {
  unsigned at, bits;
} credit_fields[CREDIT_KINDS] = {
    [CREDIT_NS] = {0, CREDIT_NS_BITS},
    [CREDIT_LAUNCHES] = {CREDIT_LAUNCHES_AT, CREDIT_LAUNCHES_BITS},
    [CREDIT_WORKGROUPS] = {CREDIT_WORKGROUPS_AT, CREDIT_WORKGROUPS_BITS},
    [CREDIT_BLOCKS] = {CREDIT_BLOCKS_AT, CREDIT_BLOCKS_BITS},
};

#define CREDIT_SPARE_BITS                                                                          \
  ((uint64_t)1 << CREDIT_NS_BITS | (uint64_t)1 << (CREDIT_WORKGROUPS_AT - 1) |                     \
   (uint64_t)1 << (CREDIT_BLOCKS_AT - 1) | (uint64_t)1 << 63)

/* The most that a word holds of a kind. */
static inline uint64_t credit_most(credit_kind_t kind)
{
  return ((uint64_t)1 << credit_fields[kind].bits) - 1;
}

static inline uint64_t credit_amount(uint64_t word, credit_kind_t kind)
{
  return word >> credit_fields[kind].at & credit_most(kind);
}

/* All ones where the kind is. */
static inline uint64_t credit_mask(credit_kind_t kind)
{
  return credit_most(kind) << credit_fields[kind].at;
}

/* `amount` is at most credit_most(). */
static inline uint64_t credit_word(credit_kind_t kind, uint64_t amount)
{
  return amount << credit_fields[kind].at;
}

/* All of `asked`, or nothing and false. */
static inline bool credit_spend(_Atomic uint64_t *word, uint64_t asked)
{
  uint64_t have = atomic_load_explicit(word, memory_order_relaxed), left;
  do {
    left = (have | CREDIT_SPARE_BITS) - asked;
    if ((left & CREDIT_SPARE_BITS) != CREDIT_SPARE_BITS)
      return false;
  } while (!atomic_compare_exchange_weak_explicit(word, &have, left & ~CREDIT_SPARE_BITS,
                                                  memory_order_relaxed, memory_order_relaxed));
  return true;
}

#endif
