/* What plugstack.conf says of the plugin: NAME=VALUE words. */
#ifndef FLEET_SLURM_SETTINGS_H
#define FLEET_SLURM_SETTINGS_H

#include <limits.h>
#include <rawhal/status.h>

enum { SLURM_GPUS = 16, DEVICE_NAME_BYTES = 64 };

/* What becomes of a job whose limits cannot be set up. */
typedef enum on_error {
  ON_ERROR_REFUSE, /* its tasks do not start, and say why */
  ON_ERROR_DRAIN,  /* the node is drained, and the job waits for another */
  ON_ERROR_RUN,    /* it runs without limits */
} on_error_t;

typedef struct gpu {
  char name[DEVICE_NAME_BYTES]; /* as `rawhal devices` has its UUID */
  uint64_t memory_bytes;
} gpu_t;

typedef struct settings {
  char directory[PATH_MAX / 2]; /* of this node */
  char accounting[PATH_MAX];    /* "": none */
  char front[PATH_MAX];
  char kfd[PATH_MAX / 2]; /* where the driver describes its GPUs */
  uint32_t shards;        /* of one GPU; 0: not said */
  on_error_t on_error;
  gpu_t gpus[SLURM_GPUS]; /* by Slurm's index */
  uint32_t gpu_count;     /* 0: those of the driver */
} settings_t;

/* `node`: Slurm's name of it. INVALID_ARGUMENT names the first word that is wrong, NOT_FOUND what
 * is not there; all others count, so that a failure can be dealt with as they say. */
RAWHAL_CHECKED rawhal_status_t settings_read(int count, char **words, const char *node,
                                             settings_t *settings, rawhal_error_t *error);

/* Sets `error`, and returns `status`. */
rawhal_status_t refuse(rawhal_error_t *error, rawhal_status_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
