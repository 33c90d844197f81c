#include "queue/occupancy.h"

#include "base/error.h"
#include "base/sized.h"
#include "queue/internal.h"

#include <string.h>

enum { KIB = 1024 };

/* clang-format off */
/* From gfx90a on, VGPRs and AGPRs share a file of 512. What is not here has compute units in pairs
 * that share LDS by the mode of the kernel (gfx10 and later), or was never tried. */
static const occupancy_chip_t chips[] = {
    /* processor, VGPRs, granule, SGPRs, granule, waves, SIMDs, barriers, LDS, granule */
    {"gfx900", 256, 4, 800, 16, 10, 4, 16,  64 * KIB,  512},
    {"gfx902", 256, 4, 800, 16, 10, 4, 16,  64 * KIB,  512},
    {"gfx904", 256, 4, 800, 16, 10, 4, 16,  64 * KIB,  512},
    {"gfx906", 256, 4, 800, 16, 10, 4, 16,  64 * KIB,  512},
    {"gfx908", 256, 4, 800, 16, 10, 4, 16,  64 * KIB,  512},
    {"gfx909", 256, 4, 800, 16, 10, 4, 16,  64 * KIB,  512},
    {"gfx90c", 256, 4, 800, 16, 10, 4, 16,  64 * KIB,  512},
    {"gfx90a", 512, 8, 800, 16,  8, 4, 16,  64 * KIB,  512},
    {"gfx940", 512, 8, 800, 16,  8, 4, 16,  64 * KIB,  512},
    {"gfx941", 512, 8, 800, 16,  8, 4, 16,  64 * KIB,  512},
    {"gfx942", 512, 8, 800, 16,  8, 4, 16,  64 * KIB,  512},
    {"gfx950", 512, 8, 800, 16,  8, 4, 16, 160 * KIB, 1280},
};
/* clang-format on */

const occupancy_chip_t *occupancy_chip(const char *processor)
{
  for (size_t i = 0; i < sizeof(chips) / sizeof(*chips); ++i)
    if (!strcmp(chips[i].processor, processor))
      return &chips[i];
  return NULL;
}

/* How often `need`, in whole granules, goes into `total`. */
static uint32_t fits(uint32_t total, uint32_t granule, uint32_t need)
{
  uint64_t whole = ((uint64_t)need + granule - 1) / granule * granule;
  return whole ? (uint32_t)(total / whole) : UINT32_MAX;
}

rawhal_occupancy_t occupancy_of(const occupancy_chip_t *chip, const occupancy_need_t *need)
{
  uint32_t waves = need->waves ? need->waves : 1;
  const uint32_t groups[] = {
      [RAWHAL_OCCUPANCY_WAVES] = (uint32_t)chip->waves * chip->simds / waves,
      [RAWHAL_OCCUPANCY_WORKGROUPS] = waves > 1 ? chip->barriers : UINT32_MAX,
      [RAWHAL_OCCUPANCY_VGPRS] = fits(chip->vgprs, chip->vgpr_granule, need->vgprs),
      [RAWHAL_OCCUPANCY_SGPRS] = fits(chip->sgprs, chip->sgpr_granule, need->sgprs),
      [RAWHAL_OCCUPANCY_LDS] = fits(chip->lds, chip->lds_granule, need->lds),
  };
  rawhal_occupancy_t found = {.workgroups_per_cu = UINT32_MAX};
  for (uint32_t i = 0; i < sizeof(groups) / sizeof(*groups); ++i) {
    bool of_wave = i == RAWHAL_OCCUPANCY_VGPRS || i == RAWHAL_OCCUPANCY_SGPRS;
    uint64_t some = of_wave ? (uint64_t)groups[i] * chip->simds / waves : groups[i];
    if (some >= found.workgroups_per_cu)
      continue; /* the first of equals */
    found.workgroups_per_cu = (uint32_t)some;
    found.limited_by = (rawhal_occupancy_limit_t)i;
  }
  found.waves_per_cu = found.workgroups_per_cu * waves;
  found.waves_per_simd = (found.waves_per_cu + chip->simds - 1u) / chip->simds;
  return found;
}

