/* rawhal core show --json. */
#include <stdio.h>

#include "debug/report.h"
#include "tools/core/core.h"
#include "tools/shared/json.h"

static void put_report(void *context, const char *text, size_t size)
{
  (void)fwrite(text, 1, size, ((const json_writer_t *)context)->out);
}

/* ---- What is told in notes ---- */

static void put_process(json_writer_t *out, const core_contents_t *contents)
{
  core_record_t record = {0};
  uint64_t cursor = 0;
  const core_note_process_t *process = &record.as.process;
  if (!core_notes_next(core_own_note(contents->file, CORE_NOTE_PROCESS), &cursor, &record) ||
      record.type != CORE_RECORD_PROCESS)
    record = (core_record_t){.as.process.id = contents->file->view.process};
  json_begin_object(out, "process");
  json_put_signed(out, "id", process->id);
  json_put_signed(out, "written", process->written);
  json_put_unsigned(out, "now_ns", process->now);
  json_put_string_or_null(out, "program", process->program);
  json_put_string_or_null(out, "arguments", process->arguments);
  json_put_string_or_null(out, "host", process->host);
  json_put_string_or_null(out, "versions", process->versions);
  json_put_string_or_null(out, "omitted", process->omitted);
  json_end(out);
}

static void put_fault(json_writer_t *out, const core_contents_t *contents)
{
  rawhal_fault_t fault;
  if (!core_notes_fault(core_own_note(contents->file, CORE_NOTE_CAUSE), &fault)) {
    json_put_null(out, "fault");
    return;
  }
  json_open(out, "fault");
  report(&fault, REPORT_JSON, put_report, out);
}

static void put_hex(json_writer_t *out, const char *key, rawhal_bytes_t bytes)
{
  const unsigned char *from = bytes.data;
  json_open(out, key);
  fputc('"', out->out);
  for (size_t i = 0; i < bytes.size; ++i)
    fprintf(out->out, "%02x", from[i]);
  fputc('"', out->out);
}

static void put_dispatch(json_writer_t *out, const core_note_dispatch_t *dispatch)
{
  json_begin_object(out, NULL);
  json_put_unsigned(out, "queue", dispatch->queue);
  json_put_unsigned(out, "packet", dispatch->packet);
  json_put_unsigned(out, "ticket", dispatch->ticket);
  json_put_unsigned(out, "index", dispatch->index);
  json_put_text(out, "outcome", core_outcome_text(dispatch->outcome));
  json_put_unsigned(out, "submitted_ns", dispatch->submitted);
  json_put_unsigned(out, "finished_ns", dispatch->finished);
  json_put_string_or_null(out, "kernel", dispatch->kernel);
  json_put_address(out, "kernel_object", dispatch->kernel_object);
  json_put_address(out, "kernarg", dispatch->kernarg);
  json_put_string_or_null(out, "label", dispatch->label);
  put_hex(out, "packet_bytes", dispatch->packet_bytes);
  put_hex(out, "kernarg_bytes", dispatch->kernarg_bytes);
  json_put_string_or_null(out, "queue_label", dispatch->queue_label);
  json_end(out);
}

static void put_allocation(json_writer_t *out, const core_note_allocation_t *allocation)
{
  json_begin_object(out, NULL);
  json_put_unsigned(out, "number", allocation->number);
  json_put_address(out, "address", allocation->base);
  json_put_unsigned(out, "bytes", allocation->size);
  json_put_text(out, "state", core_state_text(allocation->state));
  json_put_bool(out, "read_only", allocation->read_only);
  json_put_unsigned(out, "made_ns", allocation->made);
  json_put_unsigned(out, "freed_ns", allocation->freed);
  json_put_string_or_null(out, "label", allocation->label);
  json_end(out);
}

static void put_dispatches(json_writer_t *out, const core_contents_t *contents)
{
  const rawhal_bytes_t note = core_own_note(contents->file, CORE_NOTE_DISPATCHES);
  core_record_t record;
  json_begin_array(out, "dispatches");
  for (uint64_t cursor = 0; core_notes_next(note, &cursor, &record);)
    if (record.type == CORE_RECORD_DISPATCH)
      put_dispatch(out, &record.as.dispatch);
  json_end(out);
}

