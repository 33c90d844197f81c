// How long tests may take: RAWHAL_TEST_EXTENDED in the environment says that it may be minutes (./dev test --extended),
// "all" that it may be hours, and "once" that what is not run without it is, but nothing is repeated more often: the usual
// size is the one at which the mutants are killed, as ./dev mutants has none of this. Sanitizers make it many times as
// long: what computes the same without them, and much of it, does less there.
#ifndef RAWHAL_TESTS_EXTENDED_H
#define RAWHAL_TESTS_EXTENDED_H

#include <cstdlib>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif

inline bool is_extended()
{
  const char *text = getenv("RAWHAL_TEST_EXTENDED");
  return text && *text;
}

// What is run without it, too, is longer.
inline bool is_lengthened()
{
  return is_extended() && strcmp(getenv("RAWHAL_TEST_EXTENDED"), "once") != 0;
}

inline bool is_extended_to_all()
{
  return is_extended() && strcmp(getenv("RAWHAL_TEST_EXTENDED"), "all") == 0;
}

template <typename T> T by_length(T usual, T extended, T all)
{
  return is_extended_to_all() ? all : is_lengthened() ? extended : usual;
}

#endif
