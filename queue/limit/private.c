#include "queue/limit/private.h"

#include "queue/limit/node.h"

#include <string.h>

enum { ACCOUNTS = 64, NODES = 3 };

typedef struct account {
  char device[REGION_DEVICE_NAME], tenant[REGION_TENANT_NAME];
  uint64_t owed[NODES]; /* device time at `at`, of device, tenant and process */
  uint64_t at;
} account_t;

static account_t accounts[ACCOUNTS];
static pthread_mutex_t accounts_lock = PTHREAD_MUTEX_INITIALIZER;

/* Tests that bring a clock of their own begin anew. */
static bool is_kept(const rawhal_limiter_t *limiter)
{
  return limiter->region.fd < 0 && limiter->clock == &limit_clock_real;
}

static void nodes_of(const rawhal_limiter_t *limiter, region_node_t *nodes[NODES])
{
  nodes[0] = &limiter->device->node;
  nodes[1] = &limiter->tenant->node;
  nodes[2] = &limiter->me->node;
}

static uint64_t owed_by(const account_t *account)
{
  uint64_t most = 0;
  for (int i = 0; i < NODES; ++i)
    most = account->owed[i] > most ? account->owed[i] : most;
  return most;
}

/* The limiter's, or the one that owes least. The caller holds the lock. */
static account_t *find(const rawhal_limiter_t *limiter, bool *known)
{
  account_t *least = &accounts[0];
  *known = true;
  for (int i = 0; i < ACCOUNTS; ++i) {
    account_t *account = &accounts[i];
    if (account->at && !strcmp(account->device, limiter->device->name) &&
        !strcmp(account->tenant, limiter->tenant->name))
      return account;
    if (owed_by(account) < owed_by(least))
      least = account;
  }
  *known = false;
  return least;
}

void private_take_up(rawhal_limiter_t *limiter, uint64_t now)
{
  region_node_t *nodes[NODES];
  bool known;
  if (!is_kept(limiter))
    return;
  nodes_of(limiter, nodes);
  pthread_mutex_lock(&accounts_lock);
  const account_t *account = find(limiter, &known);
  for (int i = 0; known && i < NODES; ++i) {
    uint64_t share = node_load(&nodes[i]->share);
    uint64_t paid = account->at + node_cost(share, account->owed[i]);
    if (share < REGION_SHARE_ONE && account->owed[i] && paid > now)
      atomic_store(&nodes[i]->tat, paid);
  }
  pthread_mutex_unlock(&accounts_lock);
}

void private_leave(const rawhal_limiter_t *limiter, uint64_t now)
{
  region_node_t *nodes[NODES];
  bool known;
  if (!is_kept(limiter))
    return;
  nodes_of(limiter, nodes);
  pthread_mutex_lock(&accounts_lock);
  account_t *account = find(limiter, &known);
  account_t mine = {.at = now};
  memcpy(mine.device, limiter->device->name, sizeof(mine.device));
  memcpy(mine.tenant, limiter->tenant->name, sizeof(mine.tenant));
  for (int i = 0; i < NODES; ++i)
    mine.owed[i] = node_is_limited(nodes[i]) ? node_debt(nodes[i], now) : 0;
  if (known || owed_by(&mine) >= owed_by(account))
    *account = mine;
  pthread_mutex_unlock(&accounts_lock);
}
