/* Checks the environment before there is a program or a runtime, for `rawhal exec`: it does not
 * start a program that would find no device. */
#include "front/devices.h"
#include "front/watch.h"

#include "base/cancel.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

__attribute__((visibility("default"))) bool rawhal_front_check(const char *program, bool *enforces,
                                                               char *message, size_t size);

/* As OnLoad() will find it. `program`: its file, by which a policy's rules are chosen. False:
 * `message` says in one line what is wrong. `*enforces`: something must not be done, as opposed to
 * what is only watched. One thread at a time, in a process that has no runtime. */
bool rawhal_front_check(const char *program, bool *enforces, char *message, size_t size)
{
  rawhal_error_t error = {0};
  bool limits = false;
  WITHOUT_CANCELLATION();
  rawhal_status_t status = watch_check(program, &error);
  if (status == RAWHAL_OK)
    status = devices_check(&limits, &error);
  *enforces = limits || watch_enforces();
  watch_close();
  (void)snprintf(message, size, "%s", status == RAWHAL_OK ? "" : error.message);
  return status == RAWHAL_OK;
}