static uint32_t lanes_of(const rawhal_kernel_t *kernel)
{
  return kernel->wavefront_size ? kernel->wavefront_size : 64;
}

uint32_t occupancy_work_items(const occupancy_chip_t *chip, const rawhal_kernel_t *kernel)
{
  const rawhal_descriptor_t *descriptor = kernel->descriptor;
  if (!chip || !descriptor)
    return UINT32_MAX;
  /* As many groups of one wave as fit are as many waves. */
  const occupancy_need_t need = {
      .vgprs = descriptor->vgpr_count, .sgprs = descriptor->sgpr_count, .waves = 1};
  return occupancy_of(chip, &need).workgroups_per_cu * lanes_of(kernel);
}

rawhal_status_t kernel_occupancy(const rawhal_device_kernel_t *kernel, uint64_t work_items,
                                 uint32_t dynamic_lds, rawhal_occupancy_t *occupancy,
                                 rawhal_error_t *error)
{
  const rawhal_kernel_t *facts = kernel->info.kernel;
  const rawhal_descriptor_t *descriptor = facts->descriptor;
  uint32_t lanes = lanes_of(facts);
  if (!kernel->chip || !descriptor)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "the occupancy of kernel '%.*s': %s",
                       RAWHAL_STRING_ARGS(facts->name),
                       descriptor ? "the resources of this processor's compute units are not known"
                                  : "it has no descriptor");
  uint64_t lds = (uint64_t)kernel->info.group_segment_size + dynamic_lds;
  const occupancy_need_t need = {.vgprs = descriptor->vgpr_count,
                                 .sgprs = descriptor->sgpr_count,
                                 .lds = lds < UINT32_MAX ? (uint32_t)lds : UINT32_MAX,
                                 .waves = (uint32_t)((work_items + lanes - 1) / lanes)};
  *occupancy = occupancy_of(kernel->chip, &need);
  return RAWHAL_OK;
}

rawhal_status_t rawhal_device_kernel_occupancy(const rawhal_device_kernel_t *kernel,
                                               uint32_t work_items, uint32_t dynamic_lds,
                                               rawhal_occupancy_t *occupancy, rawhal_error_t *error)
{
  rawhal_occupancy_t found = {0};
  if (!occupancy)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "occupancy is NULL");
  rawhal_status_t status = RAWHAL_OK;
  if (!kernel || !work_items)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s",
                         kernel ? "a work-group of 0 work-items" : "kernel is NULL");
  uint32_t most = kernel ? kernel->info.kernel->max_flat_workgroup_size : 0;
  if (status == RAWHAL_OK && most && work_items > most)
    status = rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                         "a work-group of %u work-items, the kernel allows %u", work_items, most);
  if (status == RAWHAL_OK)
    status = kernel_occupancy(kernel, work_items, dynamic_lds, &found, error);
  sized_give(occupancy, sizeof(found), &found, sizeof(found));
  return status;
}

rawhal_status_t check_resident(uint32_t compute_units, const rawhal_dispatch_t *dispatch,
                               rawhal_error_t *error)
{
  uint64_t groups = 1, work_items = 1;
  rawhal_occupancy_t occupancy;
  if (dispatch->flags & RAWHAL_DISPATCH_OVERLAP)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "a COOPERATIVE dispatch cannot OVERLAP: it needs the whole device");
  for (int d = 0; d < 3; ++d) {
    work_items *= dispatch->workgroup[d];
    uint64_t some =
        ((uint64_t)dispatch->work_items[d] + dispatch->workgroup[d] - 1) / dispatch->workgroup[d];
    groups = groups > UINT64_MAX / some ? UINT64_MAX : groups * some;
  }
  rawhal_status_t status =
      kernel_occupancy(dispatch->kernel, work_items, dispatch->dynamic_lds, &occupancy, error);
  if (status != RAWHAL_OK)
    return status;
  uint64_t room = (uint64_t)occupancy.workgroups_per_cu * compute_units;
  if (groups <= room)
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                     "a cooperative grid of %llu work-groups, but %llu can run at once: %u on each "
                     "of %u compute units",
                     (unsigned long long)groups, (unsigned long long)room,
                     occupancy.workgroups_per_cu, compute_units);
}
