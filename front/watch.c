#include "front/watch.h"

#include "front/devices.h"
#include "front/report.h"

#include "front/blocks.h"
#include "front/outcomes.h"
#include "front/output.h"
#include "front/ranges.h"
#include "front/reported.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static watch_check_t checking, strictest; /* that of the environment, and of all rules */
static bool tracing, recording, substituting, probing, watching_checks;
/* Dispatches: those that were looked at, of which some had mistakes; those of which too little is
 * known for that; and those of kernels that are not known at all. */
static atomic_size_t checked, mistaken, unchecked, nameless, vendors; /* packets of theirs */
static atomic_bool summed; /* the counts have been told */

/* ---- The environment ---- */

static rawhal_status_t read_check(rawhal_error_t *error)
{
  const char *named = getenv("RAWHAL_CHECK"); /* of whoever started it: it names no file */
  checking = WATCH_CHECK_OFF;
  if (!named || !*named || watch_check_of(named, &checking))
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "RAWHAL_CHECK: expected " WATCH_CHECKS ", got '%.40s'", named);
}

bool watch_wanted(void)
{
  enum { SWITCHES = 2 }; /* that may be off: the others name files */
  static const char *const variables[] = {
      "RAWHAL_CHECK",        "RAWHAL_WATCHDOG", "RAWHAL_TRACE",      "RAWHAL_RECORD",
      "RAWHAL_SUBSTITUTE",   "RAWHAL_PROBE",    "RAWHAL_PROBE_FILE", "RAWHAL_PROBE_ENGINE",
      "RAWHAL_PROBE_FOLDER", "RAWHAL_POLICY"};
  for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); ++i) {
    const char *value = secure_getenv(variables[i]);
    if (value && *value && (i >= SWITCHES || strcmp(value, "off") != 0))
      return true;
  }
  return false;
}

typedef struct asked {
  const char *trace, *record; /* where they go */
} asked_t;

static rawhal_status_t read_environment(const char *program, asked_t *asked, rawhal_error_t *error)
{
  *asked = (asked_t){secure_getenv("RAWHAL_TRACE"), secure_getenv("RAWHAL_RECORD")};
  const char *buffers = secure_getenv("RAWHAL_RECORD_BUFFERS");
  tracing = asked->trace && *asked->trace;
  recording = asked->record && *asked->record;
  front.serial = recording && buffers && strcmp(buffers, "1") == 0;
  rawhal_status_t status = policy_open(program, error);
  if (status == RAWHAL_OK)
    status = read_check(error);
  if (status == RAWHAL_OK && buffers && *buffers && !front.serial)
    status = rawhal_fail(
        error, RAWHAL_INVALID_ARGUMENT,
        "RAWHAL_RECORD_BUFFERS='%.40s': the value must be 1, and RAWHAL_RECORD must be set",
        buffers);
  return status;
}

/* Of kernels that take the place of others: replacements, and probed ones. */
static rawhal_status_t open_outcomes(rawhal_error_t *error)
{
  const char *folder = secure_getenv("RAWHAL_SUBSTITUTE_CACHE");
  rawhal_error_t why;
  if (!(substituting || probing) || !folder || !*folder)
    return RAWHAL_OK;
  rawhal_status_t status = outcomes_open(folder, &why);
  return status == RAWHAL_OK
             ? status
             : rawhal_fail(error, status, "RAWHAL_SUBSTITUTE_CACHE: %s", why.message);
}

/* What is there will have a numbered name beside it. */
static rawhal_status_t check_output(const char *what, const char *path, bool is_file,
                                    rawhal_error_t *error)
{
  return (is_file ? output_would_make_file(path) : output_would_make(path) || errno == EEXIST)
             ? RAWHAL_OK
             : rawhal_fail(error, file_failure(errno), "the %s '%.200s': %s", what, path,
                           strerror(errno));
}

rawhal_status_t watch_check(const char *program, rawhal_error_t *error)
{
  asked_t asked;
  uint64_t bound;
  rawhal_status_t status = read_environment(program, &asked, error);
  if (status == RAWHAL_OK && tracing)
    status = check_output("trace", asked.trace, false, error);
  if (status == RAWHAL_OK && recording)
    status = check_output("recording", asked.record, true, error);
  if (status == RAWHAL_OK && recording)
    status = recorder_bound(&bound, error);
  if (status == RAWHAL_OK)
    status = substitute_open(&substituting, error);
  if (status == RAWHAL_OK)
    status = substitute_check(error);
  if (status == RAWHAL_OK)
    status = probes_check(program, &probing, error);
  return status == RAWHAL_OK ? open_outcomes(error) : status;
}

/* ---- Code ---- */

static void unload(hsa_executable_t executable)
{
  substitute_unload(executable);
  probes_unload(executable);
}

/* Kernels that are probed are read when they are dispatched. */
static void listen_to_code(bool wanted)
{
  static const objects_listener_t all = {substitute_loaded, unload}, goes = {NULL, unload};
  objects_listen(!wanted ? NULL : substituting ? &all : probing ? &goes : NULL);
}

/* ---- The whole ---- */

