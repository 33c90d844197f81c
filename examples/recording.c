/* A recording: 100 dispatches checked and packed once, replayed with another argument each time.
 * Dispatch i writes its bias to word i.
 *
 * usage: recording FILE.co   (tests/fixtures/write_ids-gfx90a-v5.co) */
#include <rawhal/rawhal.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 100, REPLAYS = 50, BIAS = 3 /* index of the argument */ };

static rawhal_error_t error;

static void check(rawhal_status_t status)
{
  if (status == RAWHAL_OK)
    return;
  fprintf(stderr, "recording: %s: %s\n", rawhal_status_name(status), error.message);
  exit(1);
}

int main(int argc, char **argv)
{
  rawhal_hsaco_t *hsaco;
  check(rawhal_hsaco_open_file(argc > 1 ? argv[1] : "write_ids.co", NULL, &hsaco, &error));
  rawhal_instance_t *instance;
  check(rawhal_instance_create(NULL, &instance, &error));
  rawhal_device_t *device = rawhal_instance_device(instance, 0);
  rawhal_executable_t *executable;
  check(rawhal_executable_load(device, hsaco, &executable, &error));
  const rawhal_device_kernel_t *kernel;
  rawhal_string_t name = RAWHAL_STRING("write_ids");
  check(rawhal_executable_kernel(executable, name, 0, &kernel, &error));
  rawhal_buffer_t *out;
  check(rawhal_buffer_allocate(device, RAWHAL_MEMORY_HOST, COUNT * 4, &out, &error));
  const uint32_t *words = rawhal_buffer_host(out);

  struct {
    uint64_t out;
    uint32_t width, height, bias;
  } blobs[COUNT];
  rawhal_dispatch_t dispatches[COUNT];
  for (uint32_t i = 0; i < COUNT; ++i) {
    blobs[i].out = rawhal_buffer_address(out) + 4 * i;
    blobs[i].width = blobs[i].height = 1;
    blobs[i].bias = i;
    dispatches[i] = (rawhal_dispatch_t){.kernel = kernel,
                                        .work_items = {1, 1, 1},
                                        .workgroup = {1, 1, 1},
                                        .blob = &blobs[i],
                                        .blob_size = 20};
  }
  rawhal_queue_t *queue;
  rawhal_recording_t *recording;
  check(rawhal_queue_create(device, NULL, &queue, &error));
  check(rawhal_recording_create(queue, dispatches, COUNT, &recording, &error));

  int right = 0;
  for (uint32_t replay = 0; replay < REPLAYS; ++replay) {
    uint32_t changed = replay % COUNT, value = 1000 + replay;
    check(rawhal_recording_set(recording, changed, BIAS, &value, sizeof(value), &error));
    rawhal_ticket_t ticket;
    check(rawhal_queue_replay(queue, recording, RAWHAL_FOREVER, &ticket, &error));
    check(rawhal_queue_wait(queue, ticket, RAWHAL_FOREVER, &error));
    right += words[changed] == value && words[COUNT - 1] == COUNT - 1;
  }
  printf("%d of %d replays are right\n", right, REPLAYS);
  rawhal_recording_destroy(recording);
  rawhal_queue_destroy(queue);
  rawhal_buffer_free(out);
  rawhal_executable_destroy(executable);
  rawhal_instance_destroy(instance);
  rawhal_hsaco_close(hsaco);
  return right == REPLAYS ? 0 : 1;
}
