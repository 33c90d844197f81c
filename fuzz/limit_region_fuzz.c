/* A region whose bytes somebody else writes: two processes' limiters go on with their work while any word of
 * the file takes any value. They may refuse, they may be wrong about shares and memory, but they neither
 * crash nor hang, and whoever comes later or only looks on does not either.
 *
 * The input is a list of steps of eleven bytes: what to do, a place, a value. Time passes with each. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/budget.h"
#include "queue/gate/gate.h"
#include "queue/limit/dead.h"
#include "queue/limit/limiter.h"
#include "queue/limit/memory.h"

enum { STEP_BYTES = 11, MAX_STEPS = 150, LIMITERS = 3, GRANTS = 8 };

/* What one of them may cost in basic blocks, and all that is around them: the region's tables. */
enum { MOST_WORK_A_STEP = 1 << 13, LEAST_WORK = 1 << 18 };

typedef struct scene {
  int fd;
  unsigned char *bytes; /* of the file */
  uint64_t now;
  limit_clock_t clock;
  rawhal_limiter_t *limiters[LIMITERS];
  limit_lease_t *leases[LIMITERS];
  limit_grant_t grants[LIMITERS][GRANTS];
  uint32_t admitted[LIMITERS]; /* of grants */
} scene_t;

static uint64_t scene_now(void *context)
{
  return ((scene_t *)context)->now;
}

static void scene_wait(void *context, _Atomic uint32_t *word, uint32_t seen, uint64_t until)
{
  scene_t *scene = context;
  (void)word, (void)seen;
  scene->now = until > scene->now ? until : scene->now + 1;
}

static void scene_wake(void *context, _Atomic uint32_t *word)
{
  (void)context, (void)word;
}

static rawhal_limit_config_t scene_config(const scene_t *scene, int which)
{
  static const struct {
    rawhal_limit_t limit;
    uint64_t value;
  } limits[] = {{RAWHAL_LIMIT_GPU_SHARE, 500000},
                {RAWHAL_LIMIT_MEMORY, 64 << 20},
                {RAWHAL_LIMIT_DISPATCH_RATE, 100000},
                {RAWHAL_LIMIT_DEVICE_SHARE, 900000},
                {RAWHAL_LIMIT_PROCESS_MEMORY, 48 << 20}};
  rawhal_limit_config_t config = {.has_region_fd = true, .region_fd = scene->fd};
  for (size_t i = 0; which != 2 && i < sizeof(limits) / sizeof(*limits); ++i)
    if (rawhal_limit_config_set(&config, limits[i].limit, limits[i].value, NULL) != RAWHAL_OK)
      __builtin_trap();
  config.tenant.text[0] = which == 1 ? 'b' : 'a';
  return config;
}

static void leave(scene_t *scene, int which)
{
  limit_lease_destroy(scene->leases[which]);
  rawhal_limiter_close(scene->limiters[which]);
  scene->leases[which] = NULL;
  scene->limiters[which] = NULL;
  scene->admitted[which] = 0;
}

/* Comes, or leaves and comes again. */
static void join(scene_t *scene, int which)
{
  leave(scene, which);
  rawhal_limit_config_t config = scene_config(scene, which);
  if (limiter_open(&config, "device", &scene->clock, NULL, &scene->limiters[which], NULL) ==
          RAWHAL_OK &&
      limit_lease_create(scene->limiters[which], NULL, RAWHAL_UNLIMITED, &scene->leases[which],
                         NULL) != RAWHAL_OK)
    leave(scene, which);
}

static void admit(scene_t *scene, int which, uint64_t value)
{
  uint32_t *count = &scene->admitted[which];
  limit_shape_t shape = {gate_key(value % 5 + 1, value >> 8 & 0xffff), value >> 8 & 0xffff,
                         value >> 8 & 0xffff, value >> 24 & 0xffff, 1};
  uint64_t deadline = value & 1 ? scene->now + (value >> 40) : 0;
  if (*count < GRANTS && limit_admit_one(scene->leases[which], &shape, deadline,
                                         &scene->grants[which][*count], NULL) == RAWHAL_OK)
    ++*count;
}

static void complete(scene_t *scene, int which, uint64_t value)
{
  uint32_t *count = &scene->admitted[which];
  if (*count == 0)
    return;
  const limit_grant_t *grant = &scene->grants[which][--*count];
  uint64_t duration = value % 50000000 + 1, end = scene->now;
  if (value >> 63)
    limit_cancel(scene->leases[which], grant);
  else if (value >> 62)
    limit_complete(scene->leases[which], grant, 0, 0);
  else
    limit_complete(scene->leases[which], grant, end - duration, end);
}

