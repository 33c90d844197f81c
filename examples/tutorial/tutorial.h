/* What every program of the tutorial has: the record of what went wrong, and an end when it did. */
#include <rawhal/rawhal.h>
#include <stdio.h>
#include <stdlib.h>

static rawhal_error_t error;

static void check(rawhal_status_t status)
{
  if (status == RAWHAL_OK)
    return;
  fprintf(stderr, "%s: %s\n", rawhal_status_name(status), error.message);
  exit(1);
}
