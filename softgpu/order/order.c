#include "softgpu/order/order.h"

#include <pthread.h>

#include "softgpu/device/clock.h"
#include "softgpu/isa/run/engine.h"
#include "softgpu/order/past.h"

enum {
  USUAL = 1, /* the seed of turns in their order and of their usual length */
  CLOCK_FIRST = 1 << 20,
  CLOCK_TURN = 64, /* by which a turn moves the clock of waves, */
  CLOCK_READ = 4,  /* and looking at it */
  PASSES = 64,     /* of a slice, at most */
};

/* The dispatch on this thread. */
typedef struct scene {
  const isa_launch_t *launch;
  const isa_group_t *group; /* whose turn it is */
  past_t *past;             /* what is asked of it; NULL: nothing */
  uint64_t numbers;         /* the state that turns are drawn from */
  uint64_t clock;
  uint64_t run, all; /* a digest of its turns, and their instructions */
  uint64_t ended;    /* work-groups */
} scene_t;

static uint64_t seed;
static _Thread_local scene_t scene;
static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER; /* of several queues one executes */

/* ---- Numbers ---- */

/* Of Steele, Lea and Flood: SplitMix64. */
static uint64_t mixed(uint64_t x)
{
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

static uint32_t draw(uint32_t below)
{
  scene.numbers += 0x9e3779b97f4a7c15u;
  return (uint32_t)((mixed(scene.numbers) >> 32) * below >> 32);
}

static uint64_t clock_of_waves(void)
{
  return scene.clock += CLOCK_READ;
}

/* ---- Turns ---- */

/* Short and long ones alike, and at times none. */
static uint32_t length_of(uint32_t turn)
{
  if (seed == USUAL)
    return turn;
  const uint32_t sizes = 33 - (uint32_t)__builtin_clz(turn), size = draw(sizes + 1);
  return size == sizes ? 0 : (1u << size) < turn ? 1u << size : turn;
}

static void count_turn(const isa_wave_t *wave, uint64_t ran)
{
  const uint32_t *id = scene.group->id;
  const uint64_t words[] = {id[0] | (uint64_t)id[1] << 32,
                            id[2] | (uint64_t)wave->index << 32,
                            wave->pc - scene.launch->entry,
                            ran,
                            isa_exec(wave),
                            wave->scc | (uint64_t)wave->state << 32};
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
    scene.run = mixed(scene.run + 0x9e3779b97f4a7c15u + words[i]);
  scene.all += ran;
  scene.clock += CLOCK_TURN;
}

static bool run_turn(isa_program_t *program, isa_wave_t *wave, uint32_t turn, uint64_t *executed)
{
  const uint32_t length = length_of(turn);
  const uint64_t before = *executed - wave->thread->tried_again;
  if (!length)
    return true;
  const bool ok = scene.past ? past_run(scene.past, program, wave, length, executed)
                             : isa_wave_run(program, wave, length, executed);
  count_turn(wave, *executed - wave->thread->tried_again - before);
  return ok;
}

/* Passes over its waves, until one of them gets nowhere or it has had enough. */
static isa_slice_t run_passes(isa_group_t *group, uint64_t *executed)
{
  const uint64_t enough = *executed + 1 + draw(ISA_SLICE) * (uint64_t)group->waves;
  isa_slice_t slice = ISA_SLICE_UNFINISHED;
  for (uint32_t n = 0; n < PASSES && slice == ISA_SLICE_UNFINISHED && *executed < enough; ++n)
    slice = isa_group_run_supervised(group, executed, run_turn);
  return slice;
}

static isa_slice_t run_locked(isa_group_t *group, uint64_t *executed)
{
  scene.group = group;
  if (scene.past)
    past_enter(scene.past, group);
  if (seed == USUAL)
    return isa_group_run_supervised(group, executed, run_turn);
  return draw(2) ? run_passes(group, executed) : ISA_SLICE_HELD;
}

static isa_slice_t run(isa_group_t *group, isa_group_t *const *groups, uint32_t count,
                       uint64_t *executed)
{
  (void)groups, (void)count;
  pthread_mutex_lock(&turn_lock);
  const isa_slice_t slice = run_locked(group, executed);
  pthread_mutex_unlock(&turn_lock);
  scene.ended += slice == ISA_SLICE_ENDED;
  return slice;
}

/* ---- The life of a dispatch ---- */

static void enter(const isa_launch_t *launch, const softgpu_limits_t *limits)
{
  (void)limits;
  scene = (scene_t){.launch = launch, .numbers = seed, .clock = CLOCK_FIRST};
  scene.past = past_take(launch);
}

static void began(isa_group_t *group)
{
  if (scene.past && !past_began(scene.past, group))
    scene.past = NULL;
}

static void leave(void)
{
  if (scene.past)
    past_end(scene.past, scene.run, scene.all, scene.ended < scene.launch->group_count);
  scene = (scene_t){0};
}

void order_begin(uint64_t wanted)
{
  static const isa_supervisor_t supervisor = {enter, began, run, leave};
  const isa_supervisor_t *now = softgpu_engine_supervisor();
  if (now && now != &supervisor) /* a debugger's, which decides by itself who runs */
    return;
  seed = wanted;
  softgpu_wave_ticks = wanted ? clock_of_waves : softgpu_clock_ticks;
  softgpu_wave_cycles = wanted ? clock_of_waves : softgpu_clock_cycles;
  softgpu_engine_supervise_in_time(wanted ? &supervisor : NULL);
}

uint64_t order_seed(void)
{
  return seed;
}
