#include "front/hangs.h"

#include "front/copying.h"
#include "front/direct.h"
#include "front/faults.h"
#include "front/flight.h"
#include "front/forward.h"
#include "front/proxies.h"
#include "front/report.h"

#include "queue/watchdog.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static watchdog_settings_t settings;
static watchdog_t watchdog = WATCHDOG_NONE;

/* ---- Where queues stand ---- */

static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER; /* comes first, and guards: */
static struct {
  uint64_t now;
  const proxy_t *proxies[HANG_STANDS]; /* of each stand */
  hang_stand_t stands[HANG_STANDS];
  size_t count;
  bool more;                /* there are queues that are not among them */
  bool told;                /* one of them: what was seen may be over */
  watchdog_action_t action; /* of that one */
  const front_device_t *device;
  char line[1536];
  bool asked; /* it is an observer who looks: nothing is noted, and what runs stands */
  print_t say;
} seen;

/* The device's ring's index of the packet that has the signal. It is among the latest. */
static uint64_t packet_with(const proxy_t *proxy, hsa_signal_t signal)
{
  const proxy_packet_t *ring = proxy->real->base_address;
  const uint64_t size = proxy->real->size;
  uint64_t at = proxy->real_write;
  for (uint64_t left = at < size ? at : size; left; --left)
    if (ring[--at & (size - 1)].dispatch.completion_signal.handle == signal.handle)
      return at;
  return proxy->real_write;
}

/* The index of the oldest dispatch that has not ended; of what comes next where all have. The
 * caller holds both locks. */
static uint64_t oldest_of(proxy_t *proxy)
{
  uint64_t ticket;
  bool ours;
  if (!flight_oldest(proxy, &ticket, &ours))
    return proxy->real_write;
  const uint64_t at = packet_with(proxy, proxy->signals[ticket % PROXY_SIGNALS]);
  return ours || !at ? at : at - 1;
}

static void add_stand(const proxy_t *proxy, const hang_stand_t *stand)
{
  seen.proxies[seen.count] = proxy;
  seen.stands[seen.count++] = *stand;
}

static void look_at(proxy_t *proxy, notice_t *notice)
{
  (void)notice;
  (void)flight_harvest(proxy);
  pthread_mutex_lock(&proxy->lock);
  pthread_mutex_lock(&proxy->harvest);
  const uint64_t read = direct_read_index(proxy->real);
  const uint64_t oldest = oldest_of(proxy);
  if (!seen.asked)
    hang_note(&proxy->hang, oldest < proxy->real_write || read < proxy->real_write, oldest, read,
              seen.now);
  hang_stand_t stand = {
      .id = proxy->real->id,
      .ring = (uint64_t)(uintptr_t)proxy->real->base_address,
      .size = proxy->real->size,
      .at = read < oldest ? read : oldest,
      .read = read,
      .end = proxy->real_write,
      .moves = !seen.asked && !hang_stands(&proxy->hang, seen.now, settings.limit),
      .dead = atomic_load(&proxy->died_at) != 0,
  };
  const uint64_t forwarded = atomic_load(&proxy->forwarded);
  const bool has_packets = stand.at < stand.end || forwarded < proxy->announced;
  if (!has_packets && !seen.asked) {
    /* it sets no signals */
  } else if (seen.count + 2 > HANG_STANDS) {
    seen.more = true;
  } else {
    add_stand(proxy, &stand);
    stand.ring = (uint64_t)(uintptr_t)proxy->ring; /* what waits for its turn */
    stand.size = (uint64_t)proxy->mask + 1;
    stand.at = stand.read = forwarded;
    stand.end = proxy->announced > stand.at ? proxy->announced : stand.at;
    stand.moves = true;
    add_stand(proxy, &stand);
  }
  pthread_mutex_unlock(&proxy->harvest);
  pthread_mutex_unlock(&proxy->lock);
}

/* ---- Telling ---- */

static void stop(proxy_t *proxy, notice_t *notice, const char *why)
{
  pthread_mutex_lock(&proxy->lock);
  if (!atomic_load(&proxy->died_at))
    (void)proxy_fail(proxy, HSA_STATUS_ERROR, why);
  proxy_release(proxy, notice);
}

static size_t stand_of(const proxy_t *proxy)
{
  size_t at = 0;
  while (at < seen.count && seen.proxies[at] != proxy)
    ++at;
  return at;
}

/* What would set a signal may be none of what was seen. */
static bool others_wait(void)
{
  return seen.more || copying_holds();
}

