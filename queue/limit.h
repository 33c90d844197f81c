/* rawhal/limit.h: quota and limiter.
 *
 * A limiter is one process's account for one device. It belongs to a tenant (a container, a user: a
 * name), and tenants share the device. GPU time is limited at each of these levels; memory at the
 * tenant and the process. Processes that are to share limits share a region, a small file mapped by
 * each of them; without a region the limits are those of one process, in which the next limiter
 * that is opened takes over what a closed one owes.
 *
 * GPU time: the device time that a submission took, from the start of its first dispatch to the end
 * of its last, is charged to a clock at each level, which runs at the limit's share of real time. A
 * submission is admitted when no clock is ahead by more than the burst. Over any window W a level
 * gets at most
 *
 *     share * W + burst * share + one submission
 *
 * and a level that asks for it gets share * W. That holds however long the submissions take:
 * nothing depends on how long a kernel took before, because no more than 1 / (1 - share)
 * submissions of a level are in flight at once. (Below 50 % that is one: short kernels are better
 * submitted in batches, each of which is one submission.) What is not used within the burst is
 * lost: kernels longer than that, on a device that is fully booked, need a longer burst. A
 * submission for which there is room is admitted without a lock, an allocation or a system call. A
 * lock is taken where there is no room, for the first run of a kernel, which is measured alone, and
 * when something of the process has been in flight for half a second. A clock is never more than a
 * day ahead: what would take longer to pay for is paid after a day.
 *
 * A submission that ends otherwise, by a fault or with its queue, is charged from the earliest time
 * at which it can have begun until the device let go of it. A process that is killed, or ends
 * without closing, is charged until another process of the region looks, or the next one joins.
 * What is running counts before it has ended, both in admission and in rows. So a process that is
 * stopped (SIGSTOP, a debugger) with work in flight holds back its own tenant until it continues or
 * dies, and other tenants for a second at most.
 *
 * One exception: a kernel may wait for something that its program does only after another
 * submission. Therefore a process whose submission has been running for half a second (two seconds
 * in a queue that is busy), and for longer than what the level still owes, may submit all the same:
 * once, and once more each time that the running time doubles. So a level may exceed its share by 2
 * + log2(longest / 0.5 s) submissions of those who use it; while others wait, by one in half a
 * second. Processes of a tenant wait for what runs in another of them; if it never ends, for ever.
 *
 * Turns: of those that have work, the one charged least for its weight goes first, among the
 * processes of a tenant and among the tenants of a device whose share is limited; each gets its
 * part to within a submission, however long the kernels of the others are. A process may wait for
 * the submission of another that is in flight, and until that is paid for, which takes its time /
 * share. A process that asks without waiting (deadline 0) keeps its turn for 2 ms after
 * rawhal_queue_retry_at().
 *
 * A region is cooperation between processes that trust each other with its file, not a wall: a
 * process that may write the file can lift its limits, and one that claims another tenant's name is
 * that tenant. No bytes in the file crash the processes that share it, and damage is harmless to
 * them: who charges or waits looks some 20 times a second at all that decides what it gets, by what
 * only it writes, by sums, by bounds and by what was asked for. Limits in force that nobody asked
 * for are put right. What cannot be is damage: it is told, with who was there to do it, in the
 * library's log or by the front, and the process leaves the region. It then has its part of its
 * tenant's limits, divided among the tenant's processes of before by their weights, alone: it
 * borrows nothing, waits for nobody, and together they get no more than before. Others leave when
 * they look next, within about a second, and none can join until there is a new region. A process
 * that knows the layout and writes what could be true can have more than its share, as one can that
 * goes around the front, or suspend its own or another tenant. An operator makes it a wall
 * by not giving it away: a broker process makes the region (rawhal_limit_region_create) and submits
 * on behalf of programs that have no way to the device but through it; or passes the descriptor
 * (SCM_RIGHTS, or inherited) only to trusted programs.
 *
 * What applies when several processes set a limit (a process's own limits concern no other):
 *
 *     limit                  who may set it           what holds
 *     memory, gpu-share,     each process of the      the strictest of what its processes now
 *     dispatch-rate,         tenant, for the tenant   there and the operator ask for; without any,
 *     burst                                           no limit (burst: 20 ms)
 *     charging               the same                 WALL if any of them asks for it
 *     device-share           each process on the      the strictest of all processes now there and
 *                            device, for the device   the operator
 *     burst of the device    none by itself           the shortest burst of all processes now
 *                                                     there, of which one that set none counts
 *                                                     as 20 ms: no tenant loosens it for others
 *
 *     when a process         then
 *     joins                  what it asks for counts from its first admission on; it may make a
 *                            limit stricter for others there, never looser
 *     sets a limit           what it asked for before is forgotten, and the strictest of all holds
 *                            again; it may loosen only what it had made strict itself
 *     leaves, or dies        what it asked for is forgotten as well. Its memory is freed; its
 *                            tenant pays for the device time that it had begun
 *     is the last to leave   the tenant's limits are those of the next that joins. Its debt stays,
 *                            under its name, until it is paid: until then its place is not given to
 *                            another, and if debts hold all places, joining fails
 *     share or rate changes  what is owed stays the same device time or number of dispatches: the
 *                            wait for it shrinks or grows as the share grows or shrinks; a share of
 *                            0 keeps it until there is one again
 *
 * A region has 512 places, one for each process on each device, and room for 64 tenants, counted on
 * each device by itself. 4 places are kept for each of the 64, whether it is there or not: however
 * many processes one tenant has, 4 of every other can join. One that can choose its name can take
 * the places of all the names that it chooses.
 *
 * A process that was stopped (SIGSTOP) while it joined holds the lock of the region: until it
 * continues or dies, others cannot join (TIMED_OUT after 1 to 2 s) or change shared limits
 * (TIMED_OUT after some 10 ms). Nothing else waits for it: neither memory, admission, views nor
 * leaving, though limits may stay as strict as processes that have left had asked for.
 *
 * Processes that died are found by those that they would hold back: within 50 ms of the next wait,
 * refused allocation or query of memory by any process, nothing of theirs counts, even if another
 * process still has their open files. A process that has closed them itself, as daemons do, counts
 * as long as it has the region mapped, if that can be seen. (Where a process cannot be seen, in
 * another PID namespace or without /proc, it counts as alive while a child that it made by a raw
 * clone() lives.)
 *
 * Memory counts from before it is taken until it is free: what is refused was never taken. Memory
 * of another process or driver counts where it is mapped, all of it and 2 MiB at least, and where
 * it was allocated until it is freed there: it exists until the last of these lets go. (What a
 * dma-buf's descriptor keeps after the buffer was freed counts under `rawhal exec` only.)
 *
 * Without a region a process is limited once: if another copy of this library, or of the front, has
 * limits in the same process, through dlmopen() or inside a plugin, opening devices fails
 * (UNSUPPORTED) and names the remedy: a region, in which both count. rawhal_limiter_open() by
 * itself does not look for others.
 *
 * A region that is named by an inherited descriptor ("fd:9"; of several, "fd:9,12", the one with
 * the device counts) has the tenants that an operator has added (rawhal_limit_control_add), and
 * others are refused: so a launcher gives a job what it was allotted, and no path. Where a program
 * has closed it, as those do that close what they do not know before they start others, the
 * descriptor of the nearest ancestor counts that has one and lets this process open it.
 *
 * A limit that is configured is enforced, or the call fails. Nothing here installs signal handlers
 * or changes the umask. Where processes share a region, a queue has a thread (that of
 * rawhal_queue_on_complete()) that charges what has finished even if the program does not wait for
 * it. A process may be killed at any instruction without harm to the others. After fork() a child
 * has no limiter and must open its own.
 *
 * Configuration: the program sets limits, and so do RAWHAL_* variables, the variables of HAMi's
 * device plugins, and a file of the operator's. If a limit is set twice, the stricter value
 * applies, so that none lifts another's limit; nor does a variable for one device (`_0`, `_1`) lift
 * the general one of its name. Every value has its origin; text that is not understood, and an
 * unknown RAWHAL_* variable whose name resembles a known one, are errors that name the variable.
 *
 *   limit                                       stricter is
 *   shares, bytes, counts, rates, burst         smaller; 0 is nothing at all
 *   charging                                    wall
 *   weight, priority                            lower: less of what there is
 *   compute units                               both masks together; an error when nothing is left
 *   tenant, region                              neither: two that differ are an error naming both
 *
 * RAWHAL_LIMITS_PINNED lists what the program cannot change at all, not even make stricter: names
 * as in rawhal_limit_info_t, "tenant", "region", "cu-mask", or "all" for everything that is set
 * from outside. RAWHAL_LIMITS_FILE names a file of NAME=VALUE lines (names of limits or variables;
 * # begins a comment) whose values are pinned, and apply against all variables, too. It must belong
 * to root or another user, and this process must not be able to write it, or it is refused. If
 * something else asks for more than what is pinned, the pinned value applies; if it asks for less,
 * or another mask, the call fails and names both; another tenant or region is overruled.
 *
 * Under `rawhal exec` (librawhal-front, HSA_TOOLS_LIB) the front enforces what is set from outside,
 * for all that the program submits and allocates through any library. The program's devices then
 * enforce only what the program itself sets, so that nothing is charged twice: without such limits
 * rawhal_device_limiter() is NULL. Text from outside is read, and refused, as without the front; a
 * region that both the program and the environment name is joined by the front alone.
 *
 * Pinning protects a limit from outside against the program, its configuration files and its users,
 * and against mistakes. It does not protect it against a process that changes its environment, or
 * its memory, before or after rawhal reads it. Such a process is held only by a region that it
 * cannot write to, and by whatever controls access to the device.
 *
 * Thread-safety: all functions are thread-safe, except that a config belongs to one thread and
 * closing must come last. pthread_cancel(): no call is a cancellation point (see queue.h). */
