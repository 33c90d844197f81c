/* What a node's hooks remember between them, in a folder of root's that does not outlive a boot:
 * a file for each job that was given parts of GPUs. */
#ifndef FLEET_SLURM_NODE_H
#define FLEET_SLURM_NODE_H

#include <stdbool.h>
#include <stdio.h>

#include "fleet/slurm/settings.h"

enum { TENANT_NAME_BYTES = 64, REASON_BYTES = 512 };

/* What a job has of one GPU. */
typedef struct holding {
  uint32_t gpu;
  char device[DEVICE_NAME_BYTES];
  uint64_t share_ppm, memory_bytes;
} holding_t;

typedef struct record {
  uint32_t job, user;
  char tenant[TENANT_NAME_BYTES];
  uint64_t begun;             /* seconds of the day's clock */
  bool ended;                 /* its epilog ran, and found processes of it alive */
  char refused[REASON_BYTES]; /* "": not */
  holding_t holdings[SLURM_GPUS];
  uint32_t count;
} record_t;

/* Makes the folder, and keeps other hooks of the node out until node_unlock(*lock): none of them
 * waits for a job. RUNTIME: the system refuses; UNSUPPORTED: the folder is not root's alone. */
RAWHAL_CHECKED rawhal_status_t node_lock(const settings_t *settings, int *lock,
                                         rawhal_error_t *error);
void node_unlock(int lock);

/* All of the rest is for whoever has the lock; record_read() for anybody. */

/* Writes a file of the folder by `put`, which answers whether it could: it is whole or as it was.
 * False: errno says why. */
typedef bool node_put_t(FILE *file, const void *context);
bool node_write(const settings_t *settings, const char *path, node_put_t *put, const void *context);

/* RUNTIME; the file is whole or as it was. */
RAWHAL_CHECKED rawhal_status_t record_write(const settings_t *settings, const record_t *record,
                                            rawhal_error_t *error);
/* NOT_FOUND: the job has none. MALFORMED. */
RAWHAL_CHECKED rawhal_status_t record_read(const settings_t *settings, uint32_t job,
                                           record_t *record, rawhal_error_t *error);
void record_remove(const settings_t *settings, uint32_t job);

/* Calls `visit` for each record that can be read. */
typedef void record_visitor_t(const settings_t *settings, const record_t *record, void *context);
void records_visit(const settings_t *settings, record_visitor_t *visit, void *context);

#endif
