/* Metadata notes into kernels. Internal.
 *
 * A linker concatenates the notes of its inputs, so an object may have hundreds: all are merged,
 * kernels and printf formats in file order, first version and target winning. */
#ifndef RAWHAL_HSACO_METADATA_H
#define RAWHAL_HSACO_METADATA_H

#include "hsaco/object.h"

/* Reads every metadata note of PT_NOTE segments, or of SHT_NOTE sections when segments have none.
 */
RAWHAL_CHECKED rawhal_status_t metadata_read(rawhal_hsaco_t *hsaco, rawhal_error_t *error);

#endif
