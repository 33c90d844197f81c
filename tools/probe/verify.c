/* rawhal probe verify: kernels and their copies with probes, run on what was recorded. */
#include "tools/probe/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/shared/file.h"
#include "tools/shared/select.h"

enum { MOST_COPY = 256 << 20 };

/* A dispatch that is asked for. Those of one kernel of one object stand together. */
typedef struct entry {
  uint64_t object, number;
  rawhal_content_hash_t kernel; /* of its name */
} entry_t;

typedef struct verifying {
  const probe_request_t *request;
  record_reader_t *reader;
  replay_request_t how;
  uint32_t kinds;
  json_writer_t json;
  list_t files;   /* rawhal_content_hash_t of FILE's code objects, sorted */
  list_t entries; /* entry_t */
  rawhal_bytes_t given;
  verify_sum_t sum;

  /* The code object at hand, and where it is loaded. */
  uint64_t object_number;
  unsigned char *object;
  size_t object_size;
  rawhal_hsaco_t *hsaco;
  replay_t loaded; /* what a replay hands over */
} verifying_t;

/* ---- What is asked for ---- */

static int compare_hashes(const void *a, const void *b)
{
  const rawhal_content_hash_t *one = a, *other = b;
  if (one->high != other->high)
    return one->high < other->high ? -1 : 1;
  return one->low < other->low ? -1 : one->low > other->low;
}

static int compare_entries(const void *a, const void *b)
{
  const entry_t *one = a, *other = b;
  if (one->object != other->object)
    return one->object < other->object ? -1 : 1;
  const int kernels = compare_hashes(&one->kernel, &other->kernel);
  return kernels ? kernels : one->number < other->number ? -1 : one->number > other->number;
}

static bool no_memory(rawhal_error_t *error)
{
  return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "out of memory");
}

static bool read_file(verifying_t *verifying, const char *path, rawhal_error_t *error)
{
  const select_options_t options = {.path = path, .skip_unreadable = true, .progress = "probe"};
  select_t select = {0};
  bool done = select_open(&select, &options, error);
  while (done && (done = select_next(&select, error)) && select.hsaco) {
    rawhal_bytes_t bytes;
    done = rawhal_container_read(select.container, select.index, &bytes, error) == RAWHAL_OK;
    const rawhal_content_hash_t hash =
        done ? rawhal_content_hash(bytes.data, bytes.size) : (rawhal_content_hash_t){0};
    if (done && !list_add(&verifying->files, &hash, sizeof(hash)))
      done = no_memory(error);
  }
  select_close(&select);
  if (done && verifying->files.count)
    qsort(verifying->files.items, verifying->files.count, sizeof(rawhal_content_hash_t),
          compare_hashes);
  return done;
}

static bool is_wanted(const verifying_t *verifying, const record_dispatch_t *dispatch)
{
  const char *pattern = verifying->request->kernel;
  const record_object_t *object = record_reader_object(verifying->reader, dispatch->object);
  if (pattern && !probe_name_matches(pattern, dispatch->kernel))
    return false;
  return !verifying->request->file ||
         (verifying->files.count &&
          bsearch(&object->hash, verifying->files.items, verifying->files.count,
                  sizeof(object->hash), compare_hashes));
}

static bool find_dispatches(verifying_t *verifying, rawhal_error_t *error)
{
  const uint64_t count = record_reader_info(verifying->reader)->dispatches;
  for (uint64_t number = 1; number <= count; ++number) {
    record_dispatch_t dispatch;
    if (record_reader_dispatch(verifying->reader, number, &dispatch, error) != RAWHAL_OK)
      return false;
    const entry_t entry = {.object = dispatch.object,
                           .number = number,
                           .kernel =
                               rawhal_content_hash(dispatch.kernel.data, dispatch.kernel.size)};
    if (is_wanted(verifying, &dispatch) && !list_add(&verifying->entries, &entry, sizeof(entry)))
      return no_memory(error);
  }
  if (verifying->entries.count)
    qsort(verifying->entries.items, verifying->entries.count, sizeof(entry_t), compare_entries);
  return verifying->entries.count ||
         tool_refuse(error, RAWHAL_NOT_FOUND,
                     "of %llu dispatches in '%.200s' none is of what is asked for",
                     (unsigned long long)count, verifying->request->recording);
}

/* ---- One kernel ---- */

