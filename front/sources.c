#include "front/sources.h"

#include "base/cancel.h"

#include <elf.h>
#include <hsa/hsa_ven_amd_loader.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash_table.h"

typedef struct source_key {
  uint64_t kind, handle;
} source_key_t;

typedef struct source {
  source_key_t key;
  const void *bytes; /* the program's, which are read when they are loaded; NULL: of `span` */
  size_t size;
  uint64_t span;
  Elf64_Ehdr head; /* of `span`; without bytes: all zero */
  UT_hash_handle hh;
} source_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static source_t *all;

static source_key_t key_of(source_kind_t kind, uint64_t handle)
{
  return (source_key_t){kind, handle};
}

bool source_bytes(source_kind_t kind, uint64_t handle, uint64_t *bytes)
{
  source_key_t key = key_of(kind, handle);
  source_t *source;
  pthread_mutex_lock(&lock);
  HASH_FIND(hh, all, &key, sizeof(key), source);
  if (source)
    *bytes = source->bytes ? memory_of_code(source->bytes, source->size) : source->span;
  pthread_mutex_unlock(&lock);
  return source != NULL;
}

bool source_target(source_kind_t kind, uint64_t handle, rawhal_target_t *target)
{
  enum { ABI_FIRST = 1 };
  source_key_t key = key_of(kind, handle);
  source_t *source;
  Elf64_Ehdr head = {0};
  pthread_mutex_lock(&lock);
  HASH_FIND(hh, all, &key, sizeof(key), source);
  if (source && !source->bytes)
    head = source->head;
  else if (source && source->size >= sizeof(head))
    memcpy(&head, source->bytes, sizeof(head));
  pthread_mutex_unlock(&lock);
  if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_ABIVERSION] < ABI_FIRST)
    return false;
  rawhal_target_from_flags(head.e_flags, head.e_ident[EI_ABIVERSION], target);
  return true;
}

/* A handle that was there before is of something that is gone. */
static void drop(source_kind_t kind, uint64_t handle)
{
  source_key_t key = key_of(kind, handle);
  source_t *source;
  pthread_mutex_lock(&lock);
  HASH_FIND(hh, all, &key, sizeof(key), source);
  if (source)
    HASH_DELETE(hh, all, source);
  pthread_mutex_unlock(&lock);
  free(source);
}

/* Without memory for it, what it leads to is not loaded. */
static void keep(source_kind_t kind, uint64_t handle, const source_t *facts)
{
  drop(kind, handle);
  source_t *source = malloc(sizeof(*source));
  if (!source)
    return;
  *source = *facts;
  source->key = key_of(kind, handle);
  source->hh.tbl = NULL;
  pthread_mutex_lock(&lock);
  HASH_ADD(hh, all, key, sizeof(source->key), source);
  bool added = source->hh.tbl != NULL;
  pthread_mutex_unlock(&lock);
  if (!added)
    free(source);
}

void source_tell_copy(const code_copy_t *copy)
{
  const uint64_t handle = (uintptr_t)copy->loaded;
  const source_t original = {.bytes = copy->original.data, .size = copy->original.size};
  if (original.bytes)
    keep(SOURCE_COPY, handle, &original);
  else
    drop(SOURCE_COPY, handle);
}

rawhal_bytes_t source_original(rawhal_bytes_t loaded)
{
  source_key_t key = key_of(SOURCE_COPY, (uintptr_t)loaded.data);
  source_t *source;
  pthread_mutex_lock(&lock);
  HASH_FIND(hh, all, &key, sizeof(key), source);
  if (source && source->size == loaded.size)
    loaded.data = source->bytes;
  pthread_mutex_unlock(&lock);
  return loaded;
}

/* What there is of so many bytes of the file; 0: it cannot be read. */
static size_t read_part(int fd, void *to, size_t size, uint64_t at)
{
  const ssize_t got = at <= INT64_MAX ? pread(fd, to, size, (off_t)at) : -1;
  return got > 0 ? (size_t)got : 0;
}

/* `size` 0: to the end. The file may be cut at any time: it is read, not mapped; its head and its
 * table of segments, as if that came next. */
static source_t source_of_file(int fd, uint64_t offset, uint64_t size)
{
  Elf64_Ehdr head;
  const source_t none = {0};
  WITHOUT_CANCELLATION();
  const uint64_t whole = size ? size : UINT64_MAX;
  if (whole < sizeof(head) || read_part(fd, &head, sizeof(head), offset) != sizeof(head) ||
      head.e_phoff > whole || offset > UINT64_MAX - head.e_phoff)
    return none;
  source_t source = {.head = head};
  const uint64_t most = head.e_phnum * sizeof(Elf64_Phdr), left = whole - head.e_phoff;
  char *bytes = malloc(sizeof(head) + most);
  if (!bytes)
    return none;
  const size_t table =
      read_part(fd, bytes + sizeof(head), most < left ? most : left, offset + head.e_phoff);
  head.e_phoff = sizeof(head);
  memcpy(bytes, &head, sizeof(head));
  source.span = memory_of_code(bytes, sizeof(head) + table);
  free(bytes);
  return source;
}

