/* What the files of the reference engine that reach memory share. Internal to softgpu. */
#ifndef SOFTGPU_ISA_REFERENCE_MEMORY_H
#define SOFTGPU_ISA_REFERENCE_MEMORY_H

#include "softgpu/isa/base/wave.h"

/* What a memory instruction does with each lane. */
typedef struct transfer {
  char kind; /* L load, S store, A atomic */
  uint8_t bytes;
  bool is_signed, is_half, is_high, to_lds;
} transfer_t;

/* Where a lane's bytes are: NULL outside of a buffer or of LDS, where loads give 0 and stores do
 * nothing. */
typedef struct place {
  unsigned bytes;
  bool is_shared, is_scratch; /* with other threads; interleaved dwords */
  uint8_t *at[64];
} place_t;

transfer_t isa_reference_transfer(unsigned op);

/* Where a lane of a FLAT or untyped buffer instruction loads or stores. False for a fault. */
bool isa_reference_place(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane,
                         const transfer_t *t, place_t *place);

/* Each dword is in LDS, or not, for itself; but one that is loaded or exchanged alone is if its
 * first byte is. `kind` as of a transfer, or 0. False for a fault, where the dispatch wants one. */
bool isa_reference_lds(isa_wave_t *wave, unsigned lane, uint64_t offset, unsigned bytes, char kind,
                       place_t *place);

/* Device memory, and a lane's private memory: each byte has an address of its own there, as dwords
 * are interleaved. */
bool isa_reference_find_memory(isa_wave_t *wave, unsigned lane, uint64_t address,
                               const transfer_t *t, place_t *place);
bool isa_reference_find_scratch(isa_wave_t *wave, unsigned lane, uint64_t base, uint64_t offset,
                                unsigned bytes, place_t *place);

/* What a buffer instruction accesses. */
bool isa_reference_find_buffer(isa_wave_t *wave, const isa_inst_t *inst, const transfer_t *t,
                               unsigned lane, place_t *place);
/* Whether a buffer's elements do not follow each other, and whether it is scratch memory. */
bool isa_reference_is_swizzled(const isa_wave_t *wave, const isa_inst_t *inst);
bool isa_reference_is_private(const isa_wave_t *wave, const isa_inst_t *inst);

/* Whether all of it is there: an atomic operation happens wholly or not at all. */
static inline bool isa_reference_is_whole(const place_t *place)
{
  return place->at[place->bytes - 1];
}

/* Where an element of a typed buffer is: NULL for all of it where a part is out of range. False for
 * a fault. */
bool isa_reference_element(isa_wave_t *wave, const isa_inst_t *inst, const transfer_t *t,
                           unsigned lane, place_t *place);

/* Whether a load of half a register clears the other half. */
bool isa_reference_clears_half(const isa_wave_t *wave, const isa_inst_t *inst);

/* Typed loads and stores. */
bool isa_reference_format(isa_wave_t *wave, const isa_inst_t *inst);
bool isa_reference_format_passes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane);
/* Where a lane's element is. False for a fault, or no format. */
bool isa_reference_format_place(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane,
                                place_t *place);

/* An element of a typed buffer, or a texel. */
typedef struct layout {
  unsigned count, total, number; /* components, bits, number format */
  unsigned width[4], start[4];   /* in bits, from x on */
} layout_t;

/* False for what there is not. */
bool isa_reference_layout(unsigned data, unsigned number, layout_t *layout);
bool isa_reference_is_integer(const layout_t *layout);

/* Component `i` of what is at the place, as a register has it, and the reverse. */
uint32_t isa_reference_loaded(const layout_t *layout, unsigned i, const place_t *place,
                              bool is_half);
uint64_t isa_reference_stored(const layout_t *layout, unsigned i, uint32_t value, bool is_half);

/* `bytes` (4 or 8, or all of a small transfer) from byte `first` of the place on. */
uint64_t isa_reference_get(const place_t *place, unsigned first, unsigned bytes);
void isa_reference_put(const place_t *place, unsigned first, unsigned bytes, uint64_t value);

/* Registers of a lane. */
uint64_t isa_reference_rows(isa_wave_t *wave, const isa_operand_t *operand, unsigned row,
                            unsigned lane, unsigned dwords);
void isa_reference_set(isa_wave_t *wave, const isa_operand_t *operand, unsigned row, unsigned lane,
                       uint32_t value);

/* Where the host has memory; NULL and a described fault when there is nothing, or not for this
 * device. `kind` as of a transfer. */
uint8_t *isa_reference_reach(isa_wave_t *wave, unsigned lane, uint64_t address, unsigned bytes,
                             char kind);

/* Byte of the image at which a texel is: reference/tiling.c. `size` is the width's and height's. */
uint64_t isa_reference_texel(unsigned mode, bool is_deep, unsigned bytes, uint32_t pitch,
                             uint32_t height, const uint32_t at[3]);

/* Writes what of a texel's four values the instruction asks for. */
void isa_reference_image_put(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane,
                             const uint32_t values[4]);

/* The f16 of an f32. */
uint32_t isa_reference_half(uint32_t value);

/* image_sample, whose image passed. */
bool isa_reference_sample(isa_wave_t *wave, const isa_inst_t *inst);
bool isa_reference_sample_passes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane);

/* Loads or stores a lane. */
bool isa_reference_move(isa_wave_t *wave, const isa_inst_t *inst, const transfer_t *t,
                        const place_t *place, unsigned lane);

/* Performs the atomic operation that the mnemonic names on memory; returns the old value. */
uint64_t isa_reference_exchange(const isa_inst_t *inst, uint8_t *at, unsigned bytes, uint64_t data,
                                uint64_t compare);

#endif
