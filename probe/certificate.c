#include "probe/certificate.h"

#include "base/error.h"
#include "base/jansson.h"
#include "hsaco/content.h"

#include <stdio.h>
#include <string.h>

enum { HASH_DIGITS = 32 };

/* ---- Reading ---- */

/* Without zeros in it. */
static bool read_text(const json_t *value, rawhal_string_t *text)
{
  const char *data = jansson.string_value(value);
  *text = (rawhal_string_t){data, data ? jansson.string_length(value) : 0};
  return text->size && strlen(data) == text->size;
}

static bool read_digits(const char *text, uint64_t *number)
{
  *number = 0;
  for (int i = 0; i < HASH_DIGITS / 2; ++i) {
    static const char digits[] = "0123456789abcdef";
    const char *digit = strchr(digits, text[i]);
    if (!text[i] || !digit)
      return false;
    *number = *number << 4 | (uint64_t)(digit - digits);
  }
  return true;
}

static bool read_hash(const json_t *value, rawhal_content_hash_t *hash)
{
  rawhal_string_t text;
  return read_text(value, &text) && text.size == HASH_DIGITS &&
         read_digits(text.data, &hash->high) &&
         read_digits(text.data + HASH_DIGITS / 2, &hash->low);
}

static bool read_object(const json_t *value, certificate_t *to)
{
  return read_hash(value, &to->subject.object);
}

static bool read_copy(const json_t *value, certificate_t *to)
{
  return read_hash(value, &to->subject.copy);
}

static bool read_kernel(const json_t *value, certificate_t *to)
{
  return read_text(value, &to->subject.kernel);
}

/* Each is one, and none is there twice. */
static bool read_kinds(const json_t *value, certificate_t *to)
{
  uint32_t *kinds = &to->subject.kinds;
  const size_t count = json_is_array(value) ? jansson.array_size(value) : 0;
  for (size_t i = 0; i < count; ++i) {
    rawhal_string_t text;
    rawhal_error_t error;
    uint32_t kind;
    if (!read_text(jansson.array_get(value, i), &text) ||
        rawhal_probe_kinds_parse(text, &kind, &error) != RAWHAL_OK ||
        !rawhal_probe_kind_name((rawhal_probe_kind_t)kind) || *kinds & kind)
      return false;
    *kinds |= kind;
  }
  return count != 0;
}

/* Who has written it is of no matter. */
static bool read_version(const json_t *value, certificate_t *to)
{
  rawhal_string_t text;
  (void)to;
  return read_text(value, &text);
}

static bool read_schema(const json_t *value, certificate_t *to)
{
  const char *text = jansson.string_value(value);
  (void)to;
  return text && strcmp(text, CERTIFICATE_SCHEMA) == 0;
}

static bool read_device(const json_t *value, certificate_t *to)
{
  rawhal_string_t target;
  const json_t *software = json_is_object(value) ? jansson.object_get(value, "software") : NULL;
  if (!software || !json_is_boolean(software) || jansson.object_size(value) != 2 ||
      !read_text(jansson.object_get(value, "target"), &target) || target.size >= CERTIFICATE_TARGET)
    return false;
  to->subject.target = target.data;
  to->subject.is_software = json_is_true(software);
  return true;
}

static bool read_count(const json_t *value, uint64_t *number)
{
  const json_int_t given = json_is_integer(value) ? jansson.integer_value(value) : -1;
  *number = (uint64_t)given;
  return given >= 0;
}

static bool read_dispatches(const json_t *value, certificate_t *to)
{
  return read_count(value, &to->dispatches) && to->dispatches;
}

static bool read_bytes(const json_t *value, certificate_t *to)
{
  return read_count(value, &to->bytes);
}

static bool read_waves(const json_t *value, certificate_t *to)
{
  to->has_waves = !json_is_null(value);
  return !to->has_waves || read_count(value, &to->waves);
}

static bool read_instructions(const json_t *value, certificate_t *to)
{
  to->has_instructions = !json_is_null(value);
  return !to->has_instructions || read_count(value, &to->instructions);
}

static bool read_records(const json_t *value, certificate_t *to)
{
  certificate_records_t *records = &to->records;
  to->has_records = !json_is_null(value);
  return !to->has_records ||
         (json_is_object(value) && jansson.object_size(value) == 3 &&
          read_count(jansson.object_get(value, "waves"), &records->waves) &&
          read_count(jansson.object_get(value, "counters"), &records->counters) &&
          read_count(jansson.object_get(value, "events"), &records->events));
}

/* All of them are there, and no others. The schema is the first: of another one, nothing else is
 * known. */
