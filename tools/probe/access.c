#include "tools/probe/access.h"

#include <string.h>

/* ---- Addresses ---- */

static void put_lds(access_t *access, unsigned lane, uint32_t offset)
{
  access->lds_lane[access->lds_count] = (uint8_t)lane;
  access->lds[access->lds_count++] = offset;
}

static void put_flat(access_t *access, unsigned lane, uint64_t address)
{
  if (address >> 32 == ACCESS_LDS_APERTURE)
    put_lds(access, lane, (uint32_t)address);
  else if (address >> 32 == ACCESS_SCRATCH_APERTURE)
    ++access->scratch;
  else
    access->global[access->global_count++] = address;
}

/* The resource's first three dwords, and the scalar offset; docs of the point's flags say what the
 * register is. A swizzled one needs its fourth. */
static void put_buffer(access_t *access, const rawhal_probe_point_t *point,
                       const rawhal_probe_event_t *event, uint64_t lane)
{
  const uint32_t *resource = event->scalar;
  const uint64_t base = resource[0] | (uint64_t)(resource[1] & 0xffff) << 32;
  const uint32_t stride = resource[1] >> 16 & 0x3fff, records = resource[2];
  const bool indexed = point->flags & RAWHAL_PROBE_INDEXED;
  const bool offset_given = point->flags & RAWHAL_PROBE_OFFSET;
  const uint32_t index = indexed ? (uint32_t)lane : 0;
  uint32_t low = (uint32_t)point->immediate[0];
  if (offset_given)
    low += indexed ? (uint32_t)(lane >> 32) : (uint32_t)lane;
  const uint64_t start = (uint64_t)index * stride + low + resource[3];
  if (stride && indexed ? index >= records : start >= records)
    ++access->outside;
  else
    access->global[access->global_count++] = base + start;
}

static void put_lane(access_t *access, const rawhal_probe_point_t *point,
                     const rawhal_probe_event_t *event, unsigned number, uint64_t lane)
{
  const uint64_t first = (uint64_t)(int64_t)point->immediate[0];
  const uint64_t base = event->scalar[0] | (uint64_t)event->scalar[1] << 32;
  switch (point->source) {
  case RAWHAL_PROBE_FLAT:
    put_flat(access, number, lane + first);
    break;
  case RAWHAL_PROBE_GLOBAL:
    access->global[access->global_count++] = base + (uint32_t)lane + first;
    break;
  case RAWHAL_PROBE_BUFFER:
    put_buffer(access, point, event, lane);
    break;
  default:
    put_lds(access, number, (uint32_t)(lane + first));
  }
}

/* Do lanes hold an address, and is it known what follows from it? */
static bool is_told(const rawhal_probe_point_t *point, const rawhal_probe_event_t *event,
                    const uint64_t *lanes)
{
  if (point->source == RAWHAL_PROBE_BUFFER && event->scalar[1] >> 31)
    return false;
  const bool needs_lanes = point->source != RAWHAL_PROBE_BUFFER ||
                           point->flags & (RAWHAL_PROBE_INDEXED | RAWHAL_PROBE_OFFSET);
  return point->source >= RAWHAL_PROBE_FLAT && point->source <= RAWHAL_PROBE_LDS &&
         !(point->flags & RAWHAL_PROBE_GDS) && point->bytes && (lanes || !needs_lanes);
}

void access_resolve(const rawhal_probe_point_t *point, const rawhal_probe_event_t *event,
                    const uint64_t *lanes, access_t *access)
{
  access->is_told = is_told(point, event, lanes);
  access->bytes = point->bytes;
  access->global_count = access->lds_count = access->scratch = access->outside = 0;
  if (!access->is_told)
    return;
  for (unsigned i = 0; i < RAWHAL_PROBE_LANES; ++i)
    if (event->exec >> i & 1)
      put_lane(access, point, event, i, lanes ? lanes[i] : 0);
  if (point->source != RAWHAL_PROBE_LDS || !(point->flags & RAWHAL_PROBE_TWICE))
    return;
  for (unsigned i = 0; i < RAWHAL_PROBE_LANES; ++i)
    if (event->exec >> i & 1)
      put_lds(access, ACCESS_SECOND + i, (uint32_t)lanes[i] + (uint32_t)point->immediate[1]);
}

