#include "record/notes.h"

#include <inttypes.h>
#include <stdio.h>

typedef void note_writer_fn(const record_note_t *note, char *text, size_t size);

#define WORDS(name, ...)                                                                           \
  static void write_##name(const record_note_t *note, char *text, size_t size)                     \
  {                                                                                                \
    (void)note;                                                                                    \
    (void)snprintf(text, size, __VA_ARGS__);                                                       \
  }

WORDS(kernargs, "its kernargs at 0x%" PRIx64 " cannot be read: none are recorded", note->value)
WORDS(layout, "its arguments are not known: pointers among its kernargs are guessed, or missing")
WORDS(variables, "the variables of its code object are not recorded: they will be as in its file")
WORDS(objects,
      "words that lead into the code or constants of other code objects: %" PRIu64 ", the first at "
      "0x%" PRIx64 ", 0x%" PRIx64 "; they are not relocated",
      note->count, note->at, note->value)
WORDS(deep,
      "words that lead on from buffers to which only words of buffers lead: %" PRIu64 ", the first "
      "at 0x%" PRIx64 ", to 0x%" PRIx64 "; pointers are followed one level deep",
      note->count, note->at, note->value)
WORDS(large,
      "buffers that are too large for their contents to be recorded: %" PRIu64
      ", the first at 0x%" PRIx64 ", of %" PRIu64 " bytes",
      note->count, note->at, note->value)
WORDS(many,
      "buffers beyond the number that is recorded for a dispatch: %" PRIu64
      ", the first at 0x%" PRIx64,
      note->count, note->value)
WORDS(unreadable, "the memory at 0x%" PRIx64 " could not be read: zeros stand for it", note->value)
WORDS(shared,
      "the memory at 0x%" PRIx64
      " is mapped elsewhere, too, as in another process: what was written "
      "there is not told from what the kernel wrote",
      note->value)
WORDS(nowhere,
      "the pointer at offset %" PRIu64 " is 0x%" PRIx64
      ", which led to no memory that is known: it is left as it is",
      note->at, note->value)
WORDS(runtime,
      "the word at 0x%" PRIx64 " is 0x%" PRIx64 ", in the runtime's own memory, as signals and "
      "queues are: it is left as it is",
      note->at, note->value)
WORDS(image,
      "the argument at offset %" PRIu64 " is an image, a sampler or a pipe, 0x%" PRIx64 ": what "
      "describes it is not relocated",
      note->at, note->value)
WORDS(group,
      "it had %" PRIu64 " bytes of group memory, and needs %" PRIu64 ": a replay has what it needs",
      note->count, note->value)
WORDS(stack,
      "it had %" PRIu64 " bytes of private memory a work-item, %" PRIu64 " are the kernel's own: "
      "a stack of a size that the program chose",
      note->count, note->value)
WORDS(clock, "its code reads a clock, or on which hardware it runs")
WORDS(atomics, "its code has atomics whose outcome depends on the order of work-items")
WORDS(concurrent, "other dispatches ran at the same time: what they wrote is not told from its own")
WORDS(freed, "the memory at 0x%" PRIx64 " was freed while it ran: how it was then is not recorded",
      note->value)
WORDS(values,
      "words of arguments by value that are taken for pointers: %" PRIu64
      ", the first at offset %" PRIu64 ", 0x%" PRIx64,
      note->count, note->at, note->value)
WORDS(pointers,
      "words of buffers that are taken for pointers: %" PRIu64 ", the first at 0x%" PRIx64
      ", 0x%" PRIx64,
      note->count, note->at, note->value)
WORDS(queue, "the kernel is given its queue, or the number of its packet, which are others now")

WORDS(sync, "its code uses global wave sync, for which a replay's queue has no resources")

static void write_service(const record_note_t *note, char *text, size_t size)
{
  static const struct {
    uint64_t kind;
    const char *name;
  } names[] = {{RAWHAL_VALUE_HIDDEN_PRINTF_BUFFER, "hidden_printf_buffer"},
               {RAWHAL_VALUE_HIDDEN_HOSTCALL_BUFFER, "hidden_hostcall_buffer"},
               {RAWHAL_VALUE_HIDDEN_MULTIGRID_SYNC_ARG, "hidden_multigrid_sync_arg"},
               {RAWHAL_VALUE_HIDDEN_HEAP_V1, "hidden_heap_v1"},
               {RAWHAL_VALUE_HIDDEN_DEFAULT_QUEUE, "hidden_default_queue"},
               {RAWHAL_VALUE_HIDDEN_COMPLETION_ACTION, "hidden_completion_action"},
               {RAWHAL_VALUE_HIDDEN_QUEUE_PTR, "hidden_queue_ptr"},
               {RAWHAL_VALUE_QUEUE, "queue"}};
  const char *name = "an argument";
  for (size_t i = 0; i < sizeof(names) / sizeof(*names); ++i)
    if (names[i].kind == note->count)
      name = names[i].name;
  (void)snprintf(text, size,
                 "%s at offset %" PRIu64 " is 0x%" PRIx64
                 " of the recorded process: a kernel that uses it is not supported",
                 name, note->at, note->value);
}

static const struct {
  const char *name;
  note_writer_fn *write;
} kinds[RECORD_NOTE_KINDS] = {
    [RECORD_NOTE_KERNARGS] = {"kernargs", write_kernargs},
    [RECORD_NOTE_LAYOUT] = {"layout", write_layout},
    [RECORD_NOTE_VARIABLES] = {"variables", write_variables},
    [RECORD_NOTE_OBJECTS] = {"objects", write_objects},
    [RECORD_NOTE_DEEP] = {"deep", write_deep},
    [RECORD_NOTE_LARGE] = {"large", write_large},
    [RECORD_NOTE_MANY] = {"many", write_many},
    [RECORD_NOTE_UNREADABLE] = {"unreadable", write_unreadable},
    [RECORD_NOTE_SHARED] = {"shared", write_shared},
    [RECORD_NOTE_NOWHERE] = {"nowhere", write_nowhere},
    [RECORD_NOTE_RUNTIME] = {"runtime", write_runtime},
    [RECORD_NOTE_SERVICE] = {"service", write_service},
    [RECORD_NOTE_IMAGE] = {"image", write_image},
    [RECORD_NOTE_GROUP] = {"group", write_group},
    [RECORD_NOTE_STACK] = {"stack", write_stack},
    [RECORD_NOTE_CLOCK] = {"clock", write_clock},
    [RECORD_NOTE_ATOMICS] = {"atomics", write_atomics},
    [RECORD_NOTE_CONCURRENT] = {"concurrent", write_concurrent},
    [RECORD_NOTE_FREED] = {"freed", write_freed},
    [RECORD_NOTE_VALUES] = {"values", write_values},
    [RECORD_NOTE_POINTERS] = {"pointers", write_pointers},
    [RECORD_NOTE_QUEUE] = {"queue", write_queue},
    [RECORD_NOTE_SYNC] = {"sync", write_sync},
};

const char *record_note_name(uint32_t kind)
{
  return kind < RECORD_NOTE_KINDS && kinds[kind].name ? kinds[kind].name : "unknown";
}

void record_note_text(const record_note_t *note, char *text, size_t size)
{
  if (note->kind < RECORD_NOTE_KINDS && kinds[note->kind].write)
    kinds[note->kind].write(note, text, size);
  else
    (void)snprintf(text, size, "a note of kind %" PRIu32 ", which is unknown to this version",
                   note->kind);
}
