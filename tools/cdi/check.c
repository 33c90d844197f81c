/* Is a CDI specification as the format has it (versions 0.3.0 to 1.0.0), and is what it names here?
 * One table says what may stand where, and since which version. */
#include "tools/cdi/cdi.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jansson.h"
#include "tools/shared/file.h"
#include "tools/shared/tool.h"

enum { SPEC_BYTES = 16 << 20, WHERE_BYTES = 256, VERSION_FACTOR = 1000 };

typedef struct checking {
  const char *path;
  size_t mistakes;
  unsigned version; /* major * 1000 + minor */
} checking_t;

/* ---- Words ---- */

static bool is_letter(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_alphanumeric(char c)
{
  return is_letter(c) || (c >= '0' && c <= '9');
}

/* One or more of letters, digits and `others`, with a letter (or also a digit) first and neither of
 * `others` last. */
static bool is_name(const char *text, size_t size, const char *others, bool digit_first)
{
  if (size == 0 || !(digit_first ? is_alphanumeric(*text) : is_letter(*text)) ||
      !is_alphanumeric(text[size - 1]))
    return false;
  for (size_t i = 0; i < size; ++i)
    if (!is_alphanumeric(text[i]) && !strchr(others, text[i]))
      return false;
  return true;
}

static bool kind_is_valid(const char *kind, bool dots)
{
  const char *slash = strchr(kind, '/');
  return slash && is_name(kind, (size_t)(slash - kind), "_-.", false) &&
         is_name(slash + 1, strlen(slash + 1), dots ? "_-." : "_-", false);
}

bool cdi_kind_is_valid(const char *kind)
{
  return kind_is_valid(kind, false);
}

static bool check_kind(const char *text, const checking_t *checking)
{
  return kind_is_valid(text, checking->version >= 6);
}

static bool check_name(const char *text, const checking_t *checking)
{
  return is_name(text, strlen(text), "_-.:", checking->version >= 5);
}

static bool check_variable(const char *text, const checking_t *checking)
{
  (void)checking;
  return *text != '=' && strchr(text, '=');
}

static bool check_filled(const char *text, const checking_t *checking)
{
  (void)checking;
  return *text;
}

static bool check_absolute(const char *text, const checking_t *checking)
{
  (void)checking;
  return *text == '/';
}

static bool check_there(const char *text, const checking_t *checking)
{
  return check_absolute(text, checking) && access(text, F_OK) == 0;
}

static bool check_permissions(const char *text, const checking_t *checking)
{
  (void)checking;
  return strspn(text, "rwm") == strlen(text);
}

static bool is_one_of(const char *text, const char *const *words, size_t count)
{
  for (size_t i = 0; i < count; ++i)
    if (!strcmp(text, words[i]))
      return true;
  return false;
}

static bool check_node_type(const char *text, const checking_t *checking)
{
  static const char *const types[] = {"", "b", "c", "u", "p"};
  (void)checking;
  return is_one_of(text, types, sizeof(types) / sizeof(*types));
}

static bool check_hook_name(const char *text, const checking_t *checking)
{
  static const char *const names[] = {"prestart",       "createRuntime", "createContainer",
                                      "startContainer", "poststart",     "poststop"};
  (void)checking;
  return is_one_of(text, names, sizeof(names) / sizeof(*names));
}

/* ---- What may stand where ---- */

typedef enum what { SPEC, DEVICE, EDITS, NODE, MOUNT, HOOK, RDT, NET } what_t;
typedef enum shape { TEXT, TEXTS, NUMBER, NUMBERS, FLAG, MAP, OBJECT, OBJECTS } shape_t;

typedef struct field {
  what_t of;
  const char *name;
  shape_t shape;
  unsigned since;
  bool needed;
  what_t part; /* of OBJECT and OBJECTS */
  bool (*check)(const char *text, const checking_t *checking);
  const char *expected;
} field_t;

enum { FIRST = 0 };

static const field_t fields[] = {
    {SPEC, "cdiVersion", TEXT, FIRST, true, SPEC, check_filled, "a version"},
    {SPEC, "kind", TEXT, FIRST, true, SPEC, check_kind, "VENDOR/CLASS"},
    {SPEC, "annotations", MAP, 6, false, SPEC, NULL, NULL},
    {SPEC, "devices", OBJECTS, FIRST, true, DEVICE, NULL, NULL},
    {SPEC, "containerEdits", OBJECT, FIRST, false, EDITS, NULL, NULL},
    {DEVICE, "name", TEXT, FIRST, true, SPEC, check_name, "a name of letters, digits and _-.:"},
    {DEVICE, "annotations", MAP, 6, false, SPEC, NULL, NULL},
    {DEVICE, "containerEdits", OBJECT, FIRST, true, EDITS, NULL, NULL},
    {EDITS, "env", TEXTS, FIRST, false, SPEC, check_variable, "NAME=VALUE"},
    {EDITS, "deviceNodes", OBJECTS, FIRST, false, NODE, NULL, NULL},
    {EDITS, "mounts", OBJECTS, FIRST, false, MOUNT, NULL, NULL},
    {EDITS, "hooks", OBJECTS, FIRST, false, HOOK, NULL, NULL},
    {EDITS, "intelRdt", OBJECT, 7, false, RDT, NULL, NULL},
    {EDITS, "additionalGids", NUMBERS, 7, false, SPEC, NULL, NULL},
    {EDITS, "netDevices", OBJECTS, VERSION_FACTOR + 1, false, NET, NULL, NULL},
    {NODE, "path", TEXT, FIRST, true, SPEC, check_absolute, "an absolute path"},
    {NODE, "hostPath", TEXT, 5, false, SPEC, check_there, "a path that is here"},
    {NODE, "type", TEXT, FIRST, false, SPEC, check_node_type, "b, c, u or p"},
    {NODE, "major", NUMBER, FIRST, false, SPEC, NULL, NULL},
    {NODE, "minor", NUMBER, FIRST, false, SPEC, NULL, NULL},
    {NODE, "fileMode", NUMBER, FIRST, false, SPEC, NULL, NULL},
    {NODE, "permissions", TEXT, FIRST, false, SPEC, check_permissions, "some of r, w and m"},
    {NODE, "uid", NUMBER, FIRST, false, SPEC, NULL, NULL},
    {NODE, "gid", NUMBER, FIRST, false, SPEC, NULL, NULL},
    {MOUNT, "hostPath", TEXT, FIRST, true, SPEC, check_there, "a path that is here"},
    {MOUNT, "containerPath", TEXT, FIRST, true, SPEC, check_absolute, "an absolute path"},
    {MOUNT, "options", TEXTS, FIRST, false, SPEC, check_filled, "options of mount(8)"},
    {MOUNT, "type", TEXT, 4, false, SPEC, NULL, NULL},
    {HOOK, "hookName", TEXT, FIRST, true, SPEC, check_hook_name, "a hook of OCI's"},
    {HOOK, "path", TEXT, FIRST, true, SPEC, check_there, "a path that is here"},
    {HOOK, "args", TEXTS, FIRST, false, SPEC, NULL, NULL},
    {HOOK, "env", TEXTS, FIRST, false, SPEC, check_variable, "NAME=VALUE"},
    {HOOK, "timeout", NUMBER, FIRST, false, SPEC, NULL, NULL},
    {RDT, "closID", TEXT, FIRST, false, SPEC, NULL, NULL},
    {RDT, "l3CacheSchema", TEXT, FIRST, false, SPEC, NULL, NULL},
    {RDT, "memBwSchema", TEXT, FIRST, false, SPEC, NULL, NULL},
    {RDT, "enableCMT", FLAG, FIRST, false, SPEC, NULL, NULL},
    {RDT, "enableMBM", FLAG, FIRST, false, SPEC, NULL, NULL},
    {NET, "hostInterfaceName", TEXT, FIRST, true, SPEC, check_filled, "a name"},
    {NET, "name", TEXT, FIRST, true, SPEC, check_filled, "a name"},
};

enum { FIELDS = sizeof(fields) / sizeof(*fields) };

/* ---- Walking ---- */

__attribute__((format(printf, 3, 4))) static void complain(checking_t *checking, const char *where,
                                                           const char *format, ...)
{
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  ++checking->mistakes;
  tool_print_string(checking->path);
  fputs(": ", stdout);
  tool_print_string(where);
  printf("%s", *where ? ": " : "");
  tool_print_string(text);
  putchar('\n');
}

static void check_object(checking_t *checking, what_t what, const json_t *object,
                         const char *where);

static void check_text(checking_t *checking, const field_t *field, const json_t *value,
                       const char *where)
{
  const char *text = jansson.string_value(value);
  if (!text || strlen(text) != jansson.string_length(value))
    complain(checking, where, "expected a string");
  else if (field->check && !field->check(text, checking))
    complain(checking, where, "expected %s, got '%.200s'", field->expected, text);
}

static void check_part(checking_t *checking, const field_t *field, shape_t shape,
                       const json_t *value, const char *where)
{
  switch (shape) {
  case TEXT:
    check_text(checking, field, value, where);
    break;
  case NUMBER:
    if (!json_is_integer(value) || jansson.integer_value(value) < 0)
      complain(checking, where, "expected a number");
    break;
  case FLAG:
    if (!json_is_boolean(value))
      complain(checking, where, "expected true or false");
    break;
  case MAP:
    if (!json_is_object(value))
      complain(checking, where, "expected an object");
    break;
  default:
    check_object(checking, field->part, value, where);
  }
}

static bool is_list(shape_t shape)
{
  return shape == TEXTS || shape == NUMBERS || shape == OBJECTS;
}

static void check_list(checking_t *checking, const field_t *field, const json_t *list,
                       const char *where)
{
  const shape_t each = field->shape == TEXTS ? TEXT : field->shape == NUMBERS ? NUMBER : OBJECT;
  if (!json_is_array(list)) {
    complain(checking, where, "expected an array");
    return;
  }
  const size_t count = jansson.array_size(list);
  if (field->needed && count == 0)
    complain(checking, where, "expected at least one");
  for (size_t i = 0; i < count; ++i) {
    char place[WHERE_BYTES];
    snprintf(place, sizeof(place), "%.200s[%zu]", where, i);
    check_part(checking, field, each, jansson.array_get(list, i), place);
  }
}

static const field_t *find_field(what_t what, const char *name)
{
  for (size_t i = 0; i < FIELDS; ++i)
    if (fields[i].of == what && !strcmp(fields[i].name, name))
      return &fields[i];
  return NULL;
}

static void check_member(checking_t *checking, const field_t *field, const json_t *value,
                         const char *where)
{
  if (field->since > checking->version)
    complain(checking, where, "is of version %u.%u.0 and later", field->since / VERSION_FACTOR,
             field->since % VERSION_FACTOR);
  if (is_list(field->shape))
    check_list(checking, field, value, where);
  else
    check_part(checking, field, field->shape, value, where);
}

/* ---- Names ---- */

typedef struct named {
  const char *name;
  size_t index;
} named_t;

static int by_name(const void *a, const void *b)
{
  const named_t *one = a, *other = b;
  const int order = strcmp(one->name, other->name);
  return order ? order : (one->index > other->index) - (one->index < other->index);
}

/* A name of two is neither's: engines refuse both. False: out of memory. */
static bool check_names(checking_t *checking, const json_t *list)
{
  const size_t count = json_is_array(list) ? jansson.array_size(list) : 0;
  named_t *all = calloc(count + 1, sizeof(*all));
  size_t used = 0;
  for (size_t i = 0; all && i < count; ++i) {
    const json_t *device = jansson.array_get(list, i);
    const char *name = jansson.string_value(jansson.object_get(device, "name"));
    if (name)
      all[used++] = (named_t){name, i};
  }
  if (all)
    qsort(all, used, sizeof(*all), by_name);
  for (size_t i = 1; all && i < used; ++i)
    if (!strcmp(all[i].name, all[i - 1].name)) {
      char place[WHERE_BYTES];
      snprintf(place, sizeof(place), "devices[%zu].name", all[i].index);
      complain(checking, place, "'%.100s' is also the name of devices[%zu]", all[i].name,
               all[i - 1].index);
    }
  const bool done = all != NULL;
  free(all);
  return done;
}

static void check_object(checking_t *checking, what_t what, const json_t *object, const char *where)
{
  if (!json_is_object(object)) {
    complain(checking, where, "expected an object");
    return;
  }
  const char *dot = *where ? "." : "";
  char place[WHERE_BYTES];
  jansson_each(object, member)
  {
    const char *name = jansson.object_iter_key(member);
    const field_t *field = find_field(what, name);
    snprintf(place, sizeof(place), "%.150s%s%.100s", where, dot, name);
    if (field)
      check_member(checking, field, jansson.object_iter_value(member), place);
    else
      complain(checking, place, "is not a part of the format");
  }
  for (size_t i = 0; i < FIELDS; ++i)
    if (fields[i].of == what && fields[i].needed && !jansson.object_get(object, fields[i].name)) {
      snprintf(place, sizeof(place), "%.150s%s%.100s", where, dot, fields[i].name);
      complain(checking, place, "is missing");
    }
}

/* ---- */

/* 0.3.0 to 0.8.0, and 1.0.0 and 1.1.0, are known; what is not is read as the newest. */
static void read_version(checking_t *checking, const json_t *document)
{
  const char *text = jansson.string_value(jansson.object_get(document, "cdiVersion"));
  unsigned major = 1, minor = 1, patch = 0;
  int used = 0;
  const bool read = text && sscanf(text, "%2u.%2u.%2u%n", &major, &minor, &patch, &used) == 3 &&
                    text[used] == '\0';
  checking->version = read ? major * VERSION_FACTOR + minor : VERSION_FACTOR + 1;
  const bool known = read && patch == 0 &&
                     ((major == 0 && minor >= 3 && minor <= 8) || (major == 1 && minor <= 1));
  if (text && !known)
    complain(checking, "cdiVersion", "expected 0.3.0 to 0.8.0, 1.0.0 or 1.1.0, got '%.100s'", text);
}

bool cdi_check(const char *path, size_t *mistakes, rawhal_error_t *error)
{
  checking_t checking = {.path = path};
  unsigned char *bytes = NULL;
  size_t size;
  json_error_t why;
  if (jansson_open(error) != RAWHAL_OK || !tool_read_file(path, SPEC_BYTES, &bytes, &size, error)) {
    free(bytes);
    return false;
  }
  json_t *document = jansson.loadb((const char *)bytes, size, JSON_REJECT_DUPLICATES, &why);
  free(bytes);
  if (!document)
    return tool_refuse(error, RAWHAL_MALFORMED, "%.200s is not JSON: line %d: %.200s", path,
                       why.line, why.text);
  read_version(&checking, document);
  check_object(&checking, SPEC, document, "");
  const bool done = check_names(&checking, jansson.object_get(document, "devices"));
  jansson.delete(document);
  *mistakes = checking.mistakes;
  return done || tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for a specification");
}
