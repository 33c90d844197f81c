// What a launch takes, counted in instructions.
#include "graphs.h"
#include "tests/instructions.h"

#include <cstdio>

namespace {

#ifdef RAWHAL_COUNTS_INSTRUCTIONS
#ifdef NDEBUG
constexpr bool is_release = true;
#else
constexpr bool is_release = false;
#endif

class GraphCost : public Graphs {
protected:
  // Of the second launch, by when functions of the runtime have been found.
  template <typename Launch> size_t cost(rawhal_queue_t *on, Launch launch)
  {
    size_t counted = 0;
    for (int i = 0; i < 2; ++i) {
      rawhal_ticket_t ticket = 0;
      rawhal_status_t status = RAWHAL_OK;
      counted = instructions::count([&] { status = launch(&ticket); });
      EXPECT_OK(status);
      EXPECT_OK(rawhal_queue_wait(on, ticket, rawhal_deadline_after(20000 * millisecond), &error));
    }
    return counted;
  }
  size_t cost(rawhal_queue_t *on, const rawhal_graph_exec_t *exec,
              const std::vector<rawhal_graph_binding_t> &bindings = {})
  {
    const rawhal_graph_binding_t *const all = bindings.data();
    const size_t count = bindings.size();
    rawhal_error_t *const why = &error;
    return cost(on, [=](rawhal_ticket_t *ticket) {
      return rawhal_graph_launch_sized(on, exec, all, sizeof(*all), count, 0, ticket, why);
    });
  }
};

// Between launches of 40 dispatches and of 20 in a release build: 70.0 instructions each with 28 bytes
// of arguments, 123.0 with hidden ones; for one with a blob 483 and 535,
// and 18 more with what Debian 13 has.
TEST_F(GraphCost, StaysWithinItsBudget)
{
  constexpr uint32_t some = 20;
  const double slack = is_release ? 1 : 4;
  const double later = __GLIBC_PREREQ(2, 41) ? 18 : 0;
  const struct {
    const char *fixture;
    double each, blob;
  } rows[] = {{"vector_add-gfx90a-v4.co", 70, 483}, {"vector_add-gfx90a-v5.co", 123, 535}};
  Blob blob;
  for (int i = 0; i < 7; ++i)
    blob.add(0u);
  rawhal_queue_t *on = queue(), *away = queue();
  for (const auto &row : rows) {
    const rawhal_dispatch_t one = dispatch_of(kernel(row.fixture, "vector_add"), 1, 1, blob);
    const rawhal_graph_exec_t *single = graph(on, {one}),
                              *few = graph(on, std::vector<rawhal_dispatch_t>(some, one)),
                              *more = graph(on, std::vector<rawhal_dispatch_t>(2 * some, one));
    const void *const bytes = blob.bytes.data();
    const size_t size = blob.bytes.size(), of_few = cost(on, few), of_more = cost(on, more);
    rawhal_error_t *const why = &error;
    size_t of_blob = 0;
    for (int i = 0; i < 2; ++i) { // not by cost(), which adds some of its own to a call that short
      rawhal_ticket_t ticket = 0;
      rawhal_status_t status = RAWHAL_OK;
      of_blob = instructions::count(
          [&] { status = rawhal_graph_launch_blob(on, single, bytes, size, 0, &ticket, why); });
      EXPECT_OK(status);
      EXPECT_OK(rawhal_queue_wait(on, ticket, rawhal_deadline_after(20000 * millisecond), why));
    }
    const double each = static_cast<double>(of_more - of_few) / some;
    const uint32_t word = 0;
    const uint64_t address = 0;
    std::vector<rawhal_graph_binding_t> all;
    for (uint32_t i = 0; i < 2 * some; ++i)
      all.push_back(i % 2 ? argument(i, 3, &word) : argument(i, 1, &address));
    const size_t bound = cost(on, more, all);
    all.resize(some);
    const double binding = static_cast<double>(bound - cost(on, more, all)) / some;
    const double elsewhere = static_cast<double>(cost(away, more) - cost(away, few)) / some - each;
    printf(
        "%s: %.1f instructions per dispatch, %zu for one with a blob, %.1f per binding, %.1f more "
        "per dispatch on another queue\n",
        row.fixture, each, of_blob, binding, elsewhere);
    EXPECT_LE(each, row.each * slack);
    EXPECT_LE(static_cast<double>(of_blob), (row.blob + later) * slack);
    EXPECT_LE(binding, 40 * slack);
  }
}
#endif

} // namespace
