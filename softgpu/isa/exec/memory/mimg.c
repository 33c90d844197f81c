/* MIMG: loads, stores and atomics of texels, and what an image says of itself. */
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/exec/memory/access.h"
#include "softgpu/isa/exec/memory/prepare.h"
#include "softgpu/isa/exec/memory/sample.h"
#include "softgpu/isa/exec/scalar/operand.h"

static bool is_half(const isa_inst_t *inst)
{
  return inst->mem.image.d16;
}

/* Where a lane's texel is. What is out of range reads 0 and is not written. False for a fault. */
static bool find_texel(isa_wave_t *wave, const isa_inst_t *inst, const isa_image_t *image,
                       isa_lanes_t *lanes, unsigned lane, unsigned kind)
{
  isa_range_t *range = isa_range_of(wave, inst);
  uint32_t at[3] = {0};
  unsigned next = 0;
  bool is_inside = true;
  for (; next < image->dimensions; ++next) {
    at[next] = isa_image_address(wave, inst, next, lane);
    is_inside &= at[next] < image->size[next];
  }
  uint32_t layer = 0;
  if (image->is_declared_array)
    layer = isa_image_address(wave, inst, next++, lane);
  is_inside &= layer < image->layers;
  if (image->has_level)
    is_inside &= isa_image_address(wave, inst, next, lane) == 0;
  if (!is_inside) {
    lanes->absent |= 1ull << lane;
    return true;
  }
  if (image->dimensions < 3)
    at[2] = image->first_layer + layer;
  const uint64_t address = image->base + isa_image_offset(image, at[0], at[1], at[2]);
  if (!isa_reach(wave, range, lane, address, image->format.bytes, kind))
    return false;
  lanes->at[lane] = isa_range_host(range, address);
  return true;
}

/* All lanes' before any register or texel changes. */
static bool find_texels(isa_wave_t *wave, const isa_inst_t *inst, const isa_image_t *image,
                        isa_lanes_t *lanes, unsigned kind)
{
  isa_range_refresh(isa_range_of(wave, inst));
  ISA_EACH_LANE(lane, isa_exec(wave))
    if (!find_texel(wave, inst, image, lanes, lane, kind))
      return false;
  return true;
}

void isa_image_put(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane,
                   const uint32_t values[4])
{
  isa_row_t *dst = isa_rows(wave, &inst->dst);
  const uint32_t kept = isa_half_kept(wave, inst);
  unsigned next = 0;
  for (unsigned i = 0; i < 4; ++i) {
    if (!(inst->mem.image.dmask >> i & 1))
      continue;
    if (!is_half(inst))
      dst[next][lane] = values[i];
    else if (next % 2)
      dst[next / 2][lane] = (dst[next / 2][lane] & 0xffff) | values[i] << 16;
    else
      dst[next / 2][lane] = (dst[next / 2][lane] & kept & 0xffff0000) | (values[i] & 0xffff);
    ++next;
  }
  if (!inst->mem.image.dmask)
    dst[0][lane] = 0;
}

/* --- loads --- */

static void read_texel(const isa_image_t *image, const isa_lanes_t *lanes, unsigned lane,
                       uint32_t element[4])
{
  if (!(lanes->absent >> lane & 1))
    isa_lane_read(lanes, lane, element, image->format.bytes);
}

static void unpack(const isa_inst_t *inst, const isa_image_t *image, const uint32_t element[4],
                   uint32_t values[4])
{
  const isa_format_t *format = &image->format;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned select = image->select[i];
    values[i] = select == 1 ? isa_format_one(format, is_half(inst)) : 0;
    if (select >= 4 && select - 4 < format->components)
      values[i] = isa_format_load(format, select - 4, element, is_half(inst));
  }
}

static bool run_load(isa_wave_t *wave, const isa_inst_t *inst)
{
  if (!isa_image_check(wave, inst))
    return false;
  const isa_image_t image = isa_image_read(wave, inst);
  const isa_access_t *plan = inst->plan;
  const bool is_packed = plan->is_packed;
  const unsigned unused = image.format.bytes < 4 ? 32 - 8u * image.format.bytes : 0;
  isa_lanes_t lanes = {0};
  if (!find_texels(wave, inst, &image, &lanes, ISA_LOAD))
    return false;
  ISA_EACH_LANE(lane, isa_exec(wave)) {
    uint32_t element[4] = {0}, values[4];
    read_texel(&image, &lanes, lane, element);
    if (plan->form == ISA_FORM_SIGN)
      element[0] = (uint32_t)((int32_t)(element[0] << unused) >> unused);
    if (!is_packed)
      unpack(inst, &image, element, values);
    isa_image_put(wave, inst, lane, is_packed ? element : values);
  }
  return true;
}

/* --- stores --- */