#ifndef RAWHAL_LIMIT_H
#define RAWHAL_LIMIT_H

#include <rawhal/status.h>

RAWHAL_BEGIN

/* ---- What can be limited ---- */

/* The limits, whom each one limits, and their units. */
typedef enum rawhal_limit {
  RAWHAL_LIMIT_MEMORY = 0,               /* tenant: bytes of device memory */
  RAWHAL_LIMIT_GPU_SHARE = 1,            /* tenant: device time, parts per million */
  RAWHAL_LIMIT_DISPATCH_RATE = 2,        /* tenant: dispatches a second */
  RAWHAL_LIMIT_BURST = 3,                /* all shares: ns a clock may be ahead; default 20 ms */
  RAWHAL_LIMIT_CHARGING = 4,             /* tenant: rawhal_limit_charging_t */
  RAWHAL_LIMIT_DEVICE_SHARE = 5,         /* all tenants together: device time, parts per million */
  RAWHAL_LIMIT_PROCESS_MEMORY = 6,       /* this process: bytes of device memory */
  RAWHAL_LIMIT_PROCESS_SHARE = 7,        /* this process: device time, parts per million */
  RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT = 8, /* this process: dispatches not known to have finished */
  RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT = 9, /* this process: work-groups of those */
  RAWHAL_LIMIT_KERNARG_IN_FLIGHT = 10,   /* this process: kernarg bytes of those */
  RAWHAL_LIMIT_GRID_WORKGROUPS = 11,     /* this process: work-groups of one dispatch */
  RAWHAL_LIMIT_WEIGHT = 12,              /* this process among its tenant's: 1..1000, default 100 */
  RAWHAL_LIMIT_PRIORITY = 13, /* this process among those that wait: rawhal_limit_priority_t */
} rawhal_limit_t;

