/* Rules for what the kind of a fault says by itself: the cause, and how to go on. */
#include "debug/cause_rules.h"

#include "base/checked.h"
#include "base/print.h"

/* Of these no argument is to blame. */
#define SAY(kind, ...) cause_say(cause, kind, evidence, NULL, NULL, __VA_ARGS__)
#define RULE(name)                                                                                 \
  uint32_t name(const cause_evidence_t *evidence, const cause_word_t *word, rawhal_cause_t *cause)

enum { CERTAIN = 90 };

RULE(cause_lds)
{
  (void)word;
  const rawhal_fault_t *fault = evidence->fault;
  const uint32_t has = evidence->dispatch ? evidence->dispatch->group_bytes : 0;
  if (!evidence->has_address || !evidence->dispatch)
    SAY(RAWHAL_CAUSE_LDS, "an access beyond the work-group's LDS");
  else
    SAY(RAWHAL_CAUSE_LDS,
        "byte %llu of LDS, of which the work-group has %u: an index is too large, or the launch "
        "asks for too little dynamic LDS",
        (unsigned long long)fault->address, has);
  return CERTAIN;
}

RULE(cause_lds_unwritten)
{
  (void)word;
  if (evidence->has_address)
    SAY(RAWHAL_CAUSE_LDS,
        "byte %llu of the work-group's LDS was read before a wave of it had written it",
        (unsigned long long)evidence->address);
  else
    SAY(RAWHAL_CAUSE_LDS, "the work-group's LDS was read before it was written");
  return CERTAIN;
}

RULE(cause_lds_race)
{
  (void)word;
  if (evidence->has_address)
    SAY(RAWHAL_CAUSE_LDS,
        "another wave uses byte %llu of the work-group's LDS, too, with no barrier in between",
        (unsigned long long)evidence->address);
  else
    SAY(RAWHAL_CAUSE_LDS, "waves use the same bytes of LDS with no barrier in between");
  return CERTAIN;
}

RULE(cause_scratch)
{
  (void)word;
  const uint32_t has = evidence->dispatch ? evidence->dispatch->private_bytes : 0,
                 bytes = cause_access_bytes(evidence->fault);
  if (evidence->has_address && bytes <= has && evidence->address <= has - bytes)
    SAY(RAWHAL_CAUSE_SCRATCH,
        "byte %llu is in the work-item's private segment, which has %u: a gfx10 kernel "
        "that is written by hand has to set FLAT_SCR to where it begins first",
        (unsigned long long)evidence->address, has);
  else if (evidence->has_address && evidence->dispatch)
    SAY(RAWHAL_CAUSE_SCRATCH,
        "byte %llu of the work-item's private segment, which has %u: an index of an array of the "
        "kernel's own, or recursion that the compiler did not foresee",
        (unsigned long long)evidence->address, has);
  else
    SAY(RAWHAL_CAUSE_SCRATCH, "an access beyond the work-item's private segment, such as an index "
                              "of an array of the kernel's own");
  return CERTAIN;
}

RULE(cause_trap)
{
  (void)word;
  enum { ABORT = 2 };
  if (!evidence->has_address || evidence->address == ABORT)
    SAY(RAWHAL_CAUSE_ABORT, "the kernel ended itself: assert(), abort() or __builtin_trap()%s",
        evidence->has_address ? "" : ", or an exception that its mode asks for");
  else
    SAY(RAWHAL_CAUSE_ABORT, "the kernel ended itself by s_trap %llu",
        (unsigned long long)evidence->address);
  return CERTAIN;
}

/* "waves 1 to 3 and 7 of", or "wave 0 of" */
static void print_waves(print_t *to, uint32_t waves)
{
  const bool one = !(waves & (waves - 1));
  const char *between = one ? "wave " : "waves ";
  for (int first = 0; first < 32; ++first) {
    int last = first;
    if (!(waves >> first & 1))
      continue;
    while (last < 31 && waves >> (last + 1) & 1)
      ++last;
    print(to, "%s%d", between, first);
    if (last > first)
      print(to, last > first + 1 ? " to %d" : ", %d", last);
    between = ", ";
    first = last;
  }
}

static void print_place(print_t *to, const rawhal_fault_t *fault, uint64_t pc)
{
  if (fault->entry)
    print(to, "entry%+lld", (long long)(pc - fault->entry));
  else
    print(to, "0x%llx", (unsigned long long)pc);
}

RULE(cause_barrier)
{
  (void)word;
  const debug_stand_t *stand = evidence->scene->stand;
  char text[sizeof(cause->text)];
  print_t to = print_into(text, sizeof(text));
  if (!stand || !stand->waiting || !stand->elsewhere)
    return 0;
  print_waves(&to, stand->waiting);
  print(&to, " of work-group %u,%u,%u wait%s at s_barrier (", stand->group[0], stand->group[1],
        stand->group[2], stand->waiting & (stand->waiting - 1) ? "" : "s");
  print_place(&to, evidence->fault, stand->barrier);
  print(&to, ") for ");
  print_waves(&to, stand->elsewhere);
  print(&to, " at ");
  print_place(&to, evidence->fault, stand->pc);
  if (stand->ended) {
    print(&to, "; ended: ");
    print_waves(&to, stand->ended);
  }
  if (stand->groups > 1)
    print(&to, "; so do %u more", stand->groups - 1);
  SAY(RAWHAL_CAUSE_DEPENDENCY, "%s", text);
  return 80;
}

