#include "fleet/slurm/settings.h"

#include <dlfcn.h>
#include <errno.h>
#include <rawhal/limit.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

rawhal_status_t refuse(rawhal_error_t *error, rawhal_status_t status, const char *format, ...)
{
  va_list arguments;
  *error = (rawhal_error_t){.status = status, .offset = RAWHAL_NO_OFFSET};
  va_start(arguments, format);
  vsnprintf(error->message, sizeof(error->message), format, arguments);
  va_end(arguments);
  return status;
}

/* ---- Words ---- */

typedef rawhal_status_t word_reader_t(const char *value, settings_t *settings,
                                      rawhal_error_t *error);

static rawhal_status_t copy(const char *word, const char *value, char *into, size_t size,
                            rawhal_error_t *error)
{
  if (*value != '/' || strlen(value) >= size)
    return refuse(error, RAWHAL_INVALID_ARGUMENT, "%s=%.100s: expected an absolute path, %s", word,
                  value, *value != '/' ? "this is none" : "and no longer one");
  snprintf(into, size, "%s", value);
  return RAWHAL_OK;
}

static rawhal_status_t read_directory(const char *value, settings_t *settings,
                                      rawhal_error_t *error)
{
  return copy("dir", value, settings->directory, sizeof(settings->directory), error);
}

static rawhal_status_t read_accounting(const char *value, settings_t *settings,
                                       rawhal_error_t *error)
{
  if (strcmp(value, "none") == 0) {
    *settings->accounting = '\0';
    return RAWHAL_OK;
  }
  return copy("accounting", value, settings->accounting, sizeof(settings->accounting), error);
}

static rawhal_status_t read_front(const char *value, settings_t *settings, rawhal_error_t *error)
{
  return copy("front", value, settings->front, sizeof(settings->front), error);
}

static rawhal_status_t read_kfd(const char *value, settings_t *settings, rawhal_error_t *error)
{
  return copy("kfd", value, settings->kfd, sizeof(settings->kfd), error);
}

static rawhal_status_t read_shards(const char *value, settings_t *settings, rawhal_error_t *error)
{
  char *end;
  errno = 0;
  const unsigned long number = strtoul(value, &end, 10);
  if (*value < '0' || *value > '9' || *end || errno || number < 1 || number > 1000000)
    return refuse(error, RAWHAL_INVALID_ARGUMENT,
                  "shards=%.100s: expected how many shards gres.conf gives a GPU, 1 to 1000000",
                  value);
  settings->shards = (uint32_t)number;
  return RAWHAL_OK;
}

static rawhal_status_t read_on_error(const char *value, settings_t *settings, rawhal_error_t *error)
{
  static const char *const names[] = {
      [ON_ERROR_REFUSE] = "refuse", [ON_ERROR_DRAIN] = "drain", [ON_ERROR_RUN] = "run"};
  for (size_t i = 0; i < COUNT(names); ++i)
    if (strcmp(value, names[i]) == 0) {
      settings->on_error = (on_error_t)i;
      return RAWHAL_OK;
    }
  return refuse(error, RAWHAL_INVALID_ARGUMENT, "on-error=%.100s: expected refuse, drain or run",
                value);
}

/* NAME,BYTES: a name may have colons. */
static rawhal_status_t read_gpu(const char *value, settings_t *settings, rawhal_error_t *error)
{
  const char *comma = strrchr(value, ',');
  const size_t length = comma ? (size_t)(comma - value) : 0;
  if (length == 0 || length >= DEVICE_NAME_BYTES)
    return refuse(error, RAWHAL_INVALID_ARGUMENT,
                  "gpu=%.100s: expected NAME,BYTES, as in gpu=GPU-0123456789abcdef,64G", value);
  if (settings->gpu_count == SLURM_GPUS)
    return refuse(error, RAWHAL_INVALID_ARGUMENT, "gpu=%.100s: more than %d GPUs", value,
                  SLURM_GPUS);
  gpu_t *gpu = &settings->gpus[settings->gpu_count];
  const rawhal_limit_device_t device = {0};
  const rawhal_status_t status =
      rawhal_limit_parse(RAWHAL_LIMIT_MEMORY, comma + 1, &device, &gpu->memory_bytes, error);
  if (status != RAWHAL_OK) {
    const rawhal_error_t reason = *error;
    return refuse(error, RAWHAL_INVALID_ARGUMENT, "gpu=%.100s: %.500s", value, reason.message);
  }
  snprintf(gpu->name, sizeof(gpu->name), "%.*s", (int)length, value);
  ++settings->gpu_count;
  return RAWHAL_OK;
}

static const struct {
  const char *name;
  word_reader_t *read;
} words_known[] = {
    {"dir", read_directory}, {"accounting", read_accounting}, {"front", read_front},
    {"kfd", read_kfd},       {"shards", read_shards},         {"on-error", read_on_error},
    {"gpu", read_gpu},
};

static rawhal_status_t read_word(const char *word, settings_t *settings, rawhal_error_t *error)
{
  const size_t length = strcspn(word, "=");
  for (size_t i = 0; i < COUNT(words_known) && word[length]; ++i)
    if (strlen(words_known[i].name) == length && !strncmp(word, words_known[i].name, length))
      return words_known[i].read(word + length + 1, settings, error);
  return refuse(error, RAWHAL_INVALID_ARGUMENT,
                "plugstack.conf: '%.100s' is none of dir=, accounting=, front=, kfd=, shards=, "
                "on-error= and gpu=",
                word);
}

/* ---- All of them ---- */

/* Beside the folder that has the plugin, as packages install them: nothing knows where it was
 * built. */
static void find_front(settings_t *settings)
{
  static const char *const places[] = {"../librawhal-front.so", "../../librawhal-front.so",
                                       "../../lib/librawhal-front.so"};
  Dl_info info;
  const char *slash =
      dladdr((void *)(uintptr_t)&settings_read, &info) ? strrchr(info.dli_fname, '/') : NULL;
  char path[PATH_MAX], found[PATH_MAX];
  for (size_t i = 0; slash && i < COUNT(places); ++i) {
    const int length = snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - info.dli_fname),
                                info.dli_fname, places[i]);
    if (length < (int)sizeof(path) && realpath(path, found)) {
      snprintf(settings->front, sizeof(settings->front), "%s", found);
      return;
    }
  }
}

rawhal_status_t settings_read(int count, char **words, const char *node, settings_t *settings,
                              rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK, word_status = RAWHAL_OK;
  rawhal_error_t other;
  char parent[sizeof(settings->directory)];
  *settings = (settings_t){.directory = "/run/rawhal/slurm",
                           .accounting = "/var/log/rawhal-slurm",
                           .kfd = "/sys/class/kfd/kfd/topology/nodes"};
  for (int i = 0; i < count; ++i) {
    word_status = read_word(words[i], settings, status == RAWHAL_OK ? error : &other);
    status = status == RAWHAL_OK ? word_status : status;
  }
  memcpy(parent, settings->directory, sizeof(parent));
  if ((size_t)snprintf(settings->directory, sizeof(settings->directory), "%s/%s", parent, node) >=
          sizeof(settings->directory) ||
      strchr(node, '/'))
    return refuse(error, RAWHAL_INVALID_ARGUMENT, "the node's name is not one: %.100s", node);
  if (status != RAWHAL_OK)
    return status;
  if (!*settings->front)
    find_front(settings);
  if (access(settings->front, R_OK))
    return refuse(error, RAWHAL_NOT_FOUND, "front=%.200s: librawhal-front.so is not there: %s",
                  settings->front, strerror(errno));
  return RAWHAL_OK;
}
