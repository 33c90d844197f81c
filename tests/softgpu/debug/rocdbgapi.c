/* A client of ROCdbgapi that obeys lines of its input, each with one line of output. For sessions
 * with the real library, which is found when it runs and must have been put beside softgpu's. All
 * numbers are hexadecimal.
 *
 *     attach PID | detach | creation 0|1 | progress 0|1     "ok"
 *     waves                 "ID:STATE:REASON:PC ..." in the order of their ids; what runs has 0 0
 *     place ID              work-group's x, y, z, number in it
 *     event                 waits for the next: "stop ID REASON PC", "ended ID", "runtime STATE",
 *                           "resume", "list", "error"
 *     stop ID | go ID EXCEPTIONS | step ID
 *     around ID WORD        steps over a breakpoint that is in place of WORD; end with "done ID"
 *     done ID
 *     get ID REGISTER [N]   a register, or the word N of one
 *     state ID LDS          of all registers but those with addresses, and so many words of LDS: a number
 *     all ID                each of these registers: NAME=NUMBER ...
 *     set ID REGISTER N VALUE
 *     peek SPACE ID LANE ADDRESS | poke SPACE ID LANE ADDRESS VALUE      words; ID 0: none
 *     watch ADDRESS BYTES KIND | unwatch WATCH */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* The library's interface, as far as it is used: handles are structures of one number. */
typedef uint64_t handle_t;
typedef struct callbacks {
  void *(*allocate)(size_t);
  void (*deallocate)(void *);
  int (*process_info)(void *, int, size_t, void *);
  int (*insert_breakpoint)(void *, uint64_t, handle_t);
  int (*remove_breakpoint)(void *, handle_t);
  int (*transfer)(void *, uint64_t, uint64_t *, void *, const void *);
  void (*log)(int, const char *);
} callbacks_t;

enum {
  OK = 0,
  FAILED = -1,
  NOT_AVAILABLE = -4,
  MEMORY_ACCESS = -37,
  OS_PID = 1,
  NOTIFIER = 1,
  REGISTER_NAME = 2,
  REGISTER_SIZE = 3,
  SPACE_NAME = 1,
  WAVE_STATE = 1,
  WAVE_REASON = 2,
  WAVE_ARCHITECTURE = 9,
  WAVE_PC = 10,
  WAVE_GROUP = 12,
  WAVE_NUMBER = 13,
  STOPPED = 3,
  EVENT_WAVE = 3,
  EVENT_RUNTIME = 6,
  EVENTS = 7,
};

#define FUNCTIONS(F)                                                                               \
  F(initialize, (callbacks_t *))                                                                   \
  F(process_attach, (void *, handle_t *))                                                          \
  F(process_detach, (handle_t))                                                                    \
  F(process_get_info, (handle_t, int, size_t, void *))                                             \
  F(process_set_progress, (handle_t, int))                                                         \
  F(process_set_wave_creation, (handle_t, int))                                                    \
  F(process_next_pending_event, (handle_t, handle_t *, int *))                                     \
  F(event_get_info, (handle_t, int, size_t, void *))                                               \
  F(event_processed, (handle_t))                                                                   \
  F(process_wave_list, (handle_t, size_t *, handle_t **, int *))                                   \
  F(wave_get_info, (handle_t, int, size_t, void *))                                                \
  F(wave_stop, (handle_t))                                                                         \
  F(wave_resume, (handle_t, int, int))                                                             \
  F(wave_register_list, (handle_t, size_t *, handle_t **))                                         \
  F(register_get_info, (handle_t, int, size_t, void *))                                            \
  F(read_register, (handle_t, handle_t, uint64_t, uint64_t, void *))                               \
  F(write_register, (handle_t, handle_t, uint64_t, uint64_t, const void *))                        \
  F(architecture_address_space_list, (handle_t, size_t *, handle_t **))                            \
  F(address_space_get_info, (handle_t, int, size_t, void *))                                       \
  F(read_memory, (handle_t, handle_t, uint32_t, handle_t, uint64_t, uint64_t *, void *))           \
  F(write_memory, (handle_t, handle_t, uint32_t, handle_t, uint64_t, uint64_t *, const void *))    \
  F(set_watchpoint, (handle_t, uint64_t, uint64_t, int, handle_t *))                               \
  F(remove_watchpoint, (handle_t))                                                                 \
  F(displaced_stepping_start, (handle_t, const void *, handle_t *))                                \
  F(displaced_stepping_complete, (handle_t, handle_t))                                             \
  F(get_status_string, (int, const char **))
