#include "tools/shared/demangle.h"

#include <setjmp.h>
#include <string.h>
#include <unistd.h>

/* libstdc++ itself takes no more than 1 KiB. */
enum { LONGEST = 1024, GROWTH = 16, MOST = LONGEST * GROWTH };

bool demangle_text(demangle_when_t when)
{
  return when == DEMANGLE_ALWAYS || (when == DEMANGLE_ON_TERMINALS && isatty(STDOUT_FILENO));
}

#ifdef RAWHAL_DEMANGLES

/* libstdc++'s, which hands the text over in pieces as it finds it. __cxa_demangle() gathers it
 * first, and of 200 bytes that is more than there is memory. */
extern int __gcclibcxx_demangle_callback(const char *name,
                                         void (*take)(const char *text, size_t size, void *context),
                                         void *context);

typedef struct text {
  char bytes[MOST + 4]; /* ".kd" */
  size_t size, most;
  jmp_buf too_long;
} text_t;

/* It cannot be told to stop. It has no memory but its stack, so it can be left. */
static void take(const char *piece, size_t size, void *context)
{
  text_t *text = context;
  if (size > text->most - text->size)
    longjmp(text->too_long, 1);
  memcpy(text->bytes + text->size, piece, size);
  text->size += size;
}

static bool make(const char *name, text_t *text)
{
  return !setjmp(text->too_long) && __gcclibcxx_demangle_callback(name, take, text) == 0;
}

rawhal_string_t demangle(rawhal_string_t name)
{
  static const char ending[] = ".kd";
  static text_t text;
  char mangled[LONGEST + 1];
  if (name.size < 3 || name.size > LONGEST || memcmp(name.data, "_Z", 2) != 0 ||
      memchr(name.data, 0, name.size))
    return name;
  const bool descriptor = memcmp(name.data + name.size - 3, ending, 3) == 0;
  const size_t size = name.size - (descriptor ? 3 : 0);
  memcpy(mangled, name.data, size);
  mangled[size] = 0;
  text.size = 0;
  text.most = size * GROWTH;
  if (!make(mangled, &text) || !text.size)
    return name;
  if (descriptor) {
    memcpy(text.bytes + text.size, ending, 3);
    text.size += 3;
  }
  return (rawhal_string_t){text.bytes, text.size};
}

#else

rawhal_string_t demangle(rawhal_string_t name)
{
  return name;
}

#endif
