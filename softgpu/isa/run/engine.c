/* Dispatches onto threads: which work-group runs next, for how long, and when to give up.
 *
 * A thread runs one work-group for a slice of instructions. Groups that need longer stay resident
 * and take turns, so that a kernel whose groups wait for each other gets on as long as those it
 * waits for are resident; a thread admits more of them while none finishes. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/device/clock.h"
#include "softgpu/isa/exec/scalar/salu.h"
#include "softgpu/isa/memory/gws.h"
#include "softgpu/isa/run/engine.h"
#include "softgpu/isa/run/group.h"
#include "softgpu/isa/run/keep.h"
#include "softgpu/isa/run/notes.h"
#include "softgpu/isa/run/pool.h"
#include "softgpu/isa/run/probe.h"

enum {
  RESIDENT_FIRST = 8,           /* groups a thread interleaves before it looks at progress */
  RESIDENT_MOST = 1024,         /* and at most */
  RESIDENT_BYTES = 256 << 20,   /* registers and LDS of all groups of a thread */
  LINE = 64,                    /* of the host's caches */
  WORKER_UNIT = 256,            /* bytes */
  CLAIMS = 8,                   /* a thread claims so many times at least, of many groups */
  GROUPS_WORTH_A_THREAD = 4,    /* waking a thread costs as much as a few small groups */
  INSTRUCTIONS_PER_CHECK = 2000 /* between looks at the clock */
};

/* What threads do is there twice, for dispatches that somebody supervises and for others, which pay
 * nothing for it. */
#define IN_BOTH __attribute__((always_inline)) static inline

static _Atomic uint64_t instruction_count;
static atomic_bool wants_reference;

typedef struct run {
  isa_job_t job; /* first: the pool hands out its address */
  isa_launch_t launch;
  isa_program_t *program;
  const softgpu_limits_t *limits;
  uint64_t deadline;        /* softgpu_clock_awake_ns(), 0 for none */
  uint32_t most_resident;   /* groups per thread, bounded by memory and scratch */
  uint32_t units;           /* compute units it may use */
  bool is_whole;            /* all groups can be resident, and are as soon as they wait */
  unsigned planned;         /* threads */
  _Atomic uint32_t threads; /* that have joined; numbers their scratch memory */
  atomic_bool failed;
  pthread_mutex_t lock; /* of `fault` */
  softgpu_fault_t fault;
  /* The work-group to begin, on a line of its own: all threads write to it. */
  _Alignas(LINE) _Atomic uint64_t next;
} run_t;

typedef struct worker {
  run_t *run;
  uint32_t number;
  uint32_t resident, created, admitted, turn;
  bool progressed;               /* a group has ended since all had their turn */
  uint64_t claimed, claimed_end; /* work-groups that no other thread begins */
  uint64_t executed, checked;
  isa_thread_t thread;
  isa_noter_t noter;
  softgpu_fault_t fault;
  isa_group_t *groups[]; /* run_t.most_resident; the first `resident` are in execution */
} worker_t;

uint64_t softgpu_instruction_count(void)
{
  return atomic_load_explicit(&instruction_count, memory_order_relaxed);
}

void softgpu_engine_reference(bool is_wanted)
{
  atomic_store(&wants_reference, is_wanted);
}

static bool has_work(const isa_job_t *job)
{
  const run_t *run = (const run_t *)(const void *)job;
  return atomic_load(&run->next) < run->launch.group_count && !atomic_load(&run->failed);
}

/* The first fault of a dispatch is the one it reports. Its group is noted before others know. */
static void fail_in(worker_t *worker, const isa_group_t *group, uint32_t wave,
                    const softgpu_fault_t *fault)
{
  run_t *run = worker->run;
  pthread_mutex_lock(&run->lock);
  const bool is_first = !atomic_load(&run->failed);
  if (is_first)
    run->fault = *fault;
  if (fault->kind != SOFTGPU_FAULT_STOPPED) /* then nobody is there to ask */
    isa_noter_fail(&worker->noter, group, wave, is_first);
  atomic_store(&run->failed, true);
  pthread_mutex_unlock(&run->lock);
}