/* What a tenant pays while others use the device at the same time. A process is running while one
 * of its dispatches has begun and not ended. The device tells no more than that: should it stop
 * kernels half-way to run another process's, FAIR charges each for half of the time, and WALL is
 * the bound that holds. */
typedef enum rawhal_limit_charging {
  RAWHAL_CHARGING_FAIR = 0, /* its part: 1/n of the time in which n processes were running */
  RAWHAL_CHARGING_WALL = 1, /* all of the time: an upper bound on what it can have used */
} rawhal_limit_charging_t;

/* Values of RAWHAL_LIMIT_PRIORITY. */
typedef enum rawhal_limit_priority {
  RAWHAL_PRIORITY_LOW = 0,
  RAWHAL_PRIORITY_NORMAL = 1,
  RAWHAL_PRIORITY_HIGH = 2,
} rawhal_limit_priority_t;

/* No limit. 0 is a limit of nothing. */
#define RAWHAL_UNLIMITED UINT64_MAX

/* What a limit's value counts, and how it is written. Names and suffixes in any case; "unlimited"
 * is understood where a limit may be absent. */
typedef enum rawhal_limit_unit {
  RAWHAL_UNIT_BYTES = 0,    /* "4Gi" "4GB" "512m" "1.5G" (all 1024-based), "50%" of the device */
  RAWHAL_UNIT_SHARE = 1,    /* "30%" "12.5%" */
  RAWHAL_UNIT_DURATION = 2, /* "20ms" "500us" "1s" "1000ns" */
  RAWHAL_UNIT_COUNT = 3,    /* "1000" */
  RAWHAL_UNIT_CHARGING = 4, /* "fair" "wall" */
  RAWHAL_UNIT_PRIORITY = 5, /* "low" "normal" "high" */
} rawhal_limit_unit_t;

