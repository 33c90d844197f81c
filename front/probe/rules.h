/* Which dispatches are probed, and how, as RAWHAL_PROBE and RAWHAL_PROBE_ENGINE say. Internal.
 *
 *     KIND[+KIND...][,ITEM...]
 *     PROGRAM[,ITEM...]
 *
 * One per line; the first that is for a kernel counts, those of kinds before those of engines. KIND
 * is waves, blocks, edges, exec, memory, values or barriers (rawhal_probe_kind_t); PROGRAM puts
 * probes into kernels: see front/engine/engine.h. An ITEM is
 *
 *     kernel=NAME        the kernel's name as its code object has it, or a pattern (base/glob.h);
 *                        without it, all but HIP's own, of copies and fills
 *     object=HASH        the beginning of the hash of its code object
 *     client=NAME        in programs of that file alone, as a path or the last part of one, or of
 *                        that tenant; or a pattern
 *     queue=N            dispatches of that queue only
 *     grid>=N, grid<=N   of so many work-items
 *     sample=1/N         one in N dispatches of each kernel, from the first on
 *     skip=N             but for the first N of those
 *     first=N            N dispatches of each kernel
 *     after=TIME, until=TIME   since the front was loaded, as 2s or 500ms
 *     buffer=BYTES       the memory of a dispatch's records; 64M without
 *     by=code|softgpu    by a copy of the kernel with probes in it, or by softgpu, which runs the
 *                        kernel as it is
 *     wait               dispatches wait until the copy is there, and until records of others have
 *                        been written, where there is no memory for theirs
 *     value=REG@OFFSET   of kind values: a register, as v3 or s12, before the instruction at that
 *                        many bytes from the kernel's first
 *     verified=PATH      of copies: only those of which a certificate says that they do what the
 *                        original does; a file, or a folder as rawhal probe verify fills it
 *     limit=TIME         of an engine: how long it may take; 10s without
 *
 * Thread-safety: rules are made by one thread, before others use them. */
#ifndef RAWHAL_FRONT_PROBE_RULES_H
#define RAWHAL_FRONT_PROBE_RULES_H

#include "front/names.h"
#include "front/probe/memory.h"

#include <rawhal/probe.h>

/* Why a dispatch that a rule is for was not probed. */
typedef enum probe_kept {
  PROBE_KEPT_SAMPLING = 0,
  PROBE_KEPT_EARLY = 1, /* the copy was not there yet */
  PROBE_KEPT_REFUSED = 2,
  PROBE_KEPT_REPLACED = 3, /* by another kernel: see substitute.h */
  PROBE_KEPT_POLICY = 4,
  PROBE_KEPT_KERNARGS = 5, /* the host cannot read them */
  PROBE_KEPT_MEMORY = 6,
  PROBE_KEPT_FILE = 7,   /* it has ended */
  PROBE_KEPT_LAUNCH = 8, /* the copy does not allow its grid or its group memory */
  PROBE_KEPT_UNCERTIFIED = 9,
  PROBE_KEPTS,
} probe_kept_t;

enum { PROBE_VALUES = 16 };

typedef struct probe_rule {
  char *text;   /* as it was given */
  char *engine; /* a program's path; NULL: there are kinds */
  rawhal_content_hash_t engine_hash;
  uint64_t limit;        /* ns that it may take */
  uint32_t timeouts;     /* how often it has taken longer; the worker's alone */
  char *kernel, *object; /* NULL: any; so is: */
  char *client;
  char *verified; /* where certificates are; NULL: none is asked for */
  uint32_t kinds; /* rawhal_probe_kind_t */
  bool by_softgpu, waits;
  bool of_queue;
  uint64_t queue;
  uint64_t least, most; /* work-items */
  uint64_t each, skip, first;
  uint64_t after, until; /* ns */
  uint64_t buffer;
  rawhal_probe_value_t values[PROBE_VALUES];
  size_t value_count;
  probe_pool_t memory;
  atomic_ullong probed, lost, kept[PROBE_KEPTS]; /* lost: records */
  struct probe_rule *next;
} probe_rule_t;

/* Makes a rule of each line, if there are any. INVALID_ARGUMENT: one is not understood; NOT_FOUND
 * and others of file_bytes_open(): an engine cannot be read; OUT_OF_MEMORY: then there are none,
 * too. */
RAWHAL_CHECKED rawhal_status_t probe_rules_open(const char *kinds, const char *engines,
                                                probe_rule_t **rules, rawhal_error_t *error);
void probe_rules_close(probe_rule_t *rules); /* NULL is allowed */
/* Drops those of other clients. `program`: its file; NULL: this process's. */
void probe_rules_keep(probe_rule_t **rules, const char *program);

/* The first that is for that kernel; NULL: none is. */
probe_rule_t *probe_rules_find(probe_rule_t *rules, rawhal_string_t kernel,
                               rawhal_content_hash_t object);
/* Says what became of dispatches. */
void probe_rules_summary(const probe_rule_t *rules);

#endif
