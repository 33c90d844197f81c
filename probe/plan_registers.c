#include "probe/plan.h"

#include "base/error.h"

#include <string.h>

/* ---- What waves begin with ---- */

enum { /* the descriptor's code properties, and what each puts into SGPRs, in this order */
       PROPERTY_PRIVATE_BUFFER = 1 << 0,
       PROPERTY_DISPATCH = 1 << 1,
       PROPERTY_QUEUE = 1 << 2,
       PROPERTY_KERNARGS = 1 << 3,
};

rawhal_status_t plan_entry(const rawhal_kernel_t *kernel, stubs_t *stubs, rawhal_error_t *error)
{
  const rawhal_descriptor_t *d = kernel->descriptor;
  const uint32_t properties = d->code_properties, rsrc2 = d->pgm_rsrc2;
  if (!(properties & PROPERTY_KERNARGS))
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "it is not given the address of its arguments");
  stubs->kernarg_sgpr = (properties & PROPERTY_PRIVATE_BUFFER ? 4u : 0) +
                        (properties & PROPERTY_DISPATCH ? 2u : 0) +
                        (properties & PROPERTY_QUEUE ? 2u : 0);
  uint32_t next = rsrc2 >> 1 & 0x1f; /* all that the properties say, and preloaded arguments */
  for (int i = 0; i < 3; ++i)
    stubs->workgroup_sgpr[i] = (int8_t)(rsrc2 >> (7 + i) & 1 ? next++ : UINT32_MAX);
  stubs->initial_sgprs = next + (rsrc2 >> 10 & 1) + (rsrc2 & 1);
  stubs->is_gfx942 = strcmp(kernel->object->info.target.processor, "gfx90a") != 0;
  return RAWHAL_OK;
}

/* ---- What is free ---- */

enum {
  VGPR_GRANULE = 8,
  ACCUM_GRANULE = 4,
  MOST_ARCH_VGPRS = 256,
  MOST_VGPRS = 512,
  SGPR_GRANULE = 16,
  DESCRIPTOR_SCRATCH = 4, /* offsets in the descriptor */
  DESCRIPTOR_KERNARGS = 8,
  DESCRIPTOR_RSRC3 = 44,
  DESCRIPTOR_RSRC1 = 48,
  DESCRIPTOR_RSRC2 = 52,
  LENDING = RAWHAL_PROBE_LEND_TO_AGPR | RAWHAL_PROBE_LEND_TO_SCRATCH,
};

static uint32_t least(uint32_t a, uint32_t b)
{
  return a < b ? a : b;
}

static uint32_t round_up(uint32_t value, uint32_t granule)
{
  return (value + granule - 1) / granule * granule;
}

rawhal_status_t plan_named(const rawhal_descriptor_t *d, const code_registers_t *named,
                           plan_named_t *bounded, rawhal_error_t *error)
{
  const uint32_t arch = least(d->accum_offset, d->vgpr_count), agprs = d->vgpr_count - arch;
  const bool is_beyond = named->first_vgprs > arch;
  if (is_beyond && (code_set_end(&named->agprs) || named->any_vgpr))
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "it names v%u, of %u that waves have besides those for matrices",
                       named->first_vgprs - 1, arch);
  *bounded = (plan_named_t){
      named->sgprs, code_set_below(&named->vgprs, is_beyond ? (uint32_t)MOST_ARCH_VGPRS : arch),
      code_set_below(&named->agprs, agprs)};
  if (named->any_sgpr)
    code_set_add(&bounded->sgprs, 0, least(d->sgpr_count, CODE_SGPRS));
  if (named->any_vgpr)
    code_set_add(&bounded->vgprs, 0, arch);
  return RAWHAL_OK;
}

bool plan_has_scratch(const rawhal_descriptor_t *d, const code_registers_t *named,
                      const stubs_t *stubs)
{
  return stubs->is_gfx942 && !d->private_segment_size && !(d->pgm_rsrc2 & PLAN_RSRC2_HAS_SCRATCH) &&
         !named->has_scratch && !named->any_sgpr;
}

