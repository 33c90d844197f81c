/* Options by name, from calls and from the environment. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/cp/doorbell.h"
#include "softgpu/device/option.h"
#include "softgpu/exports.h"
#include "softgpu/isa/run/engine.h"
#include "softgpu/thunk/chip_table.h"
#include "softgpu/thunk/layout.h"
#include "softgpu/thunk/thunk.h"

typedef enum { ANY_TIME, WHILE_CLOSED, BEFORE_QUEUES } settable_t;

static const struct {
  const char *name;
  uint64_t minimum, maximum;
  settable_t settable;
} options[SOFTGPU_OPTION_COUNT] = {
    [SOFTGPU_OPTION_CHIPS] = {"chips", 0, UINT64_MAX, WHILE_CLOSED},
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
    [SOFTGPU_OPTION_SAME_ADDRESS] = {"same_address", 0, 1, ANY_TIME},
};

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

/* Whether what chips says of every device, or what another option says of all, is not so. A number
 * of one GPU is the default, and says nothing. */
static bool option_contradicts(int option, uint64_t value)
{
  const uint64_t chips =
      option == SOFTGPU_OPTION_CHIPS ? value : softgpu_option(SOFTGPU_OPTION_CHIPS);
  const uint32_t count = softgpu_chips_count(chips);
  const uint64_t gpus = softgpu_option(SOFTGPU_OPTION_GPUS);
  bool differs = false;
  for (uint32_t i = 0; i < count; ++i)
    differs |= softgpu_chips_at(chips, i)->name != value;
  return count > 0 && ((option == SOFTGPU_OPTION_CHIPS && gpus != 1 && gpus != count) ||
                       (option == SOFTGPU_OPTION_GPUS && value != count) ||
                       (option == SOFTGPU_OPTION_CHIP && differs));
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
  if (option == SOFTGPU_OPTION_CHIPS && value != 0 && softgpu_chips_count(value) == 0)
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

/* A number: decimal, 0x or gfx and hexadecimal digits. */
static bool number_read(const char *text, uint64_t *value)
{
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
  *value = strtoull(text, &end, base);
  return errno == 0 && end != text && *end == '\0';
}

static bool option_read(int option, const char *text, uint64_t *value)
{
  if (option == SOFTGPU_OPTION_CHIPS) {
    *value = softgpu_chips_read(text);
    return *value || strcmp(text, "0") == 0;
  }
  if (!option_is_check(option))
    return number_read(text, value);
  for (*value = 0; *value <= options[option].maximum; ++*value)
    if (strcmp(text, check_words[*value]) == 0)
      return true;
  return false;
}

SOFTGPU_EXPORT bool softgpu_option_set_text(const char *name, const char *text)
{
  const int option = option_find(name);
  uint64_t value;
  return text && option >= 0 && option_read(option, text, &value) &&
         !option_contradicts(option, value) && softgpu_option_set(name, value);
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

/* What an option takes, and has, in words: "0 to 16; using 1". */
static void option_describe(int option, const char *given, char text[96])
{
  const uint64_t minimum = options[option].minimum, maximum = options[option].maximum,
                 now = softgpu_option((softgpu_option_t)option);
  uint64_t value;
  if (option_read(option, given, &value) && option_contradicts(option, value))
    snprintf(text, 96, "what chip, gpus and chips say of all devices must be the same");
  else if (option == SOFTGPU_OPTION_CHIPS)
    snprintf(text, 96, "chips takes a chip for each device, as gfx942,gfx950");
  else if (option_is_check(option))
    snprintf(text, 96, "%s takes %s or %s; using %s", options[option].name, check_words[0],
             check_words[1], check_words[now]);
  else /* a chip's name is hexadecimal */
    snprintf(text, 96,
             option_is_chip(option) ? "%s takes 0x%" PRIx64 " to 0x%" PRIx64 "; using 0x%" PRIx64
                                    : "%s takes %" PRIu64 " to %" PRIu64 "; using %" PRIu64,
             options[option].name, minimum, maximum, now);
}

static void option_from_environment(int option)
{
  char variable[64] = "SOFTGPU_", takes[96];
  size_t at = strlen(variable);
  for (const char *c = options[option].name; *c; ++c)
    variable[at++] = (char)toupper((unsigned char)*c);
  const char *text = getenv(variable);
  if (!text || softgpu_option_set_text(options[option].name, text))
    return;
  option_describe(option, text, takes);
  const size_t used = strlen(messages);
  snprintf(messages + used, sizeof(messages) - used, "%s=%.32s is ignored: %s\n", variable, text,
           takes);
}

__attribute__((constructor)) static void options_load(void)
{
  softgpu_option_store(SOFTGPU_OPTION_SAME_ADDRESS, softgpu_is_dtif);
  for (int i = 0; i < SOFTGPU_OPTION_COUNT; ++i)
    option_from_environment(i);
  /* See softgpu.h. The runtime reads its environment in hsa_init(), which comes later. */
  setenv("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1", 0);
}
