#include "front/recording.h"
#include "front/report.h"

#include "front/reported.h"
#include "record/code.h"

/* ---- Of one dispatch ---- */

void recording_note_one(recorder_capture_t *recording, record_note_t note)
{
  if (recording->note_count < RECORDING_MOST_NOTES)
    recording->notes[recording->note_count++] = note;
}

void recording_note(recorder_capture_t *recording, record_note_kind_t kind, uint64_t at,
                    uint64_t value)
{
  for (size_t i = 0; i < recording->told; ++i) /* what was so before is so after it */
    if (recording->notes[i].kind == kind && recording->notes[i].at == at)
      return;
  for (size_t i = recording->told; i < recording->note_count; ++i)
    if (recording->notes[i].kind == kind) {
      ++recording->notes[i].count;
      return;
    }
  recording_note_one(recording, (record_note_t){kind, 1, at, value});
}

static uint32_t code_of(const front_kernel_t *kernel)
{
  enum { KNOWN = 1u << 30 };
  front_kernel_t *changed = (front_kernel_t *)kernel;
  uint32_t code = atomic_load(&changed->code);
  if (code)
    return code;
  code = record_code_of(kernel->facts, object_bytes(kernel->object)) | KNOWN;
  atomic_store(&changed->code, code);
  return code;
}

void recording_note_packet(recorder_capture_t *recording,
                           const hsa_kernel_dispatch_packet_t *packet)
{
  enum { QUEUE_POINTER = 1u << 2, DISPATCH_ID = 1u << 4 }; /* kernel_code_properties */
  const rawhal_kernel_t *facts = recording->kernel->facts;
  const rawhal_descriptor_t *descriptor = facts->descriptor;
  const uint32_t code = code_of(recording->kernel), metadata = facts->private_segment_fixed_size;
  const uint32_t own =
      descriptor->private_segment_size > metadata ? descriptor->private_segment_size : metadata;
  if (packet->group_segment_size < descriptor->group_segment_size)
    recording_note_one(recording, (record_note_t){RECORD_NOTE_GROUP, packet->group_segment_size, 0,
                                                  descriptor->group_segment_size});
  if (packet->private_segment_size > own)
    recording_note_one(recording,
                       (record_note_t){RECORD_NOTE_STACK, packet->private_segment_size, 0, own});
  if (descriptor->code_properties & (QUEUE_POINTER | DISPATCH_ID))
    recording_note(recording, RECORD_NOTE_QUEUE, 0, descriptor->code_properties);
  if (code & RECORD_CODE_CLOCK)
    recording_note(recording, RECORD_NOTE_CLOCK, 0, 0);
  if (code & RECORD_CODE_ATOMICS)
    recording_note(recording, RECORD_NOTE_ATOMICS, 0, 0);
  if (code & RECORD_CODE_SYNC)
    recording_note(recording, RECORD_NOTE_SYNC, 0, 0);
}

/* ---- Of the program ---- */

rawhal_status_t recording_write_notes(recorder_capture_t *recording, record_writer_t *writer,
                                      rawhal_error_t *error)
{
  char text[240];
  const front_kernel_t *kernel = recording->kernel;
  const rawhal_string_t name = kernel->facts->name;
  for (; recording->told < recording->note_count; ++recording->told) {
    const record_note_t *note = &recording->notes[recording->told];
    rawhal_status_t status = record_writer_note(writer, recording->dispatch, note, error);
    if (status != RAWHAL_OK)
      return status;
    if (reported_before((reported_key_t){object_hash(kernel->object), kernel->address,
                                         REPORTED_RECORD | note->kind}))
      continue;
    record_note_text(note, text, sizeof(text));
    front_report("record: %.*s: %s (%s, first in dispatch %llu)",
                 (int)(name.size < 200 ? name.size : 200), name.data, text,
                 record_note_name(note->kind), (unsigned long long)recording->dispatch);
  }
  return RAWHAL_OK;
}