#define DECLARE(name, parameters) static int(*api_##name) parameters;
FUNCTIONS(DECLARE)

static pid_t pid;
static int memory = -1;
static handle_t process, displaced;

/* --- what the library asks --- */

static int process_info(void *id, int query, size_t size, void *value)
{
  (void)id;
  if (query != OS_PID || size != sizeof pid)
    return NOT_AVAILABLE;
  memcpy(value, &pid, sizeof pid);
  return OK;
}

static int insert(void *id, uint64_t address, handle_t breakpoint)
{
  (void)id;
  (void)address; /* the target's list of code objects is empty, and stays so */
  (void)breakpoint;
  return OK;
}

static int withdraw(void *id, handle_t breakpoint)
{
  (void)id;
  (void)breakpoint;
  return OK;
}

static int transfer(void *id, uint64_t address, uint64_t *size, void *read, const void *write)
{
  (void)id;
  const ssize_t done = read ? pread(memory, read, *size, (off_t)address)
                            : pwrite(memory, write, *size, (off_t)address);
  if (done <= 0)
    return MEMORY_ACCESS;
  *size = (uint64_t)done;
  return OK;
}

static void tell(int level, const char *text)
{
  (void)level;
  fprintf(stderr, "rocdbgapi: %s\n", text);
}

