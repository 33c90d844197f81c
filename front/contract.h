/* What a buffer must have, as an expression of what its dispatch says. Internal.
 *
 *     4 * n                      an argument by its name
 *     arg3 * (arg4 + 1)          or by its index, from 0
 *     4 * work_items.x           also .y, .z; workgroup.x, workgroups.x, which are rounded up
 *     max(a, b), min(a, b)       + - * / % and parentheses as in C
 *
 * Everything is a number without sign of 64 bits; what an argument has is read so. A number is
 * decimal or, after 0x, of base 16, and may be followed by K, M or G of 1,024 each.
 *
 * Thread-safety: a contract is immutable. */
#ifndef RAWHAL_FRONT_CONTRACT_H
#define RAWHAL_FRONT_CONTRACT_H

#include "kernarg/kernarg.h"

typedef struct contract contract_t;

enum { CONTRACT_LENGTH = 1000, CONTRACT_DEPTH = 32 };

/* INVALID_ARGUMENT: says what and at which column, from 1; OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t contract_parse(const char *text, contract_t **contract,
                                              rawhal_error_t *error);
void contract_free(contract_t *contract); /* NULL is allowed */

typedef struct contract_facts {
  const rawhal_kernarg_layout_t *layout;
  rawhal_bytes_t image;
  uint32_t work_items[3], workgroup[3];
} contract_facts_t;

/* Does every argument that it names exist, and have 8 bytes at most? INVALID_ARGUMENT: says which
 * does not. */
RAWHAL_CHECKED rawhal_status_t contract_check(const contract_t *contract,
                                              const rawhal_kernarg_layout_t *layout,
                                              rawhal_error_t *error);

/* OUT_OF_RANGE: it is more than 64 bits, less than 0, or divides by 0; INVALID_ARGUMENT: an
 * argument is not there. */
RAWHAL_CHECKED rawhal_status_t contract_evaluate(const contract_t *contract,
                                                 const contract_facts_t *facts, uint64_t *value,
                                                 rawhal_error_t *error);

#endif
