#include "softgpu/debug/supervise.h"

#include <stdlib.h>
#include <string.h>

#include "softgpu/debug/live.h"
#include "softgpu/debug/save.h"
#include "softgpu/debug/watch.h"
#include "softgpu/device/memory.h"
#include "softgpu/isa/run/engine.h"

enum {
  TTMP6_HALTED = 1 << 29, /* before the trap handler came */
  TTMP6_STOPPED = 1 << 30,
  TTMP6_TRAP_SHIFT = 25,
  TTMP6_TRAP = 15 << TTMP6_TRAP_SHIFT,
  TTMP11_PC_SHIFT = 7,
  TTMP11_PC = 0xffff << TTMP11_PC_SHIFT,
  TTMP11_VALID = (int)(1u << 31),
  TRAPSTS_MEM_VIOL = 1 << 8,
  TRAPSTS_ILLEGAL = 1 << 11,
  TRAPSTS_STEPPED = 1 << 25, /* gfx942 on */
  TRAPSTS_XNACK_ERROR = 1 << 28,
  AT_TRAP_ABI = 12, /* from here on a wave halts at its s_trap, not behind it */
  OTHER_TRAP = 4,   /* stands for what the driver has no word for */
  ENTRY_OFFSET = 16,
};

/* A wave, as far as the debugger's side knows more of it. */
typedef struct watched_wave {
  save_wave_t saved;          /* first: save_wave_of() */
  bool is_stepping;           /* the instruction has begun, and waits for others at a barrier */
  softgpu_fault_kind_t fault; /* that it stopped at, or none */
  uint64_t fault_pc, fault_address;
  uint32_t fault_lane, fault_bytes;
} watched_wave_t;

/* The dispatch on this thread. */
typedef struct scene {
  live_queue_t *queue; /* NULL: nobody knows it */
  const isa_launch_t *launch;
  const volatile bool *stop;
  bool was_attached;
  uint32_t quiet;         /* turns of groups in which nothing ran */
  watched_wave_t **waves; /* by the slot of a group; NULL: out of memory, and not watched */
  save_group_t *saved;    /* room for as many */
  uint32_t slots;
  watched_wave_t *of_group; /* whose turn it is */
} scene_t;
static _Thread_local scene_t scene;

static bool parks(void)
{
  return scene.launch->dispatch.chip == SOFTGPU_GFX90A;
}

/* --- stopping a wave: what a trap handler does --- */

static uint32_t packet_of_ring(void)
{
  return (uint32_t)((scene.launch->dispatch.packet - scene.queue->ring) / 64);
}

static void stop_wave(const isa_wave_t *wave, watched_wave_t *watched, uint32_t trap,
                      uint32_t trapsts, kfd_code_t code)
{
  save_wave_t *saved = &watched->saved;
  const uint32_t before = saved->status & SAVE_STATUS_HALT ? TTMP6_HALTED : 0;
  saved->ttmp[6] &= ~(uint32_t)(TTMP6_HALTED | TTMP6_TRAP);
  saved->ttmp[6] |= TTMP6_STOPPED | before | (trap << TTMP6_TRAP_SHIFT & TTMP6_TRAP);
  saved->trapsts |= trapsts;
  saved->status |= SAVE_STATUS_HALT;
  if (parks()) { /* the PC is where a halted wave does no harm */
    saved->status |= SAVE_STATUS_SKIP_EXPORT;
    saved->ttmp[7] = (uint32_t)wave->pc;
    saved->ttmp[11] &= ~(uint32_t)TTMP11_PC;
    saved->ttmp[11] |= (uint32_t)(wave->pc >> 32 & 0xffff) << TTMP11_PC_SHIFT;
  }
  live_raise(scene.queue, code);
}

/* What the trap handler and the driver make of a fault. */
typedef struct fault_words {
  uint32_t trapsts;
  kfd_code_t code;
} fault_words_t;

