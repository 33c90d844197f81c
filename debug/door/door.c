#include "debug/door/door.h"

#include "debug/door/answers.h"
#include "debug/door/memory.h"

#include "base/error.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MODE_OFF, MODE_EVENTS, MODE_ANSWERS, MODE_POKE, MODES };

static rawhal_status_t read_mode(unsigned *mode, bool *watched, rawhal_error_t *error)
{
  static const char *const names[MODES] = {"off", "events", "answers", "poke"};
  const char *text = secure_getenv("RAWHAL_DOOR");
  *mode = MODE_EVENTS;
  *watched = false;
  if (!text || !*text)
    return RAWHAL_OK;
  const size_t size = strcspn(text, ",");
  *watched = !strcmp(text + size, ",now");
  for (*mode = 0; (*watched || !text[size]) && *mode < MODES; ++*mode)
    if (strlen(names[*mode]) == size && !memcmp(text, names[*mode], size))
      return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "RAWHAL_DOOR: expected off, events, answers or poke, got '%s'", text);
}

rawhal_status_t door_check(bool *asked, rawhal_error_t *error)
{
  unsigned mode;
  bool watched;
  const char *text = secure_getenv("RAWHAL_DOOR");
  const rawhal_status_t status = read_mode(&mode, &watched, error);
  *asked = status == RAWHAL_OK && text && *text && mode != MODE_OFF;
  return status;
}

rawhal_status_t door_open(door_kind_t kind, const door_host_t *host, rawhal_error_t *error)
{
  static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
  unsigned mode;
  bool watched;
  const rawhal_status_t status = read_mode(&mode, &watched, error);
  if (status != RAWHAL_OK || mode == MODE_OFF)
    return status;
  pthread_mutex_lock(&once);
  const int socket = mode >= MODE_ANSWERS ? answers_start() : -1;
  if (!door_memory() && door_memory_make(kind, socket, watched, NULL) != RAWHAL_OK)
    mode = MODE_OFF;    /* a sandbox has none of it */
  else if (socket >= 0) /* it may have been opened without */
    __atomic_store_n(&door_memory()->head.socket, socket, __ATOMIC_RELAXED);
  if (mode >= MODE_ANSWERS)
    answers_by(host, mode == MODE_POKE);
  pthread_mutex_unlock(&once);
  return RAWHAL_OK;
}

void door_close(void)
{
  answers_by(NULL, false);
}
