#include "queue/limit/ledger.h"

const char *const ledger_class_names[LEDGER_CLASSES] = {"buffers", "code", "queues", "scratch",
                                                        "imported"};

void (*ledger_step)(int step);

/* A total: units << 28 | slot of the last change << 19 | sequence of that change. */
enum { SEQUENCE_BITS = 19, SLOT_BITS = 9, UNIT_BITS = 36 };

#define SEQUENCE_MASK ((1ull << SEQUENCE_BITS) - 1)
#define SLOT_MASK     ((1ull << SLOT_BITS) - 1)
#define UNIT_MASK     ((1ull << UNIT_BITS) - 1)

_Static_assert(REGION_MEMBERS == 1 << SLOT_BITS, "a slot fits its field");
_Static_assert(SEQUENCE_BITS + SLOT_BITS + UNIT_BITS == 64, "a total fills its word");

/* An intent: operation << 59 | class << 55 | units << 19 | sequence; 0: none. */
typedef enum intent_operation {
  INTENT_NONE,
  INTENT_RESERVE,
  INTENT_RELEASE,
  INTENT_DRAIN
} intent_operation_t;

enum { CLASS_SHIFT = SEQUENCE_BITS + UNIT_BITS, CLASS_MASK = 7, OPERATION_SHIFT = 59 };

_Static_assert(LEDGER_CLASSES <= CLASS_MASK + 1, "a class fits its field and the table `used`");

typedef struct intent {
  intent_operation_t operation;
  uint32_t class;
  uint64_t units, sequence;
} intent_t;

static uint64_t intent_word(intent_t intent)
{
  return (uint64_t)intent.operation << OPERATION_SHIFT | (uint64_t)intent.class << CLASS_SHIFT |
         intent.units << SEQUENCE_BITS | intent.sequence;
}

static intent_t intent_of(uint64_t word)
{
  return (intent_t){.operation = (intent_operation_t)(word >> OPERATION_SHIFT & 3),
                    .class = (uint32_t)(word >> CLASS_SHIFT & CLASS_MASK),
                    .units = word >> SEQUENCE_BITS & UNIT_MASK,
                    .sequence = word & SEQUENCE_MASK};
}

static uint64_t total_units(uint64_t total)
{
  return total >> (SEQUENCE_BITS + SLOT_BITS);
}

static uint32_t total_slot(uint64_t total)
{
  return (uint32_t)(total >> SEQUENCE_BITS & SLOT_MASK);
}

uint64_t ledger_total(const region_tenant_t *tenant)
{
  return total_units(atomic_load_explicit(&tenant->memory, memory_order_relaxed));
}

static inline void step(int number)
{
  if (__builtin_expect(ledger_step != NULL, 0))
    ledger_step(number);
}

/* Notes in the last changer's slot that its change is part of `total`. False: `total` is no longer
 * the word. A note that comes too late fails: by then the slot holds a newer one than it
 * expects. */
static bool acknowledge(region_data_t *data, const region_tenant_t *tenant, uint32_t slot,
                        uint64_t total)
{
  region_ledger_t *last = &data->members[total_slot(total)].ledger;
  if (total_slot(total) == slot) { /* our own: others can only write the same */
    atomic_store_explicit(&last->acknowledged, total & SEQUENCE_MASK, memory_order_release);
    return true;
  }
  uint64_t noted = atomic_load_explicit(&last->acknowledged, memory_order_acquire);
  if (noted == (total & SEQUENCE_MASK))
    return true;
  if (atomic_load_explicit(&tenant->memory, memory_order_acquire) != total)
    return false;
  atomic_compare_exchange_strong(&last->acknowledged, &noted, total & SEQUENCE_MASK);
  return true;
}

static bool applied(const region_tenant_t *tenant, const region_ledger_t *ledger, uint32_t slot,
                    uint64_t sequence)
{
  /* The total first: it is acknowledged before it is replaced. */
  uint64_t total = atomic_load_explicit(&tenant->memory, memory_order_acquire);
  if (total_slot(total) == slot && (total & SEQUENCE_MASK) == sequence)
    return true;
  return atomic_load_explicit(&ledger->acknowledged, memory_order_acquire) == sequence;
}

/* Adds or takes off, as change `sequence` of `slot`. False: the limit is in the way. */
static bool change_total(region_data_t *data, region_tenant_t *tenant, uint32_t slot,
                         const intent_t *intent)
{
  uint64_t total = atomic_load_explicit(&tenant->memory, memory_order_acquire);
  for (;;) {
    uint64_t units = total_units(total);
    if (intent->operation == INTENT_RESERVE) {
      uint64_t limit = atomic_load_explicit(&tenant->memory_limit, memory_order_relaxed);
      if (limit > UNIT_MASK)
        limit = UNIT_MASK;
      if (units > limit || intent->units > limit - units)
        return false;
      units += intent->units;
    } else {
      units = units > intent->units ? units - intent->units : 0;
    }
    step(1);
    if (!acknowledge(data, tenant, slot, total)) {
      total = atomic_load_explicit(&tenant->memory, memory_order_acquire);
      continue;
    }
    step(2);
    uint64_t next =
        units << (SEQUENCE_BITS + SLOT_BITS) | (uint64_t)slot << SEQUENCE_BITS | intent->sequence;
    if (atomic_compare_exchange_weak_explicit(&tenant->memory, &total, next, memory_order_acq_rel,
                                              memory_order_acquire))
      return true;
  }
}

