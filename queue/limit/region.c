#include "queue/limit/region.h"

#include "queue/limit/clock.h"
#include "queue/limit/region_find.h"
#include "queue/limit/region_lock.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/file_signals.h"
#include "base/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char magic[8] = {'R', 'a', 'w', 'h', 'a', 'l', 'L', 'm'};
static const uint32_t native_endianness = 0x01020304;

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 16
#endif

_Static_assert(sizeof(_Atomic uint64_t) == 8 && ATOMIC_LLONG_LOCK_FREE == 2,
               "words of the region are lock-free");

/* ---- Fork ---- */

/* A number for this process, in a page the kernel fills with zeros in every child that gets its own
 * memory; the last number given out is not wiped, so that a child's is another. */
static _Atomic uint32_t *_Atomic mine;
static uint32_t last_process;
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

enum { MAX_OPEN = 256 };
static int open_files[MAX_OPEN]; /* fd + 1; for the handler below */

static void before_fork(void)
{
  pthread_mutex_lock(&open_lock);
}

static void after_fork_in_parent(void)
{
  pthread_mutex_unlock(&open_lock);
}

/* A lock byte stays locked while any process has its open file: a child must not keep its parent's.
 */
static void after_fork_in_child(void)
{
  WITHOUT_CANCELLATION(); /* fork() is no cancellation point; what is pending is inherited */
  for (int i = 0; i < MAX_OPEN; ++i)
    if (open_files[i]) {
      close(open_files[i] - 1);
      open_files[i] = 0;
    }
  pthread_mutex_unlock(&open_lock);
}

bool region_forked(const region_t *region)
{
  _Atomic uint32_t *page = atomic_load_explicit(&mine, memory_order_acquire);
  return !page || atomic_load_explicit(page, memory_order_relaxed) != region->process;
}

/* The caller holds open_lock. */
static bool have_handlers(void)
{
  static bool handlers;
  handlers = handlers || !pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  return handlers;
}

void region_watch_forks(void)
{
  pthread_mutex_lock(&open_lock);
  (void)have_handlers(); /* else a region is not opened */
  pthread_mutex_unlock(&open_lock);
}

/* The caller holds open_lock. */
static rawhal_status_t guard_forks(rawhal_error_t *error)
{
  if (!have_handlers())
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a fork handler");
  _Atomic uint32_t *page = atomic_load(&mine);
  if (!page) {
    void *memory =
        mmap(NULL, REGION_UNIT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a limiter");
    if (madvise(memory, REGION_UNIT_BYTES, MADV_WIPEONFORK)) {
      munmap(memory, REGION_UNIT_BYTES);
      return region_fail(error, "guarding against fork", "");
    }
    page = memory;
  }
  if (atomic_load(page) == 0)
    atomic_store(page, ++last_process);
  atomic_store_explicit(&mine, page, memory_order_release);
  return RAWHAL_OK;
}

static rawhal_status_t remember_file(int fd, uint32_t *process, rawhal_error_t *error)
{
  pthread_mutex_lock(&open_lock);
  rawhal_status_t status = guard_forks(error);
  int i = 0;
  while (i < MAX_OPEN && open_files[i])
    ++i;
  if (status == RAWHAL_OK && fd >= 0 && i == MAX_OPEN)
    status =
        rawhal_fail(error, RAWHAL_CAP_EXCEEDED, "more than %d limiters in one process", MAX_OPEN);
  if (status == RAWHAL_OK && fd >= 0)
    open_files[i] = fd + 1;
  *process = last_process;
  pthread_mutex_unlock(&open_lock);
  return status;
}

static void forget_file(int fd)
{
  WITHOUT_CANCELLATION();
  pthread_mutex_lock(&open_lock);
  for (int i = 0; i < MAX_OPEN; ++i)
    if (open_files[i] == fd + 1) {
      open_files[i] = 0;
      close(fd); /* not in a child, where the handler has closed it: the number may be another's */
    }
  pthread_mutex_unlock(&open_lock);
}

/* ---- Header ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

/* Changes when a table's place or size does. */
static uint32_t region_layout(void)
{
  const size_t facts[] = {sizeof(region_data_t),
                          sizeof(region_device_t),
                          sizeof(region_tenant_t),
                          sizeof(region_member_t),
                          sizeof(region_node_t),
                          offsetof(region_member_t, node),
                          REGION_COUNTERS,
                          offsetof(region_member_t, ledger),
                          REGION_INTERVALS,
                          offsetof(region_tenant_t, memory),
                          REGION_ASKS,
                          offsetof(region_member_t, asks),
                          sizeof(region_denial_t),
                          offsetof(region_node_t, stopped_at),
                          offsetof(region_member_t, weight_most),
                          offsetof(region_header_t, damage),
                          offsetof(region_tenant_t, prepaid),
                          offsetof(region_member_t, load_check)};
  uint64_t hash = 1;
  for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); ++i)
    hash = mix(hash, facts[i]);
  return (uint32_t)hash;
}

