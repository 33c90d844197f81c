#include "debug/cause_text.h"

#include "base/escape.h"
#include "base/print.h"
#include "debug/label.h"

#include <stdarg.h>
#include <stdio.h>

enum { NAME_COLUMNS = 40 };

static void put_piece(void *context, const char *piece, size_t size)
{
  print(context, "%.*s", (int)size, piece);
}

cause_phrase_t cause_quoted(rawhal_string_t name)
{
  enum { MOST = 60, A_COLUMN = 4 };
  char all[NAME_COLUMNS * A_COLUMN + 1];
  print_t out = print_into(all, sizeof(all));
  cause_phrase_t phrase = {""};
  if (!name.size || !name.data)
    return phrase;
  (void)escape(name, ESCAPE_TEXT, NAME_COLUMNS, put_piece, &out);
  const size_t length = escape_cut((rawhal_string_t){all, out.length}, MOST);
  snprintf(phrase.text, sizeof(phrase.text), "'%.*s'", (int)length, all);
  return phrase;
}

cause_phrase_t cause_argument_text(const cause_evidence_t *evidence, uint32_t index)
{
  cause_phrase_t phrase;
  const rawhal_kernarg_argument_t *argument =
      evidence->layout ? rawhal_kernarg_layout_argument(evidence->layout, index) : NULL;
  if (!argument)
    snprintf(phrase.text, sizeof(phrase.text), "argument %u", index);
  else if (argument->hidden)
    snprintf(phrase.text, sizeof(phrase.text), "hidden argument %u %.100s", index,
             cause_quoted(argument->value_kind_text).text);
  else
    snprintf(phrase.text, sizeof(phrase.text), "argument %u%s%.100s", index,
             argument->name.size ? " " : "", cause_quoted(argument->name).text);
  return phrase;
}

cause_phrase_t cause_pointer(const cause_evidence_t *evidence, const cause_word_t *word)
{
  cause_phrase_t phrase;
  const bool known = word->argument != RAWHAL_NO_ARGUMENT;
  const cause_phrase_t argument = cause_argument_text(evidence, word->argument);
  const rawhal_kernarg_argument_t *of = cause_argument(evidence, word);
  switch (word->role) {
  case CAUSE_FIELD:
    snprintf(phrase.text, sizeof(phrase.text), "the pointer at byte %u of %.100s",
             of ? word->at - of->offset : word->at, argument.text);
    break;
  case CAUSE_MEMORY:
    snprintf(phrase.text, sizeof(phrase.text), "the pointer at byte %u of the memory of %.100s",
             word->at, known ? argument.text : "a pointer of the arguments");
    break;
  default:
    if (known)
      return argument;
    snprintf(phrase.text, sizeof(phrase.text), "the pointer at byte %u of the arguments", word->at);
  }
  return phrase;
}

cause_phrase_t cause_duration(uint64_t ns)
{
  static const struct {
    uint64_t ns;
    const char *unit;
  } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
  cause_phrase_t phrase;
  size_t i = 0;
  while (units[i].ns > 1 && ns < units[i].ns)
    ++i;
  snprintf(phrase.text, sizeof(phrase.text), "%llu %s", (unsigned long long)(ns / units[i].ns),
           units[i].unit);
  return phrase;
}

cause_phrase_t cause_where(const cause_evidence_t *evidence, const debug_allocation_t *allocation)
{
  cause_phrase_t phrase;
  const cause_phrase_t label = cause_quoted(label_text(allocation->label));
  print_t out = print_into(phrase.text, sizeof(phrase.text));
  if (*label.text)
    print(&out, "buffer %.70s, ", label.text);
  print(&out, "%llu bytes", (unsigned long long)allocation->size);
  if (evidence->has_address)
    print(&out, ", offset %lld", (long long)(evidence->address - allocation->base));
  return phrase;
}

/* The access begins within. */
static cause_phrase_t across_text(uint64_t bytes, uint64_t left)
{
  cause_phrase_t phrase = {""};
  if (bytes > left)
    snprintf(phrase.text, sizeof(phrase.text), "%llu byte%s past the end of",
             (unsigned long long)(bytes - left), bytes - left == 1 ? "" : "s");
  return phrase;
}

