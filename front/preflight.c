/* Checks the environment before there is a program or a runtime, for `rawhal exec`: it does not
 * start a program that would find no device. */
#include "front/devices.h"
#include "front/door.h"
#include "front/faults.h"
#include "front/hangs.h"
#include "front/watch.h"

#include "base/cancel.h"
__attribute__((visibility("default"))) rawhal_status_t
rawhal_front_preflight(const char *program, bool *enforces, rawhal_error_t *error);

/* As OnLoad() will find it. `program`: its file, by which a policy's rules are chosen.
 * INVALID_ARGUMENT: a variable's value, or what a policy says, is wrong; else what it needs, such
 * as a file, is not to be had. `*enforces`: something must not be done, as opposed to what is only
 * watched. One thread at a time, in a process that has no runtime. */
rawhal_status_t rawhal_front_preflight(const char *program, bool *enforces, rawhal_error_t *error)
{
  bool limits = false;
  WITHOUT_CANCELLATION();
  rawhal_status_t status = watch_check(program, error);
  if (status == RAWHAL_OK)
    status = faults_open(error);
  if (status == RAWHAL_OK)
    status = hangs_open(error);
  if (status == RAWHAL_OK)
    status = front_door_open(error);
  if (status == RAWHAL_OK)
    status = devices_check(&limits, error);
  *enforces = limits || watch_enforces();
  faults_close();
  watch_close();
  return status;
}
