#include "fleet/slurm/allotment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One of a list: NAME[:TYPE]:COUNT[(PLACES)]. */
typedef struct entry {
  const char *text; /* all of it */
  size_t length;
  bool is_shard;
  uint32_t count, shards;
  char places[256]; /* "": none were said */
} entry_t;

static rawhal_status_t unclear(const entry_t *entry, const char *why, rawhal_error_t *error)
{
  return refuse(error, RAWHAL_UNSUPPORTED, "Slurm has given '%.*s': %s", (int)entry->length,
                entry->text, why);
}

static bool read_number(const char **at, uint32_t *number)
{
  char *end;
  if (**at < '0' || **at > '9')
    return false;
  errno = 0;
  const unsigned long value = strtoul(*at, &end, 10);
  *at = end;
  *number = (uint32_t)value;
  return !errno && value <= UINT32_MAX;
}

static rawhal_status_t add(const entry_t *entry, uint32_t gpu, uint32_t parts, uint32_t of,
                           allotment_t *to, rawhal_error_t *error)
{
  if (gpu >= SLURM_GPUS || to->count == SLURM_GPUS)
    return unclear(entry, "it has more GPUs than this plugin", error);
  if (of == 0 || parts > of)
    return unclear(entry, "these are more shards than a GPU has: is shards= as in gres.conf?",
                   error);
  for (uint32_t i = 0; i < to->count; ++i)
    if (to->parts[i].gpu == gpu)
      return unclear(entry, "a GPU is given twice", error);
  to->parts[to->count++] = (part_t){.gpu = gpu, .parts = parts, .of = of};
  return RAWHAL_OK;
}

static rawhal_status_t add_whole(const entry_t *entry, uint32_t gpu, allotment_t *to,
                                 rawhal_error_t *error)
{
  return add(entry, gpu, entry->is_shard ? entry->count : 1, entry->is_shard ? entry->shards : 1,
             to, error);
}

/* "IDX:0-1,3". */
static rawhal_status_t read_indices(const entry_t *entry, allotment_t *to, rawhal_error_t *error)
{
  const char *at = entry->places + 3;
  const uint32_t before = to->count;
  rawhal_status_t status = RAWHAL_OK;
  do {
    uint32_t first, last;
    ++at; /* the colon, a comma */
    if (!read_number(&at, &first))
      return unclear(entry, "its GPUs cannot be read", error);
    last = first;
    if (*at == '-' && (++at, !read_number(&at, &last) || last < first))
      return unclear(entry, "its GPUs cannot be read", error);
    for (uint32_t gpu = first; status == RAWHAL_OK && gpu <= last; ++gpu)
      status = add_whole(entry, gpu, to, error);
  } while (status == RAWHAL_OK && *at == ',');
  if (status == RAWHAL_OK && *at)
    return unclear(entry, "its GPUs cannot be read", error);
  if (status == RAWHAL_OK && entry->is_shard && to->count - before != 1)
    return unclear(entry, "it does not say how many shards are of which GPU", error);
  return status;
}

/* "2/10,0/10,3/10": of each GPU. */
static rawhal_status_t read_fractions(const entry_t *entry, allotment_t *to, rawhal_error_t *error)
{
  const char *at = entry->places - 1;
  rawhal_status_t status = RAWHAL_OK;
  uint32_t gpu = 0;
  do {
    uint32_t parts, of;
    ++at;
    if (!read_number(&at, &parts) || *at != '/' || (++at, !read_number(&at, &of)))
      return unclear(entry, "its shards cannot be read", error);
    if (parts)
      status = add(entry, gpu, parts, of, to, error);
    ++gpu;
  } while (status == RAWHAL_OK && *at == ',');
  return status == RAWHAL_OK && *at ? unclear(entry, "its shards cannot be read", error) : status;
}

static rawhal_status_t read_places(const entry_t *entry, allotment_t *to, rawhal_error_t *error)
{
  if (strncmp(entry->places, "IDX:", 4) == 0)
    return read_indices(entry, to, error);
  if (entry->is_shard && strchr(entry->places, '/'))
    return read_fractions(entry, to, error);
  return unclear(entry, "it does not say of which GPU: has gres.conf a File= for each?", error);
}

static bool has_name(const char *text, size_t length, const char *name)
{
  const size_t size = strlen(name);
  return length > size && !strncmp(text, name, size) && text[size] == ':';
}

static rawhal_status_t read_entry(entry_t *entry, allotment_t *to, rawhal_error_t *error)
{
  const char *const text = entry->text, *const end = text + entry->length;
  entry->is_shard = has_name(text, entry->length, "shard");
  if (!entry->is_shard && !has_name(text, entry->length, "gpu"))
    return RAWHAL_OK;
  const char *open = memchr(text, '(', entry->length), *at = open ? open : end;
  const size_t inside = open ? (size_t)(end - open) - 1 : 0;
  if (open && (inside < 1 || end[-1] != ')' || inside > sizeof(entry->places)))
    return unclear(entry, "it cannot be read", error);
  if (open) {
    memcpy(entry->places, open + 1, inside - 1);
    entry->places[inside - 1] = '\0';
  }
  while (at > text && at[-1] >= '0' && at[-1] <= '9')
    --at;
  if (at == text || at[-1] != ':' || !read_number(&at, &entry->count))
    return unclear(entry, "it does not say how many", error);
  return entry->count ? read_places(entry, to, error) : RAWHAL_OK;
}

/* The length up to a comma that is in no parentheses. */
static size_t entry_length(const char *text)
{
  int depth = 0;
  size_t i = 0;
  for (; text[i] && (text[i] != ',' || depth > 0); ++i)
    depth += (text[i] == '(') - (text[i] == ')');
  return i;
}

rawhal_status_t allotment_read(const char *text, uint32_t shards, allotment_t *allotment,
                               rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  *allotment = (allotment_t){0};
  while (status == RAWHAL_OK && *text) {
    entry_t entry = {.text = text, .length = entry_length(text), .shards = shards};
    status = read_entry(&entry, allotment, error);
    text += entry.length;
    text += *text == ',';
  }
  if (status != RAWHAL_OK)
    *allotment = (allotment_t){0};
  return status;
}
