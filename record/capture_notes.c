#include "record/capture.h"

#include "record/code.h"

void record_capture_note_one(record_capture_t *capture, record_note_t note)
{
  if (capture->note_count < RECORD_CAPTURE_MOST_NOTES)
    capture->notes[capture->note_count++] = note;
}

void record_capture_note(record_capture_t *capture, record_note_kind_t kind, uint64_t at,
                         uint64_t value)
{
  for (size_t i = 0; i < capture->told; ++i) /* what was so before is so after it */
    if (capture->notes[i].kind == kind && capture->notes[i].at == at)
      return;
  for (size_t i = capture->told; i < capture->note_count; ++i)
    if (capture->notes[i].kind == kind) {
      ++capture->notes[i].count;
      return;
    }
  record_capture_note_one(capture, (record_note_t){kind, 1, at, value});
}

void record_capture_note_packet(record_capture_t *capture, uint32_t group_bytes,
                                uint32_t private_bytes, uint32_t code)
{
  enum { QUEUE_POINTER = 1u << 2, DISPATCH_ID = 1u << 4 }; /* kernel_code_properties */
  const rawhal_descriptor_t *descriptor = capture->kernel->descriptor;
  const uint32_t metadata = capture->kernel->private_segment_fixed_size;
  const uint32_t own =
      descriptor->private_segment_size > metadata ? descriptor->private_segment_size : metadata;
  if (group_bytes < descriptor->group_segment_size)
    record_capture_note_one(capture, (record_note_t){RECORD_NOTE_GROUP, group_bytes, 0,
                                                     descriptor->group_segment_size});
  if (private_bytes > own)
    record_capture_note_one(capture, (record_note_t){RECORD_NOTE_STACK, private_bytes, 0, own});
  if (descriptor->code_properties & (QUEUE_POINTER | DISPATCH_ID))
    record_capture_note(capture, RECORD_NOTE_QUEUE, 0, descriptor->code_properties);
  if (code & RECORD_CODE_CLOCK)
    record_capture_note(capture, RECORD_NOTE_CLOCK, 0, 0);
  if (code & RECORD_CODE_ATOMICS)
    record_capture_note(capture, RECORD_NOTE_ATOMICS, 0, 0);
  if (code & RECORD_CODE_SYNC)
    record_capture_note(capture, RECORD_NOTE_SYNC, 0, 0);
}

rawhal_status_t record_capture_write_notes(record_capture_t *capture, record_writer_t *writer,
                                           record_report_fn *report, void *context,
                                           rawhal_error_t *error)
{
  for (; capture->told < capture->note_count; ++capture->told) {
    const record_note_t *note = &capture->notes[capture->told];
    rawhal_status_t status = record_writer_note(writer, capture->dispatch, note, error);
    if (status != RAWHAL_OK)
      return status;
    if (report)
      report(context, note);
  }
  return RAWHAL_OK;
}
