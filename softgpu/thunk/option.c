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
#include "softgpu/order/order.h"
#include "softgpu/thunk/chip_table.h"
#include "softgpu/thunk/layout.h"
#include "softgpu/thunk/prober.h"
#include "softgpu/thunk/thunk.h"

typedef enum { ANY_TIME, WHILE_CLOSED, BEFORE_QUEUES } settable_t;

static const struct {
  const char *name;
  uint64_t minimum, maximum;
  settable_t settable;
} options[SOFTGPU_OPTION_COUNT] = {
    [SOFTGPU_OPTION_CHIPS] = {"chips", 0, UINT64_MAX, WHILE_CLOSED},
    [SOFTGPU_OPTION_CHIP] = {"chip", 0, UINT64_MAX, WHILE_CLOSED},
    [SOFTGPU_OPTION_LISTED] = {"listed", 0, UINT64_MAX, WHILE_CLOSED},
    [SOFTGPU_OPTION_SRAMECC] = {"sramecc", 0, 1, WHILE_CLOSED},
    [SOFTGPU_OPTION_GPUS] = {"gpus", 0, SOFTGPU_MAX_GPUS, WHILE_CLOSED},
    [SOFTGPU_OPTION_VRAM_MIB] = {"vram_mib", 8, 1 << 20, WHILE_CLOSED},
    [SOFTGPU_OPTION_COMPUTE_UNITS] = {"compute_units", 0, UINT16_MAX, WHILE_CLOSED},
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
    [SOFTGPU_OPTION_CHECK_FREED] = {"check_freed", 0, 1, ANY_TIME},
    [SOFTGPU_OPTION_REFERENCE] = {"reference", 0, 1, ANY_TIME},
    [SOFTGPU_OPTION_HARDWARE_FAULTS] = {"hardware_faults", 0, 1, ANY_TIME},
    [SOFTGPU_OPTION_SAME_ADDRESS] = {"same_address", 0, 1, ANY_TIME},
    [SOFTGPU_OPTION_ORDER] = {"order", 0, UINT64_MAX, WHILE_CLOSED},
};

/* What becomes of what a check finds, by value: the words that `rawhal exec --check` has, too. */
static const char *const check_words[] = {"off", "refuse"};

static bool option_is_check(int option)
{
  return strncmp(options[option].name, "check_", strlen("check_")) == 0;
}

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

/* Whose value is a list of chips. */
static bool option_is_list(int option)
{
  return option == SOFTGPU_OPTION_CHIPS || option == SOFTGPU_OPTION_LISTED;
}

static bool option_takes(int option, uint64_t value)
{
  if (option == SOFTGPU_OPTION_CHIP)
    return softgpu_chip_find(value);
  if (option_is_list(option))
    return value == 0 || softgpu_chips_count(value) > 0;
  return value >= options[option].minimum && value <= options[option].maximum;
}

static void option_put(int option, uint64_t value)
{
  softgpu_option_store((softgpu_option_t)option, value);
  if (option == SOFTGPU_OPTION_ORDER)
    order_begin(value);
  if (option == SOFTGPU_OPTION_ORDER || option == SOFTGPU_OPTION_THREADS) /* of an order one */
    softgpu_engine_threads(softgpu_option(SOFTGPU_OPTION_ORDER)
                               ? 1
                               : (unsigned)softgpu_option(SOFTGPU_OPTION_THREADS));
  if (option == SOFTGPU_OPTION_REFERENCE)
    softgpu_engine_reference(value);
}