RULE(cause_time)
{
  (void)word;
  if (evidence->scene->waits) {
    SAY(RAWHAL_CAUSE_DEPENDENCY, "%s", evidence->scene->waits);
    return CERTAIN;
  }
  SAY(RAWHAL_CAUSE_ENDLESS, "a loop that does not end, or that waits for what nobody writes, or a "
                            "barrier that not all waves reach; or the limit is too short");
  return 70;
}

RULE(cause_instruction)
{
  (void)word;
  const rawhal_fault_t *fault = evidence->fault;
  if (fault->known & RAWHAL_FAULT_KNOWS_PC)
    SAY(RAWHAL_CAUSE_INSTRUCTION,
        "instruction 0x%08x 0x%08x, which this chip does not have or cannot do so: code of another "
        "target, data taken for code, or memory that was written over",
        fault->instruction[0], fault->instruction[1]);
  else
    SAY(RAWHAL_CAUSE_INSTRUCTION, "code of another target, data taken for code, or memory that was "
                                  "written over");
  return 80;
}

/* Where the dispatch's own code was. */
static bool find_unloaded(const cause_evidence_t *evidence, debug_allocation_t *dead)
{
  const debug_scene_t *scene = evidence->scene;
  debug_cursor_t cursor = {0};
  while (scene->allocation && scene->allocation(scene->context, &cursor, dead))
    if (dead->code && dead->freed_at && cause_holds(dead, evidence->dispatch->kernel_object))
      return true;
  return false;
}

/* Of a packet that could not begin, of an access to its descriptor, and of its instructions. */
RULE(cause_unloaded)
{
  (void)word;
  debug_allocation_t dead;
  const uint64_t now = evidence->scene->now;
  if (!evidence->dispatch || !find_unloaded(evidence, &dead) ||
      (evidence->has_address ? !cause_holds(&dead, evidence->address)
                             : evidence->fault->kind != RAWHAL_FAULT_PACKET))
    return 0;
  cause_say(cause, RAWHAL_CAUSE_CODE_UNLOADED, evidence, NULL, &dead,
            "the kernel's code was unloaded %s ago, before it had ended",
            cause_duration(now > dead.freed_at ? now - dead.freed_at : 0).text);
  return 97;
}

RULE(cause_fetch)
{
  (void)word;
  enum { NULL_REACH = 64 << 10 };
  const uint64_t pc = evidence->address;
  const debug_allocation_t *dead = &evidence->places[CAUSE_DEAD_HOLDS];
  if (evidence->has_address && evidence->has_place[CAUSE_DEAD_HOLDS] &&
      !evidence->has_place[CAUSE_HOLDS]) {
    const uint64_t now = evidence->scene->now;
    cause_say(cause, RAWHAL_CAUSE_CODE_UNLOADED, evidence, NULL, dead,
              "code that was unloaded %s ago, while a kernel ran it",
              cause_duration(now > dead->freed_at ? now - dead->freed_at : 0).text);
    return 95;
  }
  if (evidence->has_address && pc < NULL_REACH) {
    SAY(RAWHAL_CAUSE_NULL,
        "a jump to null + %llu: a function pointer that was never set, or a "
        "function that is not linked in",
        (unsigned long long)pc);
    cause->offset = (int64_t)pc;
    return 85;
  }
  SAY(RAWHAL_CAUSE_CODE_UNLOADED, "no code is there: it was unloaded while the kernel ran, or a "
                                  "function pointer is the host's, or none");
  return 75;
}

RULE(cause_packet)
{
  (void)word;
  const debug_dispatch_t *dispatch = evidence->dispatch;
  uint32_t items = 1, grid = 1;
  for (int d = 0; dispatch && d < 3; ++d) {
    items = items * dispatch->workgroup[d] > 1024 ? 1025 : items * dispatch->workgroup[d];
    grid = grid && dispatch->grid[d];
  }
  if (dispatch && (!items || !grid || items > 1024))
    SAY(RAWHAL_CAUSE_PACKET,
        "a grid of %ux%ux%u in work-groups of %ux%ux%u work-items, which "
        "cannot be: each must be 1 or more, a work-group's product at most 1024",
        dispatch->grid[0], dispatch->grid[1], dispatch->grid[2], dispatch->workgroup[0],
        dispatch->workgroup[1], dispatch->workgroup[2]);
  else
    SAY(RAWHAL_CAUSE_PACKET, "a packet, or a kernel's descriptor, that asks for what cannot be: a "
                             "wrong kernel_object, code of another target, or code unloaded before "
                             "it ran");
  return 80;
}

RULE(cause_resources)
{
  (void)word;
  const debug_dispatch_t *dispatch = evidence->dispatch;
  if (dispatch)
    SAY(RAWHAL_CAUSE_RESOURCES,
        "work-groups of %ux%ux%u with %u bytes of LDS and %u bytes of private segment a work-item "
        "ask for more than there is: fewer work-items, registers or bytes a work-group",
        dispatch->workgroup[0], dispatch->workgroup[1], dispatch->workgroup[2],
        dispatch->group_bytes, dispatch->private_bytes);
  else
    SAY(RAWHAL_CAUSE_RESOURCES, "more LDS, scratch or registers than there are");
  return CERTAIN;
}

RULE(cause_device_lost)
{
  (void)word;
  SAY(RAWHAL_CAUSE_DEVICE_LOST,
      "the device has gone, by a reset, an error of its memory or of another process, of which the "
      "kernel log says more; or by fork(), as it stays its parent's");
  return CERTAIN;
}

RULE(cause_destroyed)
{
  (void)word;
  SAY(RAWHAL_CAUSE_DESTROYED,
      "the program destroyed the queue before this had ended: wait for its end before");
  return CERTAIN;
}
