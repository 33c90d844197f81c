// How long tests may take: RAWHAL_TEST_EXTENDED in the environment says that it may be minutes (./dev test --extended),
// and "all" that it may be hours.
#ifndef RAWHAL_TESTS_EXTENDED_H
#define RAWHAL_TESTS_EXTENDED_H

#include <cstdlib>
#include <cstring>

inline bool is_extended()
{
  const char *text = getenv("RAWHAL_TEST_EXTENDED");
  return text && *text;
}

inline bool is_extended_to_all()
{
  return is_extended() && strcmp(getenv("RAWHAL_TEST_EXTENDED"), "all") == 0;
}

template <typename T> T by_length(T usual, T extended, T all)
{
  return is_extended_to_all() ? all : is_extended() ? extended : usual;
}

#endif
