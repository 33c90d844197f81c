#include "tests/limit/ledger_model.h"

#include "queue/limit/ledger.h"

#include <stdlib.h>
#include <string.h>

struct ledger_model {
  region_data_t data;
};

ledger_model_t *ledger_model_new(uint64_t limit)
{
  size_t size = (sizeof(ledger_model_t) + 63) / 64 * 64;
  ledger_model_t *model = aligned_alloc(64, size);
  if (!model)
    abort();
  memset(model, 0, size);
  ledger_model_words_t zeros = {0};
  for (uint32_t slot = 0; slot < LEDGER_MODEL_MEMBERS; ++slot)
    atomic_store(&model->data.members[slot].ledger.limit, REGION_NO_MEMORY);
  for (uint32_t tenant = 0; tenant < LEDGER_MODEL_TENANTS; ++tenant)
    atomic_store(&model->data.tenants[tenant].memory_limit, limit);
  ledger_model_load(model, &zeros);
  return model;
}

void ledger_model_delete(ledger_model_t *model)
{
  free(model);
}

void ledger_model_save(const ledger_model_t *model, ledger_model_words_t *words)
{
  *words = (ledger_model_words_t){0};
  for (uint32_t slot = 0; slot < LEDGER_MODEL_MEMBERS; ++slot) {
    const region_member_t *member = &model->data.members[slot];
    const region_ledger_t *ledger = &member->ledger;
    uint64_t *to = words->members[slot];
    to[0] = atomic_load(&ledger->intent);
    to[1] = atomic_load(&ledger->base);
    to[2] = atomic_load(&ledger->number);
    to[3] = atomic_load(&ledger->acknowledged);
    to[4] = atomic_load(&ledger->used[0]); /* the only class that is used here */
    to[5] = atomic_load(&member->tenant);
  }
  for (uint32_t tenant = 0; tenant < LEDGER_MODEL_TENANTS; ++tenant) {
    words->tenants[tenant][0] = model->data.tenants[tenant].memory.change;
    words->tenants[tenant][1] = model->data.tenants[tenant].memory.units;
  }
}

void ledger_model_load(ledger_model_t *model, const ledger_model_words_t *words)
{
  for (uint32_t slot = 0; slot < LEDGER_MODEL_MEMBERS; ++slot) {
    region_member_t *member = &model->data.members[slot];
    region_ledger_t *ledger = &member->ledger;
    const uint64_t *from = words->members[slot];
    atomic_store(&ledger->intent, from[0]);
    atomic_store(&ledger->base, from[1]);
    atomic_store(&ledger->number, from[2]);
    atomic_store(&ledger->acknowledged, from[3]);
    for (int i = 0; i < LEDGER_CLASSES; ++i)
      atomic_store(&ledger->used[i], i == 0 ? from[4] : 0);
    atomic_store(&member->tenant, (uint32_t)from[5]);
  }
  for (uint32_t tenant = 0; tenant < LEDGER_MODEL_TENANTS; ++tenant) {
    model->data.tenants[tenant].memory.change = words->tenants[tenant][0];
    model->data.tenants[tenant].memory.units = words->tenants[tenant][1];
  }
}

void ledger_model_join(ledger_model_t *model, uint32_t slot, uint32_t tenant)
{
  ledger_start_member(&model->data.members[slot].ledger);
  atomic_store(&model->data.members[slot].tenant, tenant);
}

bool ledger_model_reserve(ledger_model_t *model, uint32_t slot, uint64_t units)
{
  return ledger_reserve(&model->data, slot, LEDGER_BUFFERS, units) == LEDGER_DONE;
}

void ledger_model_release(ledger_model_t *model, uint32_t slot, uint64_t units)
{
  ledger_release(&model->data, slot, LEDGER_BUFFERS, units);
}

void ledger_model_drain(ledger_model_t *model, uint32_t slot)
{
  ledger_drain(&model->data, slot);
}

uint64_t ledger_model_total(const ledger_model_t *model, uint32_t tenant)
{
  return ledger_total(&model->data.tenants[tenant]);
}

uint64_t ledger_model_used(const ledger_model_t *model, uint32_t slot)
{
  return ledger_used(&model->data.members[slot].ledger);
}
