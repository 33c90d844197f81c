// Circles of submissions: found exactly where a search of the whole graph finds one, and nothing waits for ever.
#include "timeline_test.h"

#include "tests/extended.h"

#include <functional>
#include <map>
#include <random>

namespace {

constexpr size_t queue_count = 8, semaphore_count = 5;
constexpr uint64_t values = 6;

using Point = std::pair<size_t, uint64_t>; // a semaphore and a value

struct Submission {
  size_t queue;
  std::vector<Point> waits, signals;
};

// All submissions there are, in their order on each queue.
class Graph {
public:
  // Would it wait for itself, by what each is behind on its queue and what signals exactly its values?
  bool closes(const Submission &added) const
  {
    std::vector<Submission> all = submissions;
    all.push_back(added);
    std::vector<bool> seen(all.size());
    std::function<bool(size_t)> needs_added = [&](size_t at) {
      for (size_t i = 0; i < all.size(); ++i) {
        bool before = i < at && all[i].queue == all[at].queue;
        for (const Point &signal : all[i].signals)
          for (const Point &wait : all[at].waits)
            before |= signal == wait;
        if (!before)
          continue;
        if (i + 1 == all.size())
          return true;
        if (!seen[i]) {
          seen[i] = true;
          if (needs_added(i))
            return true;
        }
      }
      return false;
    };
    return needs_added(all.size() - 1);
  }
  bool signals(const Point &point) const
  {
    for (const Submission &each : submissions)
      for (const Point &signal : each.signals)
        if (signal == point)
          return true;
    return false;
  }
  std::vector<Submission> submissions;
};

class TimelineCircle : public TimelineTest {
protected:
  Submission random_submission(const Graph &graph)
  {
    Submission made = {random() % queue_count, {}, {}};
    auto point = [&] { return Point{random() % semaphore_count, 1 + random() % values}; };
    for (uint64_t i = random() % 3; i-- > 0;)
      made.waits.push_back(point());
    for (uint64_t i = random() % 3; i-- > 0;) {
      const Point signal = point();
      bool taken = graph.signals(signal);
      for (const Point &each : made.signals)
        taken |= each.first == signal.first;
      if (!taken)
        made.signals.push_back(signal);
    }
    return made;
  }

  points_t points(const std::vector<Point> &from)
  {
    points_t made;
    for (const Point &point : from)
      made.push_back({of[point.first], point.second});
    return made;
  }

  void run(uint64_t seed)
  {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random.seed(seed);
    rawhal_queue_options_t sizes = {};
    sizes.submissions = 64;
    std::vector<rawhal_queue_t *> on;
    std::vector<std::pair<rawhal_queue_t *, rawhal_ticket_t>> tickets;
    rawhal_semaphore_t *gate = own_semaphore(); // until it is open nothing is reached
    for (size_t i = 0; i < semaphore_count; ++i)
      of[i] = own_semaphore();
    for (size_t i = 0; i < queue_count; ++i) {
      on.push_back(own_queue(sizes));
      ASSERT_OK(timeline(on[i], {{gate, 1}}, {}));
    }
    Graph graph;
    for (int i = 0; i < 60; ++i) {
      const Submission submission = random_submission(graph);
      rawhal_ticket_t ticket = 0;
      const rawhal_status_t status = timeline(on[submission.queue], points(submission.waits),
                                              points(submission.signals), &ticket);
      const bool closes = graph.closes(submission);
      EXPECT_EQ(status, closes ? RAWHAL_INVALID_ARGUMENT : RAWHAL_OK) << i << error.message;
      closed += closes;
      if (status == RAWHAL_OK) {
        graph.submissions.push_back(submission);
        tickets.push_back({on[submission.queue], ticket});
      }
    }
    if (seed % 2) // what can run runs
      ASSERT_OK(rawhal_semaphore_signal(gate, 1, &error));
    for (rawhal_semaphore_t *each : of)
      rawhal_semaphore_destroy(each);
    rawhal_semaphore_destroy(gate);
    for (const auto &[queue, ticket] : tickets)
      EXPECT_NE(wait(queue, ticket), RAWHAL_TIMED_OUT);
    for (rawhal_queue_t *each : on)
      rawhal_queue_destroy(each);
  }

  std::mt19937_64 random;
  rawhal_semaphore_t *of[semaphore_count] = {};
  int closed = 0;
};

TEST_F(TimelineCircle, AsASearchOfTheWholeGraph)
{
  const int count = by_length(is_sanitized ? 5 : 20, 60, 2000);
  for (int i = 0; i < count && !HasFailure(); ++i)
    run(uint64_t(i) + 1);
  EXPECT_GT(closed, count);
}

} // namespace
