#include "debug/report.h"

#include "debug/label.h"
#include "debug/report_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Pieces ---- */

void report_say(const report_to_t *to, const char *format, ...)
{
  char text[192]; /* what is longer goes by report_name() or report_sentence() */
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  if (length > 0)
    to->put(to->context, text, (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1);
}

rawhal_string_t report_field(const char *text, size_t size)
{
  return (rawhal_string_t){text, strnlen(text, size)};
}

void report_name(const report_to_t *to, rawhal_string_t name)
{
  (void)escape(name, ESCAPE_TEXT, SIZE_MAX, to->put, to->context);
}

/* Names in it are escaped already, so that a backslash stands for itself. */
void report_sentence(const report_to_t *to, rawhal_string_t text)
{
  while (text.size) {
    const char *slash = memchr(text.data, '\\', text.size);
    const size_t size = slash ? (size_t)(slash - text.data) : text.size;
    report_name(to, (rawhal_string_t){text.data, size});
    if (slash)
      to->put(to->context, "\\", 1);
    text.data += size + !!slash;
    text.size -= size + !!slash;
  }
}

/* ---- What failed ---- */

uint32_t report_causes(const rawhal_fault_t *fault)
{
  return fault->cause_count < RAWHAL_FAULT_CAUSES ? fault->cause_count : RAWHAL_FAULT_CAUSES;
}

static bool knows(const rawhal_fault_t *fault, uint32_t what)
{
  return fault->known & what;
}

static void put_kernel(const report_to_t *to, const rawhal_fault_t *fault)
{
  const rawhal_string_t name = report_field(fault->kernel, sizeof(fault->kernel));
  if (!name.size)
    return;
  report_say(to, " in kernel '");
  report_name(to, name);
  report_say(to, "'");
}

/* Of what is no memory of the device's, and counted from 0. */
static bool is_offset(rawhal_fault_kind_t kind)
{
  return kind == RAWHAL_FAULT_LDS || kind == RAWHAL_FAULT_LDS_UNWRITTEN ||
         kind == RAWHAL_FAULT_LDS_RACE || kind == RAWHAL_FAULT_SCRATCH;
}

/* Trap numbers are no addresses. */
static void put_access(const report_to_t *to, const rawhal_fault_t *fault)
{
  static const char *const whats[] = {"access", "read", "write", "atomic"};
  const char *what =
      (uint32_t)fault->access < sizeof(whats) / sizeof(*whats) ? whats[fault->access] : whats[0];
  report_say(to, "%s", what);
  if (fault->bytes)
    report_say(to, " of %u byte%s", fault->bytes, fault->bytes == 1 ? "" : "s");
  if (is_offset(fault->kind))
    report_say(to, " at offset %llu", (unsigned long long)fault->address);
  else
    report_say(to, " at 0x%llx", (unsigned long long)fault->address);
}

static bool has_access(const rawhal_fault_t *fault)
{
  return knows(fault, RAWHAL_FAULT_KNOWS_ADDRESS) && fault->kind != RAWHAL_FAULT_TRAP;
}

static void put_wave(const report_to_t *to, const rawhal_fault_t *fault)
{
  if (knows(fault, RAWHAL_FAULT_KNOWS_LANE))
    report_say(to, "lane %u of ", fault->lane);
  report_say(to, "wave %u of work-group %u,%u,%u", fault->wave, fault->group[0], fault->group[1],
             fault->group[2]);
}

/* Nothing of none. */
static void put_label(const report_to_t *to, const char *before, rawhal_string_t label)
{
  if (!label.size)
    return;
  report_say(to, "%s", before);
  report_name(to, label);
  report_say(to, "'");
}

/* ---- One line ---- */

static void put_line(const report_to_t *to, const rawhal_fault_t *fault)
{
  report_say(to, "%s", rawhal_fault_kind_name(fault->kind));
  put_kernel(to, fault);
  if (knows(fault, RAWHAL_FAULT_KNOWS_DISPATCH) && fault->ticket)
    report_say(to, " of ticket %llu", (unsigned long long)fault->ticket);
  put_label(to, ", dispatch '", label_text(fault->label));
  put_label(to, ", queue '", label_text(fault->queue_label));
  const char *between = ": ";
  if (has_access(fault)) {
    report_say(to, "%s", between);
    put_access(to, fault);
    between = " by ";
  }
  if (knows(fault, RAWHAL_FAULT_KNOWS_PC)) {
    report_say(to, "%s", between);
    put_wave(to, fault);
  }
  const rawhal_cause_t *cause = fault->causes;
  if (!report_causes(fault))
    return;
  report_say(to, "; likely cause (%u %%): ", cause->confidence);
  report_sentence(to, report_field(cause->text, sizeof(cause->text)));
}

/* ---- All of it ---- */

static void put_instruction(const report_to_t *to, const rawhal_fault_t *fault)
{
  report_say(to, "\n  instruction  pc 0x%llx (entry%+lld): 0x%08x 0x%08x",
             (unsigned long long)fault->pc, (long long)fault->pc_offset, fault->instruction[0],
             fault->instruction[1]);
  if (knows(fault, RAWHAL_FAULT_KNOWS_OBJECT))
    report_say(to, ", 0x%llx in the code object", (unsigned long long)fault->object_address);
}

static void put_work_item(const report_to_t *to, const rawhal_fault_t *fault)
{
  report_say(to, "\n  work-item    ");
  put_wave(to, fault);
  if (knows(fault, RAWHAL_FAULT_KNOWS_LANES))
    report_say(to, "; lanes 0x%llx, %u in all", (unsigned long long)fault->lanes,
               (unsigned)__builtin_popcountll(fault->lanes));
}

static void put_cause(const report_to_t *to, uint32_t number, const rawhal_cause_t *cause)
{
  report_say(to, "\n  %u. %3u %%  %s: ", number, cause->confidence,
             rawhal_cause_kind_name(cause->kind));
  report_sentence(to, report_field(cause->text, sizeof(cause->text)));
}

/* Who launches without a queue of ours has no tickets; a device tells of no queue. */
static void put_dispatch(const report_to_t *to, const rawhal_fault_t *fault)
{
  const bool known = knows(fault, RAWHAL_FAULT_KNOWS_DISPATCH);
  if (known && fault->ticket)
    report_say(to, "ticket %llu, number %u in it, ", (unsigned long long)fault->ticket,
               fault->dispatch);
  if (known)
    report_say(to, "packet %llu of ", (unsigned long long)fault->packet);
  else
    report_say(to, "not known%s", fault->queue_id ? "; " : "");
  if (known || fault->queue_id)
    report_say(to, "queue %llu", (unsigned long long)fault->queue_id);
}

static void put_labels(const report_to_t *to, const rawhal_fault_t *fault)
{
  const rawhal_string_t own = label_text(fault->label), queue = label_text(fault->queue_label);
  if (!own.size && !queue.size)
    return;
  report_say(to, "\n  labels       ");
  put_label(to, "dispatch '", own);
  put_label(to, own.size ? ", queue '" : "queue '", queue);
}

static void put_text(const report_to_t *to, const rawhal_fault_t *fault)
{
  report_say(to, "%s", rawhal_fault_kind_name(fault->kind));
  put_kernel(to, fault);
  report_say(to, "\n  dispatch     ");
  put_dispatch(to, fault);
  put_labels(to, fault);
  if (fault->hsa_status)
    report_say(to, "\n  runtime      status 0x%x", (unsigned)fault->hsa_status);
  if (has_access(fault)) {
    report_say(to, "\n  access       ");
    put_access(to, fault);
  }
  if (knows(fault, RAWHAL_FAULT_KNOWS_PC)) {
    put_work_item(to, fault);
    put_instruction(to, fault);
  }
  const rawhal_string_t words = report_field(fault->device_text, sizeof(fault->device_text));
  if (words.size) {
    report_say(to, "\n  device       ");
    report_sentence(to, words);
  }
  report_say(to, report_causes(fault) ? "\ncauses" : "\nno cause is known");
  for (uint32_t i = 0; i < report_causes(fault); ++i)
    put_cause(to, i + 1, &fault->causes[i]);
  report_say(to, "\n");
}

void report(const rawhal_fault_t *fault, report_form_t form, escape_put_fn *put, void *context)
{
  static void (*const forms[])(const report_to_t *, const rawhal_fault_t *) = {
      [REPORT_LINE] = put_line, [REPORT_TEXT] = put_text, [REPORT_JSON] = report_json};
  forms[form](&(report_to_t){put, context}, fault);
}

/* ---- Into bytes ---- */

typedef struct bytes {
  char *text;
  size_t size, length;
} bytes_t;

static void put_bytes(void *context, const char *piece, size_t size)
{
  bytes_t *to = context;
  const size_t room = to->length + 1 < to->size ? to->size - 1 - to->length : 0;
  if (room)
    memcpy(to->text + to->length, piece, size < room ? size : room);
  to->length += size;
}

size_t report_into(const rawhal_fault_t *fault, report_form_t form, char *text, size_t size)
{
  bytes_t to = {text, text ? size : 0, 0};
  report(fault, form, put_bytes, &to);
  if (to.size)
    text[to.length < size ? to.length : size - 1] = '\0';
  return to.length;
}