/* A fault that no group has. */
static void fail(run_t *run, const char *text)
{
  pthread_mutex_lock(&run->lock);
  if (!atomic_load(&run->failed)) {
    run->fault = (softgpu_fault_t){.kind = SOFTGPU_FAULT_DISPATCH};
    snprintf(run->fault.text, sizeof run->fault.text, "dispatch: %s", text);
  }
  atomic_store(&run->failed, true);
  pthread_mutex_unlock(&run->lock);
}

/* A fault of the dispatch as a whole, reported at a wave that was running, if one was. */
static void fail_at(worker_t *worker, const isa_group_t *group, softgpu_fault_kind_t kind)
{
  softgpu_fault_t fault = {.kind = kind};
  uint32_t running = 0;
  while (running < group->waves && group->wave[running].state != ISA_WAVE_READY)
    ++running;
  isa_fault_describe(&fault, group, &group->wave[running % group->waves]);
  fail_in(worker, group, ISA_NO_WAVE, &fault);
}

/* Looks at clock, stop flag and requests now and then. False when the dispatch is over. */
static bool may_go_on(worker_t *worker, const isa_group_t *group)
{
  run_t *run = worker->run;
  if (atomic_load_explicit(&run->failed, memory_order_relaxed))
    return false;
  if (worker->executed - worker->checked < INSTRUCTIONS_PER_CHECK)
    return true;
  worker->checked = worker->executed;
  if (run->limits->stop && __atomic_load_n(run->limits->stop, __ATOMIC_RELAXED))
    fail_at(worker, group, SOFTGPU_FAULT_STOPPED);
  else if (run->deadline && softgpu_clock_awake_ns() >= run->deadline)
    fail_at(worker, group, SOFTGPU_FAULT_TIMEOUT);
  else {
    if (isa_noter_is_asked(&worker->noter))
      isa_noter_answer(&worker->noter, worker->groups, worker->resident);
    return true;
  }
  return false;
}

/* Finds a place on the chip. False when it is full and the worker can go on without. */
static bool take_place(const worker_t *worker, isa_placement_t *place)
{
  const isa_launch_t *launch = &worker->run->launch;
  const uint32_t node = launch->dispatch.node, units = worker->run->units;
  if (isa_placement_take(node, units, launch->group_waves, place))
    return true;
  if (worker->resident)
    return false;
  isa_placement_share(node, units, launch->group_waves, place);
  return true;
}

/* Claims work-groups, no more than it can begin at once: others may wait for each of them. False
 * when there are none. */
static bool claim(worker_t *worker)
{
  run_t *run = worker->run;
  const uint64_t count = run->launch.group_count, next = atomic_load(&run->next);
  if (worker->claimed < worker->claimed_end)
    return true;
  if (!has_work(&run->job))
    return false;
  const uint64_t part = run->is_whole || next >= count ? 0 : (count - next) / run->planned / CLAIMS;
  const uint64_t room = worker->admitted - worker->resident;
  const uint64_t most = part < 1 ? 1 : part < room ? part : room;
  worker->claimed = atomic_fetch_add(&run->next, most);
  worker->claimed_end = worker->claimed + most < count ? worker->claimed + most : count;
  return worker->claimed < worker->claimed_end;
}

/* Begins the next work-group in a free structure. False when there is none to begin. */
static bool admit(worker_t *worker)
{
  run_t *run = worker->run;
  if (worker->resident == worker->admitted || atomic_load(&run->failed) || !claim(worker))
    return false;
  if (worker->resident == worker->created) {
    isa_group_t *group = isa_group_create(&run->launch, run->program);
    if (!group && worker->created && !run->is_whole) {
      worker->admitted = worker->created; /* what is there has to do */
      return false;
    }
    if (!group) {
      fail(run, "out of memory for registers and LDS");
      return false;
    }
    group->slot = worker->created;
    worker->groups[worker->created++] = group;
  }
  isa_group_t *group = worker->groups[worker->resident];
  if (!take_place(worker, &group->place))
    return false;
  const uint64_t number = worker->claimed++;
  const uint64_t of_thread = (uint64_t)worker->number * run->most_resident + group->slot;
  isa_group_begin(group, number, run->is_whole ? number : of_thread, &worker->thread,
                  &worker->fault);
  worker->turn = worker->resident++;
  return true;
}

