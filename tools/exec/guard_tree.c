#include "tools/exec/guard_tree.h"
#include "base/list.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/shared/tool.h"

/* What /proc/PID/stat tells. */
typedef struct facts {
  pid_t pid, parent;
  uint64_t start, bytes, image;
} facts_t;

typedef struct census {
  facts_t *list; /* by pid */
  size_t count, room;
} census_t;

enum { FIELD_PARENT = 4, FIELD_START = 22, FIELD_BYTES = 23, FIELD_STACK = 28, MOST_STEPS = 1024 };

/* ---- All processes ---- */

/* False: it is gone. */
static bool read_facts(const char *pid, facts_t *facts)
{
  char path[64], text[1024];
  snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
  FILE *file = fopen(path, "re");
  if (!file)
    return false;
  size_t size = fread(text, 1, sizeof(text) - 1, file);
  fclose(file);
  text[size] = '\0';
  char *at = strrchr(text, ')'); /* the name before it may hold anything */
  *facts = (facts_t){.pid = (pid_t)strtol(pid, NULL, 10)};
  for (int field = 3; at && field <= FIELD_STACK; ++field) {
    at = strchr(at, ' ');
    if (!at)
      return false;
    const uint64_t value = strtoull(++at, NULL, 10);
    if (field == FIELD_PARENT)
      facts->parent = (pid_t)value;
    else if (field == FIELD_START)
      facts->start = value;
    else if (field == FIELD_BYTES)
      facts->bytes = value;
    else if (field == FIELD_STACK)
      facts->image = value; /* where the stack begins is drawn by lot */
  }
  return at != NULL;
}

static int by_pid(const void *a, const void *b) /* of facts_t, whose first member it is */
{
  const pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
  return (x > y) - (x < y);
}

/* The last number of /proc/loadavg. 0: it cannot be read. */
static pid_t read_newest(void)
{
  int newest = 0;
  FILE *file = fopen("/proc/loadavg", "re");
  if (!file)
    return 0;
  if (fscanf(file, "%*s %*s %*s %*s %d", &newest) != 1)
    newest = 0;
  fclose(file);
  return newest;
}

/* Has a process of that number been looked at before, and can it be no other? Most of a machine's
 * are, and reading what each of them is would cost more than all else. */
static bool is_other(const tree_t *tree, pid_t newest, pid_t pid)
{
  const pid_t before = tree->newest;
  if (!before || !newest || !tree->other_count)
    return false;
  const bool is_new = before <= newest ? pid > before && pid <= newest
                                       : pid > before || pid <= newest; /* they began again */
  return !is_new && bsearch(&pid, tree->others, tree->other_count, sizeof(pid), by_pid);
}

static bool add_other(tree_t *now, pid_t pid)
{
  if (!array_reserve(NULL, &now->others, &now->other_room, now->other_count + 1,
                     sizeof(*now->others)))
    return false;
  now->others[now->other_count++] = pid;
  return true;
}

static bool take_census(const tree_t *tree, census_t *census, tree_t *now)
{
  DIR *folder = opendir("/proc");
  bool memory = folder != NULL;
  now->newest = read_newest();
  for (struct dirent *entry; memory && (entry = readdir(folder));) {
    facts_t facts;
    const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
    if (pid <= 0)
      continue;
    if (is_other(tree, now->newest, pid)) {
      memory = add_other(now, pid);
      continue;
    }
    if (!read_facts(entry->d_name, &facts))
      continue;
    memory =
        array_reserve(NULL, &census->list, &census->room, census->count + 1, sizeof(*census->list));
    if (memory)
      census->list[census->count++] = facts;
  }
  if (folder)
    closedir(folder);
  if (census->count)
    qsort(census->list, census->count, sizeof(*census->list), by_pid);
  return memory;
}

static const facts_t *find_facts(const census_t *census, pid_t pid)
{
  const facts_t wanted = {.pid = pid};
  return census->count ? bsearch(&wanted, census->list, census->count, sizeof(wanted), by_pid)
                       : NULL;
}

/* ---- The program's ---- */

static const tree_process_t *find(const tree_process_t *list, size_t count, const facts_t *facts)
{
  for (size_t i = 0; i < count; ++i)
    if (list[i].pid == facts->pid && list[i].start == facts->start)
      return &list[i];
  return NULL;
}

/* Parents are not read at one instant: what looks like a circle ends after some steps. */
static bool is_ours(const tree_t *tree, const census_t *census, const facts_t *facts)
{
  const pid_t self = getpid();
  if (facts->pid == self)
    return false;
  for (int step = 0; facts && step < MOST_STEPS; ++step) {
    if (find(tree->foreign, tree->foreign_count, facts))
      return false;
    if (facts->parent == self || find(tree->list, tree->count, facts))
      return true;
    facts = find_facts(census, facts->parent);
  }
  return false;
}

