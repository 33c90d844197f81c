/* Ways to more of a device's memory than a quota allows. The first argument says which; what it got
 * is printed in MiB, and what a second allocation of all the quota may get afterwards. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE = 16, PIECES = 30 }; /* MiB; 480 in all */

static const size_t mi = (size_t)1 << 20;

/* One runtime's functions, by name: there may be two. */
typedef struct runtime {
  void *library;
  hsa_agent_t agent;
  hsa_amd_memory_pool_t pool;
  hsa_region_t region;
} runtime_t;

static runtime_t first;

#define CALL(runtime, name) ((__typeof__(name) *)dlsym((runtime)->library, #name))

static hsa_status_t visit_pool(hsa_amd_memory_pool_t pool, void *data)
{
  runtime_t *runtime = data;
  hsa_amd_segment_t segment;
  if (CALL(runtime, hsa_amd_memory_pool_get_info)(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT,
                                                  &segment) == HSA_STATUS_SUCCESS &&
      segment == HSA_AMD_SEGMENT_GLOBAL && !runtime->pool.handle)
    runtime->pool = pool;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t visit_agent(hsa_agent_t agent, void *data)
{
  runtime_t *runtime = data;
  hsa_device_type_t type;
  if (runtime->agent.handle ||
      CALL(runtime, hsa_agent_get_info)(agent, HSA_AGENT_INFO_DEVICE, &type) !=
          HSA_STATUS_SUCCESS ||
      type != HSA_DEVICE_TYPE_GPU)
    return HSA_STATUS_SUCCESS;
  runtime->agent = agent;
  return CALL(runtime, hsa_amd_agent_iterate_memory_pools)(agent, visit_pool, data);
}

/* False: there is no device. */
static int begin(runtime_t *runtime, void *library)
{
  runtime->library = library;
  return library && CALL(runtime, hsa_init)() == HSA_STATUS_SUCCESS &&
         CALL(runtime, hsa_iterate_agents)(visit_agent, runtime) == HSA_STATUS_SUCCESS &&
         runtime->pool.handle;
}

static void *take(runtime_t *runtime, size_t size)
{
  void *memory = NULL;
  return CALL(runtime, hsa_amd_memory_pool_allocate)(runtime->pool, size, 0, &memory) ==
                 HSA_STATUS_SUCCESS
             ? memory
             : NULL;
}

static size_t take_all(runtime_t *runtime)
{
  size_t pieces = 0;
  while (pieces < PIECES && take(runtime, PIECE * mi))
    ++pieces;
  return pieces;
}

/* Allocated, attached, and the original freed. */
static size_t attach(void)
{
  size_t pieces = 0;
  for (; pieces < PIECES; ++pieces) {
    hsa_amd_ipc_memory_t handle;
    void *mine = take(&first, PIECE * mi), *attached = NULL;
    if (!mine || hsa_amd_ipc_memory_create(mine, PIECE * mi, &handle) != HSA_STATUS_SUCCESS ||
        hsa_amd_ipc_memory_attach(&handle, PIECE * mi, 1, &first.agent, &attached) !=
            HSA_STATUS_SUCCESS)
      break;
    (void)hsa_amd_memory_pool_free(mine);
  }
  return pieces;
}

/* Another process allocates; this one has it. */
static size_t attach_from_another(void)
{
  int down[2], up[2];
  size_t pieces = 0;
  if (pipe(down) || pipe(up))
    return 0;
  const pid_t child = fork();
  if (child < 0)
    return 0;
  if (child == 0) {
    char told;
    close(down[0]);
    close(up[1]);
    if (!begin(&first, dlopen("libhsa-runtime64.so.1", RTLD_NOW)))
      _exit(1);
    for (int i = 0; i < PIECES; ++i) {
      hsa_amd_ipc_memory_t handle = {0};
      void *mine = take(&first, PIECE * mi);
      if (!mine || hsa_amd_ipc_memory_create(mine, PIECE * mi, &handle) != HSA_STATUS_SUCCESS ||
          write(down[1], &handle, sizeof(handle)) != sizeof(handle) || read(up[0], &told, 1) != 1)
        break;
      (void)hsa_amd_memory_pool_free(mine);
    }
    _exit(0);
  }
  close(down[1]);
  close(up[0]);
  if (!begin(&first, dlopen("libhsa-runtime64.so.1", RTLD_NOW)))
    return 0;
  for (; pieces < PIECES; ++pieces) {
    hsa_amd_ipc_memory_t handle;
    void *attached = NULL;
    if (read(down[0], &handle, sizeof(handle)) != sizeof(handle) ||
        hsa_amd_ipc_memory_attach(&handle, PIECE * mi, 1, &first.agent, &attached) !=
            HSA_STATUS_SUCCESS ||
        write(up[1], "", 1) != 1)
      break;
  }
  close(up[1]);
  (void)waitpid(child, NULL, 0);
  return pieces;
}

/* Code whose variables are large, in executables that are never frozen. */
static size_t load(const char *path)
{
  static char object[1 << 16];
  FILE *file = fopen(path, "rb");
  const size_t size = file ? fread(object, 1, sizeof(object), file) : 0;
  Elf64_Ehdr *header = (Elf64_Ehdr *)object;
  Elf64_Phdr *last = NULL, *segments = (Elf64_Phdr *)(object + header->e_phoff);
  for (unsigned i = 0; i < header->e_phnum; ++i)
    last = segments[i].p_type == PT_LOAD ? &segments[i] : last;
  if (!last)
    return 0;
  last->p_memsz += PIECE * mi - 16384;
  size_t pieces = 0;
  for (; pieces < PIECES; ++pieces) {
    hsa_code_object_reader_t reader;
    hsa_executable_t executable;
    if (hsa_code_object_reader_create_from_memory(object, size, &reader) != HSA_STATUS_SUCCESS ||
        hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL,
                                  &executable) != HSA_STATUS_SUCCESS ||
        hsa_executable_load_agent_code_object(executable, first.agent, reader, NULL, NULL) !=
            HSA_STATUS_SUCCESS)
      break;
  }
  return pieces;
}