bool watch_enforces(void)
{
  return checking == WATCH_CHECK_REFUSE || policy_has_rules();
}

rawhal_status_t watch_open(rawhal_error_t *error)
{
  asked_t asked;
  rawhal_status_t status = read_environment(NULL, &asked, error);
  if (status == RAWHAL_OK && tracing)
    status = trace_open(asked.trace, error);
  if (status == RAWHAL_OK && recording)
    status = recorder_open(asked.record, front.serial, error);
  if (status == RAWHAL_OK)
    status = substitute_open(&substituting, error);
  if (status == RAWHAL_OK)
    status = probes_open(&probing, error);
  if (status == RAWHAL_OK)
    status = open_outcomes(error);
  listen_to_code(status == RAWHAL_OK);
  strictest = policy_strictest_check();
  watching_checks = checking != WATCH_CHECK_OFF || strictest != WATCH_CHECK_OFF;
  front.watched =
      status == RAWHAL_OK && (tracing || recording || substituting || probing || watching_checks);
  return status;
}

/* ---- Dispatches ---- */

static const policy_kernel_t *said_of(const front_kernel_t *kernel)
{
  static const policy_kernel_t nothing;
  return kernel && kernel->policy ? kernel->policy : &nothing;
}

/* What is not known may be any kernel. */
static watch_check_t mode_of(const front_kernel_t *kernel)
{
  const policy_kernel_t *said = said_of(kernel);
  if (!kernel)
    return checking > strictest ? checking : strictest;
  if (said->has_check)
    return said->check;
  /* An operator who says how long buffers must be wants to know when one is not. */
  return checking == WATCH_CHECK_OFF && said->argument_count ? WATCH_CHECK_WARN : checking;
}

typedef struct first_mistake {
  char text[CHECK_TEXT];
} first_mistake_t;

static void on_mistake(void *context, const check_subject_t *subject, uint32_t about,
                       const char *message)
{
  first_mistake_t *first = context;
  const rawhal_string_t name = subject->kernel->facts->name;
  if (!*first->text)
    (void)snprintf(first->text, sizeof(first->text), "%.*s: %s",
                   (int)(name.size < 200 ? name.size : 200), name.data, message);
  const reported_key_t key = {object_hash(subject->kernel->object), subject->kernel->address,
                              about};
  if (mode_of(subject->kernel) == WATCH_CHECK_WARN && reported_before(key))
    return;
  front_report("check: %.*s, queue %llu: %s", (int)(name.size < 200 ? name.size : 200), name.data,
               (unsigned long long)subject->queue_id, message);
}

static bool refuse(const check_subject_t *subject, const char *why, rawhal_error_t *error)
{
  char hash[OBJECT_HASH_TEXT];
  const front_object_t *object = subject->kernel->object;
  object_hash_text(object, hash);
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%.200s (code object %s, %zu bytes, %.100s)",
                     why, hash, object_bytes(object).size, object_uri(object)) == RAWHAL_OK;
}

/* False: it must not go, for whether it is right cannot be told. `number`: of what. */
static bool leave_unchecked(watch_check_t mode, uint64_t queue_id, uint64_t number, const char *why,
                            rawhal_error_t *error)
{
  const reported_key_t key = {.address = number, .about = UINT64_MAX};
  atomic_fetch_add(&unchecked, 1);
  if (mode == WATCH_CHECK_REFUSE)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "%s: it cannot be checked", why) == RAWHAL_OK;
  if (mode != WATCH_CHECK_WARN || !reported_before(key))
    front_report("check: queue %llu: %s: it is not checked", (unsigned long long)queue_id, why);
  return true;
}

/* Why it cannot be told whether it is right; false: it can. */
static bool is_unknown(const watch_note_t *note, bool unread, char *why, size_t size)
{
  const front_kernel_t *kernel = note->kernel;
  const rawhal_kernarg_info_t *info =
      kernel && kernel->layout ? rawhal_kernarg_layout_info(kernel->layout) : NULL;
  const bool described = info && (info->knowledge == RAWHAL_KERNARG_ARGUMENTS ||
                                  (!info->segment_size && kernel->facts->has_metadata));
  if (!kernel) {
    objects_why_unknown(note->packet.kernel_object, why, size);
    return true;
  }
  static const char not_described[] = "what arguments it takes is not known",
                    not_read[] = "its kernargs are in memory that the host cannot read";
  const rawhal_string_t name = kernel->facts->name,
                        reason = !kernel->facts->usable ? kernel->facts->unusable_reason
                                 : !described           ? rawhal_string(not_described)
                                                        : rawhal_string(not_read);
  (void)snprintf(why, size, "%.*s: %.*s", (int)(name.size < 200 ? name.size : 200), name.data,
                 (int)(reason.size < 200 ? reason.size : 200), reason.data);
  return unread || !described || !kernel->facts->usable;
}

