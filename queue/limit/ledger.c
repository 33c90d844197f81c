#include "queue/limit/ledger.h"

const char *const ledger_class_names[LEDGER_CLASSES] = {"buffers", "code", "queues", "scratch",
                                                        "imported"};

void (*ledger_step)(int step);

enum { NUMBER_BITS = 64 - LEDGER_SLOT_BITS, UNIT_BITS = 52 };

#define NUMBER_MASK ((1ull << NUMBER_BITS) - 1)
#define UNIT_MASK   LEDGER_MOST_UNITS

_Static_assert(REGION_MEMBERS == 1 << LEDGER_SLOT_BITS, "a slot fits its field");

/* An intent: operation << 60 | class << 52 | units; 0: none. Its number is the ledger's. */
typedef enum intent_operation {
  INTENT_NONE,
  INTENT_RESERVE,
  INTENT_RELEASE,
  INTENT_DRAIN
} intent_operation_t;

enum { CLASS_SHIFT = UNIT_BITS, CLASS_MASK = 7, OPERATION_SHIFT = 60 };

_Static_assert(LEDGER_CLASSES <= CLASS_MASK + 1, "a class fits its field and the table `used`");

typedef struct intent {
  intent_operation_t operation;
  uint32_t class;
  uint64_t units;
} intent_t;

static uint64_t intent_word(const intent_t *intent)
{
  return (uint64_t)intent->operation << OPERATION_SHIFT | (uint64_t)intent->class << CLASS_SHIFT |
         intent->units;
}

static intent_t intent_of(uint64_t word)
{
  return (intent_t){.operation = (intent_operation_t)(word >> OPERATION_SHIFT & 3),
                    .class = (uint32_t)(word >> CLASS_SHIFT & CLASS_MASK),
                    .units = word & UNIT_MASK};
}

static inline void step(int number)
{
  if (__builtin_expect(ledger_step != NULL, 0))
    ledger_step(number);
}

static uint64_t load(const _Atomic uint64_t *word)
{
  return atomic_load_explicit(word, memory_order_acquire);
}

static void store(_Atomic uint64_t *word, uint64_t value)
{
  atomic_store_explicit(word, value, memory_order_release);
}

static uint64_t load_change(const region_tenant_t *tenant)
{
  return __atomic_load_n(&tenant->memory.change, __ATOMIC_ACQUIRE);
}

/* ---- The total ---- */

/* Notes in the slot which made it that this change was applied. */
static void acknowledge(region_data_t *data, uint64_t change)
{
  _Atomic uint64_t *noted = &data->members[change & LEDGER_SLOT_MASK].ledger.acknowledged;
  uint64_t number = change >> LEDGER_SLOT_BITS;
  step(1);
  uint64_t seen = load(noted);
  while (seen < number) {
    step(2);
    if (atomic_compare_exchange_weak_explicit(noted, &seen, number, memory_order_acq_rel,
                                              memory_order_acquire))
      break;
  }
}

static bool applied(const region_tenant_t *tenant, const region_ledger_t *ledger, uint32_t slot)
{
  uint64_t number = load(&ledger->number);
  step(3);
  if (load_change(tenant) == (number << LEDGER_SLOT_BITS | slot))
    return true;
  step(4);
  return load(&ledger->acknowledged) >= number;
}

/* Units after a change. False: the limit is in the way, which is never beyond what the word counts.
 * What is there already has no other. So more units than an intent's field holds are refused here,
 * and what the field has of them was never applied. */
static bool add_up(const region_tenant_t *tenant, const intent_t *intent, bool there,
                   uint64_t *units)
{
  if (intent->operation != INTENT_RESERVE) {
    *units = *units > intent->units ? *units - intent->units : 0;
    return true;
  }
  uint64_t limit = atomic_load_explicit(&tenant->memory_limit, memory_order_relaxed);
  if (there || limit > UNIT_MASK)
    limit = UNIT_MASK;
  if (*units > limit || intent->units > limit - *units)
    return false;
  *units += intent->units;
  return true;
}

/* Applies the intent of `slot`, as its change `number`. False: the limit is in the way. */
static bool change_total(region_data_t *data, region_tenant_t *tenant, uint32_t slot,
                         const intent_t *intent, bool there, uint64_t number)
{
  for (;;) {
    /* Read by halves, which may be of different totals: then the swap fails. */
    region_total_t total, next;
    step(5);
    total.change = load_change(tenant);
    step(6);
    total.units = __atomic_load_n(&tenant->memory.units, __ATOMIC_RELAXED);
    next.change = number << LEDGER_SLOT_BITS | slot;
    next.units = total.units;
    if (!add_up(tenant, intent, there, &next.units))
      return false;
    if ((total.change & LEDGER_SLOT_MASK) != slot)
      acknowledge(data, total.change);
    step(7);
    if (__sync_bool_compare_and_swap(&tenant->memory.bits, total.bits, next.bits))
      return true;
  }
}

/* ---- One member's part ---- */

uint64_t ledger_used(const region_ledger_t *ledger)
{
  uint64_t sum = 0;
  for (int i = 0; i < LEDGER_CLASSES; ++i)
    sum += atomic_load_explicit(&ledger->used[i], memory_order_relaxed) & UNIT_MASK;
  return sum < UNIT_MASK ? sum : UNIT_MASK;
}

