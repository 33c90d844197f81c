#include "queue/limit/debts.h"

#include "queue/limit/node.h"

#include <string.h>

enum { ACCOUNTS = 64, NODES = 3 };

typedef struct account {
  char device[REGION_DEVICE_NAME];
  uint64_t owed[NODES]; /* device time at `at`, of process, tenant and device */
  uint64_t at;
} account_t;

static account_t accounts[ACCOUNTS];
static pthread_mutex_t accounts_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_accounts(void)
{
  pthread_mutex_lock(&accounts_lock);
}

static void unlock_accounts(void)
{
  pthread_mutex_unlock(&accounts_lock);
}

static void guard_forks(void)
{
  (void)pthread_atfork(lock_accounts, unlock_accounts, unlock_accounts);
}

void debts_watch_forks(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, guard_forks);
}

/* Stores the clocks that are this process's own, and returns how many they are: a region keeps
 * those of its tenants and devices. Tests that bring a clock of their own begin anew. */
static int nodes_of(const rawhal_limiter_t *limiter, region_node_t *nodes[NODES])
{
  nodes[0] = &limiter->me->node;
  nodes[1] = &limiter->tenant->node;
  nodes[2] = &limiter->device->node;
  return limiter->clock != &limit_clock_real ? 0 : limiter->region.fd < 0 ? NODES : 1;
}

static uint64_t owed_by(const account_t *account)
{
  uint64_t most = 0;
  for (int i = 0; i < NODES; ++i)
    most = account->owed[i] > most ? account->owed[i] : most;
  return most;
}

/* The device's, whatever the process calls itself, or the one that owes least. The caller holds the
 * lock. */
static account_t *find(const rawhal_limiter_t *limiter, bool *known)
{
  account_t *least = &accounts[0];
  *known = true;
  for (int i = 0; i < ACCOUNTS; ++i) {
    account_t *account = &accounts[i];
    if (account->at && !strncmp(account->device, limiter->device->name, sizeof(account->device)))
      return account;
    if (owed_by(account) < owed_by(least))
      least = account;
  }
  *known = false;
  return least;
}

void debts_resume(rawhal_limiter_t *limiter, uint64_t now)
{
  region_node_t *nodes[NODES];
  bool known;
  int count = nodes_of(limiter, nodes);
  debts_watch_forks();
  pthread_mutex_lock(&accounts_lock);
  const account_t *account = find(limiter, &known);
  for (int i = 0; known && i < count; ++i) {
    uint64_t paid = account->at + node_cost(node_clock_share(nodes[i]), account->owed[i]);
    if (node_is_limited(nodes[i]) && account->owed[i] && paid > now)
      atomic_store(&nodes[i]->tat, paid);
  }
  pthread_mutex_unlock(&accounts_lock);
}

/* What is left at `now` of what was owed to a clock. */
static uint64_t left_of(const account_t *account, int i, const region_node_t *node, uint64_t now)
{
  uint64_t passed = now > account->at ? now - account->at : 0; /* it may have been closed since */
  uint64_t paid = node_device_time(node_load(&node->share), passed);
  return account->owed[i] > paid ? account->owed[i] - paid : 0;
}

void debts_keep(const rawhal_limiter_t *limiter, uint64_t now)
{
  region_node_t *nodes[NODES];
  bool known;
  int count = nodes_of(limiter, nodes);
  if (count == 0)
    return;
  pthread_mutex_lock(&accounts_lock);
  account_t *account = find(limiter, &known);
  account_t mine = {.at = now};
  memcpy(mine.device, limiter->device->name, sizeof(mine.device));
  for (int i = 0; i < NODES; ++i) {
    uint64_t owed = i < count && node_is_limited(nodes[i]) ? node_debt(nodes[i], now) : 0;
    uint64_t left = known ? left_of(account, i, nodes[i], now) : 0; /* of another's, open as long */
    mine.owed[i] = owed > left ? owed : left;
  }
  if (known || owed_by(&mine) >= owed_by(account))
    *account = mine;
  pthread_mutex_unlock(&accounts_lock);
}
