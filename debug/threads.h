/* The threads of this process for a core file, but for the one that asks. Internal.
 *
 * Which there are, the kernel lists. Their registers only a tracer gets: a process made for it,
 * which stops one thread after the other, copies, and lets it go, all before `deadline`; where it
 * is ended then, or ends by itself, the kernel lets go. To make it is a fork(), which copies page
 * tables, and some calls that wait answer EINTR when their thread was stopped (signal(7)). A tracer
 * that is there already, seccomp and Yama from 2 on refuse; Yama 1 is asked (PR_SET_PTRACER).
 *
 * Nothing allocates but pages, and no lock is taken, nor one that fork() would take. */
#ifndef RAWHAL_DEBUG_THREADS_H
#define RAWHAL_DEBUG_THREADS_H

#include "debug/core/core.h"

enum { THREADS_MOST = 4096, THREADS_STACKS = 256, THREADS_STACK = 64 << 10 };

typedef struct thread_seen {
  core_thread_t thread; /* zeros where it is not known */
  bool known;
  uint64_t stack; /* where its copied bytes are from */
  uint32_t stack_bytes;
} thread_seen_t;

typedef struct threads {
  size_t bytes;       /* of the mapping */
  size_t count, more; /* that are here; that there is no room for */
  int refused;        /* errno of one that may not be traced; 0: none */
  bool go;
  unsigned char *stacks; /* of the first THREADS_STACKS; NULL: not wanted */
  thread_seen_t seen[];
} threads_t;

/* At most `most` of them. NULL: there is no memory. */
threads_t *threads_list(size_t most, bool stacks);
/* Adds their registers, and copies of THREADS_STACK bytes from their stack pointers' pages on, as
 * far as they can be had until `deadline`, ns of CLOCK_MONOTONIC. */
void threads_read(threads_t *threads, uint64_t deadline);
void threads_free(threads_t *threads);

#endif
