/* rawhal core show: text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "debug/report.h"
#include "tools/core/core.h"
#include "tools/shared/terminal.h"

enum { INDENT = 4, LONG_TEXT = 192 };

/* ---- Pieces ---- */

/* Cells with the width of each; the last has none. */
static void row(const char *const *cells, const unsigned char *widths)
{
  terminal_row_print(cells, widths, 2, INDENT);
}

static void put_report(void *context, const char *text, size_t size)
{
  (void)context;
  (void)fwrite(text, 1, size, stdout);
}

static const char *symbol_of(const core_contents_t *contents, uint64_t pc, char text[LONG_TEXT])
{
  rawhal_string_t name;
  uint64_t offset;
  if (core_symbol(contents, pc, &name, &offset))
    (void)snprintf(text, LONG_TEXT, "%.*s+0x%" PRIx64, (int)(name.size < 160 ? name.size : 160),
                   name.data, offset);
  else
    (void)snprintf(text, LONG_TEXT, "0x%" PRIx64, pc);
  return text;
}

/* ---- Sections ---- */

static void show_process(const core_contents_t *contents)
{
  core_record_t record = {0};
  uint64_t cursor = 0;
  const core_note_process_t *process = &record.as.process;
  const bool told =
      core_notes_next(core_own_note(contents->file, CORE_NOTE_PROCESS), &cursor, &record) &&
      record.type == CORE_RECORD_PROCESS;
  if (!told && !contents->file->view.process)
    fputs("core file of GPUs alone", stdout);
  else
    printf("core file of process %" PRId64, told ? process->id : contents->file->view.process);
  if (!told) {
    puts(", not written by rawhal");
    return;
  }
  fputs(", '", stdout);
  (void)tool_print_text(process->arguments.size ? process->arguments : process->program);
  fputs("' on ", stdout);
  (void)tool_print_text(process->host);
  const time_t written = (time_t)process->written;
  struct tm parts;
  char when[64];
  if (gmtime_r(&written, &parts) && strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &parts))
    printf("\n  written %s by ", when);
  else
    fputs("\n  written by ", stdout);
  (void)tool_print_text(process->versions);
  putchar('\n');
  if (process->omitted.size) {
    fputs("  ", stdout);
    (void)tool_print_text(process->omitted);
    putchar('\n');
  }
}

static void show_cause(const core_contents_t *contents)
{
  rawhal_fault_t fault;
  putchar('\n');
  if (core_notes_fault(core_own_note(contents->file, CORE_NOTE_CAUSE), &fault))
    report(&fault, REPORT_TEXT, put_report, NULL);
  else
    puts("it does not say what failed");
}

static void show_dispatches(const core_contents_t *contents)
{
  static const unsigned char widths[] = {6, 8, 8, 8, 12, 24, 0};
  const rawhal_bytes_t note = core_own_note(contents->file, CORE_NOTE_DISPATCHES);
  core_record_t record;
  bool any = false;
  for (uint64_t cursor = 0; core_notes_next(note, &cursor, &record);) {
    const core_note_dispatch_t *dispatch = &record.as.dispatch;
    char queue[24], packet[24], ticket[24], taken[32] = "-", kernel[LONG_TEXT], label[LONG_TEXT];
    if (record.type != CORE_RECORD_DISPATCH)
      continue;
    if (!any) {
      terminal_heading("dispatches");
      row((const char *const[]){"QUEUE", "PACKET", "TICKET", "OUTCOME", "TOOK", "KERNEL", "LABEL",
                                NULL},
          widths);
    }
    any = true;
    (void)snprintf(queue, sizeof(queue), "%" PRIu64, dispatch->queue);
    (void)snprintf(packet, sizeof(packet), "%" PRIu64, dispatch->packet);
    (void)snprintf(ticket, sizeof(ticket), "%" PRIu64, dispatch->ticket);
    if (dispatch->finished > dispatch->submitted && dispatch->submitted)
      (void)snprintf(taken, sizeof(taken), "%" PRIu64 " us",
                     (dispatch->finished - dispatch->submitted) / 1000);
    row((const char *const[]){queue, packet, ticket, core_outcome_text(dispatch->outcome), taken,
                              terminal_cell(dispatch->kernel, kernel, LONG_TEXT),
                              terminal_cell(dispatch->label, label, LONG_TEXT), NULL},
        widths);
  }
}