SOFTGPU_EXPORT bool softgpu_option_set(const char *name, uint64_t value)
{
  const int option = option_find(name);
  if (option < 0 || !option_takes(option, value) || option_fixed(option))
    return false;
  option_put(option, value);
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
  if (option_is_list(option)) {
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

/* ---- Several at once ---- */

/* What options are to be: all as they are, but for those that are given. */
typedef struct wishes {
  uint64_t values[SOFTGPU_OPTION_COUNT];
  bool given[SOFTGPU_OPTION_COUNT];
  char why[256]; /* they cannot be so */
} wishes_t;

static wishes_t wishes_begin(void)
{
  wishes_t wishes = {0};
  for (int i = 0; i < SOFTGPU_OPTION_COUNT; ++i)
    wishes.values[i] = softgpu_option((softgpu_option_t)i);
  return wishes;
}

/* What an option takes, and has, in words: "gpus takes 0 to 16; using 1". */
static void option_describe(int option, wishes_t *wishes)
{
  const uint64_t minimum = options[option].minimum, maximum = options[option].maximum,
                 now = softgpu_option((softgpu_option_t)option);
  const char *name = options[option].name;
  if (option_is_list(option))
    snprintf(wishes->why, sizeof(wishes->why), "%s takes %s, as gfx942,gfx950", name,
             option == SOFTGPU_OPTION_CHIPS ? "a chip for each device"
                                            : "a chip for all devices, or one for each");
  else if (option_is_check(option))
    snprintf(wishes->why, sizeof(wishes->why), "%s takes %s or %s; using %s", name, check_words[0],
             check_words[1], check_words[now]);
  else if (option == SOFTGPU_OPTION_CHIP) {
    const int used =
        snprintf(wishes->why, sizeof(wishes->why), "chip, gfx%" PRIx64 " now, takes ", now);
    softgpu_chip_names(wishes->why + used, sizeof(wishes->why) - (size_t)used);
  } else
    snprintf(wishes->why, sizeof(wishes->why),
             "%s takes %" PRIu64 " to %" PRIu64 "; using %" PRIu64, name, minimum, maximum, now);
}

static bool wish(wishes_t *wishes, const char *name, const char *text)
{
  const int option = option_find(name);
  uint64_t value;
  if (option < 0)
    snprintf(wishes->why, sizeof(wishes->why), "there is no option %.32s", name);
  else if (!option_read(option, text, &value) || !option_takes(option, value))
    option_describe(option, wishes);
  else if (option_fixed(option))
    snprintf(wishes->why, sizeof(wishes->why), "%s is fixed while the device is open", name);
  else {
    wishes->values[option] = value;
    wishes->given[option] = true;
    return true;
  }
  return false;
}

/* The option that says of devices what another contradicts; -1: none. A number of one GPU is the
 * default, and says nothing unless it is given. */
static int wishes_contradict(wishes_t *wishes)
{
  const uint64_t *values = wishes->values, chips = values[SOFTGPU_OPTION_CHIPS];
  const uint32_t count = softgpu_chips_count(chips);
  const uint64_t gpus = values[SOFTGPU_OPTION_GPUS], devices = count ? count : gpus;
  const uint32_t listed = softgpu_chips_count(values[SOFTGPU_OPTION_LISTED]);
  bool differs = false;
  for (uint32_t i = 0; i < count; ++i)
    differs |= softgpu_chips_at(chips, i)->name != values[SOFTGPU_OPTION_CHIP];
  snprintf(wishes->why, sizeof(wishes->why),
           "it contradicts another: what chip, gpus and chips say of all devices must be the same");
  if (gpus != devices && (gpus != 1 || wishes->given[SOFTGPU_OPTION_GPUS]))
    return SOFTGPU_OPTION_GPUS;
  if (differs && wishes->given[SOFTGPU_OPTION_CHIP])
    return SOFTGPU_OPTION_CHIP;
  snprintf(wishes->why, sizeof(wishes->why),
           "it contradicts another: listed has %" PRIu32 " chips, for %" PRIu64 " devices", listed,
           devices);
  return listed > 1 && listed != devices ? SOFTGPU_OPTION_LISTED : -1;
}

static void wishes_grant(const wishes_t *wishes)
{
  for (int i = 0; i < SOFTGPU_OPTION_COUNT; ++i)
    if (wishes->given[i])
      option_put(i, wishes->values[i]);
}

SOFTGPU_EXPORT bool softgpu_option_set_text(const char *name, const char *text)
{
  wishes_t wishes = wishes_begin();
  if (!name || !text || !wish(&wishes, name, text) || wishes_contradict(&wishes) >= 0)
    return false;
  wishes_grant(&wishes);
  return true;
}

/* The length of NAME=VALUE at the head of a list; what has no '=' belongs to the value before. */
static size_t pair_length(const char *at)
{
  size_t length = strcspn(at, ",");
  while (at[length]) {
    const char *next = at + length + 1;
    const size_t more = strcspn(next, ",");
    if (more == 0 || memchr(next, '=', more))
      break;
    length += 1 + more;
  }
  return length;
}

static bool wish_list(wishes_t *wishes, const char *list)
{
  for (const char *at = list; *at; at += *at == ',') {
    const size_t length = pair_length(at);
    char pair[160], *value = NULL;
    if (length < sizeof(pair)) {
      memcpy(pair, at, length);
      pair[length] = '\0';
      value = strchr(pair, '=');
    }
    if (!value) {
      snprintf(wishes->why, sizeof(wishes->why), "NAME=VALUE is expected, separated by commas");
      return false;
    }
    *value++ = '\0';
    if (!wish(wishes, pair, value))
      return false;
    at += length;
  }
  return wishes_contradict(wishes) < 0;
}

SOFTGPU_EXPORT bool softgpu_options_set_text(const char *list, softgpu_option_before_fn *before,
                                             void *context, char *why, size_t size)
{
  wishes_t wishes = wishes_begin();
  bool good = list && wish_list(&wishes, list);
  for (int i = 0; i < SOFTGPU_OPTION_COUNT && good && before; ++i)
    if (wishes.given[i] && !before(context, options[i].name, softgpu_option((softgpu_option_t)i))) {
      snprintf(wishes.why, sizeof(wishes.why), "the caller has no room for %s", options[i].name);
      good = false;
    }
  if (good)
    wishes_grant(&wishes);
  else if (why && size > 0)
    snprintf(why, size, "%s", wishes.why);
  return good;
}

SOFTGPU_EXPORT bool softgpu_option_get(const char *name, uint64_t *value)
{
  int option = option_find(name);
  if (option < 0 || !value)
    return false;
  *value = softgpu_option((softgpu_option_t)option);
  return true;
}

/* ---- The environment ---- */

static char messages[1024]; /* written by the constructor only */

SOFTGPU_EXPORT size_t softgpu_option_messages(char *text, size_t size)
{
  if (text && size > 0)
    snprintf(text, size, "%s", messages);
  return strlen(messages);
}

static const char *environment_of(int option, char variable[64])
{
  size_t at = (size_t)snprintf(variable, 64, "SOFTGPU_");
  for (const char *c = options[option].name; *c; ++c)
    variable[at++] = (char)toupper((unsigned char)*c);
  variable[at] = '\0';
  return getenv(variable);
}

static void environment_ignore(int option, wishes_t *wishes)
{
  char variable[64];
  const char *text = environment_of(option, variable);
  const size_t used = strlen(messages);
  snprintf(messages + used, sizeof(messages) - used, "%s=%.32s is ignored: %s\n", variable,
           text ? text : "", wishes->why);
  wishes->given[option] = false;
  wishes->values[option] = softgpu_option((softgpu_option_t)option);
}

static void load_prober(void)
{
  const char *rules = secure_getenv("SOFTGPU_PROBE");
  const char *why = rules && *rules ? softgpu_prober_load(rules) : NULL;
  if (!why)
    return;
  const size_t used = strlen(messages);
  snprintf(messages + used, sizeof(messages) - used, "SOFTGPU_PROBE=%.32s is ignored: %s\n", rules,
           why);
}

__attribute__((constructor)) static void options_load(void)
{
  softgpu_option_store(SOFTGPU_OPTION_SAME_ADDRESS, softgpu_is_dtif);
  wishes_t wishes = wishes_begin();
  for (int i = 0; i < SOFTGPU_OPTION_COUNT; ++i) {
    char variable[64];
    const char *text = environment_of(i, variable);
    if (text && !wish(&wishes, options[i].name, text))
      environment_ignore(i, &wishes);
  }
  for (int option; (option = wishes_contradict(&wishes)) >= 0;)
    environment_ignore(option, &wishes); /* which says nothing then, as the default does */
  wishes_grant(&wishes);
  load_prober();
  /* See softgpu.h. The runtime reads its environment in hsa_init(), which comes later. */
  setenv("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1", 0);
}