/* The device is given up: another begins with nothing loaded. */
static void drop_device(verifying_t *verifying, verify_kernel_t *kernel)
{
  if (kernel)
    verify_unload(kernel);
  replay_release(&verifying->loaded);
  verifying->loaded = (replay_t){0};
}

static void see(verify_kernel_t *kernel, uint64_t number, verify_result_t result, const char *said)
{
  const uint64_t problems = kernel->different + kernel->impossible;
  ++*(result == VERIFY_SAME        ? &kernel->compared
      : result == VERIFY_DIFFERENT ? &kernel->different
                                   : &kernel->impossible);
  if (result > kernel->result)
    kernel->result = result;
  if (result == VERIFY_SAME || problems >= VERIFY_PROBLEMS)
    return;
  verify_problem_t *problem = &kernel->problems[problems];
  problem->dispatch = number;
  problem->result = result;
  verify_say(problem->said, "%s", said);
}

/* False: no other dispatch of it will be. */
static bool verify_source(verifying_t *verifying, verify_kernel_t *kernel,
                          const replay_source_t *source)
{
  replay_t replay = {.request = &verifying->how, .source = source};
  verify_dispatch_t dispatch = {.kernel = kernel, .replay = &replay};
  replay_hand_over(&verifying->loaded, &replay);
  const bool is_there = replay_prepare(&replay);
  const bool goes_on = !is_there || verify_load(kernel, &replay);
  if (!is_there)
    see(kernel, source->number, VERIFY_CANNOT, replay.error.message);
  else if (goes_on)
    see(kernel, source->number, verify_run(&dispatch), dispatch.said);
  replay_hand_over(&replay, &verifying->loaded);
  replay_release(&replay);
  if (dispatch.is_broken)
    drop_device(verifying, kernel);
  return goes_on;
}

static bool verify_dispatch(verifying_t *verifying, verify_kernel_t *kernel, uint64_t number,
                            rawhal_error_t *error)
{
  replay_taken_t taken;
  bool goes_on = replay_take(verifying->reader, number, &taken, error);
  taken.source.object = verifying->object;
  taken.source.object_size = verifying->object_size;
  if (goes_on)
    goes_on = verify_source(verifying, kernel, &taken.source);
  else
    see(kernel, number, VERIFY_CANNOT, error->message);
  replay_taken_free(&taken);
  return goes_on;
}

static void verify_dispatches(verifying_t *verifying, verify_kernel_t *kernel,
                              const entry_t *entries)
{
  rawhal_error_t error;
  bool goes_on = verify_plan(kernel, verifying->request, verifying->kinds);
  for (uint64_t i = 0; goes_on && i < kernel->dispatches; ++i)
    goes_on = verify_dispatch(verifying, kernel, entries[i].number, &error);
}

/* ---- All of them ---- */

static void close_object(verifying_t *verifying)
{
  drop_device(verifying, NULL);
  rawhal_hsaco_close(verifying->hsaco);
  free(verifying->object);
  verifying->hsaco = NULL;
  verifying->object = NULL;
}

static bool open_object(verifying_t *verifying, uint64_t number, rawhal_error_t *error)
{
  const rawhal_hsaco_options_t options = {.size = sizeof(options),
                                          .flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS};
  if (verifying->object_number == number)
    return true;
  close_object(verifying);
  verifying->object = replay_take_object(verifying->reader, number, &verifying->object_size, error);
  verifying->object_number = number;
  return verifying->object && rawhal_hsaco_open(verifying->object, verifying->object_size, &options,
                                                &verifying->hsaco, error) == RAWHAL_OK;
}

static bool verify_kernel(verifying_t *verifying, const entry_t *entries, uint64_t count,
                          rawhal_error_t *error)
{
  replay_taken_t named;
  verify_kernel_t *kernel = calloc(1, sizeof(*kernel));
  bool done = replay_take(verifying->reader, entries->number, &named, error) &&
              (kernel || no_memory(error)) && open_object(verifying, entries->object, error);
  if (done) {
    kernel->name = named.source.dispatch.kernel;
    kernel->object = record_reader_object(verifying->reader, entries->object)->hash;
    kernel->facts = rawhal_hsaco_find_kernel(verifying->hsaco, kernel->name);
    kernel->given = verifying->given;
    kernel->dispatches = count;
    verify_dispatches(verifying, kernel, entries);
    done = verify_certify(kernel, verifying->request->output, error);
    ++verifying->sum.kernels[kernel->result];
    verify_put(&verifying->json, verifying->request, kernel, verifying->kinds);
  }
  if (kernel)
    verify_kernel_close(kernel);
  free(kernel);
  replay_taken_free(&named);
  return done;
}