static uint64_t header_check(const region_header_t *header)
{
  uint64_t hash = 1;
  for (size_t i = 0; i < offsetof(region_header_t, check); ++i)
    hash = mix(hash, ((const unsigned char *)header)[i]);
  return hash;
}

static void read_boot_id(char id[40])
{
  memset(id, 0, 40);
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  if (read(fd, id, 36) != 36)
    memset(id, 0, 40);
  close(fd);
}

static rawhal_status_t check_header(const region_header_t *header, const char *path,
                                    rawhal_error_t *error)
{
  if (memcmp(header->magic, magic, sizeof(magic)) != 0)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "%.200s is not a region of rawhal's limits",
                       path);
  if (header->endianness != native_endianness || header->major != REGION_MAJOR)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "%.200s is a region of version %u, this is version %u", path, header->major,
                       REGION_MAJOR);
  if (header->layout != region_layout() || header->bytes != sizeof(region_data_t))
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "%.200s has another layout than this version's",
                       path);
  if (header->check != header_check(header))
    return rawhal_fail(error, RAWHAL_MALFORMED, "the header of %.200s is damaged", path);
  return RAWHAL_OK;
}

static void write_header(region_data_t *data)
{
  region_header_t *header = &data->header;
  header->major = REGION_MAJOR;
  header->minor = REGION_MINOR;
  header->endianness = native_endianness;
  header->layout = region_layout();
  header->bytes = sizeof(*data);
  read_boot_id(header->boot_id);
  memcpy(header->magic, magic, sizeof(magic));
  header->check = header_check(header);
}

void region_begin(region_data_t *data)
{
  write_header(data);
}

bool region_header_is_whole(const region_header_t *header)
{
  return memcmp(header->magic, magic, sizeof(magic)) == 0 && header->check == header_check(header);
}

/* Memory does not outlive a boot. Of a file it cannot be told without the machine's number, which
 * containers may hide: then it is neither started afresh under those who use it nor taken over with
 * the times of another boot. */
static rawhal_status_t find_boot(const region_t *region, const char *path, bool *this_boot,
                                 rawhal_error_t *error)
{
  char id[40];
  *this_boot = region_is_sealed(region->fd);
  if (*this_boot)
    return RAWHAL_OK;
  read_boot_id(id);
  if (!*id)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "%.200s may be of another boot: /proc/sys/kernel/random/boot_id cannot be "
                       "read here. A broker's socket in its place needs no such number",
                       path);
  *this_boot = memcmp(id, region->data->header.boot_id, sizeof(id)) == 0;
  return RAWHAL_OK;
}

static bool is_blank(const region_data_t *data)
{
  static const char zeros[sizeof(magic)];
  return memcmp(data->header.magic, zeros, sizeof(zeros)) == 0;
}

/* ---- The file ---- */

static rawhal_status_t map(int fd, int protection, void **data, const char *path,
                           rawhal_error_t *error)
{
  void *memory = mmap(NULL, sizeof(region_data_t), protection,
                      fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED)
    return region_fail(error, "mapping the region", path);
  *data = memory;
  return RAWHAL_OK;
}

static rawhal_status_t look(int fd, struct stat *facts, const char *path, rawhal_error_t *error)
{
  if (fstat(fd, facts))
    return region_fail(error, "looking at the region", path);
  if (!S_ISREG(facts->st_mode))
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "%.200s is not a regular file", path);
  return RAWHAL_OK;
}

static rawhal_status_t check_size(int fd, const char *path, rawhal_error_t *error)
{
  struct stat facts;
  rawhal_status_t status = look(fd, &facts, path, error);
  if (status != RAWHAL_OK)
    return status;
  if (facts.st_size != sizeof(region_data_t))
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "%.200s has %lld bytes, a region of this version has %zu", path,
                       (long long)facts.st_size, sizeof(region_data_t));
  return RAWHAL_OK;
}

