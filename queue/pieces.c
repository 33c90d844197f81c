/* What of a transfer the runtime copies at once. */
#include "queue/transfer.h"

#include "base/checked.h"

enum {
  FILL_BYTES = 512 << 10, /* of a fill's source, which is repeated */
  RECTANGLE_ROWS = 1 << 20,
  RECTANGLE_UNIT = 4, /* of addresses and pitches in a packet */
};

static uint64_t misalignment(const transfer_side_t *side)
{
  return (uintptr_t)side->at % RECTANGLE_UNIT;
}

uint64_t transfer_pitch(uint64_t bytes)
{
  return bytes + (0 - bytes) % RECTANGLE_UNIT;
}

/* A row begins where its address is aligned, and the next one not before it ends (ROCr 5.2 to 6.1,
 * BlitSdma::SubmitCopyRectCommand). What else it asks for, it is left to say. */
static bool is_rectangle(const transfer_side_t *side, uint64_t bytes)
{
  return side->pitch % RECTANGLE_UNIT == 0 && misalignment(side) + bytes <= side->pitch;
}

static bool are_joined(const queue_transfer_t *transfer)
{
  return (transfer->staged == TRANSFER_READS || transfer->to.pitch == transfer->bytes) &&
         (transfer->staged == TRANSFER_WRITES || transfer->staged == TRANSFER_FILLS ||
          transfer->from.pitch == transfer->bytes);
}

void transfer_cut(const hsa_table_t *hsa, queue_transfer_t *transfer)
{
  const bool fills = transfer->staged == TRANSFER_FILLS;
  if (transfer->rows > 1 && are_joined(transfer)) {
    transfer->bytes *= transfer->rows;
    transfer->rows = 1;
  }
  const uint64_t bytes = transfer->bytes;
  transfer->piece_bytes = fills ? least_u64(bytes, FILL_BYTES) : bytes;
  transfer->piece_rows = 1;
  if (transfer->staged == TRANSFER_READS)
    transfer->to.pitch = transfer_pitch(bytes);
  if (transfer->staged == TRANSFER_WRITES || fills)
    transfer->from.pitch = transfer_pitch(transfer->piece_bytes);
  if (transfer->rows == 1 || !hsa->copy_rect || transfer->piece_bytes < bytes ||
      bytes > UINT32_MAX || !is_rectangle(&transfer->to, bytes) ||
      !is_rectangle(&transfer->from, bytes))
    return;
  const uint64_t most = fills ? FILL_BYTES / transfer->from.pitch : RECTANGLE_ROWS;
  transfer->piece_rows = least_u64(transfer->rows, most);
}

uint64_t transfer_pieces(const queue_transfer_t *transfer)
{
  return ((transfer->bytes - 1) / transfer->piece_bytes + 1) *
         ((transfer->rows - 1) / transfer->piece_rows + 1);
}

/* A part of a transfer, and who copies it. */
typedef struct piece {
  const hsa_table_t *hsa;
  hsa_agent_t agent;
  transfer_side_t to, from;
  uint64_t bytes, rows;
  const hsa_signal_t *ready;
  hsa_signal_t done;
  uint64_t *announced, *started;
} piece_t;

static hsa_status_t start_row(const piece_t *piece, uint64_t row)
{
  return piece->hsa->hsa_amd_memory_async_copy(
      piece->to.at + row * piece->to.pitch, piece->to.agent,
      piece->from.at + row * piece->from.pitch, piece->from.agent, piece->bytes,
      piece->ready != NULL, piece->ready, piece->done);
}

/* By which engine it goes: the runtime has no direction for what is the host's on both sides. */
static hsa_amd_copy_direction_t direction(const piece_t *piece)
{
  if (piece->from.agent.handle != piece->agent.handle)
    return hsaHostToDevice;
  return piece->to.agent.handle == piece->agent.handle ? hsaDeviceToDevice : hsaDeviceToHost;
}

static hsa_status_t start_rectangle(const piece_t *piece)
{
  const transfer_side_t *to = &piece->to, *from = &piece->from;
  const hsa_dim3_t to_at = {(uint32_t)misalignment(to), 0, 0},
                   from_at = {(uint32_t)misalignment(from), 0, 0},
                   range = {(uint32_t)piece->bytes, (uint32_t)piece->rows, 1};
  const hsa_pitched_ptr_t there = {to->at - to_at.x, to->pitch, 0},
                          here = {from->at - from_at.x, from->pitch, 0};
  return piece->hsa->copy_rect(&there, &to_at, &here, &from_at, &range, piece->agent,
                               direction(piece), piece->ready != NULL, piece->ready, piece->done);
}

/* Row by row where it cannot be a rectangle: pitches may be too long for a packet, or the runtime
 * may copy by kernels. */
static hsa_status_t start_piece(const piece_t *piece)
{
  if (piece->rows > 1 && start_rectangle(piece) == HSA_STATUS_SUCCESS) {
    ++*piece->started;
    return HSA_STATUS_SUCCESS;
  }
  if (piece->rows > 1) {
    *piece->announced += piece->rows - 1;
    piece->hsa->hsa_signal_subtract_screlease(piece->done, 1 - (hsa_signal_value_t)piece->rows);
  }
  for (uint64_t row = 0; row < piece->rows; ++row) {
    hsa_status_t result = start_row(piece, row);
    if (result != HSA_STATUS_SUCCESS)
      return result;
    ++*piece->started;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t transfer_start(const hsa_table_t *hsa, hsa_agent_t agent,
                            const queue_transfer_t *transfer, const hsa_signal_t *ready,
                            hsa_signal_t done, uint64_t *announced, uint64_t *started)
{
  piece_t piece = {hsa, agent, transfer->to, transfer->from, 0, 0, ready, done, announced, started};
  const uint64_t repeats = transfer->staged == TRANSFER_FILLS ? 0 : 1;
  for (uint64_t row = 0; row < transfer->rows; row += transfer->piece_rows) {
    piece.rows = least_u64(transfer->piece_rows, transfer->rows - row);
    for (uint64_t at = 0; at < transfer->bytes; at += transfer->piece_bytes) {
      piece.bytes = least_u64(transfer->piece_bytes, transfer->bytes - at);
      piece.to.at = transfer->to.at + row * transfer->to.pitch + at;
      piece.from.at = transfer->from.at + repeats * (row * transfer->from.pitch + at);
      hsa_status_t result = start_piece(&piece);
      if (result != HSA_STATUS_SUCCESS)
        return result;
    }
  }
  return HSA_STATUS_SUCCESS;
}