uint64_t ledger_used(const region_ledger_t *ledger)
{
  uint64_t sum = 0;
  for (int i = 0; i < LEDGER_CLASSES; ++i)
    sum += atomic_load_explicit(&ledger->used[i], memory_order_relaxed) & UNIT_MASK;
  return sum < UNIT_MASK ? sum : UNIT_MASK;
}

static void raise_peak(_Atomic uint64_t *peak, uint64_t value)
{
  uint64_t seen = atomic_load_explicit(peak, memory_order_relaxed);
  while (value > seen && !atomic_compare_exchange_weak_explicit(
                             peak, &seen, value, memory_order_relaxed, memory_order_relaxed))
    continue;
}

/* The steps, in the order that `ledger_drain` relies on: base, intent, total, used, sequence,
 * end. */
static bool change(region_data_t *data, uint32_t slot, intent_operation_t operation,
                   ledger_class_t class, uint64_t units)
{
  region_member_t *member = &data->members[slot];
  region_ledger_t *ledger = &member->ledger;
  region_tenant_t *tenant =
      region_tenant(data, atomic_load_explicit(&member->tenant, memory_order_relaxed));
  if (!tenant)
    return false;
  uint64_t base = atomic_load_explicit(&ledger->used[class], memory_order_relaxed);
  uint64_t sequence = atomic_load_explicit(&ledger->sequence, memory_order_relaxed);
  intent_t intent = {operation, class, units, (sequence + 1) & SEQUENCE_MASK};
  atomic_store_explicit(&ledger->base, base, memory_order_release);
  step(3);
  atomic_store_explicit(&ledger->intent, intent_word(intent), memory_order_release);
  step(4);
  bool done = change_total(data, tenant, slot, &intent);
  step(5);
  if (done) {
    uint64_t used = operation == INTENT_RESERVE ? base + units : base - units;
    atomic_store_explicit(&ledger->used[class], used, memory_order_release);
    step(6);
    atomic_store_explicit(&ledger->sequence, intent.sequence, memory_order_release);
    step(7);
  }
  atomic_store_explicit(&ledger->intent, 0, memory_order_release);
  step(8);
  if (done && operation == INTENT_RESERVE) {
    raise_peak(&ledger->peak, ledger_used(ledger));
    raise_peak(&tenant->memory_peak, ledger_total(tenant));
  }
  return done;
}

ledger_answer_t ledger_reserve(region_data_t *data, uint32_t slot, ledger_class_t class,
                               uint64_t units)
{
  region_ledger_t *ledger = &data->members[slot].ledger;
  uint64_t limit = atomic_load_explicit(&ledger->limit, memory_order_relaxed);
  uint64_t used = ledger_used(ledger);
  if (units > UNIT_MASK)
    return LEDGER_OVER_TENANT;
  if (used > limit || units > limit - used)
    return LEDGER_OVER_PROCESS;
  return change(data, slot, INTENT_RESERVE, class, units) ? LEDGER_DONE : LEDGER_OVER_TENANT;
}

void ledger_release(region_data_t *data, uint32_t slot, ledger_class_t class, uint64_t units)
{
  uint64_t used =
      atomic_load_explicit(&data->members[slot].ledger.used[class], memory_order_relaxed);
  units = units < used ? units : used;
  if (units)
    (void)change(data, slot, INTENT_RELEASE, class, units);
}

/* What a member's share of the total is, whatever its process was doing. */
static uint64_t held(const region_tenant_t *tenant, const region_ledger_t *ledger, uint32_t slot,
                     const intent_t *intent)
{
  uint64_t sum = 0;
  for (uint32_t i = 0; i < LEDGER_CLASSES; ++i) {
    uint64_t used = atomic_load_explicit(&ledger->used[i], memory_order_acquire) & UNIT_MASK;
    if (intent->operation != INTENT_NONE && i == intent->class) {
      used = atomic_load_explicit(&ledger->base, memory_order_acquire) & UNIT_MASK;
      if (applied(tenant, ledger, slot, intent->sequence))
        used = intent->operation == INTENT_RESERVE ? used + intent->units
               : used > intent->units              ? used - intent->units
                                                   : 0;
    }
    sum += used;
  }
  return sum < UNIT_MASK ? sum : UNIT_MASK;
}

void ledger_drain(region_data_t *data, uint32_t slot)
{
  region_member_t *member = &data->members[slot];
  region_ledger_t *ledger = &member->ledger;
  region_tenant_t *tenant =
      region_tenant(data, atomic_load_explicit(&member->tenant, memory_order_relaxed));
  if (!tenant)
    return;
  intent_t intent = intent_of(atomic_load_explicit(&ledger->intent, memory_order_acquire));
  if (intent.operation != INTENT_DRAIN) { /* else somebody died here before us */
    uint64_t last = intent.operation == INTENT_NONE
                        ? atomic_load_explicit(&ledger->sequence, memory_order_relaxed)
                        : intent.sequence;
    uint64_t units = held(tenant, ledger, slot, &intent);
    intent = (intent_t){INTENT_DRAIN, 0, units, (last + 1) & SEQUENCE_MASK};
    step(9);
    atomic_store_explicit(&ledger->intent, intent_word(intent), memory_order_release);
  }
  step(10);
  if (!applied(tenant, ledger, slot, intent.sequence))
    (void)change_total(data, tenant, slot, &intent);
  step(11);
  for (int i = 0; i < LEDGER_CLASSES; ++i)
    atomic_store_explicit(&ledger->used[i], 0, memory_order_release);
  step(12);
  atomic_store_explicit(&ledger->sequence, intent.sequence, memory_order_release);
  atomic_store_explicit(&ledger->intent, 0, memory_order_release);
}
