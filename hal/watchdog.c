/* librawhal's queues under RAWHAL_WATCHDOG. */
#include "hal/watchdog.h"

#include "hal/log.h"
#include "queue/hang.h"
#include "queue/watchdog.h"

static watchdog_t watchdog = WATCHDOG_NONE;

static void tell(void *context, const char *message)
{
  (void)context;
  hal_log(RAWHAL_SEVERITY_ERROR, "%s", message);
}

static void look(const watchdog_settings_t *settings, uint64_t now)
{
  queues_find_hangs(now, settings->limit, settings->fails ? NULL : tell, NULL);
}

static bool has_front(const hal_runtime_t *runtime)
{
  uint32_t looks = 0;
  return runtime->device_count &&
         runtime->hsa.hsa_agent_get_info(runtime->devices->queue.agent,
                                         (hsa_agent_info_t)WATCHDOG_AGENT_INFO_FRONT,
                                         &looks) == HSA_STATUS_SUCCESS &&
         looks;
}

rawhal_status_t hal_watchdog_start(const hal_runtime_t *runtime, rawhal_error_t *error)
{
  watchdog_settings_t settings;
  const rawhal_status_t status = watchdog_read(&settings, error);
  return status == RAWHAL_OK && settings.limit && !has_front(runtime)
             ? watchdog_start(&watchdog, &settings, look, error)
             : status;
}

void hal_watchdog_stop(void)
{
  watchdog_stop(&watchdog);
}
