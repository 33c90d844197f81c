#include "hiplaunch/hip/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hiplaunch/hiplaunch.h"

static _Thread_local struct {
  hipError_t error;
  char message[1200];
} last;

/* ---- stderr ---- */

/* As librawhal's own lines: RAWHAL_LOG is theirs, and a wrong value is refused when the runtime is
 * opened. */
static bool wanted(rawhal_severity_t severity)
{
  static const char *const least[] = {"note", "warning", "error"};
  const char *text = secure_getenv("RAWHAL_LOG");
  for (int i = 0; text && i <= (int)severity; ++i)
    if (!strcmp(text, least[i]))
      return true;
  return false;
}

static void line(rawhal_severity_t severity, const char *message)
{
  static const char *const names[] = {"note", "warning", "error"};
  char text[1300];
  if (!wanted(severity))
    return;
  snprintf(text, sizeof(text), "rawhal: %s: %s\n", names[severity], message);
  ssize_t written = write(STDERR_FILENO, text, strlen(text));
  (void)written;
}

void note(rawhal_severity_t severity, const char *format, ...)
{
  char message[sizeof(last.message)];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  line(severity, message);
}

/* ---- Failures ---- */

hipError_t fail(hipError_t error, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last.message, sizeof(last.message), format, arguments);
  va_end(arguments);
  last.error = error;
  line(RAWHAL_SEVERITY_ERROR, last.message);
  return error;
}

static hipError_t error_of(rawhal_status_t status)
{
  static const hipError_t errors[] = {
      [RAWHAL_OK] = hipSuccess,
      [RAWHAL_INVALID_ARGUMENT] = hipErrorInvalidValue,
      [RAWHAL_MALFORMED] = hipErrorInvalidImage,
      [RAWHAL_UNSUPPORTED] = hipErrorNotSupported,
      [RAWHAL_NOT_FOUND] = hipErrorNotFound,
      [RAWHAL_TARGET_MISMATCH] = hipErrorNoBinaryForGpu,
      [RAWHAL_OUT_OF_RANGE] = hipErrorInvalidValue,
      [RAWHAL_CAP_EXCEEDED] = hipErrorInvalidImage,
      [RAWHAL_OUT_OF_MEMORY] = hipErrorOutOfMemory,
      [RAWHAL_QUOTA_EXCEEDED] = hipErrorOutOfMemory,
      [RAWHAL_WOULD_BLOCK] = hipErrorNotReady,
      [RAWHAL_TIMED_OUT] = hipErrorLaunchTimeOut,
      [RAWHAL_FAULT] = hipErrorLaunchFailure,
      [RAWHAL_DEVICE_LOST] = hipErrorContextIsDestroyed,
      [RAWHAL_RUNTIME] = hipErrorRuntimeOther,
  };
  bool known = (size_t)status < sizeof(errors) / sizeof(*errors);
  return known ? errors[status] : hipErrorUnknown;
}

hipError_t fail_rawhal(const rawhal_error_t *error, const char *what, ...)
{
  char text[600] = "";
  if (what) {
    va_list arguments;
    va_start(arguments, what);
    vsnprintf(text, sizeof(text), what, arguments);
    va_end(arguments);
  }
  return fail(error_of(error->status), "%s%s%s", text, *text ? ": " : "", error->message);
}

/* ---- What programs ask ---- */

const char *hipRawhalLastMessage(void)
{
  return last.message;
}

hipError_t hipGetLastError(void)
{
  hipError_t error = last.error;
  last.error = hipSuccess;
  return error;
}

/* HIP's is of the last call alone; the thread's is kept until it is asked for, here as there. */
hipError_t hipExtGetLastError(void)
{
  return hipGetLastError();
}

hipError_t hipPeekAtLastError(void)
{
  return last.error;
}

const char *hipGetErrorName(hipError_t error)
{
#define NAME(name)                                                                                 \
  {                                                                                                \
    name, #name                                                                                    \
  }
  static const struct {
    hipError_t error;
    const char *name;
  } names[] = {
      NAME(hipSuccess),
      NAME(hipErrorInvalidValue),
      NAME(hipErrorOutOfMemory),
      NAME(hipErrorInvalidConfiguration),
      NAME(hipErrorInvalidSymbol),
      NAME(hipErrorInvalidDevicePointer),
      NAME(hipErrorInvalidMemcpyDirection),
      NAME(hipErrorInvalidDeviceFunction),
      NAME(hipErrorNoDevice),
      NAME(hipErrorInvalidDevice),
      NAME(hipErrorInvalidImage),
      NAME(hipErrorInvalidContext),
      NAME(hipErrorNoBinaryForGpu),
      NAME(hipErrorPeerAccessUnsupported),
      NAME(hipErrorInvalidHandle),
      NAME(hipErrorNotFound),
      NAME(hipErrorNotReady),
      NAME(hipErrorLaunchTimeOut),
      NAME(hipErrorPeerAccessAlreadyEnabled),
      NAME(hipErrorPeerAccessNotEnabled),
      NAME(hipErrorContextIsDestroyed),
      NAME(hipErrorHostMemoryAlreadyRegistered),
      NAME(hipErrorHostMemoryNotRegistered),
      NAME(hipErrorLaunchFailure),
      NAME(hipErrorCooperativeLaunchTooLarge),
      NAME(hipErrorNotPermitted),
      NAME(hipErrorNotSupported),
      NAME(hipErrorUnknown),
      NAME(hipErrorRuntimeOther),
  };
#undef NAME
  for (size_t i = 0; i < sizeof(names) / sizeof(*names); ++i)
    if (names[i].error == error)
      return names[i].name;
  return "hipErrorUnknown";
}

/* HIP 5.2 says no more either. */
const char *hipGetErrorString(hipError_t error)
{
  return hipGetErrorName(error);
}

hipError_t hipDrvGetErrorName(hipError_t error, const char **name)
{
  if (!name)
    return fail(hipErrorInvalidValue, "name is NULL");
  *name = hipGetErrorName(error);
  return hipSuccess;
}

hipError_t hipDrvGetErrorString(hipError_t error, const char **text)
{
  return hipDrvGetErrorName(error, text);
}