static const struct {
  const char *name, *expected;
  bool (*read)(const json_t *value, certificate_t *to);
} members[] = {
    {"schema", "\"" CERTIFICATE_SCHEMA "\"", read_schema},
    {"rawhal", "a text", read_version},
    {"kernel", "a name", read_kernel},
    {"object", "32 hexadecimal digits", read_object},
    {"copy", "32 hexadecimal digits", read_copy},
    {"kinds", "kinds of probes, each once", read_kinds},
    {"device", "a \"target\" and, true or false, \"software\" alone", read_device},
    {"dispatches", "a number above 0", read_dispatches},
    {"bytes", "a number", read_bytes},
    {"waves", "a number or null", read_waves},
    {"instructions", "a number or null", read_instructions},
    {"records", "null, or numbers of \"waves\", \"counters\" and \"events\" alone", read_records},
};
enum { MEMBERS = sizeof(members) / sizeof(*members) };

static rawhal_status_t read_members(const json_t *root, certificate_t *certificate,
                                    rawhal_error_t *error)
{
  if (!json_is_object(root))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "it is no JSON object");
  for (size_t i = 0; i < MEMBERS; ++i) {
    const json_t *value = jansson.object_get(root, members[i].name);
    if (!value || !members[i].read(value, certificate))
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "its \"%s\" is not %s", members[i].name,
                         members[i].expected);
  }
  return jansson.object_size(root) == MEMBERS
             ? RAWHAL_OK
             : rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "it has members that are none of its");
}

rawhal_status_t certificate_read(const void *text, size_t size, certificate_t *certificate,
                                 rawhal_error_t *error)
{
  json_error_t where;
  *certificate = (certificate_t){0};
  if (size > CERTIFICATE_BYTES)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "it has %zu bytes; the most is %d", size,
                       CERTIFICATE_BYTES);
  rawhal_status_t status = jansson_open(error);
  if (status != RAWHAL_OK)
    return status;
  json_t *root = jansson.loadb(size ? text : "", size, JSON_REJECT_DUPLICATES, &where);
  if (!root)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "its line %d, column %d: %s", where.line,
                       where.column, where.text);
  status = read_members(root, certificate, error);
  certificate->root = root;
  if (status != RAWHAL_OK)
    certificate_close(certificate);
  return status;
}

void certificate_close(certificate_t *certificate)
{
  if (certificate->root)
    jansson.delete(certificate->root);
  *certificate = (certificate_t){0};
}

/* ---- Using ---- */

static bool is_kernel(const certificate_subject_t *one, const certificate_subject_t *other)
{
  return one->kernel.size == other->kernel.size &&
         memcmp(one->kernel.data, other->kernel.data, one->kernel.size) == 0;
}

static bool is_object(const certificate_subject_t *one, const certificate_subject_t *other)
{
  return content_equal(one->object, other->object);
}

static bool are_kinds(const certificate_subject_t *one, const certificate_subject_t *other)
{
  return one->kinds == other->kinds;
}

static bool is_target(const certificate_subject_t *one, const certificate_subject_t *other)
{
  return strcmp(one->target, other->target) == 0;
}

static bool is_as_soft(const certificate_subject_t *one, const certificate_subject_t *other)
{
  return one->is_software == other->is_software;
}

static bool is_copy(const certificate_subject_t *one, const certificate_subject_t *other)
{
  return content_equal(one->copy, other->copy);
}

static const struct {
  bool (*same)(const certificate_subject_t *one, const certificate_subject_t *other);
  const char *otherwise;
} parts[] = {
    {is_kernel, "it is of another kernel"},
    {is_object, "it is of another code object"},
    {are_kinds, "it is of other kinds of probes"},
    {is_target, "it is of another device"},
    {is_as_soft, "it is of hardware where this is software, or the reverse"},
    {is_copy, "it is of another copy"},
};

rawhal_status_t certificate_check(const certificate_t *certificate,
                                  const certificate_subject_t *wanted, rawhal_error_t *error)
{
  for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); ++i)
    if (!parts[i].same(&certificate->subject, wanted))
      return rawhal_fail(error, RAWHAL_TARGET_MISMATCH, "%s", parts[i].otherwise);
  return RAWHAL_OK;
}

rawhal_status_t certificate_copy(const rawhal_probe_plan_t *plan, rawhal_content_hash_t *hash,
                                 rawhal_error_t *error)
{
  rawhal_bytes_t bytes;
  rawhal_status_t status = rawhal_probe_apply(plan, 0, &bytes, error);
  if (status == RAWHAL_OK)
    *hash = rawhal_content_hash(bytes.data, bytes.size);
  rawhal_probe_free(plan, &bytes);
  return status;
}

void certificate_file(const certificate_subject_t *subject, char name[CERTIFICATE_FILE])
{
  char object[CONTENT_TEXT], kernel[CONTENT_TEXT], hash[CONTENT_TEXT], about[256];
  content_text(subject->object, object);
  content_text(rawhal_content_hash(subject->kernel.data, subject->kernel.size), kernel);
  const int size =
      snprintf(about, sizeof(about), "%s %s %" PRIx32 " %.*s %d", object, kernel, subject->kinds,
               CERTIFICATE_TARGET, subject->target, subject->is_software);
  content_text(rawhal_content_hash(about, (size_t)size), hash);
  (void)snprintf(name, CERTIFICATE_FILE, "%s.json", hash);
}
