// Random graphs, and what each leaves in memory when its nodes run one after the other.
#ifndef RAWHAL_TESTS_GRAPH_PLAN_H
#define RAWHAL_TESTS_GRAPH_PLAN_H

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

constexpr uint32_t buffer_words = 256, buffer_count = 4, group_items = 64;

using Memory = std::vector<std::vector<uint32_t>>; // words of each buffer

// Words of a buffer.
struct Range {
  uint32_t buffer, begin, count;
  bool overlaps(const Range &other) const
  {
    return buffer == other.buffer && begin < other.begin + other.count &&
           other.begin < begin + count;
  }
};

// A node. Kernels are mix() of tests/fixtures/src/mix.cl; fills are of `factor`. A signal raises a semaphore, and a wait is for
// the host to raise another.
struct Step {
  enum Kind { kernel, copy, fill, barrier, signal, wait, child } kind;
  bool after_all;
  std::vector<uint32_t> after; // earlier steps
  Range to, from;
  uint32_t factor;
  std::vector<Step> steps; // of a child
};

inline bool conflict(const Step &a, const Step &b)
{
  if (a.kind == Step::child || b.kind == Step::child) {
    const Step &whole = a.kind == Step::child ? a : b, &other = a.kind == Step::child ? b : a;
    return std::any_of(whole.steps.begin(), whole.steps.end(),
                       [&](const Step &step) { return conflict(step, other); });
  }
  if (a.kind > Step::fill || b.kind > Step::fill)
    return false;
  return a.to.overlaps(b.to) || a.to.overlaps(b.from) || a.from.overlaps(b.to);
}

using Random = std::mt19937;

inline uint32_t below(Random &random, uint32_t limit)
{
  return static_cast<uint32_t>(random() % limit);
}

inline Range some_range(Random &random, uint32_t buffer)
{
  const uint32_t begin = below(random, buffer_words);
  return {buffer, begin, 1 + below(random, buffer_words - begin)};
}

inline std::vector<Step> some_plan(Random &random, bool children);

inline Step some_step(Random &random, bool children)
{
  Step step = {};
  constexpr Step::Kind kinds[] = {Step::kernel, Step::kernel,  Step::kernel, Step::kernel,
                                  Step::kernel, Step::kernel,  Step::kernel, Step::kernel,
                                  Step::copy,   Step::copy,    Step::copy,   Step::fill,
                                  Step::fill,   Step::barrier, Step::signal, Step::wait};
  step.kind = kinds[below(random, std::size(kinds))];
  if (children && below(random, 8) == 0) {
    step.kind = Step::child;
    step.steps = some_plan(random, false);
  }
  if (step.kind > Step::fill)
    return step;
  step.to = some_range(random, below(random, buffer_count));
  step.from = step.to; // its own words
  if (step.kind == Step::copy || (step.kind == Step::kernel && below(random, 8))) {
    step.from.buffer = (step.to.buffer + 1 + below(random, buffer_count - 1)) % buffer_count;
    step.from.begin = below(random, buffer_words - step.to.count + 1);
  }
  step.factor = 3 + 2 * below(random, 1000);
  return step;
}

// Steps that use the same words in a way that an order of them can be told from the results are ordered by dependencies,
// whatever the path; others are or are not.
inline std::vector<Step> some_plan(Random &random, bool children)
{
  std::vector<Step> plan(1 + below(random, children ? 16 : 6));
  std::vector<std::vector<bool>> before(plan.size(), std::vector<bool>(plan.size()));
  for (uint32_t i = 0; i < plan.size(); ++i) {
    Step &step = plan[i] = some_step(random, children);
    const auto follow = [&](uint32_t j) {
      if (std::find(step.after.begin(), step.after.end(), j) == step.after.end())
        step.after.push_back(j);
      before[i][j] = true;
      for (uint32_t k = 0; k < j; ++k)
        before[i][k] = before[i][k] || before[j][k];
    };
    step.after_all = below(random, 8) == 0;
    for (uint32_t wanted = step.after_all ? i : below(random, 3); i && wanted; --wanted)
      follow(step.after_all ? wanted - 1 : below(random, i));
    for (uint32_t j = i; j-- > 0;)
      if (!before[i][j] && conflict(step, plan[j]))
        follow(j);
  }
  return plan;
}

// What one kernel of `items` work-items leaves.
inline void run_mix(Memory &memory, const Step &step, uint32_t factor, uint32_t items)
{
  for (uint32_t i = 0; i < std::min(step.to.count, items); ++i) {
    uint32_t &to = memory[step.to.buffer][step.to.begin + i];
    to = to * factor + memory[step.from.buffer][step.from.begin + i] + i;
  }
}

// What any one leaves.
inline void run_step(Memory &memory, const Step &step, uint32_t factor, uint32_t items)
{
  if (step.kind == Step::kernel)
    return run_mix(memory, step, factor, items);
  for (uint32_t i = 0; i < step.to.count; ++i)
    memory[step.to.buffer][step.to.begin + i] =
        step.kind == Step::fill ? step.factor : memory[step.from.buffer][step.from.begin + i];
}

inline uint32_t whole_groups(uint32_t items)
{
  return (items + group_items - 1) / group_items * group_items;
}

#endif
