/* Whole files in memory. */
#ifndef TOOLS_SHARED_FILE_H
#define TOOLS_SHARED_FILE_H

#include <rawhal/status.h>

#define TOOL_FILE_BYTES ((size_t)1 << 30) /* the most that is read of what a kernel works on */
#define TOOL_BLOB_BYTES ((size_t)1 << 24) /* of prepacked arguments, which are seldom over 4096 */

/* Reads a regular file of at most `most` bytes, or /dev/null; anything else (a FIFO, a device, a
 * directory) is refused at once. The caller frees `*data`, which is set (or NULL) in any case. */
bool tool_read_file(const char *path, size_t most, unsigned char **data, size_t *size,
                    rawhal_error_t *error);

/* Where `path` stands for something that is open already and has an end, but no place: "-" for
 * standard input, and "/dev/fd/N" where that is a pipe, as shells write <(COMMAND). -1: it is the
 * path of a file. */
int tool_stream_of(const char *path);

/* Reads such a stream to its end; as tool_read_file(). */
bool tool_read_stream(int stream, const char *path, size_t most, unsigned char **data, size_t *size,
                      rawhal_error_t *error);

/* Makes or replaces a file. A device or a FIFO is written to; a FIFO without a reader is refused.
 */
bool tool_write_file(const char *path, const void *data, size_t size, rawhal_error_t *error);

#endif
