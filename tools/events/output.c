/* rawhal events: lines. */
#include "tools/events/events.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "tools/shared/demangle.h"
#include "tools/shared/json.h"
#include "tools/shared/terminal.h"

/* ---- What an event has ---- */

typedef enum member_kind {
  MEMBER_NUMBER,
  MEMBER_NARROW, /* of 32 bits */
  MEMBER_QUEUE,  /* its id, and its label */
  MEMBER_HEX,
  MEMBER_KERNEL,   /* the address of its descriptor, and its name */
  MEMBER_DURATION, /* ns */
  MEMBER_FAULT,    /* rawhal_fault_kind_t */
  MEMBER_INSTEAD,  /* rawhal_event_instead_t; not there where it is NONE, as what follows: */
  MEMBER_FOR,      /* the address of another's */
  MEMBER_TEXT,
} member_kind_t;

#define OF(TYPE)     RAWHAL_EVENT_BIT(RAWHAL_EVENT_##TYPE)
#define MEMBER(NAME) #NAME, offsetof(rawhal_event_t, NAME)

/* In the order in which they stand in lines: rawhal/events.h says which type has which. */
static const struct member {
  const char *key;
  size_t place;
  member_kind_t kind;
  const char *word; /* before it in text; NULL: not there */
  uint64_t types;
} members[] = {
    {MEMBER(id), MEMBER_NUMBER, "module", OF(MODULE_LOAD) | OF(MODULE_UNLOAD) | OF(KERNEL)},
    {MEMBER(id), MEMBER_NUMBER, "allocation", OF(ALLOCATE) | OF(FREE) | OF(LABEL)},
    {MEMBER(queue_id), MEMBER_NUMBER, "queue", OF(QUEUE_CREATE) | OF(LABEL)},
    {MEMBER(queue_id), MEMBER_QUEUE, "queue",
     OF(QUEUE_DESTROY) | OF(SUBMIT) | OF(COMPLETE) | OF(THROTTLE) | OF(FAULT) | OF(DUMP)},
    {MEMBER(ticket), MEMBER_NUMBER, "ticket", OF(SUBMIT) | OF(COMPLETE) | OF(FAULT)},
    {MEMBER(packet), MEMBER_NUMBER, "packet", OF(SUBMIT) | OF(FAULT)},
    {MEMBER(packets), MEMBER_NARROW, "packets", OF(QUEUE_CREATE) | OF(SUBMIT)},
    {MEMBER(kind), MEMBER_FAULT, "", OF(FAULT)},
    {MEMBER(address), MEMBER_HEX, "at",
     OF(ALLOCATE) | OF(FREE) | OF(FAULT) | OF(QUEUE_CREATE) | OF(LABEL)},
    {MEMBER(bytes), MEMBER_NUMBER, "bytes", OF(MODULE_LOAD) | OF(ALLOCATE) | OF(FREE)},
    {MEMBER(agent), MEMBER_HEX, "agent", OF(MODULE_LOAD) | OF(QUEUE_CREATE) | OF(ALLOCATE)},
    {MEMBER(kernel_object), MEMBER_KERNEL, "", OF(SUBMIT)},
    {MEMBER(kernel_object), MEMBER_HEX, "at", OF(KERNEL)},
    {MEMBER(delta), MEMBER_HEX, NULL, OF(KERNEL)},
    {MEMBER(kind), MEMBER_INSTEAD, "", OF(KERNEL)},
    {MEMBER(address), MEMBER_FOR, "for", OF(KERNEL)},
    {MEMBER(nanoseconds), MEMBER_DURATION, "for", OF(THROTTLE)},
    {MEMBER(text), MEMBER_TEXT, "", OF(MODULE_LOAD) | OF(KERNEL) | OF(FAULT) | OF(DUMP)},
    {MEMBER(text), MEMBER_TEXT, "label", OF(QUEUE_CREATE) | OF(ALLOCATE) | OF(SUBMIT) | OF(LABEL)},
};