static size_t count_kernels(const verifying_t *verifying)
{
  const entry_t *entries = verifying->entries.items;
  size_t count = 0;
  for (size_t i = 0; i < verifying->entries.count; ++i)
    count += !i || entries[i].object != entries[i - 1].object ||
             compare_hashes(&entries[i].kernel, &entries[i - 1].kernel) != 0;
  return count;
}

static bool verify_all(verifying_t *verifying, rawhal_error_t *error)
{
  const entry_t *entries = verifying->entries.items;
  const size_t all = verifying->entries.count;
  bool done = true;
  for (size_t i = 0, next; done && i < all; i = next) {
    for (next = i + 1; next < all && entries[next].object == entries[i].object &&
                       compare_hashes(&entries[next].kernel, &entries[i].kernel) == 0;
         ++next)
      continue;
    done = verify_kernel(verifying, entries + i, next - i, error);
  }
  close_object(verifying);
  return done;
}

/* ---- The command line ---- */

static bool read_given(verifying_t *verifying, rawhal_error_t *error)
{
  unsigned char *bytes = NULL;
  const char *path = verifying->request->copy;
  if (!path)
    return true;
  const bool done = tool_read_file(path, MOST_COPY, &bytes, &verifying->given.size, error);
  verifying->given.data = bytes;
  if (done && count_kernels(verifying) != 1)
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT,
                       "'%.200s' is of one kernel, and dispatches of %zu are asked for", path,
                       count_kernels(verifying));
  return done &&
         (verifying->given.size || tool_refuse(error, RAWHAL_MALFORMED, "'%.200s' is empty", path));
}

static bool prepare(verifying_t *verifying, rawhal_error_t *error)
{
  const probe_request_t *request = verifying->request;
  return record_reader_open(request->recording, &verifying->reader, error) == RAWHAL_OK &&
         (!request->file || read_file(verifying, request->file, error)) &&
         find_dispatches(verifying, error) && read_given(verifying, error);
}

static void finish(verifying_t *verifying)
{
  list_free(&verifying->files);
  list_free(&verifying->entries);
  free((void *)(uintptr_t)verifying->given.data);
  record_reader_close(verifying->reader);
}

static int status_of(const verify_sum_t *sum)
{
  rawhal_error_t error;
  const uint64_t cannot = sum->kernels[VERIFY_CANNOT];
  if (sum->kernels[VERIFY_DIFFERENT] || sum->kernels[VERIFY_REFUSED])
    return TOOL_NO;
  if (!cannot)
    return TOOL_OK;
  (void)tool_refuse(&error, RAWHAL_UNSUPPORTED, "of %llu kernels nothing can be told",
                    (unsigned long long)cannot);
  return tool_fail("probe", &error);
}

static int run(char **files, probe_request_t *request)
{
  rawhal_error_t error;
  verifying_t verifying = {.request = request,
                           .how = {.path = request->recording,
                                   .backend = request->backend,
                                   .timeout_seconds = request->timeout_seconds},
                           .json = {.out = stdout}};
  request->file = files[0];
  if (!request->recording)
    return tool_usage("probe", "verify requires --recording FILE");
  if (!probe_kinds(request, &verifying.kinds))
    return TOOL_USAGE;
  bool done = prepare(&verifying, &error);
  if (done) {
    verify_begin(&verifying.json, request, request->file, verifying.kinds);
    done = verify_all(&verifying, &error);
    verify_end(&verifying.json, request, &verifying.sum);
  }
  finish(&verifying);
  return done ? status_of(&verifying.sum) : tool_fail("probe", &error);
}

static const tool_option_t options[] = {PROBE_OPTION_COPY,
                                        PROBE_OPTION_DEVICE,
                                        PROBE_OPTION_JSON,
                                        PROBE_OPTION_KERNEL,
                                        PROBE_OPTION_KINDS,
                                        PROBE_OPTION_OUTPUT,
                                        PROBE_OPTION_RECORDING,
                                        PROBE_OPTION_TIMEOUT,
                                        PROBE_OPTION_VALUE,
                                        DEMANGLE_OPTIONS(probe_request_t, demangle),
                                        {0}};

const probe_verb_t probe_verify = {
    .word = "verify",
    .usage = "verify [FILE] --recording RECORDING",
    .files = 1,
    .may_lack_file = true,
    .options = options,
    .run = run,
};
