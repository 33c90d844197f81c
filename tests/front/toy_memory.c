#include "tests/front/toy_memory.h"

#include "front/tables.h"
#include "queue/gate/memory.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CPU = 1, GPU = 2, DEVICE_POOL = 2, PLACES = 1 << 16 };

/* Memory, and each thing that has it. */
typedef struct object {
  size_t size, holds;
} object_t;

typedef enum kind { NOTHING, POINTER, IMPORT, HANDLE, MAPPING, SHARED, FILE_OF, CODE } kind_t;

typedef struct place {
  kind_t kind;
  uint64_t number; /* an address, a handle, an inode, or an executable */
  object_t *object;
  int fd;
  size_t told; /* of an import, 0: nothing */
} place_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static place_t places[PLACES];
static size_t place_count, live_bytes, most_bytes;
static uint64_t next_number = 0x100000000000;
toy_code_t toy_code;

/* ---- Places; the caller holds the lock ---- */

static place_t *find(kind_t kind, uint64_t number)
{
  for (size_t i = 0; i < place_count; ++i)
    if (places[i].kind == kind && places[i].number == number)
      return &places[i];
  return NULL;
}

static void let_go(place_t *place)
{
  object_t *object = place->object;
  place->kind = NOTHING;
  if (--object->holds)
    return;
  live_bytes -= object->size;
  free(object);
}

/* What descriptors had that are closed. */
static void close_files(void)
{
  for (size_t i = 0; i < place_count; ++i) {
    struct stat facts;
    if (places[i].kind == FILE_OF &&
        (fstat(places[i].fd, &facts) || facts.st_ino != places[i].number))
      let_go(&places[i]);
  }
}

static object_t *object_of(size_t size)
{
  object_t *object = calloc(1, sizeof(*object));
  object->size = size;
  close_files();
  live_bytes += size;
  most_bytes = live_bytes > most_bytes ? live_bytes : most_bytes;
  return object;
}

static void put(kind_t kind, uint64_t number, object_t *object)
{
  size_t i = 0;
  while (i < place_count && places[i].kind)
    ++i;
  assert(i < PLACES);
  place_count += i == place_count;
  places[i] = (place_t){kind, number, object, -1, 0};
  ++object->holds;
}

static bool take(kind_t kind, uint64_t number)
{
  pthread_mutex_lock(&lock);
  place_t *place = find(kind, number);
  if (place)
    let_go(place);
  pthread_mutex_unlock(&lock);
  return place != NULL;
}

static bool again(kind_t from, uint64_t number, kind_t kind, uint64_t other)
{
  pthread_mutex_lock(&lock);
  place_t *place = find(from, number);
  if (place)
    put(kind, other, place->object);
  pthread_mutex_unlock(&lock);
  return place != NULL;
}

static uint64_t new_number(void)
{
  return __atomic_add_fetch(&next_number, 0x100000000, __ATOMIC_RELAXED);
}

static uint64_t number_of(const void *memory)
{
  return (uint64_t)(uintptr_t)memory;
}