/* Who a limit, or a row of a view, is about. */
typedef enum rawhal_limit_level {
  RAWHAL_LIMIT_LEVEL_DEVICE = 0,
  RAWHAL_LIMIT_LEVEL_TENANT = 1,
  RAWHAL_LIMIT_LEVEL_PROCESS = 2,
} rawhal_limit_level_t;

/* Facts of one limit; constant. */
typedef struct rawhal_limit_info {
  const char *name;     /* "gpu-share" */
  const char *variable; /* "RAWHAL_GPU_SHARE" */
  const char *meaning;  /* half a sentence */
  rawhal_limit_unit_t unit;
  uint64_t minimum, maximum;  /* of what may be set, besides RAWHAL_UNLIMITED */
  rawhal_limit_level_t level; /* who it limits */
} rawhal_limit_info_t;
/* NULL for a limit that this library does not have: limits are numbered from 0 without gaps. */
RAWHAL_API const rawhal_limit_info_t *rawhal_limit_info(rawhal_limit_t limit);

/* Writes a value as text that rawhal_limit_parse() reads back: "4GiB", "30%", "unlimited". Never
 * beyond `size`, NUL-terminated when size > 0; "" for an unknown limit. */
RAWHAL_API void rawhal_limit_format(rawhal_limit_t limit, uint64_t value, char *text, size_t size);

/* What reading a limit needs to know about the device that it is for. */
typedef struct rawhal_limit_device {
  size_t size;           /* sizeof(rawhal_limit_device_t), or 0: see types.h */
  uint32_t index;        /* which `_N` variables count */
  uint64_t memory_bytes; /* what percentages are of; 0: percentages are refused */
} rawhal_limit_device_t;

/* Reads a value from text, as rawhal_limit_unit_t says. `device` may be NULL. INVALID_ARGUMENT: the
 * text is not understood; OUT_OF_RANGE: beyond what the limit may be set to. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_limit_parse(rawhal_limit_t limit, const char *text,
                                                             const rawhal_limit_device_t *device,
                                                             uint64_t *value,
                                                             rawhal_error_t *error);

/* ---- Configuration ---- */

/* What is to be limited, and by whom. Thread-safety: one thread at a time. */
typedef struct rawhal_limit_config rawhal_limit_config_t;

/* Makes a config in which nothing is set. OUT_OF_MEMORY. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_limit_config_create(rawhal_limit_config_t **config,
                                                                     rawhal_error_t *error);
RAWHAL_API void rawhal_limit_config_destroy(rawhal_limit_config_t *config); /* NULL is allowed */

/* What a limit was set to. */
typedef struct rawhal_limit_value {
  size_t size; /* set it to sizeof(rawhal_limit_value_t), or 0: see types.h */
  uint64_t value;
  char origin[48]; /* "program", a variable's name, or "RAWHAL_LIMITS_FILE:" with a line; "" when
                      it is not set */
  /* What is set from outside; the program may set a stricter value. */
  uint64_t bound;
  char bound_origin[48]; /* "": nothing is set */
  bool pinned;           /* the program may not change it at all */
} rawhal_limit_value_t;

