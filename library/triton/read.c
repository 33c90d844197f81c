/* The JSON beside a code object of Triton's. */
#include <inttypes.h>
#include <stdio.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/jansson.h"
#include "library/triton/parts.h"

typedef enum kind { U32, U64, POWER_OF_TWO, BOOLEAN, STRING } kind_t;

/* A member that is read. Optional ones may also be null, as Triton has them where its compiler's
 * passes say nothing. */
typedef struct member {
  const char *name;
  kind_t kind;
  bool required;
  size_t place;
  uint64_t least, most; /* of numbers */
} member_t;

#define PLACE(name) offsetof(rawhal_triton_kernel_t, name)
enum { MOST_WARPS = 1024, MOST_WARP_SIZE = 64 };

static const member_t members[] = {
    {"name", STRING, true, PLACE(name), 0, 0},
    {"shared", U32, true, PLACE(shared), 0, INT32_MAX},
    {"num_warps", U32, true, PLACE(num_warps), 1, MOST_WARPS},
    {"warp_size", U32, false, PLACE(warp_size), 1, MOST_WARP_SIZE},
    {"num_stages", U32, false, PLACE(num_stages), 0, INT32_MAX},
    {"num_ctas", U32, false, PLACE(num_ctas), 1, INT32_MAX},
    {"launch_cooperative_grid", BOOLEAN, false, PLACE(launch_cooperative_grid), 0, 0},
    {"global_scratch_size", U64, false, PLACE(global_scratch_size), 0, INT64_MAX},
    {"global_scratch_align", POWER_OF_TWO, false, PLACE(global_scratch_align), 1, INT32_MAX},
    {"profile_scratch_size", U64, false, PLACE(profile_scratch_size), 0, INT64_MAX},
    {"profile_scratch_align", POWER_OF_TWO, false, PLACE(profile_scratch_align), 1, INT32_MAX},
    {"hash", STRING, false, PLACE(hash), 0, 0},
    {"triton_version", STRING, false, PLACE(triton_version), 0, 0},
};

/* Of the object "target", which earlier versions have as a list, in this order. */
static const member_t target_members[] = {
    {"backend", STRING, true, PLACE(backend), 0, 0},
    {"arch", STRING, true, PLACE(arch), 0, 0},
    {"warp_size", U32, false, PLACE(warp_size), 1, MOST_WARP_SIZE},
};

/* TRITON_OVERRIDE_ARCH compiles for another processor than the target's: this one. */
static const member_t arch_member = {"arch", STRING, false, PLACE(arch), 0, 0};

static const char *type_name(const json_t *value)
{
  static const char *const names[] = {"an object", "a list", "a string", "an integer",
                                      "a real",    "true",   "false",    "null"};
  return names[json_typeof(value)];
}

static rawhal_status_t wrong_type(const member_t *member, const json_t *value,
                                  rawhal_error_t *error)
{
  static const char *const wanted[] = {[U32] = "a number",
                                       [U64] = "a number",
                                       [POWER_OF_TWO] = "a number",
                                       [BOOLEAN] = "true or false",
                                       [STRING] = "a string"};
  return rawhal_fail(error, RAWHAL_MALFORMED, "'%s' is %s, not %s", member->name, type_name(value),
                     wanted[member->kind]);
}

static rawhal_status_t take_string(const member_t *member, const json_t *value, arena_t *arena,
                                   rawhal_string_t *place, rawhal_error_t *error)
{
  rawhal_string_t text = {jansson.string_value(value), jansson.string_length(value)};
  if (!json_is_string(value))
    return wrong_type(member, value, error);
  if (!text.size && member->required)
    return rawhal_fail(error, RAWHAL_MALFORMED, "'%s' is empty", member->name);
  for (size_t i = 0; i < text.size; ++i)
    if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f)
      return rawhal_fail(error, RAWHAL_MALFORMED, "'%s' has a control character at %zu",
                         member->name, i);
  char *copy = arena_alloc(arena, text.size + 1);
  if (!copy)
    return arena_fail(arena, error);
  memcpy(copy, text.data, text.size + 1);
  *place = (rawhal_string_t){copy, text.size};
  return RAWHAL_OK;
}

static rawhal_status_t take_number(const member_t *member, const json_t *value, uint64_t *number,
                                   rawhal_error_t *error)
{
  if (!json_is_integer(value))
    return wrong_type(member, value, error);
  json_int_t given = jansson.integer_value(value);
  *number = (uint64_t)given;
  if (given < 0 || *number < member->least || *number > member->most)
    return rawhal_fail(error, RAWHAL_MALFORMED, "'%s' is %lld, not %" PRIu64 " to %" PRIu64,
                       member->name, (long long)given, member->least, member->most);
  if (member->kind == POWER_OF_TWO && !is_power_of_two(*number))
    return rawhal_fail(error, RAWHAL_MALFORMED, "'%s' is %lld, not a power of two", member->name,
                       (long long)given);
  return RAWHAL_OK;
}