/* ---- Memory ---- */

/* By insertion: most come in order, and there are few. */
static void sort(uint64_t *values, unsigned count)
{
  for (unsigned i = 1; i < count; ++i) {
    const uint64_t value = values[i];
    unsigned at = i;
    for (; at && values[at - 1] > value; --at)
      values[at] = values[at - 1];
    values[at] = value;
  }
}

/* Lines from `begin` to before `end` that the ones before, up to `*next`, are not. */
static unsigned new_lines(uint64_t begin, uint64_t last, uint64_t line, uint64_t *next)
{
  const uint64_t from = begin / line > *next ? begin / line : *next, to = last / line;
  if (to < from)
    return 0;
  *next = to + 1;
  return (unsigned)(to - from + 1);
}

void access_count_lines(access_t *access, access_lines_t *lines)
{
  static const unsigned sizes[2] = {ACCESS_SHORT_LINE, ACCESS_LONG_LINE};
  uint64_t next[2] = {0, 0}, counted = 0, bytes = 0; /* counted: the last byte that is */
  *lines = (access_lines_t){0};
  sort(access->global, access->global_count);
  for (unsigned i = 0; i < access->global_count; ++i) {
    const uint64_t begin = access->global[i];
    const uint64_t room = UINT64_MAX - begin;
    const uint64_t last = begin + (access->bytes - 1 < room ? access->bytes - 1 : room);
    for (int k = 0; k < 2; ++k)
      lines->touched[k] += new_lines(begin, last, sizes[k], &next[k]);
    if (i && last <= counted)
      continue;
    bytes += last - (i && begin <= counted ? counted + 1 : begin) + 1;
    counted = last;
  }
  for (int k = 0; k < 2; ++k)
    lines->ideal[k] = (unsigned)((bytes + sizes[k] - 1) / sizes[k]);
}

/* ---- LDS ---- */

/* Different words of one group in its busiest bank. */
static unsigned passes_of(const uint32_t *offsets, unsigned count, unsigned bytes)
{
  uint32_t words[ACCESS_BANKS][RAWHAL_PROBE_LANES]; /* a lane's may lie across two */
  unsigned used[ACCESS_BANKS] = {0}, most = 0;
  for (unsigned i = 0; i < count; ++i)
    for (uint64_t word = offsets[i] / 4, last = ((uint64_t)offsets[i] + bytes - 1) / 4;
         word <= last; ++word) {
      const unsigned bank = word % ACCESS_BANKS;
      unsigned at = 0;
      while (at < used[bank] && words[bank][at] != (uint32_t)word)
        ++at;
      if (at == used[bank] && at < RAWHAL_PROBE_LANES)
        words[bank][used[bank]++] = (uint32_t)word;
      most = used[bank] > most ? used[bank] : most;
    }
  return most;
}

/* Lanes that take 128 bytes together. */
static unsigned group_lanes(unsigned bytes)
{
  return bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;
}

void access_count_banks(const access_t *access, access_banks_t *banks)
{
  const unsigned lanes = group_lanes(access->bytes);
  *banks = (access_banks_t){0};
  for (unsigned at = 0, end; at < access->lds_count; at = end) {
    for (end = at;
         end < access->lds_count && access->lds_lane[end] / lanes == access->lds_lane[at] / lanes;)
      ++end;
    const unsigned passes = passes_of(access->lds + at, end - at, access->bytes);
    ++banks->groups;
    banks->passes += passes;
    banks->worst = passes > banks->worst ? passes : banks->worst;
  }
}