/* In SGPRs behind those that are named, if all fit; else between them; else in lanes. */
static void place_sgprs(rawhal_probe_plan_t *plan, const plan_named_t *named, uint32_t flags)
{
  stubs_t *stubs = &plan->stubs;
  const bool in_lanes = flags & (RAWHAL_PROBE_KEEP_IN_LANES | RAWHAL_PROBE_KEEP_IN_SCRATCH);
  code_set_t taken = named->sgprs, behind = {{0}};
  code_set_add(&taken, 0, stubs->initial_sgprs);
  code_set_add(&behind, 0, code_set_end(&taken));
  memset(stubs->guards, CODE_NONE, sizeof(stubs->guards));
  stubs->in_lanes = in_lanes || !((stub_registers(stubs->kinds, &behind, &stubs->kept) ||
                                   stub_registers(stubs->kinds, &taken, &stubs->kept)) &&
                                  stub_sgprs(stubs) <= CODE_SGPRS);
  if (stubs->in_lanes) {
    const code_set_t none = {{0}};
    (void)!stub_registers(stubs->kinds, &none, &stubs->kept);
    for (int i = 0; i < 2 && stubs->has_modes; ++i) {
      const uint32_t at = code_set_room(&taken, 0, CODE_SGPRS, 1, 1);
      stubs->guards[i] = (uint8_t)(at < CODE_SGPRS ? at : (uint32_t)CODE_NONE);
      code_set_add(&taken, at, 1);
    }
  } else {
    plan->info.first_kept_sgpr = code_set_first(&stubs->kept.all);
    plan->info.kept_sgprs = code_set_count(&stubs->kept.all);
  }
}

/* Where vector instructions may be skipped lanes are moved by probes that have SGPRs to turn that
 * off, or to go round; where others may be named than are meant, they are not moved at all. */
static rawhal_status_t check_modes(const rawhal_probe_plan_t *plan, rawhal_error_t *error)
{
  const stubs_t *stubs = &plan->stubs;
  if (!plan->walk.registers.has_modes)
    return RAWHAL_OK;
  for (size_t i = 0; i < plan->info.point_count; ++i) {
    const rawhal_probe_point_t *point = &plan->points[i];
    const uint8_t mode = plan->walk.instructions[walk_find(&plan->walk, point->offset / 4)].mode;
    const bool stores = point->lane_bytes && point->action != RAWHAL_PROBE_ACCESS,
               cannot_skip = stubs->in_lanes ? stubs->guards[1] == CODE_NONE : stores,
               computes = point->action >= RAWHAL_PROBE_ACCESS && point->lane_bytes;
    if ((mode & CODE_SKIPPING && cannot_skip) ||
        (mode & CODE_INDEXING && (stubs->in_lanes || computes)))
      return rawhal_fail_at(error, RAWHAL_UNSUPPORTED, plan->walk.offset + point->offset,
                            "its code at +0x%x is within %s, where a probe %s", point->offset,
                            mode & CODE_SKIPPING && cannot_skip ? "s_setvskip" : "s_set_gpr_idx_on",
                            stubs->in_lanes ? "has no SGPRs, and cannot use lanes of a VGPR"
                                            : "cannot store lanes");
  }
  return RAWHAL_OK;
}

/* Those that probes use, and how many waves have. */
typedef struct vgprs {
  uint32_t kept[2], arch, total;
} vgprs_t;

static void write_u32(unsigned char *descriptor, uint32_t offset, uint32_t value)
{
  memcpy(descriptor + offset, &value, sizeof(value));
}

/* What there is to place them in. */
typedef struct vgpr_room {
  code_set_t taken;
  uint32_t first;             /* behind those that are named */
  uint32_t arch, total, left; /* that waves have: VGPRs, all, and AGPRs that stay */
} vgpr_room_t;

static vgpr_room_t vgpr_room(const rawhal_probe_plan_t *plan, const plan_named_t *named)
{
  const rawhal_descriptor_t *d = plan->info.kernel->descriptor;
  vgpr_room_t room = {.taken = named->vgprs, .total = d->vgpr_count};
  code_set_add(&room.taken, 0, 1); /* v0: the ids */
  room.first = code_set_end(&room.taken);
  room.arch = least(d->accum_offset, d->vgpr_count);
  room.left = code_set_end(&plan->walk.registers.agprs) ? d->vgpr_count - room.arch : 0;
  /* Where that is wrong, no AGPR is named: those that are there are VGPRs. */
  if (room.first > room.arch && room.first <= d->vgpr_count)
    room.arch = round_up(room.first, ACCUM_GRANULE);
  return room;
}

