/* A process that does nothing but keep a file open. */
#ifndef FLEET_SLURM_KEEPER_H
#define FLEET_SLURM_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct keeper {
  int pid, fd;         /* as it has the file */
  uint64_t start_time; /* ticks since boot: another process may have the number later */
} keeper_t;

/* Starts one, in a session of its own, without any other file of the caller's. False: errno.
 * `*line` is closed by keeper_settle(); should the caller die before that, the keeper ends as well,
 * as nobody would know of it. */
bool keeper_start(int fd, keeper_t *keeper, int *line);
/* It is known where others find it, or, if not `kept`, it is to end. */
void keeper_settle(int line, bool kept);
bool keeper_is_alive(const keeper_t *keeper);
void keeper_end(const keeper_t *keeper);

#endif
