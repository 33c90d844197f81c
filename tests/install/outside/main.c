/* An outside user of the installed library. */
#include <rawhal/rawhal.h>
#include <stdio.h>

int main(void)
{
  rawhal_hsaco_t *hsaco;
  rawhal_error_t error;
  rawhal_status_t status = rawhal_hsaco_open("not an ELF file", 15, NULL, &hsaco, &error);
  printf("amdgpu says: %s (%s)\n", rawhal_status_name(status), error.message);
  rawhal_hsaco_close(hsaco);
  return status == RAWHAL_MALFORMED && rawhal_version() == RAWHAL_VERSION ? 0 : 1;
}
