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
  if (is_beyond && (named->agprs || named->any_vgpr))
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "it names v%u, of %u that waves have besides those for matrices",
                       named->first_vgprs - 1, arch);
  *bounded = (plan_named_t){least(named->sgprs, CODE_SGPRS),
                            least(named->vgprs, is_beyond ? (uint32_t)MOST_ARCH_VGPRS : arch),
                            least(named->agprs, agprs)};
  if (named->any_sgpr && d->sgpr_count > bounded->sgprs)
    bounded->sgprs = least(d->sgpr_count, CODE_SGPRS);
  if (named->any_vgpr)
    bounded->vgprs = arch;
  return RAWHAL_OK;
}

bool plan_has_scratch(const rawhal_descriptor_t *d, const code_registers_t *named,
                      const stubs_t *stubs)
{
  return stubs->is_gfx942 && !d->private_segment_size && !(d->pgm_rsrc2 & PLAN_RSRC2_HAS_SCRATCH) &&
         !named->has_scratch && !named->any_sgpr;
}

/* In SGPRs behind those that are named, if all fit; else in lanes. */
static void place_sgprs(rawhal_probe_plan_t *plan, uint32_t flags)
{
  stubs_t *stubs = &plan->stubs;
  const uint32_t named = plan->info.named_sgprs;
  uint32_t first = named > stubs->initial_sgprs ? named : stubs->initial_sgprs;
  stubs->kept = stub_registers(stubs->kinds, round_up(first, 4));
  stubs->in_lanes = flags || stub_sgprs(stubs) > CODE_SGPRS;
  if (stubs->in_lanes)
    stubs->kept = stub_registers(stubs->kinds, 0);
  plan->info.first_kept_sgpr = stubs->in_lanes ? 0 : stubs->kept.first;
  plan->info.kept_sgprs = stubs->in_lanes ? 0 : stubs->kept.count;
}

/* Lanes are neither moved nor stored where vector instructions may be skipped, nor moved where they
 * may name other registers. */
static rawhal_status_t check_modes(const rawhal_probe_plan_t *plan, rawhal_error_t *error)
{
  const stubs_t *stubs = &plan->stubs;
  if (!plan->walk.registers.has_modes)
    return RAWHAL_OK;
  for (size_t i = 0; i < plan->info.point_count; ++i) {
    const rawhal_probe_point_t *point = &plan->points[i];
    const uint8_t mode = plan->walk.instructions[walk_find(&plan->walk, point->offset / 4)].mode;
    if ((mode & CODE_SKIPPING && (stubs->in_lanes || point->lane_bytes)) ||
        (mode & CODE_INDEXING && stubs->in_lanes))
      return rawhal_fail_at(error, RAWHAL_UNSUPPORTED, plan->walk.offset + point->offset,
                            "its code at +0x%x is within %s, where a probe %s", point->offset,
                            mode & CODE_SKIPPING ? "s_setvskip" : "s_set_gpr_idx_on",
                            point->lane_bytes && !stubs->in_lanes
                                ? "cannot store lanes"
                                : "has no SGPRs, and cannot use lanes of a VGPR");
  }
  return RAWHAL_OK;
}

/* The first that probes use, and how many waves have. */
typedef struct vgprs {
  uint32_t first, arch, total;
} vgprs_t;

static void write_u32(unsigned char *descriptor, uint32_t offset, uint32_t value)
{
  memcpy(descriptor + offset, &value, sizeof(value));
}

/* VGPRs behind those that are named, before the AGPRs; where there are none, one of the kernel's,
 * if there are no probes in its middle. */
static rawhal_status_t place_vgprs(rawhal_probe_plan_t *plan, uint32_t flags, vgprs_t *vgprs,
                                   rawhal_error_t *error)
{
  const rawhal_descriptor_t *d = plan->info.kernel->descriptor;
  stubs_t *stubs = &plan->stubs;
  const uint32_t kept = (stubs->in_lanes ? 1u : 0) + (stubs->has_lanes ? 1u : 0),
                 first = plan->info.named_vgprs ? plan->info.named_vgprs : 1, /* v0: the ids */
      old_arch = least(d->accum_offset, d->vgpr_count), agprs = d->vgpr_count - old_arch;
  const uint32_t arch = first + kept <= old_arch ? old_arch : round_up(first + kept, ACCUM_GRANULE),
                 total = round_up(arch + (plan->info.named_agprs ? agprs : 0), VGPR_GRANULE);
  const bool fits = arch <= MOST_ARCH_VGPRS && total <= MOST_VGPRS;
  stubs->in_scratch = (!fits || flags & RAWHAL_PROBE_KEEP_IN_SCRATCH) && !plan->info.point_count &&
                      plan_has_scratch(d, &plan->walk.registers, stubs);
  if (flags & RAWHAL_PROBE_KEEP_IN_SCRATCH && !stubs->in_scratch)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "it has scratch memory of its own, or places in the middle to probe");
  if (!fits && !stubs->in_scratch)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "it names v%u%s, so that there is no VGPR for probes", first - 1,
                       total > MOST_VGPRS ? " and takes all others for matrices" : "");
  *vgprs =
      stubs->in_scratch ? (vgprs_t){1, old_arch, d->vgpr_count} : (vgprs_t){first, arch, total};
  plan->info.kept_vgprs = stubs->in_scratch ? 0 : kept;
  plan->info.first_kept_vgpr = plan->info.kept_vgprs ? first : 0;
  plan->info.scratch_bytes = stubs->in_scratch ? STUB_SCRATCH : 0;
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
  if (plan->stubs.in_scratch) {
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
  plan->info.named_sgprs = named.sgprs;
  plan->info.named_vgprs = named.vgprs;
  plan->info.named_agprs = named.agprs;
  plan->has_only_points = flags & RAWHAL_PROBE_POINTS_ONLY;
  if (plan->has_only_points)
    return RAWHAL_OK;
  place_sgprs(plan, flags);
  status = check_modes(plan, error);
  if (status == RAWHAL_OK)
    status = place_vgprs(plan, flags, &vgprs, error);
  if (status != RAWHAL_OK)
    return status;
  plan->stubs.lanes_vgpr = vgprs.first;
  plan->stubs.offsets_vgpr = vgprs.first + (plan->stubs.in_lanes ? 1u : 0);
  return write_descriptor(plan, &vgprs, error);
}
