#include "hsaco/target.h"

#include <string.h>

#include "base/error.h"
#include "base/near.h"
#include "base/print.h"
#include "hsaco/processor_table.h"

enum {
  EF_MACH = 0xff,
  EF_XNACK_V3 = 0x100,
  EF_SRAMECC_V3 = 0x200,
  EF_XNACK_SHIFT = 8, /* V4 and later: two bits each, valued as rawhal_feature_t */
  EF_SRAMECC_SHIFT = 10,
  EF_GENERIC_VERSION_SHIFT = 24,
  ABI_V3 = 1,
  ABI_V6 = 4,
};

static const char *const feature_names[] = {
    [RAWHAL_FEATURE_UNSUPPORTED] = "unsupported",
    [RAWHAL_FEATURE_ANY] = "any",
    [RAWHAL_FEATURE_OFF] = "off",
    [RAWHAL_FEATURE_ON] = "on",
};

static const char *feature_name(rawhal_feature_t feature)
{
  return (unsigned)feature <= RAWHAL_FEATURE_ON ? feature_names[feature] : "invalid";
}

static void set_processor(rawhal_target_t *target, const processor_t *processor)
{
  if (processor)
    memcpy(target->processor, processor->name, sizeof(processor->name));
}

void rawhal_target_from_flags(uint32_t e_flags, uint32_t abi_version, rawhal_target_t *target)
{
  *target = (rawhal_target_t){.machine = e_flags & EF_MACH};
  const processor_t *processor = processor_by_machine(target->machine);
  set_processor(target, processor);
  if (abi_version <= ABI_V3) { /* a clear bit means off where the processor has the feature */
    unsigned has = processor ? processor->flags : 0u;
    target->xnack = e_flags & EF_XNACK_V3   ? RAWHAL_FEATURE_ON
                    : has & PROCESSOR_XNACK ? RAWHAL_FEATURE_OFF
                                            : RAWHAL_FEATURE_UNSUPPORTED;
    target->sramecc = e_flags & EF_SRAMECC_V3   ? RAWHAL_FEATURE_ON
                      : has & PROCESSOR_SRAMECC ? RAWHAL_FEATURE_OFF
                                                : RAWHAL_FEATURE_UNSUPPORTED;
    return;
  }
  target->xnack = (rawhal_feature_t)(e_flags >> EF_XNACK_SHIFT & 3);
  if (target->xnack == RAWHAL_FEATURE_ON && processor && processor->flags & PROCESSOR_XNACK_ALWAYS)
    target->xnack = RAWHAL_FEATURE_ANY; /* LLVM since 2026-07 says what cannot be otherwise */
  target->sramecc = (rawhal_feature_t)(e_flags >> EF_SRAMECC_SHIFT & 3);
  if (abi_version >= ABI_V6)
    target->generic_version = e_flags >> EF_GENERIC_VERSION_SHIFT;
}

/* ---- Text ---- */

static bool find(rawhal_string_t text, const char *word, size_t *at)
{
  size_t size = strlen(word);
  for (size_t i = 0; i + size <= text.size; ++i)
    if (memcmp(text.data + i, word, size) == 0) {
      *at = i;
      return true;
    }
  return false;
}

static rawhal_status_t parse_feature(rawhal_string_t word, const processor_t *processor,
                                     rawhal_target_t *target, rawhal_error_t *error)
{
  static const struct {
    char name[8];
    uint8_t flag;
    size_t field;
  } features[] = {
      {"xnack", PROCESSOR_XNACK, offsetof(rawhal_target_t, xnack)},
      {"sramecc", PROCESSOR_SRAMECC, offsetof(rawhal_target_t, sramecc)},
  };
  char sign = word.size ? word.data[word.size - 1] : 0;
  size_t name_size = word.size ? word.size - 1 : 0;
  for (size_t i = 0; i < sizeof(features) / sizeof(*features); ++i) {
    if (name_size != strlen(features[i].name) || memcmp(word.data, features[i].name, name_size))
      continue;
    rawhal_feature_t *field = (rawhal_feature_t *)((char *)target + features[i].field);
    if (sign != '+' && sign != '-')
      break;
    if (!(processor->flags & features[i].flag))
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s has no %s setting", processor->name,
                         features[i].name);
    if (*field != RAWHAL_FEATURE_ANY)
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is given twice", features[i].name);
    *field = sign == '+' ? RAWHAL_FEATURE_ON : RAWHAL_FEATURE_OFF;
    return RAWHAL_OK;
  }
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "'%.*s' is not a feature setting: xnack or sramecc, then + or -",
                     RAWHAL_STRING_ARGS(word));
}