static void begin(region_ledger_t *ledger, const intent_t *intent, uint64_t number)
{
  step(8);
  store(&ledger->number, number);
  step(9);
  store(&ledger->intent, intent_word(intent));
}

/* Corrects `used` for an intent that was applied. May be repeated. */
static void correct(region_ledger_t *ledger, const intent_t *intent)
{
  uint64_t base = load(&ledger->base);
  if (intent->operation == INTENT_DRAIN) {
    for (int i = 0; i < LEDGER_CLASSES; ++i) {
      step(10);
      store(&ledger->used[i], 0);
    }
    return;
  }
  if (intent->operation == INTENT_RESERVE)
    base += intent->units;
  else
    base = base > intent->units ? base - intent->units : 0;
  step(11);
  store(&ledger->used[intent->class], base & UNIT_MASK);
}

static void end(region_ledger_t *ledger)
{
  step(12);
  store(&ledger->intent, 0);
}

static uint64_t next_number(const region_ledger_t *ledger)
{
  return (load(&ledger->number) + 1) & NUMBER_MASK;
}

static void raise_peak(_Atomic uint64_t *peak, uint64_t value)
{
  uint64_t seen = atomic_load_explicit(peak, memory_order_relaxed);
  while (value > seen && !atomic_compare_exchange_weak_explicit(
                             peak, &seen, value, memory_order_relaxed, memory_order_relaxed))
    continue;
}

static bool change(region_data_t *data, uint32_t slot, intent_operation_t operation,
                   ledger_class_t class, uint64_t units, bool there)
{
  region_member_t *member = &data->members[slot];
  region_ledger_t *ledger = &member->ledger;
  region_tenant_t *tenant =
      region_tenant(data, atomic_load_explicit(&member->tenant, memory_order_relaxed));
  if (!tenant)
    return false;
  intent_t intent = {operation, class, units};
  uint64_t number = next_number(ledger);
  store(&ledger->base, atomic_load_explicit(&ledger->used[class], memory_order_relaxed));
  begin(ledger, &intent, number);
  bool done = change_total(data, tenant, slot, &intent, there, number);
  if (done)
    correct(ledger, &intent);
  end(ledger);
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
  if (used > limit || units > limit - used)
    return LEDGER_OVER_PROCESS;
  return change(data, slot, INTENT_RESERVE, class, units, false) ? LEDGER_DONE : LEDGER_OVER_TENANT;
}

bool ledger_charge(region_data_t *data, uint32_t slot, ledger_class_t class, uint64_t units)
{
  return change(data, slot, INTENT_RESERVE, class, units, true);
}

void ledger_release(region_data_t *data, uint32_t slot, ledger_class_t class, uint64_t units)
{
  uint64_t used =
      atomic_load_explicit(&data->members[slot].ledger.used[class], memory_order_relaxed);
  units = units < used ? units : used;
  if (units)
    (void)change(data, slot, INTENT_RELEASE, class, units, false);
}

/* ---- Coming and going ---- */

/* Ends the change a dead process was at, as it would have. */
static void settle(const region_tenant_t *tenant, region_ledger_t *ledger, uint32_t slot)
{
  intent_t intent = intent_of(load(&ledger->intent));
  if (intent.operation != INTENT_NONE && applied(tenant, ledger, slot))
    correct(ledger, &intent);
  end(ledger);
}

void ledger_drain(region_data_t *data, uint32_t slot)
{
  region_member_t *member = &data->members[slot];
  region_ledger_t *ledger = &member->ledger;
  region_tenant_t *tenant =
      region_tenant(data, atomic_load_explicit(&member->tenant, memory_order_relaxed));
  if (!tenant)
    return;
  settle(tenant, ledger, slot);
  intent_t intent = {INTENT_DRAIN, 0, ledger_used(ledger)};
  if (intent.units == 0)
    return;
  uint64_t number = next_number(ledger);
  begin(ledger, &intent, number);
  (void)change_total(data, tenant, slot, &intent, false, number);
  correct(ledger, &intent);
  end(ledger);
}

void ledger_start_tenant(region_tenant_t *tenant, bool keep_peak)
{
  region_total_t total, none;
  do {
    total.change = none.change = load_change(tenant);
    total.units = __atomic_load_n(&tenant->memory.units, __ATOMIC_RELAXED);
    none.units = 0;
  } while (!__sync_bool_compare_and_swap(&tenant->memory.bits, total.bits, none.bits));
  if (!keep_peak)
    atomic_store_explicit(&tenant->memory_peak, 0, memory_order_relaxed);
}

void ledger_start_member(region_ledger_t *ledger)
{
  uint64_t number = load(&ledger->number) & NUMBER_MASK;
  store(&ledger->number, number);
  if (load(&ledger->acknowledged) > number) /* impossible, but for damage */
    store(&ledger->acknowledged, number);
  store(&ledger->intent, 0);
  for (int i = 0; i < LEDGER_CLASSES; ++i)
    store(&ledger->used[i], 0);
  store(&ledger->peak, 0);
}
