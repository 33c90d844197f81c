// What the linker has a test's program call in place of the library's functions (--wrap): the same, and dispatches are
// compared before they run.
#include "tests/extended.h"
#include "tests/probe/twin.h"

#include <cstdlib>

extern "C" {
rawhal_status_t __real_rawhal_queue_create(rawhal_device_t *, const rawhal_queue_options_t *,
                                           rawhal_queue_t **, rawhal_error_t *);
rawhal_status_t __real_rawhal_queue_submit_sized(rawhal_queue_t *, const rawhal_dispatch_t *,
                                                 size_t, size_t, uint64_t, rawhal_ticket_t *,
                                                 rawhal_error_t *);
rawhal_status_t __real_rawhal_buffer_allocate(rawhal_device_t *, rawhal_memory_kind_t, size_t,
                                              rawhal_buffer_t **, rawhal_error_t *);
void __real_rawhal_buffer_free(rawhal_buffer_t *);
rawhal_status_t __wrap_rawhal_queue_create(rawhal_device_t *, const rawhal_queue_options_t *,
                                           rawhal_queue_t **, rawhal_error_t *);
rawhal_status_t __wrap_rawhal_queue_submit_sized(rawhal_queue_t *, const rawhal_dispatch_t *,
                                                 size_t, size_t, uint64_t, rawhal_ticket_t *,
                                                 rawhal_error_t *);
rawhal_status_t __wrap_rawhal_buffer_allocate(rawhal_device_t *, rawhal_memory_kind_t, size_t,
                                              rawhal_buffer_t **, rawhal_error_t *);
void __wrap_rawhal_buffer_free(rawhal_buffer_t *);
}

namespace {

std::map<rawhal_queue_t *, rawhal_device_t *> devices;

struct Asked : testing::Environment {
  void SetUp() override
  {
    if (const char *most = getenv("RAWHAL_TEST_TWINS")) {
      Twins::all().most = strtoul(most, nullptr, 10);
      Twins::all().each = by_length(8, 2, 1);
    }
  }
  void TearDown() override { Twins::all().print(); }
};

testing::Environment *const asked = testing::AddGlobalTestEnvironment(new Asked);

bool is_program(void)
{
  return Twins::all().most && !Twins::all().is_busy();
}

} // namespace

rawhal_status_t __wrap_rawhal_queue_create(rawhal_device_t *device,
                                           const rawhal_queue_options_t *options,
                                           rawhal_queue_t **queue, rawhal_error_t *error)
{
  const rawhal_status_t status = __real_rawhal_queue_create(device, options, queue, error);
  if (status == RAWHAL_OK && is_program())
    devices[*queue] = device;
  return status;
}

rawhal_status_t __wrap_rawhal_queue_submit_sized(rawhal_queue_t *queue,
                                                 const rawhal_dispatch_t *dispatches,
                                                 size_t dispatch_size, size_t count,
                                                 uint64_t deadline, rawhal_ticket_t *ticket,
                                                 rawhal_error_t *error)
{
  if (is_program() && count == 1 && devices.count(queue))
    Twins::all().compare(devices[queue], *dispatches);
  return __real_rawhal_queue_submit_sized(queue, dispatches, dispatch_size, count, deadline, ticket,
                                          error);
}

rawhal_status_t __wrap_rawhal_buffer_allocate(rawhal_device_t *device, rawhal_memory_kind_t kind,
                                              size_t size, rawhal_buffer_t **buffer,
                                              rawhal_error_t *error)
{
  const rawhal_status_t status = __real_rawhal_buffer_allocate(device, kind, size, buffer, error);
  if (status == RAWHAL_OK && is_program())
    Twins::all().add(*buffer);
  return status;
}

void __wrap_rawhal_buffer_free(rawhal_buffer_t *buffer)
{
  if (is_program())
    Twins::all().remove(buffer);
  __real_rawhal_buffer_free(buffer);
}