static void put_allocations(json_writer_t *out, const core_contents_t *contents)
{
  const rawhal_bytes_t note = core_own_note(contents->file, CORE_NOTE_ALLOCATIONS);
  core_record_t record;
  json_begin_array(out, "allocations");
  for (uint64_t cursor = 0; core_notes_next(note, &cursor, &record);)
    if (record.type == CORE_RECORD_ALLOCATION)
      put_allocation(out, &record.as.allocation);
  json_end(out);
}

static void put_limits(json_writer_t *out, const core_contents_t *contents)
{
  core_record_t record;
  uint64_t cursor = 0;
  if (core_notes_next(core_own_note(contents->file, CORE_NOTE_LIMITS), &cursor, &record) &&
      record.type == CORE_RECORD_LIMITS)
    json_put_string_or_null(out, "limits", record.as.limits.text);
  else
    json_put_null(out, "limits");
}

static void put_left_out(json_writer_t *out, const core_contents_t *contents)
{
  const rawhal_bytes_t note = core_own_note(contents->file, CORE_NOTE_LEFT_OUT);
  core_record_t record;
  core_left_out_t all = {0};
  json_begin_object(out, "left_out");
  json_begin_array(out, "listed");
  for (uint64_t cursor = 0; core_notes_next(note, &cursor, &record);) {
    char reason[128];
    if (record.type == CORE_RECORD_LEFT_OUT)
      all = record.as.left_out;
    if (record.type != CORE_RECORD_LEFT_OUT_ENTRY)
      continue;
    core_reason_text(record.as.entry.reason, reason);
    json_begin_object(out, NULL);
    json_put_address(out, "address", record.as.entry.address);
    json_put_unsigned(out, "bytes", record.as.entry.size);
    json_put_text(out, "what", core_class_text(record.as.entry.kind));
    json_put_text(out, "why", reason);
    json_end(out);
  }
  json_end(out);
  json_put_unsigned(out, "ranges", all.ranges);
  json_put_unsigned(out, "bytes", all.bytes);
  json_end(out);
}

/* ---- What a debugger shows ---- */

static void put_agents(json_writer_t *out, const core_contents_t *contents)
{
  const walk_agent_t *agents = contents->agents.items;
  json_begin_array(out, "agents");
  for (size_t i = 0; i < contents->agents.count; ++i) {
    const core_format_agent_t *entry = &agents[i].entry;
    char chip[32];
    core_chip_text(entry->gfx_target_version, chip);
    json_begin_object(out, NULL);
    json_put_text(out, "chip", chip);
    json_put_unsigned(out, "gpu_id", entry->gpu_id);
    json_put_unsigned(out, "vendor", entry->vendor);
    json_put_unsigned(out, "device", entry->device);
    json_put_unsigned(out, "xccs", entry->xccs);
    json_end(out);
  }
  json_end(out);
}

static void put_queues(json_writer_t *out, const core_contents_t *contents)
{
  const walk_queue_t *queues = contents->queues.items;
  json_begin_array(out, "queues");
  for (size_t i = 0; i < contents->queues.count; ++i) {
    json_begin_object(out, NULL);
    json_put_unsigned(out, "id", queues[i].entry.id);
    json_put_unsigned(out, "agent", queues[i].agent);
    json_put_address(out, "ring", queues[i].entry.ring);
    json_put_unsigned(out, "ring_bytes", queues[i].entry.ring_bytes);
    json_put_unsigned(out, "read_id", queues[i].read_id);
    json_put_unsigned(out, "write_id", queues[i].write_id);
    json_put_string_or_null(out, "label", core_queue_label(contents, queues[i].entry.id));
    json_end(out);
  }
  json_end(out);
}

static void put_words(json_writer_t *out, const char *key, const uint32_t *words, size_t count)
{
  json_begin_array(out, key);
  for (size_t i = 0; i < count; ++i)
    json_put_unsigned(out, NULL, words[i]);
  json_end(out);
}

static void put_rows(json_writer_t *out, const char *key, const core_contents_t *contents,
                     uint64_t at, uint32_t count)
{
  uint32_t words[CORE_LANES];
  json_begin_array(out, key);
  for (uint32_t i = 0; i < count; ++i)
    if (core_view_read(&contents->file->view, at + FORMAT_ROW * (uint64_t)i, words, sizeof(words)))
      put_words(out, NULL, words, CORE_LANES);
  json_end(out);
}