/* Behind those that are named, before the AGPRs; else between those that are named, if waves have
 * all these. */
static bool place_kept(const vgpr_room_t *room, uint32_t kept, vgprs_t *vgprs)
{
  const uint32_t end = room->first + kept,
                 arch = end <= room->arch ? room->arch : round_up(end, ACCUM_GRANULE),
                 total = round_up(arch + room->left, VGPR_GRANULE),
                 one = code_set_room(&room->taken, 0, room->arch, 1, 1),
                 two = code_set_room(&room->taken, one + 1, room->arch, 1, 1);
  if (arch <= MOST_ARCH_VGPRS && total <= MOST_VGPRS) {
    *vgprs = (vgprs_t){{room->first, room->first + 1}, arch, total};
    return true;
  }
  *vgprs = (vgprs_t){{one, two}, room->arch, room->total};
  return room->first <= room->arch && (kept > 1 ? two : one) < room->arch;
}

/* All but that of the lanes' offsets, which is lent: its value goes to an AGPR that no instruction
 * names, whether waves have it or not; else to scratch memory. */
static bool place_lent(rawhal_probe_plan_t *plan, const vgpr_room_t *room, uint32_t kept,
                       uint32_t flags, vgprs_t *vgprs)
{
  stubs_t *stubs = &plan->stubs;
  if (!stubs->has_lanes || !place_kept(room, kept - 1, vgprs))
    return false;
  const uint32_t agpr = code_set_room(&plan->walk.registers.agprs, 0, MOST_ARCH_VGPRS, 1, 1),
                 total = round_up(vgprs->arch + agpr + 1, VGPR_GRANULE), asked = flags & LENDING;
  const bool has_agpr = agpr < MOST_ARCH_VGPRS && total <= MOST_VGPRS,
             has_scratch =
                 plan_has_scratch(plan->info.kernel->descriptor, &plan->walk.registers, stubs);
  if (has_scratch && asked & RAWHAL_PROBE_LEND_TO_SCRATCH) {
    stubs->lends = STUB_LENDS_TO_SCRATCH;
  } else if (has_agpr && asked != RAWHAL_PROBE_LEND_TO_SCRATCH) {
    stubs->lends = STUB_LENDS_TO_AGPR;
    stubs->lends_agpr = agpr;
    vgprs->total = total > vgprs->total ? total : vgprs->total;
  } else if (has_scratch && !asked) {
    stubs->lends = STUB_LENDS_TO_SCRATCH;
  }
  return stubs->lends != STUB_LENDS_NONE;
}

static rawhal_status_t refuse_vgprs(const vgpr_room_t *room, uint32_t kept, rawhal_error_t *error)
{
  const uint32_t arch = round_up(room->first + kept, ACCUM_GRANULE);
  return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                     "it names v%u%s, and %s, so that there is no VGPR for probes", room->first - 1,
                     arch + room->left > MOST_VGPRS ? " and takes all others for matrices" : "",
                     room->first > room->arch ? "its waves have fewer"
                     : code_set_room(&room->taken, 0, room->arch, 1, 1) < room->arch
                         ? "all but one of those before"
                         : "all of those before");
}

/* Those of the probes' own; else one is lent; where there are no probes in the middle, one of the
 * kernel's is in scratch memory there. */