/* A second runtime, which knows nothing of the first. */
static size_t second_runtime(void)
{
  static runtime_t second;
  size_t pieces = take_all(&first);
  if (begin(&second, dlmopen(LM_ID_NEWLM, "libhsa-runtime64.so.1", RTLD_NOW)))
    pieces += take_all(&second);
  return pieces;
}

/* The library that has the function, once more: in a file of its own, by another name for the part
 * below the runtime, of which each has one, and with functions of its own first. NULL: it cannot be
 * opened. */
static void *open_copy(const char *function, char number)
{
  static const char below[] = "libhsakmt.so.";
  static char bytes[1 << 25];
  char name[] = "/tmp/rawhal-copy-XXXXXX";
  Dl_info about;
  FILE *from = dladdr(dlsym(first.library, function), &about) ? fopen(about.dli_fname, "rb") : NULL;
  const size_t size = from ? fread(bytes, 1, sizeof(bytes), from) : 0;
  for (char *at = bytes; (at = memmem(at, size - (size_t)(at - bytes), below, sizeof(below) - 1));)
    at += sizeof(below) - 1, *at = number;
  const int to = mkstemp(name);
  void *library =
      write(to, bytes, size) == (ssize_t)size ? dlopen(name, RTLD_NOW | RTLD_DEEPBIND) : NULL;
  (void)close(to), (void)unlink(name);
  if (from)
    (void)fclose(from);
  return library;
}

/* More of them, one after the other; the first stays, and each other ends. */
static size_t copies(void)
{
  size_t pieces = take_all(&first);
  for (char number = '2'; number < '5'; ++number) {
    runtime_t other = {0};
    if (open_copy("hsaKmtOpenKFD", number) && begin(&other, open_copy("hsa_init", number)))
      pieces += take_all(&other);
    if (!other.library || CALL(&other, hsa_shut_down)() != HSA_STATUS_SUCCESS)
      return PIECES; /* it has not begun */
  }
  return pieces;
}

static hsa_status_t visit_region(hsa_region_t region, void *data)
{
  runtime_t *runtime = data;
  if (region.handle == runtime->pool.handle)
    runtime->region = region;
  return HSA_STATUS_SUCCESS;
}

static size_t take_regions(void)
{
  size_t pieces = 0;
  void *memory;
  (void)hsa_agent_iterate_regions(first.agent, visit_region, &first);
  while (first.region.handle && pieces < PIECES &&
         hsa_memory_allocate(first.region, PIECE * mi, &memory) == HSA_STATUS_SUCCESS)
    ++pieces;
  return pieces;
}

int main(int count, char **arguments)
{
  const char *how = count > 1 ? arguments[1] : "";
  size_t pieces = 0;
  if (!strcmp(how, "another"))
    pieces = attach_from_another();
  else if (!begin(&first, dlopen("libhsa-runtime64.so.1", RTLD_NOW)))
    return 2;
  if (!strcmp(how, "attach"))
    pieces = attach();
  else if (!strcmp(how, "load") && count > 2)
    pieces = load(arguments[2]);
  else if (!strcmp(how, "second"))
    pieces = second_runtime();
  else if (!strcmp(how, "copies"))
    pieces = copies();
  else if (!strcmp(how, "regions"))
    pieces = take_regions();
  printf("%zu MiB, and %zu more\n", pieces * PIECE, take_all(&first) * PIECE);
  return 0;
}
