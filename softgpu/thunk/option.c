/* Options by name, from calls and from the environment. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/cp/doorbell.h"
#include "softgpu/device/option.h"
#include "softgpu/exports.h"
#include "softgpu/isa/run/engine.h"
#include "softgpu/thunk/chip_table.h"
#include "softgpu/thunk/thunk.h"
#include "softgpu/thunk/layout.h"

typedef enum { ANY_TIME, WHILE_CLOSED, BEFORE_QUEUES } settable_t;

static const struct {
  const char *name;
  uint64_t minimum, maximum;
  settable_t settable;
} options[SOFTGPU_OPTION_COUNT] = {
    [SOFTGPU_OPTION_CHIP] = {"chip", 0x900, 0x1100, WHILE_CLOSED},
    [SOFTGPU_OPTION_LISTED] = {"listed", 0, 0x1100, WHILE_CLOSED},
    [SOFTGPU_OPTION_SRAMECC] = {"sramecc", 0, 1, WHILE_CLOSED},
    [SOFTGPU_OPTION_GPUS] = {"gpus", 0, SOFTGPU_MAX_GPUS, WHILE_CLOSED},
    [SOFTGPU_OPTION_VRAM_MIB] = {"vram_mib", 8, 1 << 20, WHILE_CLOSED},
    [SOFTGPU_OPTION_TIMEOUT_MS] = {"timeout_ms", 0, UINT32_MAX, ANY_TIME},
    [SOFTGPU_OPTION_SPIN] = {"spin", 0, 1000000000, ANY_TIME},
    [SOFTGPU_OPTION_USERFAULTFD] = {"userfaultfd", 0, 1, BEFORE_QUEUES},
    [SOFTGPU_OPTION_THREADS] = {"threads", 0, 256, ANY_TIME},
    [SOFTGPU_OPTION_GUARD_KIB] = {"guard_kib", 0, 1 << 20, ANY_TIME},
    [SOFTGPU_OPTION_SLOWDOWN] = {"slowdown", 1, 1000, ANY_TIME},
    [SOFTGPU_OPTION_CHECK_LDS] = {"check_lds", 0, 1, ANY_TIME},
    [SOFTGPU_OPTION_CHECK_RACES] = {"check_races", 0, 1, ANY_TIME},
    [SOFTGPU_OPTION_CHECK_KERNARG] = {"check_kernarg", 0, 1, ANY_TIME},
    [SOFTGPU_OPTION_CHECK_STORES] = {"check_stores", 0, 1, ANY_TIME},
    [SOFTGPU_OPTION_CHECK_MEMORY] = {"check_memory", 0, 1, ANY_TIME},
    [SOFTGPU_OPTION_REFERENCE] = {"reference", 0, 1, ANY_TIME},
    [SOFTGPU_OPTION_HARDWARE_FAULTS] = {"hardware_faults", 0, 1, ANY_TIME},
};

    [SOFTGPU_OPTION_SAME_ADDRESS] = {"same_address", 0, 1, ANY_TIME},
/* What becomes of what a check finds, by value: the words that `rawhal exec --check` has, too. */
static const char *const check_words[] = {"off", "refuse"};

static bool option_is_check(int option)
{
  return strncmp(options[option].name, "check_", strlen("check_")) == 0;
}

/* Whose value is the hexadecimal number of a chip. */
static bool option_is_chip(int option)
{
  return option == SOFTGPU_OPTION_CHIP || option == SOFTGPU_OPTION_LISTED;
}

static char messages[1024]; /* written by the constructor only */

static int option_find(const char *name)
{
  for (int i = 0; name && i < SOFTGPU_OPTION_COUNT; ++i) {
    if (strcmp(options[i].name, name) == 0)
      return i;
  }
  return -1;
}

static bool option_fixed(int option)
{
  switch (options[option].settable) {
  case WHILE_CLOSED:
    return softgpu_opened();
  case BEFORE_QUEUES:
    return softgpu_doorbells_open();
  default:
    return false;
  }
}

SOFTGPU_EXPORT bool softgpu_option_set(const char *name, uint64_t value)
{
  int option = option_find(name);
  if (option < 0 || value < options[option].minimum || value > options[option].maximum)
    return false;
  bool none = option == SOFTGPU_OPTION_LISTED && value == 0;
  if (option_is_chip(option) && !none && !softgpu_chip_find(value))
    return false;
  if (option_fixed(option))
    return false;
  softgpu_option_store((softgpu_option_t)option, value);
  if (option == SOFTGPU_OPTION_THREADS)
    softgpu_engine_threads((unsigned)value);
  if (option == SOFTGPU_OPTION_REFERENCE)
    softgpu_engine_reference(value);
  return true;
}

SOFTGPU_EXPORT bool softgpu_option_set_text(const char *name, const char *text)
{
  const int option = option_find(name);
  if (!text || option < 0)
    return false;
  if (option_is_check(option)) {
    uint64_t value = 0;
    while (value <= options[option].maximum && strcmp(text, check_words[value]) != 0)
      ++value;
    return softgpu_option_set(name, value);
  }
  int base = 10;
  if (strncmp(text, "gfx", 3) == 0 || strncmp(text, "0x", 2) == 0) {
    base = 16;
    text += text[0] == 'g' ? 3 : 2;
  }
  /* strtoull() takes blanks and signs; a number here starts with a digit. */
  if (!isxdigit((unsigned char)text[0]))
    return false;
  char *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, base);
  return errno == 0 && end != text && *end == '\0' && softgpu_option_set(name, value);
}

SOFTGPU_EXPORT bool softgpu_option_get(const char *name, uint64_t *value)
{
  int option = option_find(name);
  if (option < 0 || !value)
    return false;
  *value = softgpu_option((softgpu_option_t)option);
  return true;
}

SOFTGPU_EXPORT size_t softgpu_option_messages(char *text, size_t size)
{
  if (text && size > 0)
    snprintf(text, size, "%s", messages);
  return strlen(messages);
}

static void option_from_environment(int option)
{
  char variable[64] = "SOFTGPU_";
  size_t at = strlen(variable);
  for (const char *c = options[option].name; *c; ++c)
    variable[at++] = (char)toupper((unsigned char)*c);
  const char *text = getenv(variable);
  if (!text || softgpu_option_set_text(options[option].name, text))
    return;
  const size_t used = strlen(messages);
  if (option_is_check(option)) {
    snprintf(messages + used, sizeof(messages) - used,
             "%s=%.32s is ignored: %s takes %s or %s; using %s\n", variable, text,
             options[option].name, check_words[0], check_words[1],
             check_words[softgpu_option((softgpu_option_t)option)]);
    return;
  }
  /* A chip's name is hexadecimal. */
  const char *format = option_is_chip(option)
                           ? "%s=%.32s is ignored: %s takes 0x%llx to 0x%llx; using 0x%llx\n"
                           : "%s=%.32s is ignored: %s takes %llu to %llu; using %llu\n";
  snprintf(messages + used, sizeof(messages) - used, format, variable, text, options[option].name,
           (unsigned long long)options[option].minimum, (unsigned long long)options[option].maximum,
           (unsigned long long)softgpu_option((softgpu_option_t)option));
}

__attribute__((constructor)) static void options_load(void)
{
  for (int i = 0; i < SOFTGPU_OPTION_COUNT; ++i)
    option_from_environment(i);
  /* See softgpu.h. The runtime reads its environment in hsa_init(), which comes later. */
  setenv("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1", 0);
}
  softgpu_option_store(SOFTGPU_OPTION_SAME_ADDRESS, softgpu_is_dtif);