static void retire(worker_t *worker, uint32_t at)
{
  uint32_t last = --worker->resident;
  isa_group_t *group = worker->groups[at];
  isa_placement_release(worker->run->launch.dispatch.node, &group->place);
  worker->groups[at] = worker->groups[last];
  worker->groups[last] = group;
  worker->progressed = true;
}

/* The next resident group's turn. When all had theirs and none ended, they may be waiting for
 * groups that have not begun. */
static void rotate(worker_t *worker)
{
  if (++worker->turn < worker->resident)
    return;
  worker->turn = 0;
  if (!worker->progressed && worker->resident == worker->admitted) {
    uint32_t most = worker->run->most_resident;
    worker->admitted = worker->admitted < most / 2 ? worker->admitted * 2 : most;
  }
  worker->progressed = false;
}

/* `supervisor`: NULL for dispatches without. */
IN_BOTH void work_through(worker_t *worker, const isa_supervisor_t *supervisor)
{
  for (;;) {
    if (!admit(worker)) {
      if (!worker->resident)
        return;
      if (worker->turn >= worker->resident)
        worker->turn = 0;
    } else if (supervisor) {
      supervisor->began(worker->groups[worker->turn]);
    }
    uint32_t at = worker->turn;
    isa_group_t *group = worker->groups[at];
    isa_slice_t slice =
        supervisor ? supervisor->run(group, worker->groups, worker->resident, &worker->executed)
                   : isa_group_run(group, &worker->executed);
    if (slice == ISA_SLICE_FAULTED) {
      fail_in(worker, group, worker->fault.wave, &worker->fault);
      return;
    }
    if (!may_go_on(worker, group))
      return;
    if (slice == ISA_SLICE_ENDED)
      retire(worker, at);
    else if (supervisor && slice == ISA_SLICE_HELD) /* who waits for it waits for no new group */
      worker->turn = (at + 1) % worker->resident;
    else
      rotate(worker);
  }
}

IN_BOTH void do_work(run_t *run, const isa_supervisor_t *supervisor)
{
  const size_t bytes = sizeof(worker_t) + run->most_resident * sizeof(isa_group_t *);
  const size_t rounded = (bytes + WORKER_UNIT - 1) / WORKER_UNIT * WORKER_UNIT;
  worker_t *worker = isa_keep_take(rounded);
  if (!worker) {
    fail(run, "out of memory");
    return;
  }
  memset(worker, 0, bytes);
  worker->run = run;
  worker->number = supervisor ? 0 : atomic_fetch_add(&run->threads, 1);
  worker->admitted = run->most_resident < RESIDENT_FIRST ? run->most_resident : RESIDENT_FIRST;
  worker->noter.notes = run->limits->notes;
  isa_noter_enter(&worker->noter);
  work_through(worker, supervisor);
  isa_noter_leave(&worker->noter, worker->groups, worker->resident);
  for (uint32_t i = 0; i < worker->resident; ++i)
    isa_placement_release(run->launch.dispatch.node, &worker->groups[i]->place);
  for (uint32_t i = 0; i < worker->created; ++i)
    isa_group_destroy(worker->groups[i]);
  const uint64_t executed = worker->executed - worker->thread.tried_again;
  atomic_fetch_add_explicit(&instruction_count, executed, memory_order_relaxed);
  if (run->limits->executed)
    __atomic_fetch_add(run->limits->executed, executed, __ATOMIC_RELAXED);
  isa_keep_give(worker, rounded);
}

__attribute__((flatten)) static void work(isa_job_t *job)
{
  do_work((run_t *)(void *)job, NULL);
}

static void (*job_work)(isa_job_t *job) = work; /* of dispatches */
static const isa_supervisor_t *supervisor;
static bool is_in_time; /* their time limits hold */

__attribute__((flatten)) static void work_supervised(isa_job_t *job)
{
  run_t *run = (run_t *)(void *)job;
  if (atomic_fetch_add(&run->threads, 1)) /* it is the first one's */
    return;
  if (!is_in_time)
    run->deadline = 0;
  supervisor->enter(&run->launch, run->limits);
  do_work(run, supervisor);
  supervisor->leave();
}

void softgpu_engine_supervise(const isa_supervisor_t *wanted)
{
  supervisor = wanted;
  is_in_time = false;
  job_work = wanted ? work_supervised : work;
}

