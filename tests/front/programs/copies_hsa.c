/* Copies by HSA itself, in ways that no stream has: each ends as it does without the front. */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 1 << 16 };

typedef struct place {
  hsa_agent_t gpu, cpu;
  hsa_amd_memory_pool_t device, host;
} place_t;

static hsa_status_t visit_pool(hsa_amd_memory_pool_t visited, void *data)
{
  hsa_amd_memory_pool_t *pool = data;
  hsa_amd_segment_t segment;
  bool allowed = false;
  if (hsa_amd_memory_pool_get_info(visited, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment) ==
          HSA_STATUS_SUCCESS &&
      hsa_amd_memory_pool_get_info(visited, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED,
                                   &allowed) == HSA_STATUS_SUCCESS &&
      segment == HSA_AMD_SEGMENT_GLOBAL && allowed && !pool->handle)
    *pool = visited;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t visit_agent(hsa_agent_t agent, void *data)
{
  place_t *place = data;
  hsa_device_type_t type;
  if (hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) != HSA_STATUS_SUCCESS)
    return HSA_STATUS_SUCCESS;
  bool gpu = type == HSA_DEVICE_TYPE_GPU;
  *(gpu ? &place->gpu : &place->cpu) = agent;
  return hsa_amd_agent_iterate_memory_pools(agent, visit_pool, gpu ? &place->device : &place->host);
}

static hsa_signal_t signal_of(hsa_signal_value_t value)
{
  hsa_signal_t signal = {0};
  (void)hsa_signal_create(value, 0, NULL, &signal);
  return signal;
}

/* Is it 0 within ten seconds? */
static bool is_done(hsa_signal_t signal)
{
  uint64_t hz = 0;
  (void)hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &hz);
  return hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, 0, 10 * hz,
                                   HSA_WAIT_STATE_BLOCKED) == 0;
}

/* What is read back waits for what is written later: the engines are one for each direction. */
static bool opposite(const place_t *place, char *host, char *device)
{
  hsa_signal_t written = signal_of(1), read = signal_of(1);
  memset(host, 7, BYTES);
  bool done = hsa_amd_memory_async_copy(host + BYTES, place->cpu, device, place->gpu, BYTES, 1,
                                        &written, read) == HSA_STATUS_SUCCESS &&
              hsa_amd_memory_async_copy(device, place->gpu, host, place->cpu, BYTES, 0, NULL,
                                        written) == HSA_STATUS_SUCCESS &&
              is_done(read) && memcmp(host, host + BYTES, BYTES) == 0;
  if (!done)
    return false;
  (void)hsa_signal_destroy(written);
  return hsa_signal_destroy(read) == HSA_STATUS_SUCCESS;
}

/* A signal that counts several copies, destroyed as soon as it is 0. */
static bool counted(const place_t *place, char *host, char *device)
{
  hsa_signal_t all = signal_of(8);
  for (int i = 0; i < 8; ++i) {
    bool back = i % 2;
    if (hsa_amd_memory_async_copy(back ? host + BYTES : device, back ? place->cpu : place->gpu,
                                  back ? device : host, back ? place->gpu : place->cpu, BYTES, 0,
                                  NULL, all) != HSA_STATUS_SUCCESS)
      return false;
  }
  return is_done(all) && hsa_signal_destroy(all) == HSA_STATUS_SUCCESS;
}

/* What the runtime refuses it refuses at once, and leaves nothing behind. */
static bool refused(const place_t *place, char *host, char *device)
{
  hsa_signal_t held = signal_of(1), done = signal_of(1);
  const hsa_agent_t nobody = {0};
  bool right = true;
  for (int i = 0; i < 200 && right; ++i)
    right = hsa_amd_memory_async_copy(device, place->gpu, host, nobody, BYTES, 1, &held, done) !=
            HSA_STATUS_SUCCESS;
  hsa_signal_store_screlease(held, 0);
  right &= hsa_signal_load_scacquire(done) == 1;
  (void)hsa_signal_destroy(held);
  return hsa_signal_destroy(done) == HSA_STATUS_SUCCESS && right;
}

int main(void)
{
  place_t place = {0};
  void *host = NULL, *device = NULL;
  if (hsa_init() != HSA_STATUS_SUCCESS ||
      hsa_iterate_agents(visit_agent, &place) != HSA_STATUS_SUCCESS ||
      hsa_amd_memory_pool_allocate(place.host, 2 * BYTES, 0, &host) != HSA_STATUS_SUCCESS ||
      hsa_amd_memory_pool_allocate(place.device, BYTES, 0, &device) != HSA_STATUS_SUCCESS ||
      hsa_amd_agents_allow_access(1, &place.gpu, NULL, host) != HSA_STATUS_SUCCESS)
    return 1;
  for (int i = 0; i < 100; ++i)
    if (!counted(&place, host, device)) {
      puts("counted: not done");
      return 1;
    }
  for (int i = 0; i < 20; ++i)
    if (!opposite(&place, host, device)) {
      puts("opposite: not done");
      fflush(stdout);
      return 1;
    }
  if (!refused(&place, host, device)) {
    puts("refused: not so");
    return 1;
  }
  puts("done");
  return hsa_shut_down() != HSA_STATUS_SUCCESS;
}
