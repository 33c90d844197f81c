/* Solution libraries that are compressed by zlib, as hipBLASLt's are since mid-2026. Internal. */
#ifndef RAWHAL_LIBRARY_TENSILE_UNPACK_H
#define RAWHAL_LIBRARY_TENSILE_UNPACK_H

#include "hsaco/file_bytes.h"

/* Does a zlib stream start there? No msgpack map does. */
bool tensile_is_packed(const void *bytes, size_t size);

/* Unpacks as much as there is room for, and as those bytes, which may be cut short, allow: how many
 * it is. */
size_t tensile_unpack_start(const void *bytes, size_t size, void *start, size_t room);

/* Unpacks one stream, which ends where the bytes end, into memory of its own. MALFORMED, at an
 * offset of the packed bytes; CAP_EXCEEDED: beyond 1 GiB, or blocks by the million hold next to
 * nothing; OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t tensile_unpack(const void *bytes, size_t size,
                                              const allocator_t *allocator, file_bytes_t *unpacked,
                                              rawhal_error_t *error);

#endif
