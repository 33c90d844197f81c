/* r_debug and its list, as a debugger of shared objects reads them: <link.h>. */
#include "debug/core/walk_internal.h"

#include <elf.h>

enum { URI_BYTES = 128, OSABI_HSA = 64, COST_OF_RANGE = 8 };

/* A number as in C: decimal, 0x or 0. */
static bool take_number(const char **text, uint64_t *value)
{
  unsigned base = 10;
  const char *at = *text;
  if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
    base = 16;
    at += 2;
  } else if (at[0] == '0') {
    base = 8;
  }
  const char *start = at;
  for (*value = 0;; ++at) {
    const unsigned char c = (unsigned char)*at, letter = c | 0x20;
    const unsigned digit = c >= '0' && c <= '9'             ? c - 48u
                           : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10u
                                                            : 16u;
    if (digit >= base)
      break;
    if (*value > (UINT64_MAX - digit) / base)
      return false;
    *value = *value * base + digit;
  }
  *text = at;
  return at > start;
}

static bool take_word(const char **text, const char *word)
{
  const size_t size = strlen(word);
  if (strncmp(*text, word, size) != 0)
    return false;
  *text += size;
  return true;
}

/* memory://PID#offset=ADDRESS&size=N */
static bool read_uri(const walk_t *walk, const char *uri, walk_object_t *object)
{
  uint64_t process;
  return take_word(&uri, "memory://") && take_number(&uri, &process) &&
         (!walk->view->process || process == (uint64_t)walk->view->process) &&
         take_word(&uri, "#offset=") && take_number(&uri, &object->address) &&
         take_word(&uri, "&size=") && take_number(&uri, &object->size) && !*uri;
}

static bool look_at_object(walk_t *walk, const core_format_link_t *link)
{
  char uri[URI_BYTES];
  Elf64_Ehdr header;
  walk_object_t object = {.delta = link->delta};
  size_t looked;
  const size_t size = (size_t)core_view_has(walk->view, link->name, sizeof(uri) - 1, NULL);
  if (!walk_read(walk, link->name, uri, size, MISTAKE_CODE_OBJECT))
    return false;
  uri[size] = 0;
  if (strncmp(uri, "file://", 7) == 0) /* read where the debugger runs */
    return walk_partial(walk, MISTAKE_OBJECT_ELSEWHERE, link->name);
  if (!read_uri(walk, uri, &object) || object.size < sizeof(header) ||
      core_view_has(walk->view, object.address, object.size, &looked) < object.size)
    return walk_fail(walk, MISTAKE_CODE_OBJECT, link->name);
  if (!walk_pay(walk, COST_OF_RANGE * (uint64_t)looked, link->name) ||
      !walk_read(walk, object.address, &header, sizeof(header), MISTAKE_CODE_OBJECT))
    return false;
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_OSABI] != OSABI_HSA || header.e_ident[EI_ABIVERSION] < 1)
    return walk_fail(walk, MISTAKE_CODE_OBJECT, object.address);
  return !walk->visitor->object || walk->visitor->object(walk->visitor->context, &object);
}

/* A list that runs in a circle ends where nothing is left to pay with. */
bool walk_objects(walk_t *walk)
{
  core_format_r_debug_t r_debug;
  core_format_link_t link;
  if (!walk_read(walk, walk->runtime.r_debug, &r_debug, sizeof(r_debug), MISTAKE_R_DEBUG))
    return false;
  walk->finding->r_debug = walk->runtime.r_debug;
  walk->finding->r_version = r_debug.version;
  if (r_debug.version < FORMAT_OLDEST_ABI || r_debug.version > FORMAT_NEWEST_ABI)
    return walk_fail(walk, MISTAKE_R_VERSION, walk->runtime.r_debug);
  if (r_debug.state)
    return walk_partial(walk, MISTAKE_R_STATE, walk->runtime.r_debug);
  for (uint64_t at = r_debug.map; at; at = link.next)
    if (!walk_read(walk, at, &link, sizeof(link), MISTAKE_R_DEBUG) || !look_at_object(walk, &link))
      return false;
  return true;
}