/* ---- What it has mapped ---- */

typedef struct mapped {
  bool front, device;
  uint64_t from, to; /* of the front's */
} mapped_t;

/* Doorbells: there are queues, which the runtime makes after it has called its tools. The pages of
 * a process's doorbells are two of /dev/kfd (the driver of Linux, from GFX9 on); softgpu has a page
 * for the name. */
static bool is_doorbell(const char *line, uint64_t size)
{
  return strstr(line, "/memfd:softgpu-doorbells") || (strstr(line, " /dev/kfd") && size == 8192);
}

static void read_line(const char *line, mapped_t *mapped)
{
  uint64_t from, to;
  if (sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) != 2)
    return;
  mapped->device |= is_doorbell(line, to - from);
  if (!strstr(line, "/memfd:rawhal-front")) /* front/marker.c */
    return;
  mapped->front = true;
  mapped->from = from;
  mapped->to = to;
}

/* False, with errno: it cannot be read. */
static bool read_maps(pid_t pid, mapped_t *mapped)
{
  char path[64], *line = NULL;
  size_t room = 0;
  *mapped = (mapped_t){0};
  snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
  FILE *maps = fopen(path, "re");
  if (!maps)
    return false;
  errno = 0;
  while (getline(&line, &room, maps) > 0)
    read_line(line, mapped);
  const int why = errno;
  free(line);
  fclose(maps);
  errno = why;
  return why == 0;
}

/* Is it still mapped? Where stacks are not placed by lot, exec() leaves nothing else that differs.
 * One look at a mapping whose size no other has; to read all of them would be many. */
static bool has_front(const tree_process_t *process)
{
  char path[96];
  struct stat link;
  snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)process->pid,
           process->front_from, process->front_to);
  return lstat(path, &link) == 0;
}

static void look_at(tree_process_t *process, const facts_t *facts, bool *changed,
                    void (*found)(void *context, pid_t pid, tree_sight_t sight), void *context)
{
  mapped_t mapped;
  if (process->image != facts->image ||
      (process->limited && process->bytes != facts->bytes && !has_front(process)))
    *process = (tree_process_t){.pid = facts->pid, .start = facts->start, .image = facts->image};
  if (process->limited)
    process->bytes = facts->bytes;
  if (process->told || process->bytes == facts->bytes)
    return;
  *changed = true;
  process->bytes = facts->bytes;
  bool readable = read_maps(facts->pid, &mapped);
  if (readable && mapped.device && !mapped.front) /* maybe it came while this was read */
    readable = read_maps(facts->pid, &mapped);
  process->limited = readable && mapped.front;
  process->front_from = mapped.from;
  process->front_to = mapped.to;
  process->told = readable ? mapped.device && !mapped.front : errno == EACCES || errno == EPERM;
  if (process->told)
    found(context, facts->pid, readable ? TREE_UNLIMITED : TREE_HIDDEN);
}

bool tree_look(tree_t *tree, void (*found)(void *context, pid_t pid, tree_sight_t sight),
               void *context)
{
  census_t census = {0};
  tree_t now = {.foreign = tree->foreign, .foreign_count = tree->foreign_count};
  bool done = take_census(tree, &census, &now);
  for (size_t i = 0; done && i < census.count; ++i) {
    const facts_t *facts = &census.list[i];
    if (!is_ours(tree, &census, facts)) {
      done = add_other(&now, facts->pid);
      continue;
    }
    done = array_reserve(NULL, &now.list, &now.room, now.count + 1, sizeof(*now.list));
    if (!done)
      break;
    const tree_process_t *known = find(tree->list, tree->count, facts);
    tree_process_t *process = &now.list[now.count++];
    *process = known ? *known : (tree_process_t){.pid = facts->pid, .start = facts->start};
    look_at(process, facts, &now.changed, found, context);
  }
  free(census.list);
  if (now.other_count)
    qsort(now.others, now.other_count, sizeof(*now.others), by_pid);
  tree_t *gone = done ? tree : &now;
  free(gone->list);
  free(gone->others);
  if (done)
    *tree = now;
  return done;
}

static void ignore(void *context, pid_t pid, tree_sight_t sight)
{
  (void)context, (void)pid, (void)sight;
}

bool tree_exclude(tree_t *tree)
{
  tree_t now = {0};
  const bool done = tree_look(&now, ignore, NULL);
  free(now.others);
  *tree = (tree_t){.foreign = now.list, .foreign_count = now.count};
  return done;
}

void tree_free(tree_t *tree)
{
  free(tree->list);
  free(tree->foreign);
  free(tree->others);
  *tree = (tree_t){0};
}
