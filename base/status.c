#include "base/status.h"

#include <stddef.h>

static const char *const status_names[] = {
    [RAWHAL_OK] = "OK",
    [RAWHAL_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
    [RAWHAL_MALFORMED] = "MALFORMED",
    [RAWHAL_UNSUPPORTED] = "UNSUPPORTED",
    [RAWHAL_NOT_FOUND] = "NOT_FOUND",
    [RAWHAL_TARGET_MISMATCH] = "TARGET_MISMATCH",
    [RAWHAL_OUT_OF_RANGE] = "OUT_OF_RANGE",
    [RAWHAL_CAP_EXCEEDED] = "CAP_EXCEEDED",
    [RAWHAL_OUT_OF_MEMORY] = "OUT_OF_MEMORY",
    [RAWHAL_QUOTA_EXCEEDED] = "QUOTA_EXCEEDED",
    [RAWHAL_WOULD_BLOCK] = "WOULD_BLOCK",
    [RAWHAL_TIMED_OUT] = "TIMED_OUT",
    [RAWHAL_FAULT] = "FAULT",
    [RAWHAL_DEVICE_LOST] = "DEVICE_LOST",
    [RAWHAL_RUNTIME] = "RUNTIME",
    [RAWHAL_AMBIGUOUS] = "AMBIGUOUS",
};

const char *rawhal_status_name(rawhal_status_t status)
{
  size_t index = (size_t)status;
  return index < sizeof(status_names) / sizeof(*status_names) ? status_names[index] : "UNKNOWN";
}