static bool check(const front_device_t *device, uint64_t queue_id, const watch_note_t *note,
                  rawhal_error_t *error)
{
  const check_subject_t subject = {note->kernel, &note->packet, device, queue_id, note->code_agent};
  first_mistake_t first = {""};
  char why[CHECK_TEXT];
  bool unread = false;
  const size_t mistakes = note->kernel ? check_dispatch(&subject, on_mistake, &first, &unread) : 0;
  if (mistakes)
    atomic_fetch_add(&mistaken, 1);
  const bool refused = mistakes && mode_of(note->kernel) == WATCH_CHECK_REFUSE;
  if (!refused && is_unknown(note, unread, why, sizeof(why)))
    return leave_unchecked(mode_of(note->kernel), queue_id, note->packet.kernel_object, why, error);
  atomic_fetch_add(&checked, 1);
  return !refused || refuse(&subject, first.text, error);
}

bool watch_dispatch(const front_device_t *device, uint64_t queue_id,
                    hsa_kernel_dispatch_packet_t *packet, watch_note_t *note, rawhal_error_t *error)
{
  *note = (watch_note_t){.packet = *packet, .submitted = tracing ? front_now() : 0};
  note->kernel = objects_kernel(packet->kernel_object, &note->code_agent);
  if (watching_checks && mode_of(note->kernel) != WATCH_CHECK_OFF &&
      !check(device, queue_id, note, error)) {
    objects_release(note->kernel);
    note->kernel = NULL;
    return false;
  }
  if (!note->kernel)
    atomic_fetch_add(&nameless, 1);
  if (recording && !said_of(note->kernel)->no_record)
    note->capture = recorder_dispatch(device, queue_id, note->kernel, packet);
  if (substituting)
    substitute_dispatch(device, packet, &note->run);
  if (probing)
    note->probe = probes_dispatch(device, queue_id, note->kernel, &note->packet, packet);
  return true;
}

bool watch_packet(uint64_t queue_id, uint32_t first, rawhal_error_t *error)
{
  enum { BARRIER_VALUE = 2, TYPE_BITS = 0xff, FORMAT_SHIFT = 16 };
  const uint32_t format = first >> FORMAT_SHIFT & 0xff;
  char why[CHECK_TEXT];
  if ((first & TYPE_BITS) != HSA_PACKET_TYPE_VENDOR_SPECIFIC || format == BARRIER_VALUE)
    return true;
  (void)snprintf(why, sizeof(why), "a packet of vendor format %u may launch kernels", format);
  if (mode_of(NULL) != WATCH_CHECK_OFF &&
      !leave_unchecked(mode_of(NULL), queue_id, format, why, error))
    return false;
  atomic_fetch_add(&vendors, 1);
  return true;
}

void watch_ended(uint32_t queue, watch_note_t *note, uint64_t start, uint64_t end, bool measured)
{
  const hsa_kernel_dispatch_packet_t *packet = &note->packet;
  if (tracing && end && !said_of(note->kernel)->no_trace)
    trace_dispatch(&(trace_dispatch_t){
        .kernel = note->kernel,
        .kernel_object = packet->kernel_object,
        .work_items = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z},
        .workgroup = {packet->workgroup_size_x, packet->workgroup_size_y, packet->workgroup_size_z},
        .group_bytes = packet->group_segment_size,
        .queue = queue,
        .submitted = note->submitted,
        .start = start,
        .end = end,
        .measured = measured});
  recorder_ended(note->capture, end != 0);
  note->capture = NULL;
  substitute_ended(&note->run, end != 0);
  probes_ended(note->probe, start, end);
  note->probe = NULL;
  objects_release(note->kernel);
  note->kernel = NULL;
}

/* ---- The end ---- */

void watch_summary(void)
{
  if (watching_checks && !atomic_exchange(&summed, true))
    front_report("check: checked %zu, unknown %zu, mistaken %zu", atomic_load(&checked),
                 atomic_load(&unchecked), atomic_load(&mistaken));
  if (substituting)
    substitute_summary();
  if (substituting && atomic_load(&nameless))
    front_report("substitute: %zu dispatches of unknown kernels were not replaced",
                 atomic_load(&nameless));
  if (probing)
    probes_summary();
  if (atomic_load(&vendors))
    front_report("%zu packets of vendor formats ran: kernels that they may have launched were not "
                 "checked, recorded, replaced or probed",
                 atomic_exchange(&vendors, 0));
  trace_close();
  recorder_summary();
  recorder_close();
}

void watch_close(void)
{
  watch_memory_forget();
  reported_clear();
  substitute_close();
  probes_close();
  outcomes_close();
  blocks_forget();
  objects_listen(NULL);
  objects_forget();
  policy_close();
  trace_close();
  recorder_close();
  front.serial = false;
  atomic_store(&checked, 0);
  atomic_store(&mistaken, 0);
  atomic_store(&unchecked, 0);
  atomic_store(&nameless, 0);
  atomic_store(&vendors, 0);
  atomic_store(&summed, false);
  front.watched = front.remembered = false;
}

void watch_abandon(void)
{
  reported_abandon();
  ranges_abandon();
  objects_abandon();
  substitute_abandon();
  probes_abandon();
  outcomes_close();
  blocks_abandon();
  trace_abandon();
  recorder_abandon();
}