/* Has the file system given the file all of its room? Else a store into it may end in a signal. */
static rawhal_status_t reserve_room(int fd, bool blank, const char *path, rawhal_error_t *error)
{
  struct stat facts;
  rawhal_status_t status = look(fd, &facts, path, error);
  if (status != RAWHAL_OK || (uint64_t)facts.st_blocks * 512 >= sizeof(region_data_t))
    return status;
  if (TEMP_FAILURE_RETRY(fallocate(fd, 0, 0, sizeof(region_data_t))) == 0)
    return RAWHAL_OK;
  if (errno == ENOSPC || errno == EDQUOT)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY,
                       "no room for the %zu bytes of the region %.200s on its file system",
                       sizeof(region_data_t), path);
  if (errno != EOPNOTSUPP)
    return region_fail(error, "reserving room for the region", path);
  /* Such file systems copy what is written and promise nothing: it is all that can be done. */
  static const char zeros[REGION_UNIT_BYTES];
  for (size_t at = 0; blank && at < sizeof(region_data_t); at += sizeof(zeros)) {
    size_t left = sizeof(region_data_t) - at;
    if (pwrite(fd, zeros, left < sizeof(zeros) ? left : sizeof(zeros), (off_t)at) < 0)
      return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY,
                         "no room for the %zu bytes of the region %.200s", sizeof(region_data_t),
                         path);
  }
  return RAWHAL_OK;
}

/* An empty file gets its size; when there is no room it stays empty. It is not removed: another
 * process may have it open and be about to do this. */
static rawhal_status_t make_room(int fd, const char *path, rawhal_error_t *error)
{
  struct stat facts;
  rawhal_status_t status = look(fd, &facts, path, error);
  if (status != RAWHAL_OK)
    return status;
  bool empty = facts.st_size == 0;
  if (empty && ftruncate(fd, sizeof(region_data_t)))
    return region_fail(error, "making room for the region", path);
  status = check_size(fd, path, error);
  if (status == RAWHAL_OK)
    status = reserve_room(fd, empty, path, error);
  if (status != RAWHAL_OK && empty && ftruncate(fd, 0))
    return status; /* a blank file of the right size, which does as well */
  return status;
}

/* Memory that can be sealed is: its size, under which others have it mapped, never changes again.
 * Other files have no seals, and memory that refuses them stays unsealed: limit.h says so. */
static rawhal_status_t seal(int fd, const char *path, rawhal_error_t *error)
{
  const int wanted = F_SEAL_SHRINK | F_SEAL_GROW;
  int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0)
    return RAWHAL_OK;
  if (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE))
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "%.200s is sealed against being written", path);
  if ((seals & wanted) != wanted && !(seals & F_SEAL_SEAL))
    (void)fcntl(fd, F_ADD_SEALS, wanted);
  return RAWHAL_OK;
}

/* ---- Opening ---- */

/* Under the structure lock: no process sees half a header, and one that dies here leaves a blank
 * file. */
static rawhal_status_t prepare(region_t *region, const char *path, rawhal_error_t *error)
{
  file_signals_t signals;
  file_signals_block(&signals);
  rawhal_status_t status = make_room(region->fd, path, error);
  file_signals_restore(&signals);
  void *memory = NULL;
  if (status == RAWHAL_OK)
    status = seal(region->fd, path, error);
  if (status == RAWHAL_OK)
    status = map(region->fd, PROT_READ | PROT_WRITE, &memory, path, error);
  if (status != RAWHAL_OK)
    return status;
  region->data = memory;
  bool this_boot;
  status = find_boot(region, path, &this_boot, error);
  if (status == RAWHAL_OK && is_blank(region->data)) {
    write_header(region->data);
    return RAWHAL_OK;
  }
  if (status == RAWHAL_OK)
    status = check_header(&region->data->header, path, error);
  if (status != RAWHAL_OK || this_boot)
    return status;
  for (uint32_t slot = 0; slot < REGION_MEMBERS; ++slot)
    if (region_slot_held(region, slot))
      return rawhal_fail(error, RAWHAL_UNSUPPORTED, "%.200s is in use by another machine", path);
  memset(memory, 0, sizeof(region_data_t));
  write_header(region->data);
  return RAWHAL_OK;
}

bool region_is_begun(int fd)
{
  char begin[sizeof(magic)];
  return pread(fd, begin, sizeof(begin), 0) == (ssize_t)sizeof(begin) &&
         memcmp(begin, magic, sizeof(magic)) == 0;
}