/* What the triple says must be what the name says, or the generic target that covers it. */
static bool agree(const processor_t *named, const processor_t *of_triple)
{
  return !of_triple || of_triple == named ||
         (of_triple->flags & PROCESSOR_GENERIC && named->generic == of_triple->machine);
}

static rawhal_string_t processor_name(const void *none, size_t machine)
{
  (void)none;
  const processor_t *processor = processor_by_machine((uint32_t)machine);
  return processor ? rawhal_string(processor->name) : (rawhal_string_t){0};
}

static rawhal_status_t not_a_processor(rawhal_string_t name, rawhal_error_t *error)
{
  const near_phrase_t nearest = near_phrase(name, processor_name, NULL, UINT8_MAX + 1, error);
  return rawhal_fail(error, RAWHAL_NOT_FOUND, "no processor is called '%.*s'%s",
                     RAWHAL_STRING_ARGS(name), nearest.text);
}

/* *features is what follows the processor: nothing, or from a colon on. */
static rawhal_status_t parse_processor(rawhal_string_t text, const processor_t **processor,
                                       rawhal_string_t *features, rawhal_error_t *error)
{
  *processor = NULL;
  *features = (rawhal_string_t){0};
  if (!text.data)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the target id is NULL");
  const char *colon = memchr(text.data, ':', text.size);
  const rawhal_string_t before = {text.data, colon ? (size_t)(colon - text.data) : text.size};
  size_t at = 0, size = 0;
  const processor_t *of_triple = processor_by_triple(before, &size);
  const bool has_name = find(text, "gfx", &at);
  if (has_name && colon && at > before.size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "'%.*s': features stand before the processor", RAWHAL_STRING_ARGS(text));
  if (has_name ? at > 0 && text.data[at - 1] != '-'
               : !of_triple || (size < before.size && before.data[size] != '-'))
    return rawhal_fail(error, size && !of_triple ? RAWHAL_NOT_FOUND : RAWHAL_INVALID_ARGUMENT,
                       "'%.*s' names no gfx processor", RAWHAL_STRING_ARGS(text));
  const rawhal_string_t name = {text.data + at, before.size - at};
  *processor = has_name ? processor_by_name(name) : of_triple;
  if (!*processor)
    return not_a_processor(name, error);
  if (!agree(*processor, of_triple))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "'%.*s': the triple is for %s",
                       RAWHAL_STRING_ARGS(text), of_triple->name);
  *features = (rawhal_string_t){text.data + before.size, text.size - before.size};
  return RAWHAL_OK;
}

rawhal_status_t rawhal_target_parse(rawhal_string_t text, rawhal_target_t *target,
                                    rawhal_error_t *error)
{
  if (!target)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "target is NULL");
  *target = (rawhal_target_t){0};
  const processor_t *processor;
  rawhal_string_t rest;
  rawhal_status_t found = parse_processor(text, &processor, &rest, error);
  if (found != RAWHAL_OK)
    return found;
  rawhal_target_t parsed = {
      .machine = processor->machine,
      .generic_version = processor->flags & PROCESSOR_GENERIC ? processor->generic_version : 0,
      .xnack = processor->flags & PROCESSOR_XNACK ? RAWHAL_FEATURE_ANY : 0,
      .sramecc = processor->flags & PROCESSOR_SRAMECC ? RAWHAL_FEATURE_ANY : 0,
  };
  set_processor(&parsed, processor);
  while (rest.size) { /* ":feature" */
    const char *next = memchr(rest.data + 1, ':', rest.size - 1);
    size_t size = next ? (size_t)(next - rest.data) : rest.size;
    rawhal_status_t status =
        parse_feature((rawhal_string_t){rest.data + 1, size - 1}, processor, &parsed, error);
    if (status != RAWHAL_OK)
      return status;
    rest = (rawhal_string_t){rest.data + size, rest.size - size};
  }
  *target = parsed;
  return RAWHAL_OK;
}