static void show_allocation(const core_note_allocation_t *allocation)
{
  static const unsigned char widths[] = {7, 18, 12, 10, 9, 0};
  char number[24], base[24], size[24], label[LONG_TEXT];
  (void)snprintf(number, sizeof(number), "%" PRIu64, allocation->number);
  (void)snprintf(base, sizeof(base), "0x%" PRIx64, allocation->base);
  (void)snprintf(size, sizeof(size), "%" PRIu64, allocation->size);
  row((const char *const[]){number, base, size, core_state_text(allocation->state),
                            allocation->read_only ? "read-only" : "-",
                            terminal_cell(allocation->label, label, LONG_TEXT), NULL},
      widths);
}

static void show_allocations(const core_contents_t *contents, bool all)
{
  static const unsigned char widths[] = {7, 18, 12, 10, 9, 0};
  const rawhal_bytes_t note = core_own_note(contents->file, CORE_NOTE_ALLOCATIONS),
                       cause = core_own_note(contents->file, CORE_NOTE_CAUSE);
  core_near_t near = {0};
  rawhal_fault_t fault;
  core_record_t record;
  uint64_t total = 0, shown = 0;
  (void)core_notes_fault(cause, &fault);
  if (!all)
    core_near_find(&near, note, cause);
  for (uint64_t cursor = 0; core_notes_next(note, &cursor, &record);) {
    if (record.type != CORE_RECORD_ALLOCATION || (++total, false) ||
        !core_is_near(&near, &record.as.allocation, fault.address))
      continue;
    if (!shown++) {
      terminal_heading(near.any ? "allocations around the address" : "allocations");
      row((const char *const[]){"NUMBER", "ADDRESS", "BYTES", "STATE", "WRITES", "LABEL", NULL},
          widths);
    }
    show_allocation(&record.as.allocation);
  }
  if (shown < total)
    printf("  and %" PRIu64 " more: --all\n", total - shown);
}

static void show_queues(const core_contents_t *contents)
{
  static const unsigned char widths[] = {6, 10, 18, 10, 10, 9, 0};
  const walk_agent_t *agents = contents->agents.items;
  const walk_queue_t *queues = contents->queues.items;
  if (!contents->queues.count)
    return;
  terminal_heading("queues");
  row((const char *const[]){"QUEUE", "CHIP", "RING", "FROM", "TO", "STATE", "LABEL", NULL}, widths);
  for (size_t i = 0; i < contents->queues.count; ++i) {
    char id[24], chip[32], ring[24], from[24], to[24], label[LONG_TEXT];
    core_chip_text(agents[queues[i].agent].entry.gfx_target_version, chip);
    (void)snprintf(id, sizeof(id), "%u", queues[i].entry.id);
    (void)snprintf(ring, sizeof(ring), "0x%" PRIx64, queues[i].entry.ring);
    (void)snprintf(from, sizeof(from), "%" PRIu64, queues[i].read_id);
    (void)snprintf(to, sizeof(to), "%" PRIu64, queues[i].write_id);
    row(
        (const char *const[]){
            id, chip, ring, from, to, queues[i].write_id > queues[i].read_id ? "in flight" : "idle",
            terminal_cell(core_queue_label(contents, queues[i].entry.id), label, LONG_TEXT), NULL},
        widths);
  }
}

/* ---- Waves ---- */

static void show_wave_row(const core_contents_t *contents, const walk_wave_t *wave)
{
  static const unsigned char widths[] = {6, 8, 14, 5, 24, 0};
  char id[24], packet[24] = "-", group[48] = "-", index[16] = "-", stop[96], pc[LONG_TEXT];
  (void)snprintf(id, sizeof(id), "%u", core_queue_id(contents, wave->queue));
  if (wave->placed) {
    (void)snprintf(packet, sizeof(packet), "%" PRIu64, wave->packet);
    (void)snprintf(group, sizeof(group), "%u,%u,%u", wave->group[0], wave->group[1],
                   wave->group[2]);
    (void)snprintf(index, sizeof(index), "%u", wave->index);
  }
  core_stop_text(wave, stop);
  row((const char *const[]){id, packet, group, index, stop, symbol_of(contents, wave->pc, pc),
                            NULL},
      widths);
}

