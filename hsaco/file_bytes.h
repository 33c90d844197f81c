/* The bytes of a file, mapped or read. Internal. */
#ifndef RAWHAL_HSACO_FILE_BYTES_H
#define RAWHAL_HSACO_FILE_BYTES_H

#include "base/allocate.h"

typedef struct file_bytes {
  void *data; /* NULL when the file is empty */
  size_t size;
  bool mapped;
} file_bytes_t;

/* Maps the file or, with `copy`, reads it: what is read does not change, whatever becomes of the
 * file. NOT_FOUND, INVALID_ARGUMENT when it cannot be opened or is not a regular file, CAP_EXCEEDED
 * when it has more than `most` bytes, OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t file_bytes_open(const char *path, uint64_t most, bool copy,
                                               const allocator_t *allocator, file_bytes_t *bytes,
                                               rawhal_error_t *error);

/* Bytes that were never opened, all zero, are fine. */
void file_bytes_close(file_bytes_t *bytes, const allocator_t *allocator);

#endif