/* What the registers have for x to w; 0 for what dmask does not name. */
static void get_values(const isa_wave_t *wave, const isa_inst_t *inst, unsigned lane,
                       uint32_t values[4])
{
  const isa_row_t *data = isa_rows(wave, &inst->mem.data[0]);
  unsigned next = 0;
  for (unsigned i = 0; i < 4; ++i) {
    values[i] = 0;
    if (!(inst->mem.image.dmask >> i & 1))
      continue;
    values[i] = is_half(inst) ? data[next / 2][lane] >> 16 * (next % 2) & 0xffff : data[next][lane];
    ++next;
  }
}

/* A component is the first register's that a load would have it in. */
static void pack(const isa_inst_t *inst, const isa_image_t *image, const uint32_t values[4],
                 uint32_t element[4])
{
  for (unsigned c = 0; c < image->format.components; ++c)
    for (unsigned i = 0; i < 4; ++i)
      if (image->select[i] == 4 + c) {
        isa_format_store(&image->format, c, values[i], is_half(inst), element);
        break;
      }
}

static bool run_store(isa_wave_t *wave, const isa_inst_t *inst)
{
  if (!isa_image_check(wave, inst))
    return false;
  const isa_image_t image = isa_image_read(wave, inst);
  const isa_access_t *plan = inst->plan;
  const bool is_packed = plan->is_packed;
  isa_lanes_t lanes = {0};
  if (!find_texels(wave, inst, &image, &lanes, ISA_STORE))
    return false;
  ISA_EACH_LANE(lane, isa_exec(wave) & ~lanes.absent) {
    uint32_t element[4] = {0}, values[4];
    get_values(wave, inst, lane, values);
    if (!is_packed)
      pack(inst, &image, values, element);
    if (inst->mem.image.dmask) /* of no component, nothing is stored */
      isa_lane_write(&lanes, lane, is_packed ? values : element, image.format.bytes);
  }
  return true;
}

/* --- atomics --- */

static bool run_atomic(isa_wave_t *wave, const isa_inst_t *inst)
{
  if (!isa_image_check(wave, inst))
    return false;
  const isa_image_t image = isa_image_read(wave, inst);
  const unsigned dwords = image.format.bytes / 4u,
                 atomic = ((const isa_access_t *)inst->plan)->atomic;
  isa_row_t *data = isa_rows(wave, &inst->mem.data[0]);
  isa_lanes_t lanes = {0};
  if (!find_texels(wave, inst, &image, &lanes, ISA_ATOMIC))
    return false;
  ISA_EACH_LANE(lane, isa_exec(wave)) {
    const bool compares = inst->op == ISA_image_atomic_cmpswap;
    uint64_t in[2] = {0}, old = 0;
    for (unsigned i = 0; i < dwords * (compares ? 2 : 1); ++i)
      in[i / dwords] |= (uint64_t)data[i][lane] << 32 * (i % dwords);
    if (!(lanes.absent >> lane & 1))
      old = dwords == 1
                ? isa_atomic_memory32(lanes.at[lane], atomic, (uint32_t)in[0], (uint32_t)in[1])
                : isa_atomic_memory64(lanes.at[lane], atomic, in[0], in[1]);
    for (unsigned i = 0; inst->mem.glc && i < dwords; ++i)
      data[i][lane] = (uint32_t)(old >> 32 * i);
  }
  return true;
}

/* --- what an image says of itself --- */

/* Width, height, depth and levels; layers stand where the next dimension would. */
static bool run_info(isa_wave_t *wave, const isa_inst_t *inst)
{
  if (!isa_image_check(wave, inst))
    return false;
  const isa_image_t image = isa_image_read(wave, inst);
  const uint32_t *s = &wave->s[inst->mem.saddr.index];
  const uint32_t first = s[3] >> 12 & 15, last = s[3] >> 16 & 15;
  const uint32_t levels = last < first ? 0 : last - first + 1;
  ISA_EACH_LANE(lane, isa_exec(wave)) {
    const uint32_t level = isa_image_address(wave, inst, 0, lane);
    uint32_t values[4] = {0, 0, 0, levels};
    for (unsigned i = 0; level < levels && i < image.dimensions; ++i) {
      const uint32_t size = image.size[i] >> (first + level);
      values[i] = size ? size : 1;
    }
    if (level < levels && image.is_array)
      values[image.dimensions] = image.layers;
    isa_image_put(wave, inst, lane, values);
  }
  return true;
}

bool isa_image_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  const isa_access_t *plan = isa_access_of(inst->op);
  const unsigned dwords = isa_image_dwords(inst);
  inst->plan = plan;
  if (!isa_operand_prepare(&inst->dst, dwords, limits) ||
      !isa_operand_prepare(&inst->mem.data[0], dwords, limits) ||
      !isa_operand_prepare(&inst->mem.vaddr, 1, limits) ||
      !isa_operand_prepare(&inst->mem.saddr, 8, limits) ||
      !isa_operand_prepare(&inst->mem.soffset, inst->row->src[1], limits))
    return false;
  inst->run = plan && plan->kind == ISA_ATOMIC    ? run_atomic
              : plan && plan->kind == ISA_STORE   ? run_store
              : plan                              ? run_load
              : inst->op == ISA_image_get_resinfo ? run_info
                                                  : isa_image_sample;
  return true;
}