static bool open_library(void)
{
  static callbacks_t callbacks = {malloc, free, process_info, insert, withdraw, transfer, tell};
  void *library = dlopen("librocm-dbgapi.so.0", RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    fprintf(stderr, "%s\n", dlerror());
#define FIND(name, parameters)                                                                     \
  *(void **)&api_##name = library ? dlsym(library, "amd_dbgapi_" #name) : NULL;                    \
  if (!api_##name)                                                                                 \
    return false;
  FUNCTIONS(FIND)
  return api_initialize(&callbacks) == OK;
}

/* --- answers --- */

static void answer(int status)
{
  const char *text = "?";
  if (status != OK)
    (void)api_get_status_string(status, &text);
  puts(status == OK ? "ok" : text);
}

static uint64_t wave_number(handle_t wave, int query, size_t size)
{
  uint64_t value = 0;
  return api_wave_get_info(wave, query, size, &value) == OK ? value : 0;
}

static int compare(const void *a, const void *b)
{
  const handle_t x = *(const handle_t *)a, y = *(const handle_t *)b;
  return (x > y) - (x < y);
}

static void show_waves(void)
{
  size_t count = 0;
  handle_t *waves = NULL;
  const int status = api_process_wave_list(process, &count, &waves, NULL);
  if (status != OK) {
    answer(status);
    return;
  }
  qsort(waves, count, sizeof *waves, compare);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t state = wave_number(waves[i], WAVE_STATE, 4);
    printf("%" PRIx64 ":%" PRIx64 ":%" PRIx64 ":%" PRIx64 " ", waves[i], state,
           state == STOPPED ? wave_number(waves[i], WAVE_REASON, 4) : 0,
           state == STOPPED ? wave_number(waves[i], WAVE_PC, 8) : 0);
  }
  puts("");
  free(waves);
}

static void show_place(handle_t wave)
{
  uint32_t group[3] = {0};
  const int status = api_wave_get_info(wave, WAVE_GROUP, sizeof group, group);
  if (status != OK)
    answer(status);
  else
    printf("%x %x %x %x\n", group[0], group[1], group[2],
           (unsigned)wave_number(wave, WAVE_NUMBER, 4));
}

static void show_event(void)
{
  int fd = -1, kind = 0, status;
  handle_t event = 0, wave = 0;
  uint32_t state = 0;
  (void)api_process_get_info(process, NOTIFIER, sizeof fd, &fd);
  for (unsigned i = 0; i < 100; ++i) { /* of 100 ms */
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    char bytes[64];
    status = api_process_next_pending_event(process, &event, &kind);
    if (status != OK || kind)
      break;
    if (poll(&wait, 1, 100) == 1 && read(fd, bytes, sizeof bytes) < 0)
      break;
  }
  if (status != OK || !kind) {
    printf("none %d\n", status);
    return;
  }
  static const char *const names[EVENTS] = {"none",   "stop",    "ended", "list",
                                            "resume", "runtime", "error"};
  (void)api_event_get_info(event, EVENT_WAVE, sizeof wave, &wave);
  (void)api_event_get_info(event, EVENT_RUNTIME, sizeof state, &state);
  printf("%s %" PRIx64, kind < EVENTS ? names[kind] : "?", wave ? wave : state);
  if (kind == 1)
    printf(" %" PRIx64 " %" PRIx64, wave_number(wave, WAVE_REASON, 4),
           wave_number(wave, WAVE_PC, 8));
  puts("");
  (void)api_event_processed(event);
}

/* --- registers and memory by name --- */

static bool find_register(handle_t wave, const char *name, handle_t *found, uint64_t *size)
{
  size_t count = 0;
  handle_t *all = NULL;
  bool is_there = false;
  if (api_wave_register_list(wave, &count, &all) != OK)
    return false;
  for (size_t i = 0; i < count && !is_there; ++i) {
    char *text = NULL;
    if (api_register_get_info(all[i], REGISTER_NAME, sizeof text, &text) != OK)
      continue;
    is_there = strcmp(text, name) == 0;
    *found = all[i];
    free(text);
  }
  free(all);
  return is_there && api_register_get_info(*found, REGISTER_SIZE, sizeof *size, size) == OK;
}

static bool find_space(handle_t wave, const char *name, handle_t *found);

/* Registers of which two programs have different values in the same place: addresses, and what the
 * library keeps of the wave. */
static bool is_of_place(const char *name)
{
  static const char *const names[] = {"pc",      "s0",         "s1",   "s4",
                                      "s5",      "s102",       "s103", "flat_scratch",
                                      "wave_id", "wave_in_wg", "csp",  "dispatch_grid"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (strcmp(name, names[i]) == 0)
      return true;
  return strncmp(name, "ttmp", 4) == 0;
}

static uint64_t mixed(uint64_t hash, const void *bytes, size_t size)
{
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3ull;
  return hash;
}

enum { HASHED = 1024, REGISTER_BYTES = 256, NAME = 24 };
static const uint64_t first_hash = 0xcbf29ce484222325ull;

/* The wave's registers that are compared, which are looked up once. */
typedef struct compared {
  handle_t wave;
  size_t count;
  struct {
    handle_t handle;
    uint64_t size;
    char name[NAME];
  } all[HASHED];
} compared_t;

static const compared_t *compared_of(handle_t wave)
{
  static compared_t compared;
  size_t count = 0;
  handle_t *all = NULL;
  if (compared.wave == wave)
    return &compared;
  compared = (compared_t){.wave = wave};
  if (api_wave_register_list(wave, &count, &all) != OK)
    return &compared;
  for (size_t i = 0; i < count && compared.count < HASHED; ++i) {
    uint64_t size = 0;
    char *text = NULL;
    if (api_register_get_info(all[i], REGISTER_NAME, sizeof text, &text) != OK)
      continue;
    if (!is_of_place(text) &&
        api_register_get_info(all[i], REGISTER_SIZE, sizeof size, &size) == OK &&
        size <= REGISTER_BYTES) {
      compared.all[compared.count].handle = all[i];
      compared.all[compared.count].size = size;
      snprintf(compared.all[compared.count++].name, NAME, "%s", text);
    }
    free(text);
  }
  free(all);
  return &compared;
}

static uint64_t hash_of(handle_t wave, handle_t which, uint64_t size, uint64_t hash)
{
  uint8_t bytes[REGISTER_BYTES] = {0};
  return api_read_register(wave, which, 0, size, bytes) == OK ? mixed(hash, bytes, size) : 0;
}

static void show_state(handle_t wave, uint64_t words)
{
  const compared_t *compared = compared_of(wave);
  uint64_t hash = first_hash, size = words * 4;
  uint8_t lds[4096] = {0};
  handle_t space = 0;
  for (size_t i = 0; i < compared->count; ++i)
    hash = mixed(
        hash, &(uint64_t){hash_of(wave, compared->all[i].handle, compared->all[i].size, hash)}, 8);
  if (words && size <= sizeof lds && find_space(wave, "local", &space) &&
      api_read_memory(process, wave, 0, space, 0, &size, lds) == OK)
    hash = mixed(hash, lds, size);
  printf("%zx %" PRIx64 "\n", compared->count, hash);
}

static void show_all(handle_t wave)
{
  const compared_t *compared = compared_of(wave);
  for (size_t i = 0; i < compared->count; ++i)
    printf("%s=%" PRIx64 " ", compared->all[i].name,
           hash_of(wave, compared->all[i].handle, compared->all[i].size, first_hash));
  puts("");
}

/* All of a register that has at most 8 bytes, else one word of it. */
static void do_register(handle_t wave, const char *name, uint64_t word, const uint64_t *value)
{
  handle_t which = 0;
  uint64_t size = 0, old = 0;
  if (!find_register(wave, name, &which, &size)) {
    puts("no such register");
    return;
  }
  const uint64_t part = size > 8 ? 4 : size, at = size > 8 ? 4 * word : 0;
  const int status = value ? api_write_register(wave, which, at, part, value)
                           : api_read_register(wave, which, at, part, &old);
  if (value || status != OK)
    answer(status);
  else
    printf("%" PRIx64 "\n", old);
}

static bool find_space(handle_t wave, const char *name, handle_t *found)
{
  size_t count = 0;
  handle_t *all = NULL;
  bool is_there = false;
  *found = 1; /* global */
  if (strcmp(name, "global") == 0)
    return true;
  if (api_architecture_address_space_list(wave_number(wave, WAVE_ARCHITECTURE, 8), &count, &all) !=
      OK)
    return false;
  for (size_t i = 0; i < count && !is_there; ++i) {
    char *text = NULL;
    if (api_address_space_get_info(all[i], SPACE_NAME, sizeof text, &text) != OK)
      continue;
    is_there = strcmp(text, name) == 0;
    *found = all[i];
    free(text);
  }
  free(all);
  return is_there;
}

static void do_memory(const char *space, handle_t wave, uint32_t lane, uint64_t address,
                      const uint32_t *value)
{
  handle_t which = 0;
  uint64_t size = sizeof *value;
  uint32_t old = 0;
  if (!find_space(wave, space, &which)) {
    puts("no such space");
    return;
  }
  if (!wave)
    lane = UINT32_MAX;
  const int status = value ? api_write_memory(process, wave, lane, which, address, &size, value)
                           : api_read_memory(process, wave, lane, which, address, &size, &old);
  if (value || status != OK)
    answer(status);
  else
    printf("%x\n", old);
}

/* --- commands --- */

static int attach(uint64_t wanted)
{
  char path[32];
  pid = (pid_t)wanted;
  snprintf(path, sizeof path, "/proc/%d/mem", pid);
  memory = open(path, O_RDWR);
  return memory < 0 ? FAILED : api_process_attach((void *)&pid, &process);
}

static int step_around(handle_t wave, uint32_t word)
{
  const int status = api_displaced_stepping_start(wave, &word, &displaced);
  return status == OK ? api_wave_resume(wave, 1, 0) : status;
}

static int watch(uint64_t address, uint64_t bytes, uint64_t kind)
{
  handle_t made = 0;
  const int status = api_set_watchpoint(process, address, bytes, (int)kind, &made);
  if (status != OK)
    return status;
  printf("%" PRIx64 "\n", made);
  return OK;
}

static bool obey(const char *text)
{
  uint64_t a = 0, b = 0, c = 0;
  char name[32];
#define IS(form, ...) sscanf(text, form, __VA_ARGS__)
  if (IS("attach %" SCNu64, &a) == 1)
    answer(attach(a));
  else if (IS("creation %" SCNx64, &a) == 1)
    answer(api_process_set_wave_creation(process, (int)a));
  else if (IS("progress %" SCNx64, &a) == 1)
    answer(api_process_set_progress(process, (int)a));
  else if (IS("place %" SCNx64, &a) == 1)
    show_place(a);
  else if (IS("stop %" SCNx64, &a) == 1)
    answer(api_wave_stop(a));
  else if (IS("go %" SCNx64 " %" SCNx64, &a, &b) == 2)
    answer(api_wave_resume(a, 0, (int)b));
  else if (IS("step %" SCNx64, &a) == 1)
    answer(api_wave_resume(a, 1, 0));
  else if (IS("around %" SCNx64 " %" SCNx64, &a, &b) == 2)
    answer(step_around(a, (uint32_t)b));
  else if (IS("done %" SCNx64, &a) == 1)
    answer(api_displaced_stepping_complete(a, displaced));
  else if (IS("set %" SCNx64 " %31s %" SCNx64 " %" SCNx64, &a, name, &b, &c) == 4)
    do_register(a, name, b, &c);
  else if (IS("get %" SCNx64 " %31s %" SCNx64, &a, name, &b) >= 2)
    do_register(a, name, b, NULL);
  else if (IS("state %" SCNx64 " %" SCNx64, &a, &b) == 2)
    show_state(a, b);
  else if (IS("all %" SCNx64, &a) == 1)
    show_all(a);
  else if (IS("peek %31s %" SCNx64 " %" SCNx64 " %" SCNx64, name, &a, &b, &c) == 4)
    do_memory(name, a, (uint32_t)b, c, NULL);
  else if (strncmp(text, "poke ", 5) == 0) {
    uint32_t value = 0;
    if (IS("poke %31s %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx32, name, &a, &b, &c, &value) != 5)
      return false;
    do_memory(name, a, (uint32_t)b, c, &value);
  } else if (IS("watch %" SCNx64 " %" SCNx64 " %" SCNx64, &a, &b, &c) == 3) {
    const int status = watch(a, b, c);
    if (status != OK)
      answer(status);
  } else if (IS("unwatch %" SCNx64, &a) == 1)
    answer(api_remove_watchpoint(a));
  else if (strcmp(text, "waves\n") == 0)
    show_waves();
  else if (strcmp(text, "event\n") == 0)
    show_event();
  else if (strcmp(text, "detach\n") == 0)
    answer(api_process_detach(process));
  else
    return false;
  return true;
}

/* What hangs ends here, and says where. */
enum { LIMIT = 280 };
static char line[256];
static void is_late(int number)
{
  static const char text[] = "rocdbgapi: after 280 seconds there is no end of: ";
  (void)number;
  const ssize_t written =
      write(STDERR_FILENO, text, sizeof text - 1) + write(STDERR_FILENO, line, strlen(line));
  (void)written;
  _exit(4);
}

int main(void)
{
  signal(SIGALRM, is_late);
  alarm(LIMIT);
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (!open_library())
    return 3;
  puts("ok");
  while (fgets(line, sizeof line, stdin) && obey(line))
    ;
  return 0;
}
