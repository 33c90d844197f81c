/* Lines for the program's log: to the hooks of its instances, or where there are none and the
 * environment asks for it, to stderr. */
#include "hal/log.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/file_signals.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Held during calls, so that a hook that was taken off is not called any more. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static log_hook_t *hooks;
static _Thread_local bool telling;
static atomic_int least = RAWHAL_SEVERITY_ERROR + 1; /* for stderr; beyond the last: nothing */

static const char *const names[] = {
    [RAWHAL_SEVERITY_NOTE] = "note",
    [RAWHAL_SEVERITY_WARNING] = "warning",
    [RAWHAL_SEVERITY_ERROR] = "error",
    [RAWHAL_SEVERITY_ERROR + 1] = "off",
};

static rawhal_status_t read_environment(rawhal_error_t *error)
{
  const char *text = secure_getenv("RAWHAL_LOG");
  if (!text || !*text)
    text = "off";
  for (int i = 0; i < (int)(sizeof(names) / sizeof(*names)); ++i)
    if (!strcmp(names[i], text)) {
      atomic_store(&least, i);
      return RAWHAL_OK;
    }
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "RAWHAL_LOG: expected off, error, warning or note, got '%s'", text);
}

rawhal_status_t log_hook_add(log_hook_t *hook, rawhal_log_fn *function, void *context,
                             rawhal_error_t *error)
{
  rawhal_status_t status = read_environment(error);
  if (status != RAWHAL_OK || !function)
    return status;
  *hook = (log_hook_t){function, context, NULL};
  pthread_mutex_lock(&lock);
  log_hook_t **end = &hooks;
  while (*end)
    end = &(*end)->next;
  *end = hook;
  pthread_mutex_unlock(&lock);
  return RAWHAL_OK;
}

void log_hook_remove(log_hook_t *hook)
{
  if (!hook->function)
    return;
  pthread_mutex_lock(&lock);
  for (log_hook_t **at = &hooks; *at; at = &(*at)->next)
    if (*at == hook) {
      *at = hook->next;
      break;
    }
  pthread_mutex_unlock(&lock);
}

void log_hook_move(log_hook_t *from, log_hook_t *to)
{
  if (!from->function)
    return;
  pthread_mutex_lock(&lock);
  for (log_hook_t **at = &hooks; *at; at = &(*at)->next)
    if (*at == from) {
      *to = *from;
      *at = to;
      break;
    }
  pthread_mutex_unlock(&lock);
}

static void to_stderr(rawhal_severity_t severity, const char *message)
{
  char line[1100];
  if ((int)severity < atomic_load(&least))
    return;
  snprintf(line, sizeof(line), "rawhal: %s: %s\n", names[severity], message);
  (void)write_without_signals(STDERR_FILENO, line,
                              strlen(line)); /* at once: other threads write, too */
}

void hal_log(rawhal_severity_t severity, const char *format, ...)
{
  char message[1000];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  WITHOUT_CANCELLATION();
  if (telling) /* of what a hook itself does */
    return;
  pthread_mutex_lock(&lock);
  telling = true;
  for (const log_hook_t *hook = hooks; hook; hook = hook->next)
    hook->function(hook->context, severity, message);
  if (!hooks)
    to_stderr(severity, message);
  telling = false;
  pthread_mutex_unlock(&lock);
}

void log_fault(const char *message)
{
  hal_log(RAWHAL_SEVERITY_ERROR, "%s", message);
}