static void show_words(const char *name, const uint32_t *words, uint32_t count)
{
  enum { IN_ROW = 4 };
  for (uint32_t i = 0; i < count; i += IN_ROW) {
    printf("    %s%-4u", name, i);
    for (uint32_t k = i; k < count && k < i + IN_ROW; ++k)
      printf(" %08x", words[k]);
    putchar('\n');
  }
}

static void show_rows(const core_contents_t *contents, const char *name, uint64_t at,
                      uint32_t count)
{
  uint32_t words[CORE_LANES];
  for (uint32_t i = 0; i < count; ++i) {
    if (!core_view_read(&contents->file->view, at + FORMAT_ROW * (uint64_t)i, words, sizeof(words)))
      return;
    printf("    %s%u, lane 0 and on:\n", name, i);
    show_words("  ", words, CORE_LANES);
  }
}

static void show_registers(const core_contents_t *contents, const walk_wave_t *wave, bool vectors)
{
  char stop[96], pc[LONG_TEXT];
  core_stop_text(wave, stop);
  printf("\n  wave %u of work-group %u,%u,%u, packet %" PRIu64 " of queue %u: %s\n", wave->index,
         wave->group[0], wave->group[1], wave->group[2], wave->packet,
         core_queue_id(contents, wave->queue), stop);
  printf("    pc   0x%" PRIx64 " ", wave->pc);
  (void)tool_print_string(symbol_of(contents, wave->pc, pc));
  printf("\n    exec %016" PRIx64 "  vcc %08x%08x  m0 %08x\n", wave->exec, wave->sgprs[107],
         wave->sgprs[106], wave->hwregs[HWREG_M0]);
  printf("    mode %08x  status %08x  trapsts %08x\n", wave->hwregs[HWREG_MODE],
         wave->hwregs[HWREG_STATUS], wave->hwregs[HWREG_TRAPSTS]);
  show_words("s", wave->sgprs, 104);
  if (!vectors)
    return;
  show_rows(contents, "v", wave->vgprs_at, wave->vgprs);
  show_rows(contents, "a", wave->agprs_at, wave->agprs);
}

static void show_waves(const core_contents_t *contents, bool all)
{
  static const unsigned char widths[] = {6, 8, 14, 5, 24, 0};
  enum { FIRST = 4 };
  const walk_wave_t *waves = contents->waves.items;
  size_t shown = 0, stopped = 0;
  if (!contents->waves.count)
    return;
  terminal_heading("waves");
  row((const char *const[]){"QUEUE", "PACKET", "WORK-GROUP", "WAVE", "STATE", "AT", NULL}, widths);
  for (size_t i = 0; i < contents->waves.count; ++i)
    show_wave_row(contents, &waves[i]);
  terminal_heading("registers");
  for (size_t i = 0; i < contents->waves.count; ++i) {
    stopped += waves[i].reason != 0;
    if (all || (waves[i].reason && shown < FIRST)) {
      show_registers(contents, &waves[i], all);
      ++shown;
    }
  }
  if (!all && shown < stopped)
    printf("\n  and %zu more, and all vector registers: --all\n", stopped - shown);
  else if (!all)
    puts("\n  all vector registers, and those of waves that ran: --all");
}

/* ---- The rest ---- */

static void show_codes(const core_contents_t *contents)
{
  static const unsigned char widths[] = {7, 18, 18, 12, 0};
  const core_code_t *codes = contents->codes.items;
  if (!contents->codes.count)
    return;
  terminal_heading("code objects");
  row((const char *const[]){"OBJECT", "LOADED AT", "BYTES AT", "BYTES", "STATE", NULL}, widths);
  for (size_t i = 0; i < contents->codes.count; ++i) {
    const walk_object_t *object = &codes[i].object;
    char number[24], delta[24], address[24], size[24];
    (void)snprintf(number, sizeof(number), "%zu", i + 1);
    (void)snprintf(delta, sizeof(delta), "0x%" PRIx64, object->delta);
    (void)snprintf(address, sizeof(address), "0x%" PRIx64, object->address);
    (void)snprintf(size, sizeof(size), "%" PRIu64, object->size);
    row((const char *const[]){number, delta, address, size,
                              codes[i].hsaco ? "read" : "cannot be read", NULL},
        widths);
  }
}

