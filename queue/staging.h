/* Host memory that transfers go through, where the device does not reach the program's: filled
 * before they are submitted, delivered when they have finished. Internal.
 *
 * One block for all transfers of a submission. Small blocks are kept and used again. */
#ifndef RAWHAL_QUEUE_STAGING_H
#define RAWHAL_QUEUE_STAGING_H

#include "queue/transfer.h"

/* Takes the block, writes to it what is written and what fills repeat, and has the transfers begin
 * or end there. Nothing to be staged: an empty one. OUT_OF_MEMORY, RUNTIME: nothing has changed. */
RAWHAL_CHECKED rawhal_status_t staging_take(rawhal_queue_t *queue, queue_transfer_t *transfers,
                                            size_t count, transfer_staging_t *staging,
                                            rawhal_error_t *error);
/* The same without reads, for transfers that are submitted any number of times: in memory of the
 * runtime's, which the caller frees. NULL: there is none. */
RAWHAL_CHECKED rawhal_status_t staging_keep(const queue_device_t *device,
                                            queue_transfer_t *transfers, size_t count,
                                            void **memory, rawhal_error_t *error);
/* From the transfers' submission on, until it is given back: others look whether there is something
 * to deliver. */
void staging_announce(rawhal_queue_t *queue, const transfer_staging_t *staging);
/* What was to be read will not be: nothing is delivered any more. */
void staging_undeliver(rawhal_queue_t *queue, transfer_staging_t *staging);
/* What was read is there. */
void staging_deliver(const transfer_staging_t *staging);
void staging_give_back(rawhal_queue_t *queue, transfer_staging_t *staging);
/* At the queue's end. */
void staging_free_spares(rawhal_queue_t *queue);

#endif