static fault_words_t words_of(softgpu_fault_kind_t kind)
{
  switch (kind) {
  case SOFTGPU_FAULT_MEMORY:
  case SOFTGPU_FAULT_READ_ONLY:
  case SOFTGPU_FAULT_FOREIGN:
  case SOFTGPU_FAULT_KERNARG:
  case SOFTGPU_FAULT_FETCH:
    return (fault_words_t){TRAPSTS_XNACK_ERROR | TRAPSTS_MEM_VIOL, KFD_WAVE_MEMORY};
  case SOFTGPU_FAULT_LDS:
  case SOFTGPU_FAULT_SCRATCH:
  case SOFTGPU_FAULT_MISALIGNED:
  case SOFTGPU_FAULT_GWS:
  case SOFTGPU_FAULT_IMAGE:
    return (fault_words_t){TRAPSTS_MEM_VIOL, KFD_WAVE_ADDRESS};
  case SOFTGPU_FAULT_ILLEGAL_INSTRUCTION:
    return (fault_words_t){TRAPSTS_ILLEGAL, KFD_WAVE_ILLEGAL};
  default:
    return (fault_words_t){0, KFD_WAVE_TRAP};
  }
}

static bool stop_at_fault(isa_wave_t *wave, watched_wave_t *watched)
{
  const softgpu_fault_t *fault = wave->fault;
  const fault_words_t words = words_of(fault->kind);
  watched->fault = fault->kind;
  watched->fault_pc = wave->pc;
  watched->fault_address = fault->address;
  watched->fault_lane = fault->lane;
  watched->fault_bytes = fault->access_bytes;
  const uint32_t trap = fault->kind == SOFTGPU_FAULT_TRAP ? (uint32_t)fault->address
                        : words.trapsts                   ? 0
                                                          : OTHER_TRAP;
  if (fault->kind == SOFTGPU_FAULT_TRAP && live.abi < AT_TRAP_ABI)
    wave->pc += 4;
  stop_wave(wave, watched, trap, words.trapsts, words.code);
  return true;
}

static void stop_at_step(const isa_wave_t *wave, watched_wave_t *watched, uint32_t hits)
{
  const uint32_t stepped = wave->mode & SAVE_MODE_STEP && !parks() ? TRAPSTS_STEPPED : 0;
  watched->is_stepping = false;
  stop_wave(wave, watched, 0, stepped | hits, KFD_WAVE_TRAP);
}

/* --- turns --- */

/* One instruction after the other, as far as the turn goes. */
static bool run_slowly(isa_program_t *program, isa_wave_t *wave, watched_wave_t *watched,
                       uint32_t turn, uint64_t *executed)
{
  const bool steps = wave->mode & SAVE_MODE_STEP, watches = wave->mode & SAVE_MODE_WATCH;
  for (uint32_t n = 0; n < turn && wave->state == ISA_WAVE_READY; ++n) {
    const uint32_t hits = watches ? watch_hits(program, wave) : 0;
    const uint64_t before = *executed - wave->thread->tried_again;
    if (!isa_wave_run(program, wave, 1, executed))
      return stop_at_fault(wave, watched);
    if (*executed - wave->thread->tried_again == before) /* it comes once more */
      return true;
    if (wave->state == ISA_WAVE_ENDED)
      return true;
    watched->is_stepping = steps;
    if (wave->state == ISA_WAVE_READY && (steps || hits)) {
      stop_at_step(wave, watched, hits);
      return true;
    }
  }
  return true;
}

static bool run_turn(isa_program_t *program, isa_wave_t *wave, uint32_t turn, uint64_t *executed)
{
  watched_wave_t *watched = scene.of_group + wave->index;
  const bool watches =
      wave->mode & SAVE_MODE_WATCH && atomic_load(&live.watched[wave->dispatch->node]);
  if (atomic_load(&scene.queue->gate) & LIVE_WANTED || watched->saved.status & SAVE_STATUS_HALT)
    return true;
  watched->fault = SOFTGPU_FAULT_NONE;
  if (!atomic_load(&live.attached))
    return isa_wave_run(program, wave, turn, executed);
  const bool steps = wave->mode & SAVE_MODE_STEP;
  if (steps && watched->is_stepping) /* it has passed the barrier */
    stop_at_step(wave, watched, 0);
  else if (watches || steps)
    return run_slowly(program, wave, watched, turn, executed);
  else if (!isa_wave_run(program, wave, turn, executed))
    return stop_at_fault(wave, watched);
  return true;
}

/* --- all resident waves --- */

typedef struct residents {
  isa_group_t *const *groups;
  uint32_t count;
} residents_t;