static void print_target(print_t *text, const rawhal_target_t *target)
{
  if (target->processor[0])
    print(text, "%.*s", (int)sizeof(target->processor), target->processor);
  else
    print(text, "mach-0x%x", target->machine);
  if (target->sramecc >= RAWHAL_FEATURE_OFF)
    print(text, ":sramecc%c", target->sramecc == RAWHAL_FEATURE_ON ? '+' : '-');
  if (target->xnack >= RAWHAL_FEATURE_OFF)
    print(text, ":xnack%c", target->xnack == RAWHAL_FEATURE_ON ? '+' : '-');
}

size_t rawhal_target_format(const rawhal_target_t *target, char *buffer, size_t size)
{
  print_t text = print_into(buffer, size);
  print_target(&text, target);
  return text.length;
}

/* ---- Matching (as ROCr decides it) ---- */

/* A setting the object insists on must be the device's; ANY and UNSUPPORTED fit both. */
static bool feature_fits(rawhal_feature_t object, rawhal_feature_t device)
{
  return object < RAWHAL_FEATURE_OFF || object == device;
}

uint32_t rawhal_target_match(const rawhal_target_t *object, const rawhal_target_t *device)
{
  uint32_t mismatch = 0;
  const processor_t *wanted = processor_by_machine(object->machine);
  const processor_t *present = processor_by_machine(device->machine);
  if (!wanted || !present)
    mismatch |= RAWHAL_MISMATCH_PROCESSOR;
  else if (wanted == present)
    ;
  else if (!(wanted->flags & PROCESSOR_GENERIC))
    mismatch |= RAWHAL_MISMATCH_PROCESSOR;
  else if (present->generic != wanted->machine)
    mismatch |= RAWHAL_MISMATCH_GENERIC_FAMILY;
  else if (object->generic_version < present->generic_version)
    mismatch |= RAWHAL_MISMATCH_GENERIC_VERSION;
  if (!feature_fits(object->xnack, device->xnack))
    mismatch |= RAWHAL_MISMATCH_XNACK;
  if (!feature_fits(object->sramecc, device->sramecc))
    mismatch |= RAWHAL_MISMATCH_SRAMECC;
  return mismatch;
}

size_t rawhal_target_explain(uint32_t mismatch, const rawhal_target_t *object,
                             const rawhal_target_t *device, char *buffer, size_t size)
{
  print_t text = print_into(buffer, size);
  if (!mismatch) {
    print_target(&text, object);
    print(&text, " runs on ");
    print_target(&text, device);
  }
  const char *separator = "";
  if (mismatch & (RAWHAL_MISMATCH_PROCESSOR | RAWHAL_MISMATCH_GENERIC_FAMILY)) {
    print(&text, "%s: object ",
          mismatch & RAWHAL_MISMATCH_PROCESSOR ? "processor" : "generic family");
    print_target(&text, object);
    print(&text, ", device ");
    print_target(&text, device);
    separator = "; ";
  }
  if (mismatch & RAWHAL_MISMATCH_GENERIC_VERSION) {
    const processor_t *present = processor_by_machine(device->machine);
    print(&text, "%sgeneric version: object %u, device needs %u", separator,
          object->generic_version, present ? present->generic_version : 0u);
    separator = "; ";
  }
  if (mismatch & RAWHAL_MISMATCH_XNACK) {
    print(&text, "%sxnack: object %s, device %s", separator, feature_name(object->xnack),
          feature_name(device->xnack));
    separator = "; ";
  }
  if (mismatch & RAWHAL_MISMATCH_SRAMECC)
    print(&text, "%ssramecc: object %s, device %s", separator, feature_name(object->sramecc),
          feature_name(device->sramecc));
  return text.length;
}
