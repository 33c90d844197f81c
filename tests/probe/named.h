// Registers that the text of an instruction names.
#ifndef RAWHAL_TESTS_PROBE_NAMED_H
#define RAWHAL_TESTS_PROBE_NAMED_H

#include <cctype>
#include <cstdlib>
#include <cstring>

extern "C" {
#include "probe/code.h"
}

struct Named {
  code_set_t named[3]; // SGPRs, VGPRs, AGPRs
};

inline uint64_t named_number(const char **at)
{
  char *end;
  const uint64_t value = strtoul(*at, &end, 10);
  *at = end;
  return value;
}

// s5, v[4:7]; not a part of another word, as in 0xa1 or vcc.
inline void add_named(const char *text, const char *end, Named *line)
{
  for (const char *at = text; at < end; ++at) {
    const char *kind = strchr("sva", *at);
    if (!kind || !*kind || (at > text && (isalnum(at[-1]) || at[-1] == '_')))
      continue;
    const char *next = at + 1;
    if (*next == '[')
      ++next;
    if (!isdigit(*next))
      continue;
    const uint64_t first = named_number(&next);
    uint64_t last = first;
    if (at[1] == '[' && *next == ':')
      last = named_number(&++next);
    if (at[1] != '[' && (isalnum(*next) || *next == '_'))
      continue;
    code_set_add(&line->named[kind - "sva"], static_cast<uint32_t>(first),
                 static_cast<uint32_t>(last - first + 1));
  }
}

// How many of them are not in the others.
inline uint32_t missing(const code_set_t &all, const code_set_t &from)
{
  code_set_t left = {};
  for (int i = 0; i < 4; ++i)
    left.bits[i] = all.bits[i] & ~from.bits[i];
  return code_set_count(&left);
}

#endif