static watched_wave_t *watched_of(const isa_group_t *group)
{
  return group->slot < scene.slots ? scene.waves[group->slot] : NULL;
}

static bool is_halted(const isa_group_t *group)
{
  const watched_wave_t *watched = watched_of(group);
  for (uint32_t i = 0; watched && i < group->waves; ++i)
    if (group->wave[i].state != ISA_WAVE_ENDED && watched[i].saved.status & SAVE_STATUS_HALT)
      return true;
  return false;
}

static size_t list_saved(const residents_t *residents)
{
  size_t count = 0;
  for (uint32_t i = 0; i < residents->count; ++i) {
    isa_group_t *group = residents->groups[i];
    watched_wave_t *watched = watched_of(group);
    if (watched)
      scene.saved[count++] = (save_group_t){group, (uint8_t *)watched, sizeof *watched};
  }
  return count;
}

static bool is_stopping(void)
{
  return scene.stop && __atomic_load_n(scene.stop, __ATOMIC_RELAXED);
}

/* What the runtime has set up for slices of its own; a debugger computes with ours. */
static uint32_t exchange_tmpring(uint32_t value)
{
  uint32_t *at = (uint32_t *)(uintptr_t)(scene.launch->dispatch.queue + SAVE_TMPRING);
  return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);
}

/* Until the queue may go on; or, where the debugger was told of no waves, until it asks once more.
 * Whether it stands still changes in one step with that, or the debugger would write to an area
 * that is read already. */
static void stand_still(uint32_t told)
{
  live_queue_t *queue = scene.queue;
  const uint32_t wanted = LIVE_WANTED | told, still = LIVE_PARKED | LIVE_SAVING;
  uint32_t seen = atomic_load(&queue->gate);
  for (;;) {
    if ((seen & wanted) == wanted && !is_stopping())
      live_gate_wait(queue, seen);
    else if (atomic_compare_exchange_strong(&queue->gate, &seen, seen & ~still))
      return;
    seen = atomic_load(&queue->gate);
  }
}

/* The debugger knows none of the waves any more. Those that it will see have no number that it gave
 * them, and what they have stopped at it hears of again. */
static void show_anew(const residents_t *residents)
{
  bool is_stopped = false;
  if (!(atomic_load(&scene.queue->gate) & LIVE_LOST))
    return;
  live_gate_clear(scene.queue, LIVE_LOST);
  for (uint32_t i = 0; i < residents->count; ++i) {
    const isa_group_t *group = residents->groups[i];
    watched_wave_t *watched = watched_of(group);
    for (uint32_t w = 0; watched && w < group->waves; ++w) {
      watched[w].saved.ttmp[4] = watched[w].saved.ttmp[5] = 0;
      is_stopped |=
          group->wave[w].state != ISA_WAVE_ENDED && watched[w].saved.ttmp[6] & TTMP6_STOPPED;
    }
  }
  if (is_stopped)
    live_raise(scene.queue, KFD_WAVE_TRAP);
}

static void park(const residents_t *residents)
{
  live_queue_t *queue = scene.queue;
  const uint32_t told = atomic_fetch_or(&queue->gate, LIVE_SAVING);
  if (told & LIVE_ABSENT) {
    stand_still(LIVE_ABSENT);
    return;
  }
  show_anew(residents);
  const size_t count = list_saved(residents);
  const uint32_t tmpring = exchange_tmpring(save_tmpring(scene.launch));
  if (count)
    save_store(queue->area, scene.saved, count);
  else
    save_nothing(queue->area);
  live_gate_set(queue, LIVE_PARKED);
  stand_still(0);
  if (count)
    save_load(queue->area, scene.saved, count);
  exchange_tmpring(tmpring);
  softgpu_memory_poked();
}

/* The wave's fault is the dispatch's after all. */
static isa_slice_t fail(isa_group_t *group, isa_wave_t *wave, const watched_wave_t *watched)
{
  softgpu_fault_t *fault = wave->fault;
  *fault = (softgpu_fault_t){.kind = watched->fault,
                             .address = watched->fault_address,
                             .lane = watched->fault_lane,
                             .access_bytes = watched->fault_bytes};
  wave->pc = watched->fault_pc;
  isa_fault_describe(fault, group, wave);
  return ISA_SLICE_FAULTED;
}