/* What is configured as text, besides limits. */
typedef enum rawhal_limit_name {
  RAWHAL_LIMIT_NAME_TENANT = 0,  /* default "default" */
  RAWHAL_LIMIT_NAME_REGION = 1,  /* path of the region's file or of a broker's socket, or
                                    "fd:9,12", descriptors that this process has inherited; none:
                                    limits of this process only */
  RAWHAL_LIMIT_NAME_CU_MASK = 2, /* compute units to run on, hexadecimal, bit 0 is the first */
} rawhal_limit_name_t;

/* What a name was set to. */
typedef struct rawhal_limit_text {
  size_t size; /* set it to sizeof(rawhal_limit_text_t), or 0: see types.h */
  char text[256];
  char origin[48]; /* as above; of a mask made of several: their names with " & " between */
  bool pinned;
} rawhal_limit_text_t;

/* Sets one value, with origin "program". OUT_OF_RANGE. QUOTA_EXCEEDED: the environment has been
 * read and holds a stricter one, or has pinned it. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_limit_config_set(rawhal_limit_config_t *config,
                                                                  rawhal_limit_t limit,
                                                                  uint64_t value,
                                                                  rawhal_error_t *error);
/* The same from text. INVALID_ARGUMENT, OUT_OF_RANGE, QUOTA_EXCEEDED. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_limit_config_set_text(rawhal_limit_config_t *config, rawhal_limit_t limit, const char *text,
                             const rawhal_limit_device_t *device, rawhal_error_t *error);
/* Sets a name, in place of what the config has; what the environment says is added to it later, by
 * the rules above. INVALID_ARGUMENT: longer than 255 bytes. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_limit_config_set_name(rawhal_limit_config_t *config, rawhal_limit_name_t name,
                             const char *text, rawhal_error_t *error);
/* Makes this file the region, whatever path is set; -1: undoes that. The descriptor stays the
 * caller's, who vouches for it: neither owner, mode nor names are checked. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_limit_config_set_region_fd(
    rawhal_limit_config_t *config, int region_fd, rawhal_error_t *error);
/* Adds what the environment says, and the operator's file that it names, by the rules above.
 * INVALID_ARGUMENT, OUT_OF_RANGE: the message begins with the variable. UNSUPPORTED: the file could
 * be written by this process; or a variable names a file and the program has more rights than the
 * user who started it, as secure_getenv(3) sees it. NOT_FOUND, RUNTIME, OUT_OF_MEMORY,
 * CAP_EXCEEDED: the file cannot be read. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_limit_config_environment(
    rawhal_limit_config_t *config, const rawhal_limit_device_t *device, rawhal_error_t *error);
/* The value in force: what was set, else the default (RAWHAL_UNLIMITED for most). */
RAWHAL_API uint64_t rawhal_limit_config_get(const rawhal_limit_config_t *config,
                                            rawhal_limit_t limit);
/* The same, with where it comes from. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_limit_config_value(const rawhal_limit_config_t *config, rawhal_limit_t limit,
                          rawhal_limit_value_t *value, rawhal_error_t *error);
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_limit_config_name(const rawhal_limit_config_t *config, rawhal_limit_name_t name,
                         rawhal_limit_text_t *text, rawhal_error_t *error);
/* Whether the config limits anything, or names a region or a mask of compute units. */
RAWHAL_API bool rawhal_limit_config_limits(const rawhal_limit_config_t *config);

/* A variable or file that other limiters read and rawhal does not. */
typedef struct rawhal_limit_foreign {
  const char *variable; /* or a file's path, which begins with a slash */
  const char *instead;  /* half a sentence: what rawhal does */
} rawhal_limit_foreign_t;
/* Constant. NULL beyond the last. */
RAWHAL_API const rawhal_limit_foreign_t *rawhal_limit_foreign(size_t index);

/* ---- Regions ---- */