static void tell(proxy_t *proxy, notice_t *notice)
{
  if (seen.told)
    return;
  char waits[512] = "";
  print_t to = print_into(waits, sizeof(waits));
  const size_t at = stand_of(proxy);
  if (at == seen.count || seen.stands[at].moves || seen.stands[at].dead || proxy->hang.told)
    return;
  const hang_scene_t scene = {
      .stands = seen.stands, .count = seen.count, .others_wait = others_wait()};
  const hang_why_t why = hang_why(&scene, at, &to);
  if (why == HANG_MOVES)
    return;
  proxy->hang.told = seen.told = true;
  seen.action = why == HANG_WAITS ? settings.waits : settings.kernels;
  seen.device = proxy->device;
  const faults_hang_t hang = {.packet = seen.stands[at].at,
                              .waits = why == HANG_WAITS ? waits : NULL,
                              .ns = seen.now - proxy->hang.since,
                              .dumps = seen.action >= WATCHDOG_DUMP};
  faults_tell_hang(proxy, &hang, seen.line, sizeof(seen.line));
  if (seen.action >= WATCHDOG_FAIL)
    stop(proxy, notice, seen.line);
  else
    front_report("%s", seen.line);
}

static void stop_with_device(proxy_t *proxy, notice_t *notice)
{
  if (proxy->device == seen.device && !atomic_load(&proxy->died_at))
    stop(proxy, notice, seen.line);
}

static void act_further(void)
{
  if (seen.action >= WATCHDOG_DEVICE)
    proxies_each(stop_with_device);
  if (seen.action == WATCHDOG_ABORT)
    abort(); /* as RAWHAL_WATCHDOG asks for */
}

static void look(const watchdog_settings_t *unused, uint64_t now)
{
  (void)unused;
  pthread_mutex_lock(&looking);
  seen.now = now;
  seen.asked = false;
  do {
    seen.count = 0;
    seen.told = seen.more = false;
    proxies_each(look_at);
    proxies_each(tell);
    if (seen.told)
      act_further();
  } while (seen.told);
  pthread_mutex_unlock(&looking);
}

/* ---- For observers ---- */

bool hangs_oldest(proxy_t *proxy, uint64_t *packet)
{
  (void)flight_harvest(proxy);
  pthread_mutex_lock(&proxy->lock);
  pthread_mutex_lock(&proxy->harvest);
  *packet = oldest_of(proxy);
  const bool flies = *packet < proxy->real_write;
  pthread_mutex_unlock(&proxy->harvest);
  pthread_mutex_unlock(&proxy->lock);
  return flies;
}

static void say(proxy_t *proxy, notice_t *notice)
{
  (void)notice;
  char waits[512] = "", line[1536];
  print_t to = print_into(waits, sizeof(waits));
  const size_t at = stand_of(proxy);
  const hang_stand_t *stand = &seen.stands[at], *held = stand + 1;
  if (at == seen.count || stand->dead)
    return;
  if (stand->at < stand->end) {
    const hang_scene_t scene = {
        .stands = seen.stands, .count = seen.count, .others_wait = others_wait()};
    if (hang_why(&scene, at, &to) == HANG_MOVES)
      print(&to, "a barrier that waits for its turn, or no more");
    const faults_hang_t hang = {.packet = stand->at, .waits = *waits ? waits : NULL};
    faults_say_hang(proxy, &hang, line, sizeof(line));
    print(&seen.say, "%s\n", line);
  } else {
    print(&seen.say, "queue %" PRIu64 ": nothing is in flight\n", stand->id);
  }
  if (held->at < held->end)
    print(&seen.say, "queue %" PRIu64 ": %" PRIu64 " packets wait for their turn\n", held->id,
          held->end - held->at);
}

void hangs_why(char *text, size_t size)
{
  pthread_mutex_lock(&looking);
  seen.count = 0;
  seen.more = false;
  seen.asked = true;
  seen.say = print_into(text, size);
  proxies_each(look_at);
  proxies_each(say);
  if (!seen.say.length)
    print(&seen.say, "there are no queues\n");
  pthread_mutex_unlock(&looking);
}

/* ---- Coming and going ---- */

rawhal_status_t hangs_open(rawhal_error_t *error)
{
  const rawhal_status_t status = watchdog_read(&settings, error);
  front.hangs = settings.limit != 0;
  return status;
}

static hsa_status_t agent_get_info(hsa_agent_t agent, hsa_agent_info_t attribute, void *value)
{
  if ((int)attribute != WATCHDOG_AGENT_INFO_FRONT || !value || front_orphaned())
    return front.inner.agent_get_info(agent, attribute, value);
  *(uint32_t *)value = 1;
  return HSA_STATUS_SUCCESS;
}

void hangs_hooks(front_calls_t *hooks)
{
  hooks->agent_get_info = agent_get_info;
}

void hangs_begin(void)
{
  rawhal_error_t error;
  if (front.hangs && watchdog_start(&watchdog, &settings, look, &error) != RAWHAL_OK)
    front_report("RAWHAL_WATCHDOG: %s", error.message);
}

void hangs_end(void)
{
  watchdog_stop(&watchdog);
}

void hangs_abandon(void)
{
  watchdog = (watchdog_t)WATCHDOG_NONE;
  (void)pthread_mutex_init(&looking, NULL);
}
