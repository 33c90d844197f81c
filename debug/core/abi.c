/* The r_version of a file that is there. */
#include "base/error.h"
#include "debug/core/change.h"
#include "debug/core/walk.h"

typedef struct change {
  const core_view_t *view;
  unsigned char *bytes; /* of the file, to which the view points */
  uint32_t was, abi;
  core_abi_change_t *done;
} change_t;

static void write_at(const change_t *change, uint64_t address, const void *value, size_t size)
{
  const core_view_t *view = change->view;
  const unsigned char *from = value;
  for (size_t i = 0; i < size; ++i) {
    const size_t index = core_range_behind(view->ranges, view->count, address + i);
    const core_range_t *range = &view->ranges[index];
    if (index < view->count && range->address <= address + i)
      change->bytes[(size_t)(range->bytes - change->bytes) + (address + i - range->address)] =
          from[i];
  }
}

typedef enum at_trap { IS_TRAP, IS_OTHER, IS_UNKNOWN } at_trap_t;

static at_trap_t look(const change_t *change, const walk_wave_t *wave, uint64_t pc)
{
  const uint32_t s_trap = 0xbf920000;
  uint32_t word;
  if (!core_view_read(change->view, pc, &word, sizeof(word)))
    return IS_UNKNOWN;
  return word == (s_trap | wave->trap) ? IS_TRAP : IS_OTHER;
}

/* In its registers, and where the trap handler parks it. */
static void move(const change_t *change, const walk_wave_t *wave, uint64_t pc)
{
  const uint64_t hwregs = wave->special_at + 4 * (uint64_t)wave->sgpr_count;
  const uint64_t ttmps = hwregs + sizeof(wave->hwregs);
  write_at(change, hwregs + 4 * HWREG_PC, &pc, sizeof(pc));
  if (!wave->chip->parks)
    return;
  const uint32_t low = (uint32_t)pc, mask = 0xffffu << 7;
  const uint32_t ttmp11 = (wave->ttmps[11] & ~mask) | ((uint32_t)(pc >> 32) << 7 & mask);
  write_at(change, ttmps + 4 * 7, &low, sizeof(low));
  write_at(change, ttmps + 4 * 11, &ttmp11, sizeof(ttmp11));
}

static bool see_wave(void *context, const walk_wave_t *wave)
{
  const change_t *change = context;
  const bool to_trap = change->abi >= FORMAT_AT_TRAP_ABI;
  if (!wave->trap || to_trap == (change->was >= FORMAT_AT_TRAP_ABI))
    return true;
  const at_trap_t found = look(change, wave, to_trap ? wave->pc - 4 : wave->pc);
  change->done->unsure += found == IS_UNKNOWN;
  if (found != IS_TRAP)
    return true;
  ++change->done->moved;
  move(change, wave, to_trap ? wave->pc - 4 : wave->pc + 4);
  return true;
}

/* Without a visitor nothing is changed yet. */
static bool walk_whole(const core_view_t *view, const walk_visitor_t *visitor,
                       walk_finding_t *finding, rawhal_status_t *status, rawhal_error_t *error)
{
  if (core_walk(view, visitor, finding))
    return true;
  *status = rawhal_fail(error, RAWHAL_MALFORMED, "a debugger would refuse it: %s",
                        core_mistake_text(finding->mistake));
  return false;
}

rawhal_status_t core_change_abi(unsigned char *bytes, size_t size, uint32_t abi,
                                core_abi_change_t *change, rawhal_error_t *error)
{
  core_file_t file;
  walk_finding_t finding;
  *change = (core_abi_change_t){0};
  if (abi < FORMAT_OLDEST_ABI || abi > FORMAT_NEWEST_ABI)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "an abi is from %d to %d, not %u",
                       FORMAT_OLDEST_ABI, FORMAT_NEWEST_ABI, abi);
  rawhal_status_t status = core_file_open(&file, (rawhal_bytes_t){bytes, size}, error);
  if (status == RAWHAL_OK && walk_whole(&file.view, NULL, &finding, &status, error)) {
    change_t context = {&file.view, bytes, finding.r_version, abi, change};
    const walk_visitor_t visitor = {.wave = see_wave, .context = &context};
    change->was = finding.r_version;
    if (walk_whole(&file.view, &visitor, &finding, &status, error) && finding.r_debug)
      write_at(&context, finding.r_debug, &abi, sizeof(abi));
  }
  core_file_close(&file);
  return status;
}
