/* Slurm as far as the plugin sees it: a context, a task's environment, options, and the controller's
 * answer. */
#ifndef TESTS_FLEET_SLURM_HOST_H
#define TESTS_FLEET_SLURM_HOST_H

#include <slurm/slurm.h>
#include <slurm/spank.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HOST_VARIABLES = 32, HOST_LOG_BYTES = 8192 };

typedef struct host {
  spank_context_t context;
  uint32_t job;
  const char *options[2]; /* of --gpu-share and --gpu-memory; NULL: not given */
  struct {
    char name[64], value[512];
  } variables[HOST_VARIABLES];
  int registered;
  char log[HOST_LOG_BYTES]; /* of slurm_error() */
  /* What the controller says. */
  bool is_down;
  job_info_t answer;
  char *gres[1];
} host_t;

extern host_t host;

/* NULL: it is not set. */
const char *host_variable(const char *name);

#ifdef __cplusplus
}
#endif

#endif