static void memory(scene_t *scene, int which, uint64_t value)
{
  ledger_class_t class = (ledger_class_t)(value % LEDGER_CLASSES);
  if (value & 8)
    limit_memory_release(scene->limiters[which], class, value >> 16);
  else
    (void)limit_memory_reserve(scene->limiters[which], class, value >> 16, NULL);
  uint64_t total, used;
  rawhal_limiter_memory(scene->limiters[which], &total, &used);
}

static void look_on(const scene_t *scene)
{
  char path[32];
  rawhal_limit_view_t *view = NULL;
  snprintf(path, sizeof(path), "/proc/self/fd/%d", scene->fd);
  if (rawhal_limit_view_open(path, &view, NULL) != RAWHAL_OK)
    return;
  rawhal_limit_row_t rows[8];
  size_t count = rawhal_limit_view_read(view, rows, sizeof(rawhal_limit_row_t), 8);
  for (size_t i = 0; i < count && i < 8; ++i)
    if (!memchr(rows[i].name, '\0', sizeof(rows[i].name)))
      __builtin_trap();
  rawhal_limit_view_close(view);
}

/* Places are mostly where something is in use: each table's first few rows. */
static size_t place_of(uint16_t place)
{
  static const struct {
    size_t at, size;
  } parts[] = {
      {0, sizeof(region_header_t)},
      {offsetof(region_data_t, devices), 2 * sizeof(region_device_t)},
      {offsetof(region_data_t, tenants), 3 * sizeof(region_tenant_t)},
      {offsetof(region_data_t, members), sizeof(region_hot_t)},
      {offsetof(region_data_t, members), 4 * sizeof(region_member_t)},
      {offsetof(region_data_t, members) + offsetof(region_member_t, ledger),
       sizeof(region_ledger_t)},
      {offsetof(region_data_t, members) + offsetof(region_member_t, interval_count), 512},
      {0, sizeof(region_data_t) - 8},
  };
  size_t part = place >> 13, within = place & 0x1fff;
  size_t words = parts[part].size / 8;
  size_t word = part == 7 ? within * (words / 0x2000) : within % (words ? words : 1);
  return parts[part].at + word * 8;
}

static void step(scene_t *scene, const uint8_t bytes[STEP_BYTES])
{
  uint16_t place;
  uint64_t value;
  memcpy(&place, bytes + 1, sizeof(place));
  memcpy(&value, bytes + 3, sizeof(value));
  int which = bytes[0] >> 4 & 1;
  scene->now += (uint64_t)1 << (place & 31);
  switch (bytes[0] & 15) {
  case 0:
    join(scene, bytes[0] >> 4 & 3 ? 2 : which);
    return;
  case 1:
    look_on(scene);
    return;
  case 2:
    memset(scene->bytes + place_of(place), (int)(value & 0xff), 1 + (value >> 8 & 7));
    return;
  case 3:
  case 4:
    memcpy(scene->bytes + place_of(place), &value, sizeof(value));
    return;
  default:
    break;
  }
  if (!scene->limiters[which])
    return;
  switch (bytes[0] & 15) {
  case 5:
    (void)limiter_reclaim(scene->limiters[which]);
    return;
  case 6:
    (void)rawhal_limiter_set(scene->limiters[which], (rawhal_limit_t)(place % LIMIT_COUNT), value,
                             NULL);
    return;
  case 7:
    leave(scene, which);
    return;
  case 8:
  case 9:
    memory(scene, which, value);
    return;
  case 10:
  case 11:
    complete(scene, which, value);
    return;
  default:
    admit(scene, which, value);
    return;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static scene_t scene;
  budget_t budget = budget_begin(LEAST_WORK + MOST_WORK_A_STEP * (uint64_t)MAX_STEPS, 64 << 20);
  scene = (scene_t){.fd = memfd_create("region", MFD_CLOEXEC), .now = 1000000000000u};
  scene.clock = (limit_clock_t){&scene, scene_now, scene_wait, scene_wake};
  if (scene.fd < 0)
    return 0;
  join(&scene, 0);
  join(&scene, 1);
  scene.bytes = mmap(NULL, sizeof(region_data_t), PROT_READ | PROT_WRITE, MAP_SHARED, scene.fd, 0);
  if (scene.bytes == MAP_FAILED || !scene.limiters[0] || !scene.limiters[1])
    __builtin_trap();
  for (int i = 0; i < MAX_STEPS && size >= STEP_BYTES; ++i, data += STEP_BYTES, size -= STEP_BYTES)
    step(&scene, data);
  for (int which = 0; which < LIMITERS; ++which)
    leave(&scene, which);
  munmap(scene.bytes, sizeof(region_data_t));
  close(scene.fd);
  budget_end(&budget);
  return 0;
}
