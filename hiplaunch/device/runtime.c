#include "hiplaunch/device/runtime.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "hiplaunch/device/stream.h"
#include "hiplaunch/hip/generation.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  rawhal_instance_t *instance;
  device_t *devices;
  atomic_int count; /* set last: not 0 means that all else can be read */
  pid_t owner;
} runtime;
static _Thread_local int current;

/* ---- fork() ---- */

static void before_fork(void)
{
  registry_lock_all();
  pthread_mutex_lock(&lock);
  for (int i = 0; i < runtime.count; ++i)
    pthread_mutex_lock(&runtime.devices[i].lock);
  memory_lock_all();
}

static void after_fork(void)
{
  memory_unlock_all();
  for (int i = runtime.count; i-- > 0;)
    pthread_mutex_unlock(&runtime.devices[i].lock);
  pthread_mutex_unlock(&lock);
  registry_unlock_all();
}

static void register_fork(void)
{
  pthread_atfork(before_fork, after_fork, after_fork);
}

void fork_prepare(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, register_fork);
}

/* ---- Opening ---- */

static hipError_t open_devices(rawhal_error_t *error)
{
  rawhal_instance_t *instance;
  if (rawhal_instance_create(NULL, &instance, error))
    return fail(hipErrorNoDevice, "no device: %s", error->message);
  size_t count = rawhal_instance_device_count(instance);
  device_t *devices = calloc(count + 1, sizeof(*devices));
  hipError_t status = hipSuccess;
  if (!devices || !count)
    status = devices ? fail(hipErrorNoDevice, "the runtime has no devices")
                     : fail(hipErrorOutOfMemory, "out of host memory");
  for (size_t i = 0; status == hipSuccess && i < count; ++i) {
    devices[i].ordinal = (int)i;
    devices[i].device = rawhal_instance_device(instance, i);
    devices[i].info = rawhal_device_info(devices[i].device);
    pthread_mutex_init(&devices[i].lock, NULL);
    pthread_cond_init(&devices[i].called, NULL);
    status = streams_open(&devices[i]);
  }
  if (status !=
      hipSuccess) { /* what was made of streams goes with the process: this is the end of it */
    rawhal_instance_destroy(instance);
    return status;
  }
  runtime.instance = instance;
  runtime.devices = devices;
  runtime.owner = getpid();
  atomic_store(&runtime.count, (int)count);
  return hipSuccess;
}

hipError_t devices_open(device_t **devices, int *count)
{
  hipError_t status = hipSuccess;
  *devices = NULL;
  *count = 0;
  if (!atomic_load(&runtime.count)) {
    rawhal_error_t error;
    fork_prepare();
    pthread_mutex_lock(&lock);
    if (!runtime.count)
      status = open_devices(&error);
    pthread_mutex_unlock(&lock);
    if (status != hipSuccess)
      return status;
  }
  if (runtime.owner != getpid())
    return fail(hipErrorContextIsDestroyed,
                "a child of fork() cannot use devices that its parent had open");
  *devices = runtime.devices;
  *count = runtime.count;
  return hipSuccess;
}

int devices_opened(device_t **devices)
{
  int count = atomic_load(&runtime.count);
  *devices = count ? runtime.devices : NULL;
  return count && runtime.owner == getpid() ? count : 0;
}

hipError_t device_current(device_t **device)
{
  int count;
  hipError_t status = devices_open(device, &count);
  if (status == hipSuccess)
    *device += current;
  return status;
}

/* ---- What programs ask ---- */

hipError_t device_at(int ordinal, device_t **device)
{
  int count;
  hipError_t status = devices_open(device, &count);
  if (status == hipSuccess && (ordinal < 0 || ordinal >= count))
    return fail(hipErrorInvalidDevice, "there is no device %d: there are %d", ordinal, count);
  *device += status ? 0 : ordinal;
  return status;
}

hipError_t hipInit(unsigned flags)
{
  device_t *device;
  return flags ? fail(hipErrorInvalidValue, "unknown flags 0x%x", flags) : device_current(&device);
}

hipError_t hipGetDeviceCount(int *count)
{
  device_t *devices;
  return count ? devices_open(&devices, count) : fail(hipErrorInvalidValue, "count is NULL");
}

hipError_t hipGetDevice(int *device)
{
  device_t *found;
  if (!device)
    return fail(hipErrorInvalidValue, "device is NULL");
  hipError_t status = device_current(&found);
  *device = status ? 0 : current;
  return status;
}

hipError_t hipSetDevice(int device)
{
  device_t *found;
  hipError_t status = device_at(device, &found);
  if (status == hipSuccess)
    current = device;
  return status;
}

hipError_t hipDeviceGet(hipDevice_t *device, int ordinal)
{
  device_t *found;
  if (!device)
    return fail(hipErrorInvalidValue, "device is NULL");
  hipError_t status = device_at(ordinal, &found);
  *device = status ? 0 : ordinal;
  return status;
}

static hipError_t version(int *number)
{
  if (!number)
    return fail(hipErrorInvalidValue, "version is NULL");
  *number = generation.version;
  return hipSuccess;
}

hipError_t hipRuntimeGetVersion(int *number)
{
  return version(number);
}

hipError_t hipDriverGetVersion(int *number)
{
  return version(number);
}
