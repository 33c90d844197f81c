/* The limiter's small tables for tests in C++, which has no _Atomic: queue/limit/estimate.h and
 * queue/limit/usage.c. */
#ifndef TESTS_LIMIT_TABLES_SHIM_H
#define TESTS_LIMIT_TABLES_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sizes and the largest estimate. */
extern const uint64_t shim_estimate_most_ns;
extern const uint64_t shim_bucket_ns;
extern const unsigned shim_estimate_entries, shim_buckets;

/* NULL: no memory. */
typedef struct shim_estimates shim_estimates_t;
shim_estimates_t *shim_estimates_create(void);
/* Was anything written behind the table? */
bool shim_estimates_spilt(const shim_estimates_t *table);
void shim_estimates_destroy(shim_estimates_t *table);
uint64_t shim_estimate_find(shim_estimates_t *table, uint64_t key);
void shim_estimate_learn(shim_estimates_t *table, uint64_t key, uint64_t ns);
/* Where the search for a key begins. */
uint32_t shim_estimate_start(uint64_t key);

typedef struct shim_usage shim_usage_t;
shim_usage_t *shim_usage_create(void);
void shim_usage_destroy(shim_usage_t *usage);
void shim_usage_add(shim_usage_t *usage, uint64_t at, uint64_t ns);
void shim_usage_take(shim_usage_t *usage, uint64_t at, uint64_t ns);
uint64_t shim_usage_sum(const shim_usage_t *usage, uint64_t now, uint64_t window);

#endif
