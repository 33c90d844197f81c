/* Recordings as the front makes them: the file, and what is written of a dispatch. Internal. */
#ifndef RAWHAL_FRONT_RECORD_FILE_H
#define RAWHAL_FRONT_RECORD_FILE_H

#include "front/objects.h"
#include "record/writer.h"

/* What a variable says of how large a file may grow; 0: nothing. INVALID_ARGUMENT. */
RAWHAL_CHECKED rawhal_status_t record_file_bound(const char *variable, uint64_t *bound,
                                                 rawhal_error_t *error);

/* A dispatch, but for the object's number. It points into what it is given. */
record_dispatch_t record_file_describe(const front_device_t *device, uint64_t queue_id,
                                       const front_kernel_t *kernel,
                                       const hsa_kernel_dispatch_packet_t *packet,
                                       rawhal_bytes_t kernargs);
/* Writes it, and its code object where that is not written, whose number it gets. Fails as
 * record_writer_dispatch(). */
RAWHAL_CHECKED rawhal_status_t record_file_write(record_writer_t *writer,
                                                 record_dispatch_t *dispatch,
                                                 const front_kernel_t *kernel, uint64_t *number,
                                                 rawhal_error_t *error);

#endif