static void put_registers(json_writer_t *out, const core_contents_t *contents,
                          const walk_wave_t *wave, bool vectors)
{
  json_put_address(out, "exec", wave->exec);
  json_put_unsigned(out, "m0", wave->hwregs[HWREG_M0]);
  json_put_unsigned(out, "mode", wave->hwregs[HWREG_MODE]);
  json_put_unsigned(out, "status", wave->hwregs[HWREG_STATUS]);
  json_put_unsigned(out, "trapsts", wave->hwregs[HWREG_TRAPSTS]);
  put_words(out, "sgprs", wave->sgprs, CORE_SGPRS);
  put_rows(out, "vgprs", contents, wave->vgprs_at, vectors ? wave->vgprs : 0);
  put_rows(out, "agprs", contents, wave->agprs_at, vectors ? wave->agprs : 0);
}

static void put_wave(json_writer_t *out, const core_contents_t *contents, const walk_wave_t *wave,
                     bool vectors)
{
  char stop[96];
  rawhal_string_t name = {0};
  uint64_t offset = 0;
  core_stop_text(wave, stop);
  json_begin_object(out, NULL);
  json_put_unsigned(out, "queue", core_queue_id(contents, wave->queue));
  json_put_unsigned(out, "xcc", wave->xcc);
  json_put_bool(out, "placed", wave->placed);
  json_put_unsigned(out, "packet", wave->packet);
  json_put_three(out, "workgroup", wave->group[0], wave->group[1], wave->group[2]);
  json_put_unsigned(out, "wave", wave->index);
  json_put_bool(out, "stopped", wave->reason != 0);
  json_put_text(out, "state", stop);
  json_put_address(out, "pc", wave->pc);
  (void)core_symbol(contents, wave->pc, &name, &offset);
  json_put_string_or_null(out, "symbol", name);
  json_put_unsigned(out, "symbol_offset", offset);
  put_registers(out, contents, wave, vectors);
  json_end(out);
}

static void put_waves(json_writer_t *out, const core_contents_t *contents, bool all)
{
  const walk_wave_t *waves = contents->waves.items;
  json_begin_array(out, "waves");
  for (size_t i = 0; i < contents->waves.count; ++i)
    put_wave(out, contents, &waves[i], all);
  json_end(out);
}

static void put_objects(json_writer_t *out, const core_contents_t *contents)
{
  const core_code_t *codes = contents->codes.items;
  json_begin_array(out, "objects");
  for (size_t i = 0; i < contents->codes.count; ++i) {
    json_begin_object(out, NULL);
    json_put_address(out, "loaded_at", codes[i].object.delta);
    json_put_address(out, "address", codes[i].object.address);
    json_put_unsigned(out, "bytes", codes[i].object.size);
    json_put_bool(out, "read", codes[i].hsaco != NULL);
    json_end(out);
  }
  json_end(out);
}

static void put_debuggers(json_writer_t *out, const core_contents_t *contents)
{
  const walk_finding_t *finding = &contents->finding;
  json_begin_object(out, "debugger");
  json_put_bool(out, "shows", contents->shown);
  json_put_text(out, "mistake", contents->shown ? NULL : core_mistake_name(finding->mistake));
  json_put_unsigned(out, "r_version", finding->r_version);
  json_begin_array(out, "in_part");
  for (core_mistake_t i = MISTAKE_NONE; i < MISTAKES; ++i)
    if (finding->seen >> i & 1)
      json_put_text(out, NULL, core_mistake_name(i));
  json_end(out);
  json_end(out);
}

void core_show_json(const core_contents_t *contents, const core_request_t *request)
{
  json_writer_t out = {.out = stdout};
  json_begin_object(&out, NULL);
  json_put_text(&out, "schema", "rawhal-core-1");
  put_fault(&out, contents);
  put_process(&out, contents);
  put_dispatches(&out, contents);
  put_allocations(&out, contents);
  put_agents(&out, contents);
  put_queues(&out, contents);
  put_waves(&out, contents, request->all);
  put_objects(&out, contents);
  put_limits(&out, contents);
  put_left_out(&out, contents);
  put_debuggers(&out, contents);
  json_end(&out);
}
