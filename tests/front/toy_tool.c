/* Another tool, in a library of its own: counts what goes through it and passes it on, and when it
 * is unloaded puts back what is still its own. Of tables of major 1. */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { QUEUE_CREATE = 72, STORE_WRITE = 144, SIGNAL_STORE = 352, POOL_ALLOCATE = 120 };

typedef struct root {
  uint32_t version[4];
  char *core, *amd;
} root_t;

static root_t *tables;
static __typeof__(hsa_queue_create) *next_queue;
static __typeof__(hsa_queue_store_write_index_screlease) *next_write;
static __typeof__(hsa_signal_store_screlease) *next_store;
static __typeof__(hsa_amd_memory_pool_allocate) *next_allocate;

size_t toy_tool_queues, toy_tool_writes, toy_tool_stores, toy_tool_allocations;

static hsa_status_t queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                 void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                                 uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t **queue)
{
  ++toy_tool_queues;
  return next_queue(agent, size, type, callback, data, private_bytes, group_bytes, queue);
}

static void store_write(const hsa_queue_t *queue, uint64_t index)
{
  ++toy_tool_writes;
  next_write(queue, index);
}

static void signal_store(hsa_signal_t signal, hsa_signal_value_t value)
{
  ++toy_tool_stores;
  next_store(signal, value);
}

static hsa_status_t pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags,
                                  void **memory)
{
  ++toy_tool_allocations;
  return next_allocate(pool, size, flags, memory);
}

static void *swap(char *table, size_t at, void *function)
{
  void *before;
  memcpy(&before, table + at, sizeof(before));
  memcpy(table + at, &function, sizeof(function));
  return before;
}

static void put_back(char *table, size_t at, void *ours, void *before)
{
  void *now;
  memcpy(&now, table + at, sizeof(now));
  if (now == ours)
    (void)swap(table, at, before);
}

bool OnLoad(root_t *root, uint64_t version, uint64_t failed_count, const char *const *failed);
void OnUnload(void);

bool OnLoad(root_t *root, uint64_t version, uint64_t failed_count, const char *const *failed)
{
  (void)version, (void)failed_count, (void)failed;
  tables = root;
  next_queue = swap(root->core, QUEUE_CREATE, (void *)queue_create);
  next_write = swap(root->core, STORE_WRITE, (void *)store_write);
  next_store = swap(root->core, SIGNAL_STORE, (void *)signal_store);
  next_allocate = swap(root->amd, POOL_ALLOCATE, (void *)pool_allocate);
  return true;
}

void OnUnload(void)
{
  put_back(tables->core, QUEUE_CREATE, (void *)queue_create, (void *)next_queue);
  put_back(tables->core, STORE_WRITE, (void *)store_write, (void *)next_write);
  put_back(tables->core, SIGNAL_STORE, (void *)signal_store, (void *)next_store);
  put_back(tables->amd, POOL_ALLOCATE, (void *)pool_allocate, (void *)next_allocate);
}
