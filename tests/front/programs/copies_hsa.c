/* Copies by HSA itself, in ways that no stream has: each ends as it does without the front. */
#include <stdbool.h>

#include "device.h"

enum { BYTES = 1 << 16 };

static hsa_signal_t signal_of(hsa_signal_value_t value)
{
  hsa_signal_t signal;
  CALL(hsa_signal_create(value, 0, NULL, &signal));
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
static bool opposite(char *host, char *device)
{
  hsa_signal_t written = signal_of(1), read = signal_of(1);
  memset(host, 7, BYTES);
  bool done = hsa_amd_memory_async_copy(host + BYTES, cpu, device, gpu, BYTES, 1, &written, read) ==
                  HSA_STATUS_SUCCESS &&
              hsa_amd_memory_async_copy(device, gpu, host, cpu, BYTES, 0, NULL, written) ==
                  HSA_STATUS_SUCCESS &&
              is_done(read) && memcmp(host, host + BYTES, BYTES) == 0;
  if (!done)
    return false;
  (void)hsa_signal_destroy(written);
  return hsa_signal_destroy(read) == HSA_STATUS_SUCCESS;
}

/* A signal that counts several copies, destroyed as soon as it is 0. */
static bool counted(char *host, char *device)
{
  hsa_signal_t all = signal_of(8);
  for (int i = 0; i < 8; ++i) {
    bool back = i % 2;
    if (hsa_amd_memory_async_copy(back ? host + BYTES : device, back ? cpu : gpu,
                                  back ? device : host, back ? gpu : cpu, BYTES, 0, NULL,
                                  all) != HSA_STATUS_SUCCESS)
      return false;
  }
  return is_done(all) && hsa_signal_destroy(all) == HSA_STATUS_SUCCESS;
}

/* What the runtime refuses it refuses at once, and leaves nothing behind. */
static bool refused(char *host, char *device)
{
  hsa_signal_t held = signal_of(1), done = signal_of(1);
  const hsa_agent_t nobody = {0};
  bool right = true;
  for (int i = 0; i < 200 && right; ++i)
    right = hsa_amd_memory_async_copy(device, gpu, host, nobody, BYTES, 1, &held, done) !=
            HSA_STATUS_SUCCESS;
  hsa_signal_store_screlease(held, 0);
  right &= hsa_signal_load_scacquire(done) == 1;
  (void)hsa_signal_destroy(held);
  return hsa_signal_destroy(done) == HSA_STATUS_SUCCESS && right;
}

int main(void)
{
  open_device();
  char *host = host_memory(2 * BYTES), *device = device_memory(BYTES);
  for (int i = 0; i < 100; ++i)
    if (!counted(host, device)) {
      puts("counted: not done");
      return 1;
    }
  for (int i = 0; i < 20; ++i)
    if (!opposite(host, device)) {
      puts("opposite: not done");
      fflush(stdout);
      return 1;
    }
  if (!refused(host, device)) {
    puts("refused: not so");
    return 1;
  }
  puts("done");
  return hsa_shut_down() != HSA_STATUS_SUCCESS;
}
