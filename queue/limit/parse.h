/* Text of limits to numbers and back. Internal. Strict: a whole text is understood or refused. */
#ifndef RAWHAL_QUEUE_LIMIT_PARSE_H
#define RAWHAL_QUEUE_LIMIT_PARSE_H

#include "queue/limit.h"

/* INVALID_ARGUMENT with what was expected; OUT_OF_RANGE beyond 64 bits. "unlimited" is
 * RAWHAL_UNLIMITED in every unit that counts something. `whole` is what a percentage of bytes is
 * of; 0: refused. */
RAWHAL_CHECKED rawhal_status_t limit_parse(const char *text, rawhal_limit_unit_t unit,
                                           uint64_t whole, uint64_t *value, rawhal_error_t *error);

/* Digits only, of base 10. */
RAWHAL_CHECKED rawhal_status_t limit_parse_count(const char *text, uint64_t *value,
                                                 rawhal_error_t *error);

#endif
