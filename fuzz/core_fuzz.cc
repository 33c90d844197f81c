// Any bytes as a core file, or as two: what a debugger would find in them, rawhal's notes, another abi, what would be
// launched again, and both as one, at a cost that the bytes account for.
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <rawhal/rawhal.h>

#include "budget.h"

extern "C" {
#include "debug/core/change.h"
#include "debug/core/notes.h"
#include "debug/core/walk.h"
#include "debug/report.h"
#include "tools/replay/core.h"
}

namespace {

volatile uint8_t sum; // what reads them stays

void check(bool right)
{
  if (!right)
    __builtin_trap();
}

void touch(const void *data, size_t size)
{
  for (size_t i = 0; i < size; ++i)
    sum = sum + static_cast<const uint8_t *>(data)[i];
}

void touch(rawhal_string_t text)
{
  touch(text.data, text.size);
}

// ---- What a debugger would find ----

struct Found {
  const core_view_t *view;
  uint64_t waves = 0, objects = 0, queues = 0;
};

bool see_object(void *context, const walk_object_t *object)
{
  Found *found = static_cast<Found *>(context);
  ++found->objects;
  check(core_view_has(found->view, object->address, object->size, nullptr) == object->size);
  return true;
}

bool see_queue(void *context, const walk_queue_t *)
{
  ++static_cast<Found *>(context)->queues;
  return true;
}

bool see_wave(void *context, const walk_wave_t *wave)
{
  Found *found = static_cast<Found *>(context);
  ++found->waves;
  check(wave->chip && wave->pc % 4 == 0);
  uint8_t row[FORMAT_ROW];
  if (wave->vgprs)
    (void)core_view_read(found->view, wave->vgprs_at, row, sizeof(row));
  touch(wave->sgprs, sizeof(wave->sgprs));
  return true;
}

void read_notes(const core_file_t &file)
{
  core_file_note_t note;
  for (core_note_cursor_t cursor = {}; core_file_note(&file, &cursor, &note);) {
    touch(note.owner);
    touch(note.bytes.data, note.bytes.size);
    core_record_t record;
    for (uint64_t at = 0; core_notes_next(note.bytes, &at, &record);) {
      check(at <= note.bytes.size);
      if (record.type == CORE_RECORD_PROCESS)
        touch(record.as.process.versions);
      if (record.type == CORE_RECORD_DISPATCH)
        touch(record.as.dispatch.kernarg_bytes.data, record.as.dispatch.kernarg_bytes.size);
      if (record.type == CORE_RECORD_ALLOCATION)
        touch(record.as.allocation.label);
    }
    rawhal_fault_t fault;
    char text[4096];
    if (core_notes_fault(note.bytes, &fault))
      check(report_into(&fault, REPORT_JSON, text, sizeof(text)) > 0);
  }
}

bool open_file(core_file_t *file, const std::string &bytes)
{
  rawhal_error_t error = {};
  const rawhal_status_t status = core_file_open(file, {bytes.data(), bytes.size()}, &error);
  check(status == RAWHAL_OK || status == RAWHAL_MALFORMED || status == RAWHAL_UNSUPPORTED);
  return status == RAWHAL_OK;
}

// ---- What would be launched again ----

struct Pieces {
  uint64_t end = 0, sum = 0;
};

rawhal_status_t take_piece(void *context, uint64_t offset, const void *bytes, size_t size,
                           rawhal_error_t *)
{
  Pieces *pieces = static_cast<Pieces *>(context);
  check(size && size <= RECORD_PIECE && offset >= pieces->end);
  pieces->end = offset + size;
  pieces->sum += size;
  touch(bytes, size);
  return RAWHAL_OK;
}

// Each address is of one buffer; all of them have no more contents than the file.
void read_buffers(const replay_source_t &source, uint64_t file_bytes)
{
  std::map<uint64_t, uint64_t> ends;
  uint64_t sum_of_all = 0;
  for (size_t i = 0; i < source.before.count; ++i) {
    const record_buffer_t &buffer = source.before.buffers[i];
    const uint64_t end = buffer.address + buffer.content.size;
    check(end > buffer.address && !buffer.left_out && source.states[i] <= REPLAY_NOTHING);
    check(ends.emplace(buffer.address, end).second);
    Pieces pieces;
    check(source.content(source.file, &buffer.content, take_piece, &pieces, nullptr) == RAWHAL_OK);
    check(pieces.end <= buffer.content.size);
    sum_of_all += pieces.sum;
  }
  check(sum_of_all <= file_bytes);
  uint64_t last = 0;
  for (const auto &range : ends) {
    check(range.first >= last);
    last = range.second;
  }
}

void launch_again(const core_file_t &file, const char *wanted)
{
  static replay_core_t core; // large
  rawhal_error_t error = {};
  if (replay_core_read(&file, wanted, &core, &error)) {
    const replay_source_t &source = core.source;
    check(source.object_size && source.dispatch.kernel.size && source.number);
    check(source.dispatch.kernargs.size <= RECORD_MOST_KERNARGS);
    touch(source.object, source.object_size);
    touch(source.dispatch.kernel);
    touch(source.dispatch.kernargs.data, source.dispatch.kernargs.size);
    for (size_t i = 0; i < source.said_count; ++i)
      check(*source.said[i]);
    read_buffers(source, file.view.bytes);
  } else {
    check(error.status != RAWHAL_OK && *error.message);
  }
  replay_core_free(&core);
}

void read_file(const std::string &bytes)
{
  core_file_t file;
  if (open_file(&file, bytes)) {
    Found found = {&file.view};
    const walk_visitor_t visitor = {nullptr, see_object, see_queue, see_wave, nullptr, &found};
    walk_finding_t finding;
    const bool whole = core_walk(&file.view, &visitor, &finding);
    check(whole == (finding.mistake == MISTAKE_NONE) && core_mistake_name(finding.mistake));
    check(found.waves <= bytes.size() && found.objects <= bytes.size());
    read_notes(file);
    launch_again(file, nullptr);
    launch_again(file, "vector_add");
  }
  core_file_close(&file);
}

void change(std::string bytes)
{
  core_abi_change_t change;
  rawhal_error_t error;
  const rawhal_status_t status = core_change_abi(reinterpret_cast<unsigned char *>(&bytes[0]),
                                                 bytes.size(), 12, &change, &error);
  if (status == RAWHAL_OK)
    read_file(bytes);
}

// ---- Two files ----

bool append(void *context, const void *bytes, size_t size)
{
  static_cast<std::string *>(context)->append(static_cast<const char *>(bytes), size);
  return true;
}

void merge(const std::string &one, const std::string &other)
{
  core_file_t host, gpus;
  core_merged_t merged;
  rawhal_error_t error;
  std::string bytes;
  const bool is_open = open_file(&host, one), opened = open_file(&gpus, other) && is_open;
  if (opened && core_merge(&host, &gpus, append, &bytes, &merged, &error) == RAWHAL_OK) {
    check(merged.bytes == bytes.size());
    core_file_t both;
    check(open_file(&both, bytes));
    core_file_close(&both);
  }
  core_file_close(&gpus);
  core_file_close(&host);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  // Two files begin with how long the first is; an ELF file begins otherwise.
  uint32_t first;
  const Budget budget(budget_begin(4000000 + 4000 * size, (16 << 20) + 16 * size));
  const std::string bytes(reinterpret_cast<const char *>(data), size);
  if (size >= sizeof(first) && (memcpy(&first, data, sizeof(first)), first <= size - sizeof(first)))
    merge(bytes.substr(sizeof(first), first), bytes.substr(sizeof(first) + first));
  else if (size)
    read_file(bytes), change(bytes);
  return 0;
}
