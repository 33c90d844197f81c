/* rawhal-demo: kernels of Debian's rocRAND, and one of ours, run and checked. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/demo/job.h"
#include "tools/demo/report.h"

static const char usage[] =
    "Usage: rawhal-demo [--numbers N] [--vector-add FILE] PATH-TO-LIBROCRAND\n";

static const char help[] =
    "\n"
    "Dispatches real kernels with prepacked kernarg blobs and compares every result with a CPU\n"
    "reference: Philox4x32-10 and XORWOW from the code objects inside of rocRAND's shared library\n"
    "(Debian's librocrand1), and a vector add of our own. Without a GPU the device is softgpu, a "
    "GPU\n"
    "in software; RAWHAL_DEVICE=softgpu or RAWHAL_DEVICE=hsa insists on either.\n"
    "\n"
    "  --numbers N        results each job computes, 1 to 100000000; default 1000003, which fills\n"
    "                     neither a work-group nor a group of four\n"
    "  --vector-add FILE  code objects with the kernel vector_add; default: ours, for gfx90a,\n"
    "                     gfx942 and gfx1030\n"
    "  --help             this text\n"
    "\n"
    "Exit status: 0 all results equal their references, 1 some differ, 2 the command line is "
    "wrong,\n"
    "3 a file cannot be read or the device failed.\n";

enum { EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_FAILED = 3 }; /* as of rawhal */

typedef struct options {
  const char *library, *vector_add;
  size_t numbers;
  bool help;
} options_t;

static int usage_error(const char *what, const char *argument)
{
  fprintf(stderr, "rawhal-demo: %s '%s'\n%s", what, argument, usage);
  return EXIT_USAGE;
}

static bool parse_numbers(const char *text, size_t *numbers)
{
  char *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  *numbers = (size_t)value;
  return *text >= '0' && *text <= '9' && !*end && !errno && value >= 1 && value <= 100000000;
}

static int parse(int argc, char **argv, options_t *options)
{
  *options = (options_t){.numbers = 1000003};
  for (int i = 1; i < argc; ++i) {
    const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
      options->help = true;
    } else if (!strcmp(word, "--numbers")) {
      if (!value || !parse_numbers(value, &options->numbers))
        return usage_error("--numbers needs a count from 1 to 100000000, not", value ? value : "");
      ++i;
    } else if (!strcmp(word, "--vector-add")) {
      if (!value)
        return usage_error("a file must follow", word);
      options->vector_add = value;
      ++i;
    } else if (word[0] == '-') {
      return usage_error("unknown option", word);
    } else if (options->library) {
      return usage_error("one library is enough; what is", word);
    } else {
      options->library = word;
    }
  }
  if (!options->library && !options->help)
    return usage_error("missing argument", "PATH-TO-LIBROCRAND");
  return EXIT_SUCCESS;
}

/* The object in `container` that fits the device best, loaded. */
static rawhal_status_t load_best(demo_t *demo, const rawhal_container_t *container,
                                 const char *path, rawhal_executable_t **executable)
{
  size_t index;
  rawhal_status_t status = rawhal_container_select(
      container, &rawhal_device_info(demo->device)->target, &index, &demo->error);
  if (status != RAWHAL_OK)
    return status;
  const rawhal_container_object_t *object = rawhal_container_object(container, index);
  rawhal_hsaco_t *hsaco;
  status = rawhal_hsaco_open(object->bytes.data, object->bytes.size, NULL, &hsaco, &demo->error);
  if (status != RAWHAL_OK)
    return status;
  status = rawhal_executable_load(demo->device, hsaco, executable, &demo->error);
  if (status == RAWHAL_OK) {
    char target[64];
    rawhal_target_format(&object->target, target, sizeof(target));
    report_count_t bytes;
    const char *name = strrchr(path, '/');
    report_line("loaded", "%s from %.60s", target, name ? name + 1 : path);
    report_more("the best of %zu code objects: %s bytes at offset 0x%llx, kernels: %zu",
                rawhal_container_count(container), report_count(object->bytes.size, &bytes),
                (unsigned long long)object->offset, rawhal_hsaco_info(hsaco)->kernel_count);
  }
  rawhal_hsaco_close(hsaco);
  return status;
}

static rawhal_status_t load(demo_t *demo, const char *path, rawhal_executable_t **executable)
{
  const rawhal_container_options_t copy = {.flags = RAWHAL_CONTAINER_COPY};
  rawhal_container_t *container;
  rawhal_status_t status = rawhal_container_open_file(path, &copy, &container, &demo->error);
  if (status == RAWHAL_OK)
    status = load_best(demo, container, path, executable);
  rawhal_container_close(container);
  return status;
}

/* Without a file it is one of ours that is for the device. */
static rawhal_status_t load_vector_add(demo_t *demo, const char *path)
{
  static const char *const ours[] = {DEMO_FIXTURES "/vector_add.bundle",
                                     DEMO_FIXTURES "/vector_add-gfx1030-v5.co"};
  if (path)
    return load(demo, path, &demo->vector_add);
  rawhal_status_t status = RAWHAL_TARGET_MISMATCH;
  for (size_t i = 0; i < sizeof(ours) / sizeof(*ours) && status == RAWHAL_TARGET_MISMATCH; ++i)
    status = load(demo, ours[i], &demo->vector_add);
  return status;
}

static rawhal_status_t open_device(demo_t *demo)
{
  rawhal_status_t status = rawhal_instance_create(NULL, &demo->instance, &demo->error);
  if (status != RAWHAL_OK)
    return status;
  demo->device = rawhal_instance_device(demo->instance, 0);
  if (!demo->device) {
    demo->error = (rawhal_error_t){.status = RAWHAL_NOT_FOUND,
                                   .offset = RAWHAL_NO_OFFSET,
                                   .message = "the HSA runtime lists no GPU"};
    return RAWHAL_NOT_FOUND;
  }
  return rawhal_queue_create(demo->device, NULL, &demo->queue, &demo->error);
}

static rawhal_status_t run(demo_t *demo, const options_t *options, bool *correct)
{
  rawhal_status_t status = open_device(demo);
  if (status == RAWHAL_OK)
    status = load(demo, options->library, &demo->rocrand);
  if (status == RAWHAL_OK)
    status = load_vector_add(demo, options->vector_add);

  static rawhal_status_t (*const jobs[])(demo_t *, bool *) = {job_philox, job_xorwow,
                                                              job_vector_add};
  for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs) && status == RAWHAL_OK; ++i) {
    bool equal = false;
    status = jobs[i](demo, &equal);
    *correct &= equal;
    fflush(stdout);
  }
  return status;
}

static void close_all(demo_t *demo)
{
  rawhal_queue_destroy(demo->queue);
  rawhal_executable_destroy(demo->vector_add);
  rawhal_executable_destroy(demo->rocrand);
  rawhal_instance_destroy(demo->instance);
}

int main(int argc, char **argv)
{
  options_t options;
  int wrong_usage = parse(argc, argv, &options);
  if (wrong_usage)
    return wrong_usage;
  if (options.help) {
    fputs(usage, stdout);
    fputs(help, stdout);
    return EXIT_SUCCESS;
  }

  demo_t demo = {.numbers = options.numbers};
  bool correct = true;
  rawhal_status_t status = run(&demo, &options, &correct);
  if (status != RAWHAL_OK) {
    fflush(stdout);
    fprintf(stderr, "rawhal-demo: %s: %s\n", rawhal_status_name(status), demo.error.message);
  }
  close_all(&demo);
  return status != RAWHAL_OK ? EXIT_FAILED : correct ? EXIT_SUCCESS : EXIT_WRONG;
}
