/* The ledger alone, without a limiter, for a checker that decides which process takes the next step. */
#ifndef TESTS_LIMIT_LEDGER_MODEL_H
#define TESTS_LIMIT_LEDGER_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ledger_model ledger_model_t;

enum { LEDGER_MODEL_MEMBERS = 3, LEDGER_MODEL_TENANTS = 2 };

/* All the words that processes share. */
typedef struct ledger_model_words {
  uint64_t members[LEDGER_MODEL_MEMBERS][8];
  uint64_t tenants[LEDGER_MODEL_TENANTS][2];
} ledger_model_words_t;

ledger_model_t *ledger_model_new(uint64_t limit);
void ledger_model_delete(ledger_model_t *model);
void ledger_model_save(const ledger_model_t *model, ledger_model_words_t *words);
void ledger_model_load(ledger_model_t *model, const ledger_model_words_t *words);

void ledger_model_join(ledger_model_t *model, uint32_t slot, uint32_t tenant);
bool ledger_model_reserve(ledger_model_t *model, uint32_t slot, uint64_t units);
void ledger_model_release(ledger_model_t *model, uint32_t slot, uint64_t units);
void ledger_model_drain(ledger_model_t *model, uint32_t slot);
uint64_t ledger_model_total(const ledger_model_t *model, uint32_t tenant);
uint64_t ledger_model_used(const ledger_model_t *model, uint32_t slot);

#endif