/* softgpu's own checks find something once; what the instruction does it does again. */
static bool is_of_checks(softgpu_fault_kind_t kind)
{
  return kind != SOFTGPU_FAULT_NONE && kind != SOFTGPU_FAULT_TRAP && !words_of(kind).trapsts;
}

/* Of the wave that stopped at a fault, if there is one; or at one that checks have found. */
static bool fail_any(const residents_t *residents, bool only_of_checks)
{
  for (uint32_t i = 0; i < residents->count; ++i) {
    isa_group_t *group = residents->groups[i];
    const watched_wave_t *watched = watched_of(group);
    for (uint32_t w = 0; watched && w < group->waves; ++w)
      if (watched[w].fault && watched[w].saved.status & SAVE_STATUS_HALT &&
          group->wave[w].state != ISA_WAVE_ENDED &&
          (!only_of_checks || is_of_checks(watched[w].fault))) {
        fail(group, &group->wave[w], &watched[w]);
        return true;
      }
  }
  return false;
}

static uint64_t parked_pc(const watched_wave_t *watched)
{
  const uint32_t *ttmp = watched->saved.ttmp;
  return ttmp[7] | (uint64_t)((ttmp[11] & TTMP11_PC) >> TTMP11_PC_SHIFT) << 32;
}

/* Once more, what stopped it: a breakpoint that the debugger has taken away is none, and all else
 * fails as it would have without a debugger. */
static void try_again(isa_wave_t *wave, watched_wave_t *watched)
{
  if (watched->fault == SOFTGPU_FAULT_TRAP && wave->pc == watched->fault_pc + 4)
    wave->pc = watched->fault_pc;
  watched->fault = SOFTGPU_FAULT_NONE;
}

/* The debugger is gone: what it did not let go on goes on. */
static void release(const residents_t *residents)
{
  for (uint32_t i = 0; i < residents->count; ++i) {
    isa_group_t *group = residents->groups[i];
    watched_wave_t *watched = watched_of(group);
    for (uint32_t w = 0; watched && w < group->waves; ++w) {
      isa_wave_t *wave = &group->wave[w];
      if (parks() && watched[w].saved.ttmp[6] & TTMP6_STOPPED) /* it died */
        wave->pc = parked_pc(&watched[w]);
      if (watched[w].saved.status & SAVE_STATUS_HALT)
        try_again(wave, &watched[w]);
      watched[w].saved.ttmp[6] &= ~(uint32_t)TTMP6_STOPPED;
      watched[w].saved.status = 0;
      watched[w].is_stepping = false;
      wave->mode &= ~(uint32_t)(SAVE_MODE_STEP | SAVE_MODE_WATCH);
      wave->next = NULL;
    }
  }
}

static bool look_at_debugger(const residents_t *residents)
{
  const bool attached = atomic_load(&live.attached), was_attached = scene.was_attached;
  scene.was_attached = attached;
  if (atomic_exchange(&scene.queue->delivers, false) && fail_any(residents, false))
    return false;
  if (was_attached && !attached) {
    if (fail_any(residents, true))
      return false;
    release(residents);
  }
  return true;
}

/* --- the life of a dispatch --- */

static void enter(const isa_launch_t *launch, const softgpu_limits_t *limits)
{
  live_queue_t *queue = live_queue_at(launch->dispatch.queue);
  scene = (scene_t){.queue = queue, .launch = launch, .stop = limits->stop};
  if (!queue)
    return;
  for (uint32_t seen = 0;;) { /* what begins while the queue stands still begins later */
    seen = atomic_load(&queue->gate);
    if (seen & LIVE_WANTED && !is_stopping())
      live_gate_wait(queue, seen);
    else if (atomic_compare_exchange_strong(&queue->gate, &seen, seen | LIVE_RUNNING))
      break;
  }
  atomic_store(&queue->delivers, false);
  scene.was_attached = atomic_load(&live.attached);
  if (scene.was_attached)
    softgpu_memory_poked();
}

static void leave(void)
{
  for (uint32_t i = 0; i < scene.slots; ++i)
    free(scene.waves[i]);
  free(scene.waves);
  free(scene.saved);
  if (scene.queue)
    live_gate_clear(scene.queue, LIVE_RUNNING);
  scene = (scene_t){0};
}