rawhal_status_t region_open(const rawhal_limit_config_t *config, const char *device,
                            region_t *region, rawhal_error_t *error)
{
  *region = (region_t){.fd = -1};
  if (!config->has_region_fd && !*config->region.text) {
    void *memory = NULL;
    rawhal_status_t status = remember_file(-1, &region->process, error);
    if (status == RAWHAL_OK)
      status = map(-1, PROT_READ | PROT_WRITE, &memory, "", error);
    if (status != RAWHAL_OK)
      return status;
    region->data = memory;
    write_header(region->data);
    return RAWHAL_OK;
  }
  char path[REGION_PATH_BYTES];
  int fd = -1;
  rawhal_status_t status = limit_clock_check(error);
  if (status == RAWHAL_OK)
    status = region_find(config, device, path, &fd, error);
  if (status != RAWHAL_OK)
    return status;
  status = remember_file(fd, &region->process, error);
  if (status != RAWHAL_OK) {
    close(fd);
    return status;
  }
  region->fd = fd;
  status = region_lock(region, REGION_TRIES_MANY, error);
  if (status == RAWHAL_OK) {
    status = prepare(region, path, error);
    region_unlock(region);
  }
  if (status != RAWHAL_OK)
    region_close(region);
  return status;
}

/* The caller holds the structure lock. */
static rawhal_status_t map_existing(region_t *region, const char *path, rawhal_error_t *error)
{
  void *memory = NULL;
  rawhal_status_t status = check_size(region->fd, path, error);
  if (status == RAWHAL_OK)
    status = map(region->fd, PROT_READ | PROT_WRITE, &memory, path, error);
  if (status != RAWHAL_OK)
    return status;
  region->data = memory;
  bool this_boot = true;
  status = check_header(&region->data->header, path, error);
  if (status == RAWHAL_OK)
    status = find_boot(region, path, &this_boot, error);
  if (status == RAWHAL_OK && !this_boot)
    status = rawhal_fail(error, RAWHAL_NOT_FOUND,
                         "%.200s has not been used since the machine started", path);
  return status;
}

rawhal_status_t region_open_existing(const char *path, region_t *region, rawhal_error_t *error)
{
  *region = (region_t){.fd = -1};
  int fd = -1;
  rawhal_status_t status = limit_clock_check(error);
  if (status == RAWHAL_OK)
    status = region_find_existing(path, O_RDWR, &fd, error);
  if (status != RAWHAL_OK)
    return status;
  status = remember_file(fd, &region->process, error);
  if (status != RAWHAL_OK) {
    close(fd);
    return status;
  }
  region->fd = fd;
  status = region_lock(region, REGION_TRIES_MANY, error);
  if (status == RAWHAL_OK) {
    status = map_existing(region, path, error);
    region_unlock(region);
  }
  if (status != RAWHAL_OK)
    region_close(region);
  return status;
}

rawhal_status_t region_view(const char *path, region_t *region, rawhal_error_t *error)
{
  *region = (region_t){.fd = -1};
  int fd = -1;
  void *memory = NULL;
  rawhal_status_t status = region_find_existing(path, O_RDONLY, &fd, error);
  if (status != RAWHAL_OK)
    return status;
  status = check_size(fd, path, error);
  if (status == RAWHAL_OK)
    status = map(fd, PROT_READ, &memory, path, error);
  if (status == RAWHAL_OK)
    status = check_header(&((const region_data_t *)memory)->header, path, error);
  *region = (region_t){.data = memory, .fd = fd};
  if (status != RAWHAL_OK)
    region_view_close(region);
  return status;
}

static void unmap(region_t *region)
{
  if (region->data)
    munmap(region->data, sizeof(*region->data));
}

void region_view_close(region_t *region)
{
  unmap(region);
  if (region->fd >= 0)
    close(region->fd);
  *region = (region_t){.fd = -1};
}

rawhal_status_t rawhal_limit_region_create(int *fd, rawhal_error_t *error)
{
  static const char name[] = "rawhal-limits";
  if (!fd)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "fd is NULL");
  WITHOUT_CANCELLATION();
  *fd = -1;
  region_t region = {.fd = memfd_make(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (region.fd < 0)
    return region_fail(error, "making a region", name);
  rawhal_status_t status = prepare(&region, name, error);
  if (status == RAWHAL_OK && fcntl(region.fd, F_ADD_SEALS, F_SEAL_SEAL))
    status = region_fail(error, "sealing the region", name);
  unmap(&region);
  if (status == RAWHAL_OK)
    *fd = region.fd;
  else
    close(region.fd);
  return status;
}

void region_close(region_t *region)
{
  unmap(region);
  if (region->fd >= 0)
    forget_file(region->fd);
  *region = (region_t){.fd = -1};
}

void region_copy_name(char to[64], const char from[64])
{
  memcpy(to, from, 64);
  to[63] = '\0';
  for (char *c = to; *c; ++c) /* any process may have written here; a name is one line of text */
    if ((unsigned char)*c < 0x20 || *c == 0x7f)
      *c = '?';
}

rawhal_status_t region_check(const region_t *region, rawhal_error_t *error)
{
  if (region_forked(region))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "this limiter belongs to the process this one was forked from");
  return RAWHAL_OK;
}
