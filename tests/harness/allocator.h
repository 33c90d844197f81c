// An allocator for the library that trusts nobody: every block is aligned as asked for and no
// better, has marks before and behind it, is full of rubbish, and is known until it is freed once.
// After `left` more allocations it has no memory.
#ifndef TESTS_HARNESS_ALLOCATOR_H
#define TESTS_HARNESS_ALLOCATOR_H

#include <rawhal/allocator.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

class Allocator {
public:
  Allocator() = default;
  Allocator(const Allocator &) = delete;
  ~Allocator()
  {
    EXPECT_EQ(0u, live());
    EXPECT_EQ(0, wrong);
  }

  // For options.
  const rawhal_allocator_t *hook() const { return &hook_; }

  size_t live() const
  {
    std::lock_guard<std::mutex> hold(lock);
    return blocks.size();
  }
  size_t taken() const { return all; }

  std::atomic<long> left{-1};  // -1: no limit
  std::atomic<bool> refused{}; // since this was last cleared

private:
  enum { MARK = 32 };
  struct Block {
    char *whole;
    size_t size;
  };

  void *allocate(size_t size, size_t alignment)
  {
    if (size == 0 || alignment < alignof(std::max_align_t) || (alignment & (alignment - 1)))
      ++wrong;
    if (left == 0) {
      refused = true;
      return nullptr;
    }
    if (left > 0)
      --left;
    char *whole = static_cast<char *>(malloc(size + 4 * alignment + 2 * MARK));
    uintptr_t at = reinterpret_cast<uintptr_t>(whole) + MARK;
    at += -at & (2 * alignment - 1); // a multiple of twice the alignment,
    at += alignment;                 // and here of no more than once
    char *memory = reinterpret_cast<char *>(at);
    memset(memory - MARK, 0x5c, MARK);
    memset(memory, 0xa5, size);
    memset(memory + size, 0xc5, MARK);
    std::lock_guard<std::mutex> hold(lock);
    blocks[memory] = {whole, size};
    ++all;
    return memory;
  }

  void free(void *memory)
  {
    std::lock_guard<std::mutex> hold(lock);
    auto found = blocks.find(static_cast<char *>(memory));
    if (found == blocks.end()) { // not ours, or freed before
      ++wrong;
      return;
    }
    auto [at, block] = *found;
    for (int i = 0; i < MARK; ++i)
      wrong += at[-1 - i] != 0x5c || static_cast<unsigned char>(at[block.size + i]) != 0xc5;
    memset(at, 0xdd, block.size);
    ::free(block.whole);
    blocks.erase(found);
  }

  rawhal_allocator_t hook_ = {
      [](void *self, size_t size, size_t alignment) {
        return static_cast<Allocator *>(self)->allocate(size, alignment);
      },
      [](void *self, void *memory) { static_cast<Allocator *>(self)->free(memory); }, this};
  mutable std::mutex lock;
  std::map<char *, Block> blocks;
  std::atomic<size_t> all{};

public:
  std::atomic<int> wrong{}; // marks that were written over, frees of what is not there, ..
};

#endif
