/* rawhal/transfer.h: copies, fills, and the host's reads and writes, of bytes and of rectangles.
 *
 * A transfer has one destination and one source:
 *
 *     to, a buffer            from, a buffer               a copy
 *     to, a buffer            from_host, host memory       a write
 *     to, a buffer            pattern                      a fill
 *     to_host, host memory    from, a buffer               a read
 *
 * It moves rows of bytes: one, or several whose beginnings are `to_pitch` and `from_pitch` bytes
 * apart, as those of part of a matrix are. Several transfers are one submission of a queue, with
 * one ticket; one can also be carried out at once.
 *
 * Offsets, sizes and pitches are in bytes. Buffers are as in hal.h, queues and tickets as in
 * queue.h, whose rules of ownership, threads, pthread_cancel() and fork() hold here, too. */
#ifndef RAWHAL_TRANSFER_H
#define RAWHAL_TRANSFER_H

#include <rawhal/hal.h>

RAWHAL_BEGIN

/* Zero-initialise, then set what it has. INVALID_ARGUMENT: no or several destinations or sources, a
 * read of a pattern or of host memory, a buffer that has been freed. */
typedef struct rawhal_transfer {
  rawhal_buffer_t *to;
  uint64_t to_offset;          /* of the first row in `to` */
  const rawhal_buffer_t *from; /* the same buffer as `to` is allowed */
  uint64_t from_offset;
  uint64_t bytes; /* of a row; 0: there is nothing to do, whatever the rest says of sizes */
  uint64_t rows;  /* 0: 1 */
  /* From where a row begins to where the next one does, in `to` or `to_host`, and in `from` or
   * `from_host`; 0: `bytes`. Used only of several rows. INVALID_ARGUMENT: less than `bytes`. */
  uint64_t to_pitch, from_pitch;
  void *to_host;         /* the first row; not NULL where `bytes` is not 0 */
  const void *from_host; /* likewise */
  /* Its first pattern_bytes bytes are stored again and again, each row from the pattern's beginning
   * on. pattern_bytes is 1, 2, 4, 8 or 16, and 0 where no pattern is meant; to_offset, `bytes` and
   * to_pitch are multiples of it (INVALID_ARGUMENT). */
  unsigned char pattern[16];
  uint32_t pattern_bytes;
} rawhal_transfer_t;

/* ---- In queue order ----
 *
 * Each submission begins when all that was submitted before has finished, and what is submitted
 * later, OVERLAP or not, begins when it has. The device's DMA engines carry it out, concurrently
 * with the kernels of other queues; it has a timing, is charged to the device's limits like a batch
 * of kernels, one for each transfer, and takes two packets. The program's thread does not wait for
 * the device.
 *
 * The runtime is asked for one copy for each row, but
 *  - rows that follow one another on both sides are one;
 *  - rows whose addresses on a side are `pitch` apart, a multiple of 4, and which do not end beyond
 *    the next one's dword, are copied as a rectangle, up to 2^20 rows at once, where the runtime
 *    has hsa_amd_memory_async_copy_rect() and does not refuse it. What it refuses is copied row by
 *    row: on hardware pitches of more than 2^19 elements of 1, 2, 4, 8 or 16 bytes, the largest
 *    that divide pitches, row and its address's offset from a dword (ROCr 5.2's blit_sdma);
 *  - fills repeat up to 512 KiB of host memory, which is theirs until they have finished, as copies
 *    of at most so much each.
 * The timing of a submission of several such copies is that of its last, and limits charge it by
 * the host's clock where it began.
 *
 * A device has few engines for all queues and the blocking copies (softgpu has one for what comes
 * from the host and one for what comes from the device). Each carries copies out in the order in
 * which they were submitted: a copy whose queue is held up holds up those after it, even of other
 * queues. So a copy must not wait, by a signal, a kernel that waits for memory, or the host, for
 * what happens only after a later copy of another queue: neither would begin.
 *
 * Buffers must belong to the queue's device, or it must have access (rawhal_buffer_allow()), and
 * must not be freed before the ticket has finished. Host memory that the HSA runtime allocated
 * (rawhal_buffer_host()) is used in place, and must not change until the ticket has finished. Other
 * memory goes through host memory of the same size, each row rounded up to 4 bytes, allocated until
 * then. The source of a write may then be reused when the call has returned. What is read is there
 * when rawhal_queue_wait() or a callback says that this ticket, or a later one of this same queue,
 * has finished, and its memory must stay allocated until then or until the queue is destroyed.
 * Memory that is large or used often is better imported as a buffer and copied. */

