/* One record of a note, notes.h, by itself: whatever keeps or hands on records has this form.
 * Internal to who writes and reads them. */
#ifndef RAWHAL_DEBUG_CORE_RECORDS_H
#define RAWHAL_DEBUG_CORE_RECORDS_H

#include "debug/core/notes.h"

enum { RECORD_HEAD = 8 }; /* bytes of type and size */

/* Bytes that the structure of that type takes as a record. */
size_t record_bytes(core_record_type_t type, const void *record);
/* Writes them. */
void record_put(core_record_type_t type, const void *record, unsigned char *to);
/* Reads a record, which may lie, of `bytes.size` bytes: what its own head says of them is passed
 * over. Strings are in `bytes`. False: its type is not known here. */
bool record_take(rawhal_bytes_t bytes, core_record_t *record);

#endif