/* ---- Hooks ---- */

static hsa_status_t reader_from_memory(const void *bytes, size_t size,
                                       hsa_code_object_reader_t *reader)
{
  hsa_status_t result = front.hsa.reader_from_memory(bytes, size, reader);
  if (result == HSA_STATUS_SUCCESS && !front_orphaned())
    keep(SOURCE_READER, reader->handle, &(source_t){.bytes = bytes, .size = size});
  return result;
}

static hsa_status_t reader_from_file(hsa_file_t file, hsa_code_object_reader_t *reader)
{
  const source_t source = source_of_file(file, 0, 0);
  hsa_status_t result = front.hsa.reader_from_file(file, reader);
  if (result == HSA_STATUS_SUCCESS && !front_orphaned())
    keep(SOURCE_READER, reader->handle, &source);
  return result;
}

static hsa_status_t reader_destroy(hsa_code_object_reader_t reader)
{
  if (!front_orphaned())
    drop(SOURCE_READER, reader.handle);
  return front.hsa.reader_destroy(reader);
}

static void keep_object(uint64_t handle, const void *bytes, size_t size)
{
  source_t source = {.span = memory_of_code(bytes, size)};
  if (size >= sizeof(source.head))
    memcpy(&source.head, bytes, sizeof(source.head));
  keep(SOURCE_OBJECT, handle, &source);
}

static hsa_status_t code_object_deserialize(void *bytes, size_t size, const char *options,
                                            hsa_code_object_t *object)
{
  hsa_status_t result = front.hsa.code_object_deserialize(bytes, size, options, object);
  if (result == HSA_STATUS_SUCCESS && !front_orphaned())
    keep_object(object->handle, bytes, size);
  return result;
}

static hsa_status_t code_object_destroy(hsa_code_object_t object)
{
  if (!front_orphaned())
    drop(SOURCE_OBJECT, object.handle);
  return front.hsa.code_object_destroy(object);
}

/* ---- The loader's own way to make readers, which programs ask for by number ---- */

typedef hsa_ven_amd_loader_1_02_pfn_t loader_t;

enum {
  READER_AT =
      offsetof(loader_t, hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size),
  READER_MINOR = 2, /* of the extension, from which it is there */
};

static __typeof__(((loader_t *)NULL)
                      ->hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size)
    reader_from_part;

static hsa_status_t reader_of_part(hsa_file_t file, size_t offset, size_t size,
                                   hsa_code_object_reader_t *reader)
{
  const source_t source = source_of_file(file, offset, size);
  hsa_status_t result = reader_from_part(file, offset, size, reader);
  if (result == HSA_STATUS_SUCCESS && !front_orphaned())
    keep(SOURCE_READER, reader->handle, &source);
  return result;
}

static void replace_in(void *table)
{
  loader_t *loader = table;
  if (!loader->hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size)
    return;
  reader_from_part =
      loader->hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size;
  loader->hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size = reader_of_part;
}

static hsa_status_t extension_table(uint16_t extension, uint16_t major, uint16_t minor, void *table)
{
  hsa_status_t result = front.hsa.extension_table(extension, major, minor, table);
  if (result == HSA_STATUS_SUCCESS && extension == HSA_EXTENSION_AMD_LOADER &&
      minor >= READER_MINOR)
    replace_in(table);
  return result;
}

static hsa_status_t major_extension_table(uint16_t extension, uint16_t major, size_t size,
                                          void *table)
{
  hsa_status_t result = front.hsa.major_extension_table(extension, major, size, table);
  if (result == HSA_STATUS_SUCCESS && extension == HSA_EXTENSION_AMD_LOADER &&
      size >= READER_AT + sizeof(void *))
    replace_in(table);
  return result;
}

void sources_hooks(front_calls_t *hooks)
{
#define X(name) hooks->name = name;
  X(reader_from_memory)
  X(reader_from_file)
  X(reader_destroy)
  X(code_object_deserialize)
  X(code_object_destroy)
  X(extension_table)
  X(major_extension_table)
#undef X
}

/* ---- The end ---- */

void sources_forget(void)
{
  source_t *source, *next;
  HASH_ITER(hh, all, source, next)
  {
    HASH_DELETE(hh, all, source);
    free(source);
  }
}

void sources_abandon(void)
{
  (void)pthread_mutex_init(&lock, NULL);
  all = NULL;
}