cause_phrase_t cause_beside(const cause_evidence_t *evidence, const debug_allocation_t *allocation)
{
  enum { COUNTED = 1 << 20 }; /* elements that are still worth counting */
  const uint64_t bytes = evidence->fault->bytes;
  const uint64_t distance = cause_distance(allocation, evidence->address);
  const bool is_past = evidence->address >= allocation->base;
  if (cause_holds(allocation, evidence->address))
    return across_text(bytes, allocation->size - (evidence->address - allocation->base));
  const uint64_t elements = bytes ? distance / bytes + is_past : 0;
  const char *where = is_past ? "past the end of" : "before the start of";
  cause_phrase_t phrase;
  if (!bytes && !distance)
    snprintf(phrase.text, sizeof(phrase.text), "just %s", where);
  else if (!bytes || distance % bytes || elements > COUNTED)
    snprintf(phrase.text, sizeof(phrase.text), "%llu byte%s %s", (unsigned long long)distance,
             distance == 1 ? "" : "s", where);
  else if (elements == 1)
    snprintf(phrase.text, sizeof(phrase.text), "one element %s", where);
  else
    snprintf(phrase.text, sizeof(phrase.text), "%llu elements %s", (unsigned long long)elements,
             where);
  return phrase;
}

cause_phrase_t cause_labels(const rawhal_fault_t *fault)
{
  const cause_phrase_t own = cause_quoted(label_text(fault->label)),
                       queue = cause_quoted(label_text(fault->queue_label));
  cause_phrase_t phrase;
  print_t out = print_into(phrase.text, sizeof(phrase.text));
  if (*own.text)
    print(&out, " (dispatch %.70s%s", own.text, *queue.text ? "" : ")");
  if (*queue.text)
    print(&out, "%squeue %.70s)", *own.text ? ", " : " (", queue.text);
  return phrase;
}

cause_phrase_t cause_whose(const debug_dispatch_t *dispatch)
{
  cause_phrase_t phrase;
  const cause_phrase_t name = cause_quoted(dispatch->kernel);
  print_t out = print_into(phrase.text, sizeof(phrase.text));
  print(&out, "kernel%s%.70s", *name.text ? " " : "", name.text);
  if (dispatch->ticket)
    print(&out, " of ticket %llu", (unsigned long long)dispatch->ticket);
  else
    print(&out, " of packet %llu", (unsigned long long)dispatch->packet);
  const cause_phrase_t label = cause_quoted(dispatch->label);
  print(&out, "%s%.70s", *label.text ? " " : "", label.text);
  return phrase;
}

/* ---- A cause ---- */

static void copy_name(char *to, size_t size, rawhal_string_t name)
{
  const size_t length = name.data ? escape_cut(name, size - 1) : 0;
  memcpy(to, length ? name.data : "", length);
  to[length] = '\0';
}

static void tell_word(rawhal_cause_t *cause, const cause_evidence_t *evidence,
                      const cause_word_t *word)
{
  const rawhal_kernarg_argument_t *argument = cause_argument(evidence, word);
  cause->argument = word ? word->argument : RAWHAL_NO_ARGUMENT;
  cause->levels = word && (word->role == CAUSE_FIELD || word->role == CAUSE_MEMORY);
  if (argument)
    copy_name(cause->argument_name, sizeof(cause->argument_name),
              argument->hidden ? argument->value_kind_text : argument->name);
}

static void tell_allocation(rawhal_cause_t *cause, const cause_evidence_t *evidence,
                            const debug_allocation_t *allocation)
{
  const uint64_t now = evidence->scene->now;
  cause->allocation = allocation->base;
  cause->allocation_bytes = allocation->size;
  if (evidence->has_address)
    cause->offset = (int64_t)(evidence->address - allocation->base);
  if (allocation->freed_at)
    cause->freed_ns = now > allocation->freed_at ? now - allocation->freed_at : 1;
  copy_name(cause->label, sizeof(cause->label), label_text(allocation->label));
}

static void tell_dispatch(rawhal_cause_t *cause, const debug_dispatch_t *dispatch)
{
  cause->queue_id = dispatch->queue_id;
  cause->ticket = dispatch->ticket;
  cause->packet = dispatch->packet;
  cause->dispatch = dispatch->index;
}

void cause_say(rawhal_cause_t *cause, rawhal_cause_kind_t kind, const cause_evidence_t *evidence,
               const cause_word_t *word, const debug_allocation_t *allocation, const char *format,
               ...)
{
  *cause = (rawhal_cause_t){.kind = kind};
  tell_word(cause, evidence, word);
  if (allocation)
    tell_allocation(cause, evidence, allocation);
  if (evidence->dispatch)
    tell_dispatch(cause, evidence->dispatch);
  char all[640]; /* so that what is cut is known whole */
  print_t out = print_into(all, sizeof(all));
  if (evidence->dispatch && !evidence->certain)
    print(&out, "%s: ", cause_whose(evidence->dispatch).text);
  const size_t used = out.length;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(all + used, sizeof(all) - used, format, arguments);
  va_end(arguments);
  copy_name(cause->text, sizeof(cause->text), rawhal_string(all));
}