static rawhal_status_t take(const member_t *member, const json_t *value, arena_t *arena,
                            rawhal_triton_kernel_t *entry, rawhal_error_t *error)
{
  void *place = (char *)entry + member->place;
  uint64_t number = 0;
  if (!value && member->required)
    return rawhal_fail(error, RAWHAL_MALFORMED, "there is no '%s'", member->name);
  if (!value || (!member->required && json_is_null(value)))
    return RAWHAL_OK;
  if (member->kind == STRING)
    return take_string(member, value, arena, place, error);
  if (member->kind == BOOLEAN) {
    *(bool *)place = json_is_true(value);
    return json_is_boolean(value) ? RAWHAL_OK : wrong_type(member, value, error);
  }
  rawhal_status_t status = take_number(member, value, &number, error);
  if (status == RAWHAL_OK && member->kind == U32)
    *(uint32_t *)place = (uint32_t)number;
  else if (status == RAWHAL_OK)
    *(uint64_t *)place = number;
  return status;
}

static rawhal_status_t take_target(const json_t *target, arena_t *arena,
                                   rawhal_triton_kernel_t *entry, rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  if (!target || json_is_null(target))
    return RAWHAL_OK;
  if (!json_is_object(target) && !json_is_array(target))
    return rawhal_fail(error, RAWHAL_MALFORMED, "'target' is %s, not an object", type_name(target));
  for (size_t i = 0; status == RAWHAL_OK && i < sizeof(target_members) / sizeof(*target_members);
       ++i) {
    const member_t *member = &target_members[i];
    const json_t *value = json_is_array(target) ? jansson.array_get(target, i)
                                                : jansson.object_get(target, member->name);
    rawhal_error_t inner;
    status = take(member, value, arena, entry, &inner);
    if (status != RAWHAL_OK)
      status = rawhal_fail(error, status, "in 'target': %s", inner.message);
    /* Of CUDA's targets "arch" is a number; that they are not AMD's is what is to be said. */
    if (i == 0 && status == RAWHAL_OK && strcmp(entry->backend.data, "hip") != 0)
      status = rawhal_fail(error, RAWHAL_UNSUPPORTED, "compiled for '%.200s', not for 'hip'",
                           entry->backend.data);
  }
  return status;
}

/* How many pointers versions from `major`.`minor` on put after a kernel's arguments, as their
 * objects show; newest first. Up to 3.2 the JSON has no version. */
static const struct scratch {
  int major, minor;
  uint32_t pointers;
} scratches[] = {{3, 5, 2}, {3, 3, 1}, {0, 0, 0}};

static uint32_t scratch_pointers(const rawhal_triton_kernel_t *entry, const json_t *root)
{
  int major = 0, minor = 0;
  if (entry->triton_version.size &&
      sscanf(entry->triton_version.data, "%3d.%3d", &major, &minor) == 2)
    for (size_t i = 0; i < sizeof(scratches) / sizeof(*scratches); ++i)
      if (major > scratches[i].major ||
          (major == scratches[i].major && minor >= scratches[i].minor))
        return scratches[i].pointers;
  return jansson.object_get(root, "profile_scratch_size")  ? 2
         : jansson.object_get(root, "global_scratch_size") ? 1
                                                           : 0;
}

static rawhal_status_t take_all(const json_t *root, arena_t *arena, rawhal_triton_kernel_t *entry,
                                rawhal_error_t *error)
{
  if (!json_is_object(root))
    return rawhal_fail(error, RAWHAL_MALFORMED, "the JSON is %s, not an object", type_name(root));
  rawhal_status_t status = take_target(jansson.object_get(root, "target"), arena, entry, error);
  for (size_t i = 0; status == RAWHAL_OK && i < sizeof(members) / sizeof(*members); ++i)
    status = take(&members[i], jansson.object_get(root, members[i].name), arena, entry, error);
  if (status == RAWHAL_OK)
    status = take(&arch_member, jansson.object_get(root, arch_member.name), arena, entry, error);
  entry->scratch_pointers = status == RAWHAL_OK ? scratch_pointers(entry, root) : 0;
  return status;
}

rawhal_status_t triton_read(const void *bytes, size_t size, arena_t *arena,
                            rawhal_triton_kernel_t *entry, rawhal_error_t *error)
{
  json_error_t wrong;
  entry->num_ctas = 1;
  rawhal_status_t status = jansson_open(error);
  if (status != RAWHAL_OK)
    return status;
  json_t *root = jansson.loadb(size ? bytes : "", size, JSON_REJECT_DUPLICATES, &wrong);
  if (!root && json_error_code(&wrong) == json_error_out_of_memory)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %zu bytes of JSON", size);
  if (!root)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, (uint64_t)wrong.position, "no JSON: %s",
                          wrong.text);
  status = take_all(root, arena, entry, error);
  jansson.delete(root);
  return status;
}