void softgpu_engine_supervise_in_time(const isa_supervisor_t *wanted)
{
  softgpu_engine_supervise(wanted);
  is_in_time = true;
}

const isa_supervisor_t *softgpu_engine_supervisor(void)
{
  return supervisor;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

/* A part of the chip's compute units is that part of the threads. */
static uint64_t thread_budget(const softgpu_limits_t *limits)
{
  uint64_t threads = isa_pool_threads();
  if (limits->units == 0 || limits->units >= limits->all_units)
    return threads;
  return (threads * limits->units + limits->all_units - 1) / limits->all_units;
}

/* Groups that have scratch memory at the same time. */
static uint64_t scratch_slots(const isa_launch_t *launch)
{
  if (!launch->slice_bytes)
    return UINT64_MAX;
  return launch->dispatch.scratch_bytes / launch->slice_bytes / launch->group_waves;
}

/* How many threads and how many groups on each. Each resident group owns a part of the scratch
 * memory, so that bounds both. */
static unsigned plan_threads(run_t *run)
{
  const isa_launch_t *launch = &run->launch;
  uint64_t groups = smaller(RESIDENT_MOST, RESIDENT_BYTES / isa_group_bytes(launch));
  uint64_t threads =
      smaller(thread_budget(run->limits), launch->group_count / GROUPS_WORTH_A_THREAD + 1);
  if (run->is_whole) {
    groups = launch->group_count; /* of whichever thread comes first */
  } else {
    const uint64_t slots = scratch_slots(launch);
    threads = smaller(threads, slots);
    groups = smaller(groups, slots / threads);
  }
  run->most_resident = (uint32_t)groups;
  return (unsigned)threads;
}

/* Whether the groups may wait for each other with global wave sync: what the chip has room for at a
 * time, by the registers, LDS and scratch memory that they need. */
static void plan_sync(run_t *run)
{
  const isa_launch_t *launch = &run->launch;
  if (!launch->dispatch.gws)
    return;
  uint64_t most = (uint64_t)run->units * isa_placement_groups(launch);
  most = smaller(most, scratch_slots(launch));
  most = smaller(most, RESIDENT_BYTES / isa_group_bytes(launch));
  run->is_whole = launch->group_count <= most;
  isa_gws_begin(launch->dispatch.gws, launch->group_count, most, launch->group_waves);
}

/* Most processes never probe. */
static isa_program_t *open_program(const isa_launch_t *launch)
{
  return __builtin_expect(launch->dispatch.probe || isa_probe_is_asked(), 0)
             ? isa_probe_open(launch)
             : isa_program_open(&launch->limits);
}

bool softgpu_execute(const softgpu_dispatch_t *dispatch, const softgpu_limits_t *limits,
                     softgpu_fault_t *fault)
{
  run_t *run = aligned_alloc(LINE, sizeof *run);
  memset(fault, 0, sizeof *fault);
  if (!run) {
    *fault = (softgpu_fault_t){.kind = SOFTGPU_FAULT_DISPATCH, .text = "dispatch: out of memory"};
    free(dispatch->probe);
    return false;
  }
  memset(run, 0, sizeof *run);
  bool ok = isa_launch_prepare(dispatch, &run->launch, fault);
  run->launch.limits.reference = atomic_load(&wants_reference);
  if (!ok) {
    free(dispatch->probe ? dispatch->probe : isa_probe_take(dispatch));
  } else if (!(run->program = open_program(&run->launch))) {
    *fault = (softgpu_fault_t){.kind = SOFTGPU_FAULT_DISPATCH, .text = "dispatch: out of memory"};
    ok = false;
  }
  if (ok) {
    run->limits = limits;
    run->units = isa_placement_units(dispatch, limits);
    run->deadline = limits->timeout_ns ? softgpu_clock_awake_ns() + limits->timeout_ns : 0;
    run->job.work = job_work;
    run->job.has_work = has_work;
    pthread_mutex_init(&run->lock, NULL);
    plan_sync(run);
    run->planned = plan_threads(run);
    isa_pool_run(&run->job, run->planned - 1);
    pthread_mutex_destroy(&run->lock);
    ok = !atomic_load(&run->failed);
    if (!ok)
      *fault = run->fault;
    isa_program_close(run->program);
  }
  free(run);
  return ok;
}