/* Makes a region in memory of its own, without a name, for rawhal_limit_config_set_region_fd(): the
 * form to use for containers. Its size is sealed: no process that has it can truncate it. The
 * caller closes `*fd` (close-on-exec is set); the region lives as long as any process has it open.
 * OUT_OF_MEMORY, RUNTIME.
 *
 * Other memory files (memfd_create) that may still be sealed are sealed when they are first opened
 * as a region. What has no seal, a region found by its path or a descriptor of such a file, is not
 * protected from processes that may write it: truncating it kills (SIGBUS) all processes that have
 * it mapped. Therefore a path is refused, with the reason, unless it is a regular file, not reached
 * by a symbolic link, that belongs to this user or root, has one name, and is not writable by
 * everybody (group-writable is allowed: that is how users share one); one that is made here has
 * mode 0600. All of its room is reserved on opening (else OUT_OF_MEMORY), so that a full file
 * system does no harm later; file systems that cannot reserve room (EOPNOTSUPP) do not give that
 * promise. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_limit_region_create(int *fd,
                                                                     rawhal_error_t *error);
/* A descriptor of the region that a path names, to pass to another process or to set in a config: a
 * region's file, or a broker's socket (`rawhal broker`), which may stand wherever a region's path
 * is asked for. A broker gives each process that connects a region as made above, with an open file
 * description of its own. A socket must belong to root, to this user, or, on a read-only mount, to
 * nobody, as root is called in a container's user namespace. The caller closes `*fd`
 * (close-on-exec is set). NOT_FOUND: no such file, or nobody listens. RUNTIME: it may not be
 * written. UNSUPPORTED: it is neither, or the broker is not to be trusted. TIMED_OUT: the broker
 * does not answer. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_limit_region_open(const char *path, int *fd,
                                                                   rawhal_error_t *error);

/* ---- Limiters ---- */

/* A process's account for one device. */
typedef struct rawhal_limiter rawhal_limiter_t;

/* Joins a tenant on a device, which all processes must name alike: by its UUID. If others have set
 * the same limit, the strictest value holds: see the table above. `config` is copied. UNSUPPORTED,
 * MALFORMED: the file is not a region, or is damaged, of another version, or not to be trusted; or
 * the process is in a time namespace, in whose time others would wait. CAP_EXCEEDED: the region is
 * full, or what is left of it is kept for others. OUT_OF_MEMORY; also if the region's file system
 * is full. TIMED_OUT: another process was stopped while it held the region's lock. RUNTIME. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_limiter_open(const rawhal_limit_config_t *config,
                                                              const char *device,
                                                              rawhal_limiter_t **limiter,
                                                              rawhal_error_t *error);
/* Leaves: gives all of its memory back to the tenant. Does not wait. NULL is allowed. */
RAWHAL_API void rawhal_limiter_close(rawhal_limiter_t *limiter);

/* Changes a limit of a limiter in use: this process's, or what this process asks for the tenant or
 * the device, see rawhal_limit_t and the table above. It holds from the next admission or
 * allocation. OUT_OF_RANGE. QUOTA_EXCEEDED: the environment has set a stricter one or has pinned
 * it, or an operator holds it, see below. TIMED_OUT: another process was stopped while it held the
 * region's lock; nothing has changed. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_limiter_set(rawhal_limiter_t *limiter,
                                                             rawhal_limit_t limit, uint64_t value,
                                                             rawhal_error_t *error);
/* The value in force now. RAWHAL_UNLIMITED for NULL. */
RAWHAL_API uint64_t rawhal_limiter_get(const rawhal_limiter_t *limiter, rawhal_limit_t limit);

/* How much memory the device appears to have, and how much of it is used, in bytes: `total` less
 * `used` is what the tenant's limit and the process's both leave. Without a limit, `total` is
 * RAWHAL_UNLIMITED. Neither pointer may be NULL. */
RAWHAL_API void rawhal_limiter_memory(const rawhal_limiter_t *limiter, uint64_t *total,
                                      uint64_t *used);

/* ---- Operators ---- */

/* Changes the limits of processes that are running, through their region's file, which the caller
 * must be able to write. What an operator has set stays when the tenant's processes end and start
 * again, until it is released: until then their configurations and rawhal_limiter_set() can only
 * make it stricter. Thread-safe but for closing; a child of fork() must open its own. */
typedef struct rawhal_limit_control rawhal_limit_control_t;