static rawhal_status_t place_vgprs(rawhal_probe_plan_t *plan, const plan_named_t *named,
                                   uint32_t flags, vgprs_t *vgprs, rawhal_error_t *error)
{
  const rawhal_descriptor_t *d = plan->info.kernel->descriptor;
  const vgpr_room_t room = vgpr_room(plan, named);
  stubs_t *stubs = &plan->stubs;
  uint32_t kept = (stubs->in_lanes ? 1u : 0) + (stubs->has_lanes ? 1u : 0);
  const bool wants_lent = flags & LENDING && stubs->has_lanes,
             wants_scratch = flags & RAWHAL_PROBE_KEEP_IN_SCRATCH;
  bool fits = !wants_lent && !wants_scratch && place_kept(&room, kept, vgprs);
  if (!fits && !wants_scratch && place_lent(plan, &room, kept, flags, vgprs)) {
    fits = true;
    --kept;
  }
  stubs->in_scratch =
      !fits && !plan->info.point_count && plan_has_scratch(d, &plan->walk.registers, stubs);
  if (wants_scratch && !stubs->in_scratch)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "it has scratch memory of its own, or places in the middle to probe");
  if (!fits && !stubs->in_scratch)
    return refuse_vgprs(&room, kept, error);
  if (stubs->in_scratch) {
    *vgprs = (vgprs_t){{1, 1}, room.arch, room.total};
    kept = 0;
  }
  plan->info.kept_vgprs = kept;
  plan->info.lent_vgprs = stubs->lends != STUB_LENDS_NONE;
  plan->info.first_kept_vgpr = kept ? vgprs->kept[0] : 0;
  plan->info.scratch_bytes =
      stubs->in_scratch || stubs->lends == STUB_LENDS_TO_SCRATCH ? STUB_SCRATCH : 0;
  return RAWHAL_OK;
}

static rawhal_status_t write_descriptor(rawhal_probe_plan_t *plan, const vgprs_t *vgprs,
                                        rawhal_error_t *error)
{
  const rawhal_kernel_t *kernel = plan->info.kernel;
  const rawhal_descriptor_t *d = kernel->descriptor;
  uint64_t offset;
  if (!elf_view_offset_of(&kernel->object->elf, d->address, DESCRIPTOR_SIZE, &offset))
    return rawhal_fail(error, RAWHAL_MALFORMED, "its descriptor is not in the object");
  memcpy(plan->descriptor, kernel->object->elf.bytes + offset, DESCRIPTOR_SIZE);
  const uint32_t sgprs = round_up(stub_sgprs(&plan->stubs) + PLAN_SPECIAL_SGPRS, SGPR_GRANULE),
                 most_vgprs = vgprs->total > d->vgpr_count ? vgprs->total : d->vgpr_count;
  uint32_t rsrc1 = d->pgm_rsrc1 & ~UINT32_C(0x3ff);
  rsrc1 |= most_vgprs / VGPR_GRANULE - 1;
  rsrc1 |= (((sgprs > d->sgpr_count ? sgprs : d->sgpr_count) / SGPR_GRANULE - 1) * 2) << 6;
  write_u32(plan->descriptor, DESCRIPTOR_RSRC1, rsrc1);
  write_u32(plan->descriptor, DESCRIPTOR_RSRC3,
            (d->pgm_rsrc3 & ~UINT32_C(0x3f)) | (vgprs->arch / ACCUM_GRANULE - 1));
  write_u32(plan->descriptor, DESCRIPTOR_KERNARGS, plan->info.kernarg_size);
  if (plan->info.scratch_bytes) {
    write_u32(plan->descriptor, DESCRIPTOR_RSRC2, d->pgm_rsrc2 | PLAN_RSRC2_HAS_SCRATCH);
    write_u32(plan->descriptor, DESCRIPTOR_SCRATCH, STUB_SCRATCH);
  }
  return RAWHAL_OK;
}

rawhal_status_t plan_registers(rawhal_probe_plan_t *plan, uint32_t flags, rawhal_error_t *error)
{
  plan_named_t named;
  vgprs_t vgprs = {0};
  rawhal_status_t status =
      plan_named(plan->info.kernel->descriptor, &plan->walk.registers, &named, error);
  if (status != RAWHAL_OK)
    return status;
  plan->info.named_sgprs = code_set_end(&named.sgprs);
  plan->info.named_vgprs = code_set_end(&named.vgprs);
  plan->info.named_agprs = code_set_end(&named.agprs);
  plan->has_only_points = flags & RAWHAL_PROBE_POINTS_ONLY;
  if (plan->has_only_points)
    return RAWHAL_OK;
  place_sgprs(plan, &named, flags);
  status = check_modes(plan, error);
  if (status == RAWHAL_OK)
    status = place_vgprs(plan, &named, flags, &vgprs, error);
  if (status != RAWHAL_OK)
    return status;
  plan->stubs.lanes_vgpr = vgprs.kept[0];
  plan->stubs.offsets_vgpr = vgprs.kept[plan->stubs.in_lanes ? 1 : 0];
  return write_descriptor(plan, &vgprs, error);
}
