/* HIP's interface by the installed librawhal-hiplaunch, declared as HIP's headers do. */
#include <rawhal/hiplaunch.h>

#include <stdio.h>

int hipGetDeviceCount(int *count);

int main(void)
{
  int count = 0;
  int error = hipGetDeviceCount(&count);
  printf("devices: %d%s\n", count, hipRawhalLastMessage());
  return error;
}