/* Opens the region's file, or "fd:9", a descriptor of it. NOT_FOUND: no such file, or unused since
 * the machine started. RUNTIME: it may not be written, or the system refuses otherwise.
 * UNSUPPORTED, MALFORMED: it is not a region, damaged, or of another version. OUT_OF_MEMORY.
 * TIMED_OUT: a process was stopped while it held the region's lock. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_limit_control_open(
    const char *path, rawhal_limit_control_t **control, rawhal_error_t *error);
/* What it has set stays. NULL is allowed. */
RAWHAL_API void rawhal_limit_control_close(rawhal_limit_control_t *control);

/* Each of these is for the tenant of that name on a device, or, with `device` NULL, on all devices
 * of the region. NOT_FOUND: the region has no such tenant. TIMED_OUT: as above. */

/* Sets a limit of the tenant, or of its device. It holds from the next admission or allocation, and
 * wakes those that wait. INVALID_ARGUMENT: it is a limit of a process. OUT_OF_RANGE. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_limit_control_set(rawhal_limit_control_t *control, const char *device, const char *tenant,
                         rawhal_limit_t limit, uint64_t value, rawhal_error_t *error);
/* Suspends or resumes the tenant. While it is suspended, what it has in flight runs on, and nothing
 * more is admitted, copies included: submissions wait until it is resumed, or end with WOULD_BLOCK,
 * or TIMED_OUT at their deadline. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_limit_control_suspend(rawhal_limit_control_t *control, const char *device,
                             const char *tenant, bool suspended, rawhal_error_t *error);
/* Gives up what an operator has set: the tenant is resumed, and what its processes ask for applies
 * again, also for the device's share. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_limit_control_release(
    rawhal_limit_control_t *control, const char *device, const char *tenant, rawhal_error_t *error);

/* Adds a tenant to a device, which need not be there yet. Both stay, with processes or without, and
 * the tenant's device time and peak of memory are those of all processes that were ever in it,
 * until it is removed. One that is there is kept from now on. INVALID_ARGUMENT: a name is empty or
 * too long. CAP_EXCEEDED: the region has no place left. TIMED_OUT. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_limit_control_add(rawhal_limit_control_t *control,
                                                                   const char *device,
                                                                   const char *tenant,
                                                                   rawhal_error_t *error);
/* Removes one that was added: what is held for it and what it owes are forgotten, and its place is
 * free. WOULD_BLOCK: there are processes in it; suspend it, and come again. Those that have died
 * are none, and what they held is given back here. NOT_FOUND: no such tenant was added. TIMED_OUT.
 */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_limit_control_remove(
    rawhal_limit_control_t *control, const char *device, const char *tenant, rawhal_error_t *error);

/* ---- Looking on ---- */

/* A region's file, mapped for reading: needs no right to write, takes no lock, and also shows
 * regions whose processes are dead or belong to other users. The dead have no rows and hold
 * nothing. */
typedef struct rawhal_limit_view rawhal_limit_view_t;

/* Lengths of arrays in a row. */
enum {
  RAWHAL_LIMIT_WINDOWS = 3, /* 1 s, 10 s, 60 s */
  RAWHAL_LIMIT_CLASSES = 5, /* rawhal_limit_class_name() */
  RAWHAL_LIMIT_WAIT_BUCKETS = 32,
};

/* A refusal for good: of memory, or of what could never fit. Amounts in the unit of the limit. */
typedef struct rawhal_limit_denial {
  uint64_t number; /* counts those of this slot from 1; 0: none */
  rawhal_limit_t limit;
  uint64_t asked; /* RAWHAL_UNLIMITED: any */
  uint64_t used, allowed;
  uint64_t at_ns; /* CLOCK_MONOTONIC */
  uint64_t pid, pid_namespace;
  uint32_t slot;
  char device[64], tenant[64];
} rawhal_limit_denial_t;

/* One device, tenant or process. Counters of devices and tenants are those of their live processes
 * together; device time is that of all processes since the place was taken. Times are ns, memory is
 * bytes; RAWHAL_UNLIMITED where there is no limit. */
