// What processes of a test share.
#ifndef TESTS_LIMIT_SHARED_H
#define TESTS_LIMIT_SHARED_H

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

template <typename T> struct Shared {
  Shared()
      : page(static_cast<T *>(
            mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)))
  {
    EXPECT_NE(MAP_FAILED, static_cast<void *>(page));
  }
  ~Shared() { munmap(page, sizeof(T)); }
  T *operator->() { return page; }
  T *page;
};

// False after half a minute.
template <typename Condition> bool Until(Condition condition)
{
  for (int tries = 0; tries < 30000; ++tries) {
    if (condition())
      return true;
    usleep(1000);
  }
  return false;
}

#endif
