/* Limits that several processes share: what each of them asks for, and what holds. Internal.
 *
 * Every process writes what it asks for into its own slot, an operator into the tenant's or the
 * device's; what holds is the strictest of those present, computed anew, under the structure lock,
 * whenever a process joins, leaves or changes what it asks for. So none loosens what another asked
 * for, and a process's strictness ends when it leaves. The public table is in limit.h. */
#ifndef RAWHAL_QUEUE_LIMIT_RULES_H
#define RAWHAL_QUEUE_LIMIT_RULES_H

#include "queue/limit/region.h"

/* `value` as in the word that is in force; RAWHAL_UNLIMITED asks for nothing. */
static inline void rules_store(region_asks_t *asks, region_ask_t ask, uint64_t value)
{
  atomic_store_explicit(&asks->of[ask], value + 1, memory_order_release);
}

/* Puts in force, for a device and a tenant of it, what the live members and `self` (a slot that is
 * joining, or REGION_NO_INDEX) ask for. Where no process is left it changes nothing. The caller
 * holds the structure lock. True: something has changed. */
bool rules_apply(region_data_t *data, uint32_t device, uint32_t tenant, uint32_t self,
                 uint64_t now);

/* Is in force what they ask for? Not, for a moment, while they are put in force. */
bool rules_are_in_force(const region_data_t *data, uint32_t device, uint32_t tenant);
/* Puts in force what is not, and takes a clock to be reckoned with its share. The caller holds the
 * structure lock. */
void rules_repair(region_data_t *data, uint32_t device, uint32_t tenant, uint64_t now);

/* The same for all of them, when a process has left and none could do it. */
void rules_apply_due(region_data_t *data, uint64_t now);

/* An operator's value for a tenant, or, of what is a device's, for its device. It holds from now on
 * whatever the processes present ask for; one that joins later, or changes what it asks for, can
 * only make it stricter. The caller holds the structure lock. */
void rules_hold(region_data_t *data, uint32_t tenant, region_ask_t ask, uint64_t value,
                uint64_t now);
/* Takes back all that an operator has set for a tenant and its device: what its processes ask for
 * holds again. */
void rules_release(region_data_t *data, uint32_t tenant, uint64_t now);
/* Of an operator's asks: one that is killed between them and this leaves what looks like damage. */
uint64_t rules_asks_check(const region_asks_t *asks);
/* Bits of rawhal_limit_t. */
uint64_t rules_held(const region_asks_t *asks);

/* Changes a clock's share; what it owes stays the same device time. */
void rules_set_share(region_node_t *node, uint64_t share, uint64_t now);

/* For a clock that has not been used before. */
void rules_start(region_node_t *node);

/* Does it owe device time, or dispatches? */
bool rules_in_debt(const region_node_t *node, uint64_t now);

#endif
