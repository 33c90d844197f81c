/* Memory that has a descriptor and a name, which /proc/PID/maps shows. Internal. */
#ifndef RAWHAL_BASE_MEMFD_H
#define RAWHAL_BASE_MEMFD_H

#include <errno.h>
#include <sys/mman.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

/* As memfd_create(2), and never to be executed where the kernel knows that: older ones refuse the
 * flag. */
static inline int memfd_make(const char *name, unsigned flags)
{
  int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
  return fd < 0 && errno == EINVAL ? memfd_create(name, flags) : fd;
}

#endif
