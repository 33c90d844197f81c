/* rawhal header: C identifiers from names that may be anything. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/header/header.h"

static bool is_letter(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Copies `name` with '_' for each byte that no identifier has; true when there was none. */
static bool copy_words(char *to, rawhal_string_t name)
{
  bool same = true;
  for (size_t i = 0; i < name.size; ++i) {
    char c = name.data[i];
    bool word = is_letter(c) || (c >= '0' && c <= '9') || c == '_';
    to[i] = word ? c : '_';
    same = same && word;
  }
  return same;
}

char *header_kernel_identifier(rawhal_string_t name, bool *exact)
{
  char *identifier = calloc(1, name.size + 16);
  if (!identifier)
    return NULL;
  *exact = copy_words(identifier, name) && name.size;
  uint32_t hash = 0x811c9dc5; /* FNV-1a */
  for (size_t i = 0; i < name.size; ++i)
    hash = (hash ^ (unsigned char)name.data[i]) * 0x01000193;
  if (!*exact)
    snprintf(identifier + name.size, 16, "_%08" PRIx32, hash);
  return identifier;
}

/* ---- Arguments ---- */

/* Words of C up to C23 and of C++ up to C++23, and macros that compilers and common headers define
 * without parameters. Sorted as strcmp() does. */
static const char *const reserved[] = {
    "NULL",
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "complex",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "contract_assert",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "errno",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "i386",
    "if",
    "imaginary",
    "import",
    "inline",
    "int",
    "int16_t",
    "int32_t",
    "int64_t",
    "int8_t",
    "linux",
    "long",
    "module",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "noreturn",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "reflexpr",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "stderr",
    "stdin",
    "stdout",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "typeof_unqual",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "uint8_t",
    "union",
    "unix",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
};

static int compare_words(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_reserved(const char *word)
{
  /* The limits of <stdint.h> are many macros with few ends. */
  static const char *const ends[] = {"_MAX", "_MIN", "_WIDTH"};
  size_t length = strlen(word);
  for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); ++i)
    if (length > strlen(ends[i]) && !strcmp(word + length - strlen(ends[i]), ends[i]))
      return true;
  return bsearch(&word, reserved, sizeof(reserved) / sizeof(*reserved), sizeof(*reserved),
                 compare_words);
}

/* The header's own types and macros begin so, with anything after it. Names with a leading '_' are
 * the compiler's, which has macros there: they do not begin with a letter. */
static bool is_ours(rawhal_string_t name)
{
  static const char *const starts[] = {"KERNARG_", "RAWHAL_", "kernarg_", "rawhal_"};
  for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); ++i)
    if (name.size >= strlen(starts[i]) && !memcmp(name.data, starts[i], strlen(starts[i])))
      return true;
  return false;
}

/* What an argument would be called if it were alone. */
static char *argument_identifier(rawhal_string_t name, size_t index)
{
  char *identifier = calloc(1, name.size + 32);
  if (!identifier)
    return NULL;
  if (!name.size) {
    snprintf(identifier, 32, "arg%zu", index);
    return identifier;
  }
  size_t prefix = is_letter(name.data[0]) && !is_ours(name) ? 0 : strlen("arg_");
  memcpy(identifier, "arg_", prefix);
  copy_words(identifier + prefix, name);
  if (is_reserved(identifier))
    identifier[prefix + name.size] = '_';
  return identifier;
}

bool header_name_extend(char **identifier)
{
  size_t length = strlen(*identifier);
  char *longer = realloc(*identifier, length + 2);
  if (!longer)
    return false;
  memcpy(longer + length, "_", 2);
  *identifier = longer;
  return true;
}

/* "NAME_OFFSET". Two of these are never equal, as no two members with bytes have one offset; a name
 * from the file may be: then '_' are added until none is. */
static char *with_offset(const header_names_t *names, const char *name, uint64_t offset)
{
  size_t room = strlen(name) + 24;
  char *identifier = malloc(room);
  if (!identifier)
    return NULL;
  snprintf(identifier, room, "%s_%" PRIu64, name, offset);
  while (
      bsearch(&identifier, names->alone, names->alone_count, sizeof(*names->alone), compare_words))
    if (!header_name_extend(&identifier)) {
      free(identifier);
      return NULL;
    }
  return identifier;
}

char *header_names_padding(const header_names_t *names, uint64_t offset)
{
  return with_offset(names, "padding", offset);
}

void header_names_release(header_names_t *names)
{
  for (size_t i = 0; names->arguments && i < names->count; ++i)
    free(names->arguments[i]);
  free(names->arguments);
  free(names->alone);
  *names = (header_names_t){0};
}

static bool has_member(const rawhal_kernarg_argument_t *argument)
{
  return !argument->hidden && argument->size;
}

/* Sorts pointers to all names and keeps those that stand alone. */
static void find_alone(header_names_t *names, size_t count)
{
  char **sorted = names->alone;
  qsort(sorted, count, sizeof(*sorted), compare_words);
  for (size_t i = 0, next; i < count; i = next) {
    for (next = i + 1; next < count && !strcmp(sorted[next], sorted[i]);)
      ++next;
    if (next == i + 1)
      sorted[names->alone_count++] = sorted[i];
  }
}

static bool make(const rawhal_kernarg_layout_t *layout, header_names_t *names)
{
  size_t members = 0;
  for (size_t i = 0; i < names->count; ++i) {
    const rawhal_kernarg_argument_t *argument = rawhal_kernarg_layout_argument(layout, i);
    if (!has_member(argument))
      continue;
    names->arguments[i] = argument_identifier(argument->name, i);
    if (!names->arguments[i])
      return false;
    names->alone[members++] = names->arguments[i];
  }
  find_alone(names, members);
  for (size_t i = 0; i < names->count; ++i) {
    char *name = names->arguments[i];
    if (!name || bsearch(&name, names->alone, names->alone_count, sizeof(name), compare_words))
      continue;
    names->arguments[i] =
        with_offset(names, name, rawhal_kernarg_layout_argument(layout, i)->offset);
    free(name);
    if (!names->arguments[i])
      return false;
  }
  return true;
}

bool header_names_make(const rawhal_kernarg_layout_t *layout, header_names_t *names)
{
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout);
  *names = (header_names_t){.count = (size_t)info->visible_count + info->hidden_count};
  names->arguments = calloc(names->count + 1, sizeof(*names->arguments));
  names->alone = calloc(names->count + 1, sizeof(*names->alone));
  if (names->arguments && names->alone && make(layout, names))
    return true;
  header_names_release(names);
  return false;
}