/* Submits `count` transfers (at least 1) as one. They are not ordered among themselves, and may go
 * at the same time: where one writes what another one reads or writes, those bytes are undefined.
 * Transfers of 0 bytes are left out; without others it is a marker. `ticket` may be NULL. The
 * transfers are read during the call only.
 *
 * INVALID_ARGUMENT: as rawhal_transfer_t says; rows of the destination and of the source overlap,
 * where for rows of different pitches all between the first and the last counts; a buffer that the
 * queue's device has no access to. OUT_OF_RANGE: rows beyond a buffer, or beyond the address space.
 * OUT_OF_MEMORY: none for what is staged, or for more than four transfers. QUOTA_EXCEEDED,
 * WOULD_BLOCK / TIMED_OUT, FAULT / DEVICE_LOST: as rawhal_queue_submit(). Then nothing is
 * submitted. Of several transfers the message says which it is, from 0.
 *
 * RUNTIME, or OUT_OF_MEMORY with an `hsa_status`: the runtime did not start one of the transfers;
 * its place in the queue is used up. Those before it in the array are carried out, the one that
 * the message names may be in part, and no later one is; what they were to read may not be
 * delivered.
 *
 * rawhal_queue_wait() and callbacks report DEVICE_LOST when the device says that one of the copies
 * failed, as long as rawhal_queue_timing() would have its times; which one it was is not known, and
 * nothing that was staged is delivered. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_queue_transfer_sized(
    rawhal_queue_t *queue, const rawhal_transfer_t *transfers, size_t transfer_size, size_t count,
    uint64_t deadline, rawhal_ticket_t *ticket, rawhal_error_t *error);

RAWHAL_CHECKED RAWHAL_INLINE rawhal_status_t
rawhal_queue_transfer(rawhal_queue_t *queue, const rawhal_transfer_t *transfers, size_t count,
                      uint64_t deadline, rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  return rawhal_queue_transfer_sized(queue, transfers, sizeof(*transfers), count, deadline, ticket,
                                     error);
}

/* A copy of `bytes` from one buffer to another, or within one where the ranges do not overlap. */
typedef struct rawhal_copy {
  size_t size; /* sizeof(rawhal_copy_t), or 0: see types.h */
  rawhal_buffer_t *to;
  uint64_t to_offset;
  const rawhal_buffer_t *from;
  uint64_t from_offset;
  uint64_t bytes;
} rawhal_copy_t;

/* One transfer of one row: a copy, a fill of dwords, a write and a read. 0 bytes are a marker. Fail
 * as rawhal_queue_transfer(). */