static uint64_t number_of(const rawhal_event_t *event, const struct member *member)
{
  uint64_t wide = 0;
  uint32_t narrow;
  const char *place = (const char *)event + member->place;
  if (member->kind != MEMBER_NARROW && member->kind != MEMBER_FAULT &&
      member->kind != MEMBER_INSTEAD) {
    memcpy(&wide, place, sizeof(wide));
    return wide;
  }
  memcpy(&narrow, place, sizeof(narrow));
  return narrow;
}

/* A label is of a queue or of an allocation: what is 0 is of the other. */
static bool has(const rawhal_event_t *event, const struct member *member)
{
  return member->types & RAWHAL_EVENT_BIT(event->type) &&
         (event->type != RAWHAL_EVENT_LABEL || member->kind == MEMBER_TEXT ||
          number_of(event, member));
}

static const struct member *member_next(const rawhal_event_t *event, const struct member *member)
{
  const struct member *end = members + sizeof(members) / sizeof(*members);
  member = member ? member + 1 : members;
  while (member < end && !has(event, member))
    ++member;
  return member < end ? member : NULL;
}

/* ---- Text ---- */

/* Not the numbers that are none: "at 0x0". */
static bool is_said(const rawhal_event_t *event, const struct member *member)
{
  if (!member->word)
    return false;
  if (member->kind == MEMBER_TEXT)
    return event->text.size != 0;
  return member->kind == MEMBER_NUMBER || member->kind == MEMBER_NARROW ||
         member->kind == MEMBER_QUEUE || member->kind == MEMBER_DURATION ||
         member->kind == MEMBER_FAULT || number_of(event, member) != 0;
}

static void print_kernel(const events_output_t *output, uint64_t kernel_object,
                         rawhal_string_t name)
{
  const char *instead = kernels_instead(&output->kernels, kernel_object);
  (void)tool_print_text(name);
  if (instead)
    printf(" (%s)", instead);
}

static void print_queue(rawhal_string_t label, uint64_t queue_id)
{
  printf("%" PRIu64, queue_id);
  label_print(label);
}

static void print_member(const events_output_t *output, const events_source_t *source,
                         const rawhal_event_t *event, const struct member *member)
{
  const uint64_t number = member->kind == MEMBER_TEXT ? 0 : number_of(event, member);
  const bool nice = demangle_text(output->request->demangle);
  const rawhal_string_t name =
      member->kind == MEMBER_KERNEL ? kernels_find(&output->kernels, number) : (rawhal_string_t){0};
  printf("  %s%s", member->word, *member->word ? " " : "");
  if (member->kind == MEMBER_TEXT)
    (void)tool_print_text(demangle_if(nice && event->type == RAWHAL_EVENT_KERNEL, event->text));
  else if (member->kind == MEMBER_FAULT)
    fputs(rawhal_fault_kind_name((rawhal_fault_kind_t)number), stdout);
  else if (member->kind == MEMBER_DURATION)
    printf("%.3f ms", (double)number / 1e6);
  else if (member->kind == MEMBER_INSTEAD)
    fputs(kernels_instead_of(event), stdout);
  else if (member->kind == MEMBER_QUEUE)
    print_queue(labels_find(&output->labels, source->door, number), number);
  else if (name.size)
    print_kernel(output, number, demangle_if(nice, name));
  else
    printf(member->kind == MEMBER_NUMBER || member->kind == MEMBER_NARROW ? "%" PRIu64
                                                                          : "0x%" PRIx64,
           number);
}

/* The heads of what was there and of what came; what both doors tell has their names. */
static void print_start(events_output_t *output, const events_source_t *source, uint64_t time)
{
  if (output->exists != source->exists && (source->exists || output->exists >= 0))
    puts(source->exists ? "what exists:" : "what happens:");
  output->exists = source->exists;
  printf("%12.6f", (double)(int64_t)(time - output->begun) / 1e9);
  if (output->doors & (output->doors - 1))
    printf("  %-7s", doors_name(source->door));
}

static void print_event(events_output_t *output, const events_source_t *source,
                        const rawhal_event_t *event)
{
  print_start(output, source, event->time);
  terminal_style(event->type == RAWHAL_EVENT_FAULT ? STYLE_BAD : STYLE_NAME);
  printf("  %-13s", rawhal_event_type_name(event->type));
  terminal_style(STYLE_NONE);
  for (const struct member *at = member_next(event, NULL); at; at = member_next(event, at))
    if (is_said(event, at))
      print_member(output, source, event, at);
  putchar('\n');
}

