/* Render nodes, for runtimes of ROCm 5.3 to 5.7: they open the one that a GPU's properties name,
 * and make a handle of it by libdrm. Here that file is one in memory which says what it is; any
 * other goes on to libdrm. Nothing is kept but in the file, so copies of a descriptor and children
 * of fork() have it, too. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "softgpu/thunk/newer.h"

enum { DRM_MAJOR = 3, DRM_MINOR = 52 }; /* of the driver's interface, as of Linux 6.5 */

typedef struct render {
  char magic[28];
  uint32_t node;
} render_t;

static const char magic[sizeof(((render_t *)0)->magic)] = "softgpu render node";

#pragma GCC visibility push(default)
int drmOpenRender(int minor);
int drmClose(int fd);
int amdgpu_device_initialize(int fd, uint32_t *major, uint32_t *minor, void **device);
int amdgpu_device_deinitialize(void *device);
#pragma GCC visibility pop

/* Of both: 0 when it is not one of ours. */
static uint32_t node_numbered(int minor)
{
  for (uint32_t node = 1; softgpu_opened() && node <= softgpu_gpu_count(); ++node)
    if (softgpu_render_minor(node) == minor)
      return node;
  return 0;
}

static uint32_t node_of(int fd)
{
  struct stat facts;
  render_t render;
  if (fstat(fd, &facts) || !S_ISREG(facts.st_mode) ||
      pread(fd, &render, sizeof(render), 0) != (ssize_t)sizeof(render) ||
      memcmp(render.magic, magic, sizeof(magic)) != 0 || render.node > softgpu_gpu_count())
    return 0;
  return render.node;
}

int drmOpenRender(int minor)
{
  const uint32_t node = node_numbered(minor);
  if (!node) {
    int (*next)(int);
    *(void **)&next = softgpu_drm_next("drmOpenRender");
    return next ? next(minor) : -ENODEV;
  }
  render_t render = {.node = node};
  memcpy(render.magic, magic, sizeof(magic));
  int fd = memfd_create("softgpu-render", MFD_CLOEXEC);
  if (fd < 0)
    return -errno;
  if (pwrite(fd, &render, sizeof(render), 0) == (ssize_t)sizeof(render))
    return fd;
  close(fd);
  return -EIO;
}

int drmClose(int fd)
{
  if (node_of(fd))
    return close(fd);
  int (*next)(int);
  *(void **)&next = softgpu_drm_next("drmClose");
  return next ? next(fd) : close(fd);
}

int amdgpu_device_initialize(int fd, uint32_t *major, uint32_t *minor, void **device)
{
  const uint32_t node = node_of(fd);
  if (!node) {
    int (*next)(int, uint32_t *, uint32_t *, void **);
    *(void **)&next = softgpu_drm_next("amdgpu_device_initialize");
    return next ? next(fd, major, minor, device) : -ENODEV;
  }
  if (!major || !minor || !device)
    return -EINVAL;
  *major = DRM_MAJOR;
  *minor = DRM_MINOR;
  *device = softgpu_drm_handle(node);
  return 0;
}

int amdgpu_device_deinitialize(void *device)
{
  if (softgpu_drm_node(device))
    return 0;
  int (*next)(void *);
  *(void **)&next = softgpu_drm_next("amdgpu_device_deinitialize");
  return next ? next(device) : -EINVAL;
}