static void show_limits(const core_contents_t *contents)
{
  const rawhal_bytes_t note = core_own_note(contents->file, CORE_NOTE_LIMITS);
  core_record_t record;
  for (uint64_t cursor = 0; core_notes_next(note, &cursor, &record);) {
    if (record.type != CORE_RECORD_LIMITS)
      continue;
    terminal_heading("limits");
    for (rawhal_string_t left = record.as.limits.text; left.size;) {
      const char *end = memchr(left.data, '\n', left.size);
      const size_t size = end ? (size_t)(end - left.data) : left.size;
      fputs("  ", stdout);
      (void)tool_print_text((rawhal_string_t){left.data, size});
      putchar('\n');
      left.data += size + !!end;
      left.size -= size + !!end;
    }
  }
}

/* ": gfx1030", if that is why: chips whose waves no core file has, and whose queues no debugger
 * shows. */
static const char *other_chips(const core_contents_t *contents, bool is_why, char text[LONG_TEXT])
{
  const walk_agent_t *agents = contents->agents.items;
  size_t used = 0;
  *text = '\0';
  for (size_t i = 0; is_why && i < contents->agents.count && used < LONG_TEXT / 2; ++i) {
    char chip[32];
    core_chip_text(agents[i].entry.gfx_target_version, chip);
    if (!agents[i].chip && !strstr(text, chip))
      used += (size_t)snprintf(text + used, LONG_TEXT - used, "%s%s", used ? ", " : ": ", chip);
  }
  return text;
}

static void show_left_out(const core_contents_t *contents)
{
  static const unsigned char widths[] = {18, 14, 22, 0};
  const rawhal_bytes_t note = core_own_note(contents->file, CORE_NOTE_LEFT_OUT);
  core_record_t record;
  bool any = false;
  for (uint64_t cursor = 0; core_notes_next(note, &cursor, &record);) {
    char address[24], size[24], reason[128], why[128 + LONG_TEXT], chips[LONG_TEXT];
    if (record.type == CORE_RECORD_LEFT_OUT && record.as.left_out.ranges) {
      terminal_heading("left out");
      printf("  %" PRIu64 " ranges, %" PRIu64 " bytes\n", record.as.left_out.ranges,
             record.as.left_out.bytes);
    }
    if (record.type != CORE_RECORD_LEFT_OUT_ENTRY)
      continue;
    if (!any)
      row((const char *const[]){"ADDRESS", "BYTES", "WHAT", "WHY", NULL}, widths);
    any = true;
    (void)snprintf(address, sizeof(address), "0x%" PRIx64, record.as.entry.address);
    (void)snprintf(size, sizeof(size), "%" PRIu64, record.as.entry.size);
    core_reason_text(record.as.entry.reason, reason);
    (void)snprintf(why, sizeof(why), "%s%s", reason,
                   other_chips(contents,
                               record.as.entry.kind == CORE_WAVES &&
                                   record.as.entry.reason == CORE_REASON_UNREADABLE,
                               chips));
    row((const char *const[]){address, size, core_class_text(record.as.entry.kind), why, NULL},
        widths);
  }
}

static void show_debuggers(const core_contents_t *contents)
{
  const walk_finding_t *finding = &contents->finding;
  terminal_heading("debuggers");
  if (!contents->shown)
    printf("  ROCgdb refuses the GPUs' part: %s\n", core_mistake_text(finding->mistake));
  else
    printf("  ROCgdb shows it%s: r_version %u, for ROCm %s\n",
           contents->file->view.process ? "" : " once it is merged", finding->r_version,
           finding->r_version >= FORMAT_AT_TRAP_ABI ? "of 2026" : "6.2 to 7.2");
  char chips[LONG_TEXT];
  for (core_mistake_t i = MISTAKE_NONE; i < MISTAKES; ++i)
    if (finding->seen >> i & 1)
      printf("  in part: %s%s\n", core_mistake_text(i),
             other_chips(contents, i == MISTAKE_CHIP, chips));
}

void core_show_text(const core_contents_t *contents, const core_request_t *request)
{
  show_process(contents);
  show_cause(contents);
  show_dispatches(contents);
  show_allocations(contents, request->all);
  show_queues(contents);
  show_waves(contents, request->all);
  show_codes(contents);
  show_limits(contents);
  show_left_out(contents);
  show_debuggers(contents);
}
