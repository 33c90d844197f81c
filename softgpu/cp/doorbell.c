#include "softgpu/cp/doorbell.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "softgpu/device/memory.h"
#include "softgpu/device/option.h"
#include "softgpu/device/thread.h"

static uint8_t *pages; /* SOFTGPU_MAX_QUEUES of them */
static void *sign = MAP_FAILED;
static _Atomic bool opened;
static int fault_fd = -1; /* userfaultfd; -1 where queues poll */
static int stop_fd = -1;  /* eventfd that ends the watcher */
static pthread_t watcher;
static softgpu_doorbell_rung_fn *on_rung;

static void *watch(void *unused)
{
  (void)unused;
  struct pollfd watched[2] = {{.fd = fault_fd, .events = POLLIN},
                              {.fd = stop_fd, .events = POLLIN}};
  while (watched[1].revents == 0) {
    if (poll(watched, 2, -1) < 0 && errno != EINTR)
      break;
    struct uffd_msg message;
    while (read(fault_fd, &message, sizeof(message)) == (ssize_t)sizeof(message)) {
      uint64_t offset = message.arg.pagefault.address - (uintptr_t)pages;
      if (message.event == UFFD_EVENT_PAGEFAULT && offset / SOFTGPU_PAGE < SOFTGPU_MAX_QUEUES)
        on_rung((uint32_t)(offset / SOFTGPU_PAGE));
    }
  }
  return NULL;
}

/* The fault descriptor over all pages; -1 where the kernel or the option does not have it. */
static int fault_fd_open(void)
{
  if (softgpu_option(SOFTGPU_OPTION_USERFAULTFD) == 0)
    return -1;
  int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
  if (fd < 0)
    return -1;
  struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP};
  struct uffdio_register range = {
      .range = {.start = (uintptr_t)pages, .len = SOFTGPU_MAX_QUEUES * SOFTGPU_PAGE},
      .mode = UFFDIO_REGISTER_MODE_WP};
  if (ioctl(fd, UFFDIO_API, &api) == 0 && ioctl(fd, UFFDIO_REGISTER, &range) == 0 &&
      (range.ioctls & (1ull << _UFFDIO_WRITEPROTECT)))
    return fd;
  close(fd);
  return -1;
}

static void fds_close(void)
{
  if (fault_fd >= 0)
    close(fault_fd);
  if (stop_fd >= 0)
    close(stop_fd);
  fault_fd = stop_fd = -1;
}

/* Doorbells of hardware are seen in /proc/PID/maps, as pages of /dev/kfd; of ours a page has a
 * name, for those who look there (rawhal exec). False: there is no descriptor for a moment, without
 * which there would be no /dev/kfd, either. */
static bool sign_put(void)
{
  int fd = memfd_create("softgpu-doorbells", MFD_CLOEXEC);
  if (fd < 0)
    return false;
  sign = mmap(NULL, SOFTGPU_PAGE, PROT_NONE, MAP_SHARED, fd, 0);
  close(fd);
  return sign != MAP_FAILED;
}

static void sign_take(void)
{
  if (sign != MAP_FAILED)
    munmap(sign, SOFTGPU_PAGE);
  sign = MAP_FAILED;
}

bool softgpu_doorbells_start(softgpu_doorbell_rung_fn *rung)
{
  SOFTGPU_WITHOUT_CANCELLATION();
  void *memory = mmap(NULL, SOFTGPU_MAX_QUEUES * SOFTGPU_PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  if (!sign_put()) {
    munmap(memory, SOFTGPU_MAX_QUEUES * SOFTGPU_PAGE);
    return false;
  }
  pages = memory;
  on_rung = rung;
  fault_fd = fault_fd_open();
  stop_fd = fault_fd >= 0 ? eventfd(0, EFD_CLOEXEC) : -1;
  if (stop_fd < 0 || !softgpu_thread_start(&watcher, "softgpu-bell", watch, NULL))
    fds_close(); /* polling it is */
  atomic_store(&opened, true);
  return true;
}

void softgpu_doorbells_stop(void)
{
  if (!atomic_load(&opened))
    return;
  SOFTGPU_WITHOUT_CANCELLATION();
  if (stop_fd >= 0) {
    uint64_t one = 1;
    /* A write of 1 to a fresh eventfd cannot fail or block. */
    if (write(stop_fd, &one, sizeof(one)) == (ssize_t)sizeof(one))
      pthread_join(watcher, NULL);
  }
  fds_close();
  sign_take();
  munmap(pages, SOFTGPU_MAX_QUEUES * SOFTGPU_PAGE);
  pages = NULL;
  atomic_store(&opened, false);
}

bool softgpu_doorbells_open(void)
{
  return atomic_load_explicit(&opened, memory_order_relaxed);
}

_Atomic uint64_t *softgpu_doorbell(uint32_t index)
{
  return (_Atomic uint64_t *)(void *)(pages + (size_t)index * SOFTGPU_PAGE);
}

static bool write_protect(uint32_t index, uint64_t mode)
{
  struct uffdio_writeprotect change = {
      .range = {.start = (uintptr_t)softgpu_doorbell(index), .len = SOFTGPU_PAGE}, .mode = mode};
  return fault_fd >= 0 && ioctl(fault_fd, UFFDIO_WRITEPROTECT, &change) == 0;
}

bool softgpu_doorbell_arm(uint32_t index)
{
  return write_protect(index, UFFDIO_WRITEPROTECT_MODE_WP);
}

void softgpu_doorbell_disarm(uint32_t index)
{
  write_protect(index, 0);
}
