/* As much of rocprofiler-sdk as there is to a tool that only wants a table. */
#include <stddef.h>
#include <stdint.h>

typedef void callback_t(int kind, uint64_t version, uint64_t instance, void **tables,
                        uint64_t count, void *data);

int toy_sdk_status; /* its answer */
static callback_t *callback;
static void *callback_data;
static int wanted;

int rocprofiler_at_intercept_table_registration(callback_t *function, int kinds, void *data);
void toy_sdk_deliver(int kind, void *table);

int rocprofiler_at_intercept_table_registration(callback_t *function, int kinds, void *data)
{
  callback = toy_sdk_status ? NULL : function;
  callback_data = data;
  wanted = kinds;
  return toy_sdk_status;
}

void toy_sdk_deliver(int kind, void *table)
{
  if (callback && wanted & kind)
    callback(kind, 10000, 0, &table, 1, callback_data);
}