static hsa_status_t answer(bool done)
{
  return done ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

size_t toy_live_bytes(void)
{
  pthread_mutex_lock(&lock);
  close_files();
  size_t bytes = live_bytes;
  pthread_mutex_unlock(&lock);
  return bytes;
}

size_t toy_most_bytes(void)
{
  return most_bytes;
}

/* ---- Allocations ---- */

static uint64_t make(kind_t kind, size_t size)
{
  uint64_t number = new_number();
  pthread_mutex_lock(&lock);
  put(kind, number, object_of(size));
  pthread_mutex_unlock(&lock);
  return number;
}

hsa_status_t toy_memory_allocate(size_t size, void **memory)
{
  *memory = (void *)(uintptr_t)make(POINTER, size);
  return HSA_STATUS_SUCCESS;
}

bool toy_memory_free(void *memory)
{
  return take(POINTER, number_of(memory));
}

static hsa_status_t region_allocate(hsa_region_t region, size_t size, void **memory)
{
  (void)region;
  return toy_memory_allocate(size, memory);
}

static hsa_status_t region_free(void *memory)
{
  return answer(toy_memory_free(memory));
}

static hsa_status_t pointer_info(const void *memory, hsa_amd_pointer_info_t *info,
                                 void *(*allocate)(size_t), uint32_t *count, hsa_agent_t **agents)
{
  (void)allocate, (void)count, (void)agents;
  pthread_mutex_lock(&lock);
  const place_t *place = find(POINTER, number_of(memory));
  if (!place)
    place = find(IMPORT, number_of(memory));
  info->type = HSA_EXT_POINTER_TYPE_HSA; /* what it does not know may be the device's, too */
  info->agentBaseAddress = info->hostBaseAddress = (void *)(number_of(memory) & ~UINT64_C(4095));
  info->sizeInBytes = 8192;
  info->agentOwner.handle = GPU;
  if (place) {
    info->type = place->kind == POINTER ? HSA_EXT_POINTER_TYPE_HSA : HSA_EXT_POINTER_TYPE_IPC;
    info->agentBaseAddress = (void *)(uintptr_t)place->number;
    info->sizeInBytes = place->told ? place->told : place->object->size;
  }
  pthread_mutex_unlock(&lock);
  return HSA_STATUS_SUCCESS;
}

/* ---- Sharing ---- */

hsa_amd_ipc_memory_t toy_foreign(size_t size)
{
  const uint64_t number = make(SHARED, size);
  hsa_amd_ipc_memory_t handle = {0};
  memcpy(&handle, &number, sizeof(number));
  return handle;
}

static hsa_status_t ipc_create(void *memory, size_t size, hsa_amd_ipc_memory_t *handle)
{
  (void)size;
  const uint64_t number = number_of(memory);
  memset(handle, 0, sizeof(*handle));
  memcpy(handle, &number, sizeof(number));
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t ipc_attach(const hsa_amd_ipc_memory_t *handle, size_t size, uint32_t count,
                               const hsa_agent_t *agents, void **memory)
{
  (void)count, (void)agents;
  uint64_t number, mapped = new_number();
  memcpy(&number, handle, sizeof(number));
  *memory = (void *)(uintptr_t)mapped;
  if (!again(POINTER, number, IMPORT, mapped) && !again(SHARED, number, IMPORT, mapped) &&
      !again(IMPORT, number, IMPORT, mapped))
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  pthread_mutex_lock(&lock);
  find(IMPORT, mapped)->told = size; /* as runtimes since 5.7 believe it */
  pthread_mutex_unlock(&lock);
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t part(void *memory)
{
  return answer(take(IMPORT, number_of(memory)));
}

static hsa_status_t export_file(kind_t kind, uint64_t number, int *fd)
{
  struct stat facts;
  pthread_mutex_lock(&lock);
  place_t *place = find(kind, number);
  *fd = place ? memfd_create("toy-dmabuf", MFD_CLOEXEC) : -1;
  bool done = place && !ftruncate(*fd, (off_t)place->object->size) && !fstat(*fd, &facts);
  if (done) {
    put(FILE_OF, facts.st_ino, place->object);
    find(FILE_OF, facts.st_ino)->fd = *fd;
  }
  pthread_mutex_unlock(&lock);
  return answer(done);
}

static hsa_status_t dmabuf_export(const void *memory, size_t size, int *fd, uint64_t *offset)
{
  (void)size;
  *offset = 0;
  return export_file(POINTER, number_of(memory), fd);
}

static hsa_status_t dmabuf_export_v2(const void *memory, size_t size, int *fd, uint64_t *offset,
                                     uint64_t flags)
{
  (void)flags;
  return dmabuf_export(memory, size, fd, offset);
}

static hsa_status_t dmabuf_close(int fd)
{
  return answer(close(fd) == 0);
}

static bool import_file(int fd, kind_t kind, uint64_t number)
{
  struct stat facts;
  return !fstat(fd, &facts) && again(FILE_OF, facts.st_ino, kind, number);
}

static hsa_status_t interop_map(uint32_t count, hsa_agent_t *agents, int fd, uint32_t flags,
                                size_t *size, void **memory, size_t *metadata_size,
                                const void **metadata)
{
  (void)count, (void)agents, (void)flags, (void)metadata_size, (void)metadata;
  struct stat facts;
  uint64_t mapped = new_number();
  *memory = (void *)(uintptr_t)mapped;
  *size = fstat(fd, &facts) ? 0 : (size_t)facts.st_size;
  return answer(import_file(fd, IMPORT, mapped));
}

/* ---- By handles ---- */

static hsa_status_t handle_create(hsa_amd_memory_pool_t pool, size_t size, int type, uint64_t flags,
                                  front_vmem_handle_t *handle)
{
  (void)pool, (void)type, (void)flags;
  handle->handle = make(HANDLE, size);
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t handle_release(front_vmem_handle_t handle)
{
  return answer(take(HANDLE, handle.handle));
}

static hsa_status_t map(void *address, size_t size, size_t offset, front_vmem_handle_t handle,
                        uint64_t flags)
{
  (void)size, (void)offset, (void)flags;
  return answer(again(HANDLE, handle.handle, MAPPING, number_of(address)));
}

static hsa_status_t unmap(void *address, size_t size)
{
  (void)size;
  return answer(take(MAPPING, number_of(address)));
}

static hsa_status_t retain(front_vmem_handle_t *handle, void *address)
{
  handle->handle = new_number();
  return answer(again(MAPPING, number_of(address), HANDLE, handle->handle));
}

static hsa_status_t export_handle(int *fd, front_vmem_handle_t handle, uint64_t flags)
{
  (void)flags;
  return export_file(HANDLE, handle.handle, fd);
}

static hsa_status_t import_handle(int fd, front_vmem_handle_t *handle)
{
  handle->handle = new_number();
  return answer(import_file(fd, HANDLE, handle->handle));
}

static hsa_status_t get_properties(front_vmem_handle_t handle, hsa_amd_memory_pool_t *pool,
                                   int *type)
{
  (void)handle;
  *pool = (hsa_amd_memory_pool_t){DEVICE_POOL};
  *type = 0;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t migrate(const void *memory, hsa_amd_memory_pool_t pool, uint32_t flags)
{
  (void)memory, (void)flags;
  if (pool.handle == DEVICE_POOL)
    (void)make(POINTER, 1 << 20);
  return HSA_STATUS_SUCCESS;
}

/* ---- Code ---- */

typedef struct reader {
  const void *bytes;
  size_t size;
  void *mapped;
} reader_t;

static uint64_t new_reader(const void *bytes, size_t size, void *mapped)
{
  reader_t *reader = malloc(sizeof(*reader));
  *reader = (reader_t){bytes, size, mapped};
  return number_of(reader);
}

static hsa_status_t reader_from_memory(const void *bytes, size_t size,
                                       hsa_code_object_reader_t *reader)
{
  reader->handle = new_reader(bytes, size, NULL);
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t reader_from_part(hsa_file_t file, size_t offset, size_t size,
                                     hsa_code_object_reader_t *reader)
{
  void *bytes = malloc(size);
  bool done = pread(file, bytes, size, (off_t)offset) == (ssize_t)size;
  reader->handle = new_reader(bytes, size, bytes);
  return answer(done);
}

static hsa_status_t reader_from_file(hsa_file_t file, hsa_code_object_reader_t *reader)
{
  struct stat facts;
  return fstat(file, &facts) ? HSA_STATUS_ERROR_INVALID_FILE
                             : reader_from_part(file, 0, (size_t)facts.st_size, reader);
}

static void destroy_reader(uint64_t handle)
{
  reader_t *reader = (reader_t *)(uintptr_t)handle;
  free(reader->mapped);
  free(reader);
}

static hsa_status_t reader_destroy(hsa_code_object_reader_t reader)
{
  destroy_reader(reader.handle);
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t deserialize(void *bytes, size_t size, const char *options,
                                hsa_code_object_t *object)
{
  (void)options;
  object->handle = new_reader(bytes, size, NULL);
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t object_destroy(hsa_code_object_t object)
{
  destroy_reader(object.handle);
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t load(hsa_executable_t executable, uint64_t handle)
{
  const reader_t *reader = (const reader_t *)(uintptr_t)handle;
  pthread_mutex_lock(&lock);
  put(CODE, executable.handle,
      object_of(memory_of_code(reader->bytes, reader->size) + toy_code.more));
  pthread_mutex_unlock(&lock);
  return answer(!toy_code.fails);
}

static hsa_status_t load_agent(hsa_executable_t executable, hsa_agent_t agent,
                               hsa_code_object_reader_t reader, const char *options,
                               hsa_loaded_code_object_t *loaded)
{
  (void)agent, (void)options, (void)loaded;
  return load(executable, reader.handle);
}

static hsa_status_t load_program(hsa_executable_t executable, hsa_code_object_reader_t reader,
                                 const char *options, hsa_loaded_code_object_t *loaded)
{
  (void)options, (void)loaded;
  return load(executable, reader.handle);
}

static hsa_status_t load_old(hsa_executable_t executable, hsa_agent_t agent,
                             hsa_code_object_t object, const char *options)
{
  (void)agent, (void)options;
  return load(executable, object.handle);
}

static hsa_status_t executable_create(hsa_profile_t profile,
                                      hsa_default_float_rounding_mode_t rounding,
                                      const char *options, hsa_executable_t *executable)
{
  (void)profile, (void)rounding, (void)options;
  executable->handle = new_number();
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t freeze(hsa_executable_t executable, const char *options)
{
  (void)executable, (void)options;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t executable_destroy(hsa_executable_t executable)
{
  while (take(CODE, executable.handle))
    continue;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t each_loaded(hsa_executable_t executable,
                                hsa_status_t (*callback)(hsa_executable_t, hsa_loaded_code_object_t,
                                                         void *),
                                void *data)
{
  for (size_t i = 0; i < place_count; ++i)
    if (places[i].kind == CODE && places[i].number == executable.handle)
      (void)callback(executable, (hsa_loaded_code_object_t){number_of(&places[i])}, data);
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t loaded_info(hsa_loaded_code_object_t loaded,
                                hsa_ven_amd_loader_loaded_code_object_info_t attribute, void *value)
{
  const place_t *place = (const place_t *)(uintptr_t)loaded.handle;
  if (attribute == HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT)
    *(hsa_agent_t *)value = (hsa_agent_t){GPU};
  else if (attribute == HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE)
    *(uint64_t *)value = place->object->size;
  else
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t major_extension_table(uint16_t extension, uint16_t major, size_t size,
                                          void *table)
{
  if (extension != HSA_EXTENSION_AMD_LOADER || major != 1)
    return HSA_STATUS_ERROR;
  const hsa_ven_amd_loader_1_02_pfn_t whole = {
      .hsa_ven_amd_loader_executable_iterate_loaded_code_objects = each_loaded,
      .hsa_ven_amd_loader_loaded_code_object_get_info = loaded_info,
      .hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size = reader_from_part};
  memcpy(table, &whole, size < sizeof(whole) ? size : sizeof(whole));
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t extension_table(uint16_t extension, uint16_t major, uint16_t minor, void *table)
{
  (void)minor;
  return major_extension_table(extension, major, sizeof(hsa_ven_amd_loader_1_02_pfn_t), table);
}

/* ---- Tables ---- */

typedef struct entry {
  size_t first, second;
  void *function;
} entry_t;

static void set(unsigned char *table, const entry_t *entry, uint32_t major)
{
  const size_t at = major == 1 ? entry->first : entry->second;
  if (at)
    memcpy(table + at, &entry->function, sizeof(entry->function));
}

#define SET(table, first, second, function)                                                        \
  set(table, &(const entry_t){first, second, (void *)(function)}, major)

/* A child has none of the threads that may have held it. */
static void in_child(void)
{
  (void)pthread_mutex_init(&lock, NULL);
}

void toy_memory_fill(unsigned char *core, unsigned char *amd, uint32_t major)
{
  static bool watched;
  if (!watched)
    (void)pthread_atfork(NULL, NULL, in_child);
  watched = true;
  for (size_t i = 0; i < place_count; ++i)
    if (places[i].kind)
      let_go(&places[i]);
  place_count = most_bytes = 0;
  toy_code = (toy_code_t){0};
  SET(core, 48, 48, extension_table);
  SET(core, 280, 280, region_allocate);
  SET(core, 288, 288, region_free);
  SET(core, 632, 632, deserialize);
  SET(core, 640, 640, object_destroy);
  SET(core, 688, 688, executable_destroy);
  SET(core, 696, 696, load_old);
  SET(core, 704, 704, freeze);
  SET(core, 800, 800, major_extension_table);
  SET(core, 936, 936, reader_from_file);
  SET(core, 944, 944, reader_from_memory);
  SET(core, 952, 952, reader_destroy);
  SET(core, 960, 960, executable_create);
  SET(core, 968, 968, load_program);
  SET(core, 976, 976, load_agent);
  SET(amd, 168, 184, migrate);
  SET(amd, 200, 216, interop_map);
  SET(amd, 208, 224, part);
  SET(amd, 224, 240, pointer_info);
  SET(amd, 240, 256, ipc_create);
  SET(amd, 248, 264, ipc_attach);
  SET(amd, 256, 272, part);
  SET(amd, 0, 440, dmabuf_export);
  SET(amd, 0, 448, dmabuf_close);
  SET(amd, 0, 472, handle_create);
  SET(amd, 0, 480, handle_release);
  SET(amd, 0, 488, map);
  SET(amd, 0, 496, unmap);
  SET(amd, 0, 520, export_handle);
  SET(amd, 0, 528, import_handle);
  SET(amd, 0, 536, retain);
  SET(amd, 0, 544, get_properties);
  SET(amd, 0, 600, dmabuf_export_v2);
}