typedef struct rawhal_limit_row {
  rawhal_limit_level_t level;
  char name[64]; /* of the device or tenant; a process has its tenant's */
  uint64_t pid;  /* in its own PID namespace, whose inode follows */
  uint64_t pid_namespace;
  uint32_t slot, processes;
  rawhal_limit_charging_t charging; /* tenants */
  rawhal_limit_priority_t priority; /* processes */
  uint64_t weight;                  /* processes */
  bool waiting;                     /* a process that is held back by a shared limit */
  bool suspended;                   /* a tenant, by an operator */
  uint64_t held;                    /* bits of rawhal_limit_t: set by an operator */

  uint64_t share_ppm;
  uint64_t achieved_ppm[RAWHAL_LIMIT_WINDOWS];
  uint64_t burst_ns, ahead_ns; /* how far the clock is ahead, and may be before admission stops */
  uint64_t open_ns;            /* in flight, by estimate */
  uint64_t dispatch_rate;      /* tenants */

  uint64_t launches, gpu_ns;
  uint64_t waits, wait_ns; /* admissions that had to wait, and how long */
  /* Admissions that were told to come again: of copies, and behind a front, which ask again until
   * they are admitted, each once. And those refused for good, each time. */
  uint64_t would_block, denials;
  uint64_t
      wait_histogram[RAWHAL_LIMIT_WAIT_BUCKETS]; /* [i]: waits below 2^i us and not below half */
  uint64_t estimated_ns, estimate_error_ns;      /* sums; of what was measured and estimated */
  uint64_t no_timestamps; /* dispatches charged by the host's clock, for lack of the device's */

  uint64_t memory_limit, memory_used, memory_peak;
  uint64_t memory_by_class[RAWHAL_LIMIT_CLASSES];
  rawhal_limit_denial_t denial; /* the last, of processes */

  /* What gpu_ns is made of, besides what runs now; of devices and tenants. It only grows. */
  uint64_t charged_ns, returned_ns;
} rawhal_limit_row_t;

/* NOT_FOUND: no such file. RUNTIME: it may not be read, or the system refuses otherwise.
 * UNSUPPORTED, MALFORMED: it is not a region, damaged, or of another version. OUT_OF_MEMORY. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_limit_view_open(const char *path,
                                                                 rawhal_limit_view_t **view,
                                                                 rawhal_error_t *error);
/* NULL is allowed. */
RAWHAL_API void rawhal_limit_view_close(rawhal_limit_view_t *view);
/* Stores up to `capacity` rows of `row_size` bytes, sizeof(rawhal_limit_row_t): each device,
 * followed by its tenants, each followed by its processes. Returns how many there are, 0 for NULL.
 * `rows` may be NULL. In a busy region the members of a row need not be of one moment. */
RAWHAL_API size_t rawhal_limit_view_read(const rawhal_limit_view_t *view, rawhal_limit_row_t *rows,
                                         size_t row_size, size_t capacity);
/* The last refusal of each slot, also of processes that are gone: a number that has grown by more
 * than one means that there were others in between. Stores up to `capacity` of them, of
 * `denial_size` bytes, sizeof(rawhal_limit_denial_t), by slot; returns how many there are, 0 for
 * NULL. `denials` may be NULL. One that is being written is left out. */
RAWHAL_API size_t rawhal_limit_view_denials(const rawhal_limit_view_t *view,
                                            rawhal_limit_denial_t *denials, size_t denial_size,
                                            size_t capacity);
/* What is known of damage: see "A region is cooperation" above. */
typedef struct rawhal_limit_damage {
  uint64_t at_ns; /* CLOCK_MONOTONIC, when it was found; 0: none was */
  uint32_t slot;  /* of who found it */
  char what[92];  /* in a few words */
} rawhal_limit_damage_t;
/* False, and zeros: none was found, or `view` is NULL. Stores `damage_size` bytes,
 * sizeof(rawhal_limit_damage_t). */
RAWHAL_API bool rawhal_limit_view_damage(const rawhal_limit_view_t *view,
                                         rawhal_limit_damage_t *damage, size_t damage_size);
/* The name of memory_by_class[index]: "buffers", "code", ...; NULL when index >=
 * RAWHAL_LIMIT_CLASSES. */
RAWHAL_API const char *rawhal_limit_class_name(size_t index);

RAWHAL_END

#endif