RAWHAL_CHECKED RAWHAL_INLINE rawhal_status_t rawhal_queue_copy(rawhal_queue_t *queue,
                                                               const rawhal_copy_t *copy,
                                                               uint64_t deadline,
                                                               rawhal_ticket_t *ticket,
                                                               rawhal_error_t *error)
{
  rawhal_transfer_t transfer;
  memset(&transfer, 0, sizeof(transfer));
  if (copy) {
    transfer.to = copy->to;
    transfer.to_offset = copy->to_offset;
    transfer.from = copy->from;
    transfer.from_offset = copy->from_offset;
    transfer.bytes = copy->bytes;
  }
  return rawhal_queue_transfer(queue, copy ? &transfer : NULL, 1, deadline, ticket, error);
}
RAWHAL_CHECKED RAWHAL_INLINE rawhal_status_t
rawhal_queue_fill(rawhal_queue_t *queue, rawhal_buffer_t *buffer, uint64_t offset, uint32_t value,
                  size_t size, uint64_t deadline, rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  rawhal_transfer_t fill;
  memset(&fill, 0, sizeof(fill));
  fill.to = buffer;
  fill.to_offset = offset;
  fill.bytes = size;
  memcpy(fill.pattern, &value, sizeof(value));
  fill.pattern_bytes = sizeof(value);
  return rawhal_queue_transfer(queue, &fill, 1, deadline, ticket, error);
}
RAWHAL_CHECKED RAWHAL_INLINE rawhal_status_t rawhal_queue_write(
    rawhal_queue_t *queue, rawhal_buffer_t *buffer, uint64_t offset, const void *data, size_t size,
    uint64_t deadline, rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  rawhal_transfer_t write;
  memset(&write, 0, sizeof(write));
  write.to = buffer;
  write.to_offset = offset;
  write.from_host = data;
  write.bytes = size;
  return rawhal_queue_transfer(queue, &write, 1, deadline, ticket, error);
}
RAWHAL_CHECKED RAWHAL_INLINE rawhal_status_t
rawhal_queue_read(rawhal_queue_t *queue, const rawhal_buffer_t *buffer, uint64_t offset, void *data,
                  size_t size, uint64_t deadline, rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  rawhal_transfer_t read;
  memset(&read, 0, sizeof(read));
  read.from = buffer;
  read.from_offset = offset;
  read.to_host = data;
  read.bytes = size;
  return rawhal_queue_transfer(queue, &read, 1, deadline, ticket, error);
}

/* ---- In graphs ---- */

/* Adds a node that carries out `count` transfers (at least 1) as rawhal_queue_transfer() would,
 * when the launch comes to it; the rest is as graph.h says. What host memory holds that the device
 * does not reach is copied into the graph now, and written by each launch. Without bytes it is a
 * barrier. UNSUPPORTED: a read into such memory; otherwise the checks of rawhal_queue_transfer(),
 * but for the queue's, and of graphs' nodes. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_graph_add_transfers_sized(
    rawhal_graph_t *graph, const rawhal_transfer_t *transfers, size_t transfer_size, size_t count,
    const char *label, const rawhal_graph_node_t *after, size_t after_count,
    rawhal_graph_node_t *node, rawhal_error_t *error);

RAWHAL_CHECKED RAWHAL_INLINE rawhal_status_t
rawhal_graph_add_transfers(rawhal_graph_t *graph, const rawhal_transfer_t *transfers, size_t count,
                           const char *label, const rawhal_graph_node_t *after, size_t after_count,
                           rawhal_graph_node_t *node, rawhal_error_t *error)
{
  return rawhal_graph_add_transfers_sized(graph, transfers, sizeof(*transfers), count, label, after,
                                          after_count, node, error);
}

/* ---- At once ---- */

/* Carries one transfer out, not ordered with what queues do: wait for dispatches first. All that is
 * said of the blocking copies in hal.h holds; rawhal_buffer_write(), _read(), _copy() and _fill()
 * are transfers of one row. INVALID_ARGUMENT, OUT_OF_RANGE: as rawhal_queue_transfer(), but a
 * device's access; OUT_OF_MEMORY; TIMED_OUT; DEVICE_LOST; RUNTIME; QUOTA_EXCEEDED, WOULD_BLOCK:
 * limits of the device that copies can never admit it. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_buffer_transfer_sized(
    const rawhal_transfer_t *transfer, size_t transfer_size, rawhal_error_t *error);

RAWHAL_CHECKED RAWHAL_INLINE rawhal_status_t
rawhal_buffer_transfer(const rawhal_transfer_t *transfer, rawhal_error_t *error)
{
  return rawhal_buffer_transfer_sized(transfer, sizeof(*transfer), error);
}

RAWHAL_END

#endif