/* Room for what is known of the waves of the group's slot. */
static bool make_room(const isa_group_t *group)
{
  if (group->slot >= scene.slots) {
    const uint32_t slots = group->slot + 1;
    watched_wave_t **waves = realloc(scene.waves, slots * sizeof(watched_wave_t *));
    save_group_t *saved = waves ? realloc(scene.saved, slots * sizeof *saved) : NULL;
    if (waves)
      scene.waves = waves;
    if (!saved)
      return false;
    scene.saved = saved;
    for (; scene.slots < slots; ++scene.slots)
      scene.waves[scene.slots] = NULL;
  }
  watched_wave_t **at = &scene.waves[group->slot];
  if (!*at)
    *at = malloc(group->capacity * sizeof **at);
  return *at != NULL;
}

/* Where code begins that needs nothing preloaded: a debugger takes a wave that is halted there for
 * one that has not begun. */
static uint64_t first_byte(const isa_launch_t *launch)
{
  const uint64_t object = launch->dispatch.kernel_object;
  int64_t offset;
  memcpy(&offset, (const char *)(uintptr_t)object + ENTRY_OFFSET, sizeof offset);
  return object + (uint64_t)offset;
}

static void begin_wave(const isa_group_t *group, isa_wave_t *wave, watched_wave_t *watched)
{
  const uint32_t packet = packet_of_ring(), mode = atomic_load(&live.launch_mode);
  *watched = (watched_wave_t){0};
  uint32_t *ttmp = watched->saved.ttmp;
  memcpy(&ttmp[8], group->id, sizeof group->id);
  ttmp[6] = parks() ? packet : 0;
  ttmp[11] = (wave->index & 63) | (parks() ? 0 : (uint32_t)TTMP11_VALID | packet << 6);
  if (!atomic_load(&live.attached))
    return;
  wave->mode |= atomic_load(&live.launch_traps) << SAVE_MODE_TRAPS;
  wave->mode |= mode == KFD_LAUNCH_STEP ? SAVE_MODE_STEP : 0;
  if (mode == KFD_LAUNCH_HALT) {
    watched->saved.status |= SAVE_STATUS_HALT;
    wave->pc = first_byte(scene.launch);
  }
}

static void began(isa_group_t *group)
{
  if (!scene.queue || !make_room(group))
    return;
  for (uint32_t i = 0; i < group->waves; ++i)
    begin_wave(group, &group->wave[i], &scene.waves[group->slot][i]);
}

static isa_slice_t give_up(isa_group_t *group)
{
  softgpu_fault_t *fault = group->wave->fault;
  *fault = (softgpu_fault_t){.kind = SOFTGPU_FAULT_STOPPED};
  isa_fault_describe(fault, group, group->wave);
  return ISA_SLICE_FAULTED;
}

static isa_slice_t run(isa_group_t *group, isa_group_t *const *groups, uint32_t count,
                       uint64_t *executed)
{
  const residents_t residents = {groups, count};
  live_queue_t *queue = scene.queue;
  scene.of_group = queue ? watched_of(group) : NULL;
  if (!scene.of_group)
    return isa_group_run(group, executed);
  while (atomic_load(&queue->gate) & LIVE_WANTED) {
    if (is_stopping()) /* whoever wanted it */
      return give_up(group);
    park(&residents);
  }
  show_anew(&residents);
  if (!look_at_debugger(&residents))
    return ISA_SLICE_FAULTED;
  const uint64_t before = *executed;
  const isa_slice_t slice = isa_group_run_supervised(group, executed, run_turn);
  if (slice != ISA_SLICE_UNFINISHED || *executed != before || !is_halted(group)) {
    scene.quiet = 0;
    return slice;
  }
  if (is_stopping())
    return give_up(group);
  if (++scene.quiet >= count) { /* nobody runs: until the debugger says so */
    live_gate_wait(queue, atomic_load(&queue->gate) & ~(uint32_t)LIVE_WANTED);
    scene.quiet = 0;
  }
  return ISA_SLICE_HELD;
}

void supervise_start(void)
{
  static const isa_supervisor_t supervisor = {enter, began, run, leave};
  softgpu_engine_supervise(&supervisor);
}

void supervise_forget(void)
{
  softgpu_engine_supervise(NULL);
}