/* ---- JSON: schema "rawhal-events-1", docs/events.schema.json ---- */

static void begin_line(json_writer_t *out, const events_source_t *source, const char *event)
{
  json_begin_object(out, NULL);
  json_put_text(out, "schema", "rawhal-events-1");
  json_put_text(out, "door", doors_name(source->door));
  json_put_bool(out, "exists", source->exists);
  json_put_text(out, "event", event);
}

static void put_instead(json_writer_t *out, const char *instead)
{
  if (instead)
    json_put_text(out, "instead", instead);
}

static void put_queue(json_writer_t *out, rawhal_string_t label, uint64_t queue_id)
{
  json_put_unsigned(out, "queue_id", queue_id);
  if (label.size)
    json_put_string(out, "queue_label", label);
}

static void put_member(const events_output_t *output, const events_source_t *source,
                       json_writer_t *out, const rawhal_event_t *event, const struct member *member)
{
  switch (member->kind) {
  case MEMBER_TEXT:
    json_put_string(out, member->key, event->text);
    break;
  case MEMBER_FAULT:
    json_put_text(out, member->key,
                  rawhal_fault_kind_name((rawhal_fault_kind_t)number_of(event, member)));
    break;
  case MEMBER_INSTEAD:
    put_instead(out, kernels_instead_of(event));
    break;
  case MEMBER_QUEUE:
    put_queue(out, labels_find(&output->labels, source->door, event->queue_id), event->queue_id);
    break;
  case MEMBER_FOR:
    if (number_of(event, member))
      json_put_address(out, "instead_of", number_of(event, member));
    break;
  case MEMBER_KERNEL:
  case MEMBER_HEX:
    json_put_address(out, member->key, number_of(event, member));
    break;
  default:
    json_put_unsigned(out, member->key, number_of(event, member));
  }
  if (member->kind != MEMBER_KERNEL)
    return;
  json_put_string_or_null(out, "kernel", kernels_find(&output->kernels, event->kernel_object));
  put_instead(out, kernels_instead(&output->kernels, event->kernel_object));
}

static void print_json(const events_output_t *output, const events_source_t *source,
                       const rawhal_event_t *event)
{
  json_writer_t out = {.out = stdout, .line = true};
  begin_line(&out, source, rawhal_event_type_name(event->type));
  json_put_unsigned(&out, "time_ns", event->time);
  for (const struct member *at = member_next(event, NULL); at; at = member_next(event, at))
    put_member(output, source, &out, event, at);
  json_end(&out);
}

/* ---- Both ---- */

/* False: another door's is asked for, or what happens where only what exists is. */
static bool is_wanted(events_output_t *output, const events_source_t *source)
{
  const events_request_t *request = output->request;
  if ((request->of && request->of != source->door) || (request->list && !source->exists))
    return false;
  output->begun = output->begun ? output->begun : source->opened;
  output->doors |= 1u << source->door;
  return true;
}

void events_put(events_output_t *output, const events_source_t *source, const rawhal_event_t *event)
{
  const uint64_t types = output->request->types;
  kernels_learn(&output->kernels, event);
  labels_learn(&output->labels, source->door, event);
  events_file_put(&output->file, source, 0, event);
  if (!is_wanted(output, source) || (types && !(types & RAWHAL_EVENT_BIT(event->type))))
    return;
  if (output->request->json)
    print_json(output, source, event);
  else
    print_event(output, source, event);
}

void events_put_lost(events_output_t *output, const events_source_t *source, uint64_t count)
{
  const char *what = source->exists ? "unlisted" : "lost";
  if (!count)
    return;
  events_file_put(&output->file, source, count, NULL);
  if (!is_wanted(output, source))
    return;
  if (output->request->json) {
    json_writer_t out = {.out = stdout, .line = true};
    begin_line(&out, source, what);
    json_put_unsigned(&out, "count", count);
    json_end(&out);
    return;
  }
  const char *noun = source->exists ? count == 1 ? "more is" : "more are"
                     : count == 1   ? "event"
                                    : "events";
  printf("%12" PRIu64 " %s %s\n", count, noun, what);
}
