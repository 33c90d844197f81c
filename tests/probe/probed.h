// A kernel of a fixture beside itself with probes in it, both on softgpu.
#ifndef RAWHAL_TESTS_PROBE_PROBED_H
#define RAWHAL_TESTS_PROBE_PROBED_H

#include <rawhal/probe.h>

#include "tests/hal/device_test.h"

#include <map>
#include <numeric>

// What probes of one dispatch left.
struct Seen {
  rawhal_probe_header_t header = {};
  std::vector<uint64_t> counters;
  std::vector<rawhal_probe_wave_t> waves;
  struct Event {
    rawhal_probe_event_t head;
    uint64_t lanes[RAWHAL_PROBE_LANES];
  };
  std::vector<Event> events;
  std::vector<char> beyond; // what follows the last event there was room for
};

class ProbedTest : public DeviceTest {
protected:
  struct Plan {
    rawhal_hsaco_t *hsaco = nullptr;
    rawhal_probe_plan_t *plan = nullptr;
    std::vector<char> bytes, probed;
    ~Plan()
    {
      rawhal_probe_plan_destroy(plan);
      rawhal_hsaco_close(hsaco);
    }
    const rawhal_probe_plan_info_t *info() const { return rawhal_probe_plan_info(plan); }
  };

  // Plans, applies and verifies.
  std::unique_ptr<Plan> probe(const std::string &fixture, const char *name, uint32_t kinds,
                              uint32_t flags = 0, std::vector<rawhal_probe_value_t> values = {})
  {
    return probe(fixture_bytes(fixture), name, kinds, flags, values);
  }
  std::unique_ptr<Plan> probe(const std::vector<char> &object, const char *name, uint32_t kinds,
                              uint32_t flags = 0, std::vector<rawhal_probe_value_t> values = {})
  {
    auto made = std::make_unique<Plan>();
    made->bytes = object;
    EXPECT_OK(
        rawhal_hsaco_open(made->bytes.data(), made->bytes.size(), nullptr, &made->hsaco, &error));
    const rawhal_kernel_t *kernel = rawhal_hsaco_find_kernel(made->hsaco, rawhal_string(name));
    EXPECT_NE(kernel, nullptr);
    rawhal_probe_spec_t spec = {};
    spec.size = sizeof spec;
    spec.kinds = kinds;
    spec.flags = flags;
    spec.values = values.data();
    spec.value_count = values.size();
    EXPECT_OK(rawhal_probe_plan(kernel, &spec, &made->plan, &error));
    rawhal_bytes_t bytes = {};
    EXPECT_OK(rawhal_probe_apply(made->plan, RAWHAL_PROBE_NOWHERE, &bytes, &error));
    EXPECT_OK(rawhal_probe_verify(kernel, bytes.data, bytes.size, RAWHAL_PROBE_NOWHERE, &error));
    const char *first = static_cast<const char *>(bytes.data);
    made->probed.assign(first, first + bytes.size);
    rawhal_probe_free(made->plan, &bytes);
    return made;
  }

  // Runs the probed kernel with the dispatch's arguments, grid and work-groups.
  Seen run_probed(const Plan &plan, rawhal_dispatch_t dispatch, uint32_t wave_capacity = 4096,
                  uint32_t event_capacity = 4096, uint32_t events_before = 0)
  {
    constexpr size_t guard = 4096;
    Seen seen;
    const rawhal_probe_plan_info_t *info = plan.info();
    const uint64_t main_bytes = rawhal_probe_buffer_bytes(plan.plan, wave_capacity),
                   events = uint64_t(event_capacity) * info->event_bytes;
    std::vector<char> memory(main_bytes + events + guard, 0);
    std::fill(memory.end() - guard, memory.end(), char(0x5a));
    rawhal_probe_header_t header = {};
    header.wave_capacity = wave_capacity;
    header.event_capacity = event_capacity;
    header.events = events_before;
    memcpy(memory.data(), &header, sizeof header);
    rawhal_buffer_t *at = upload(memory);
    rawhal_probe_argument_t argument = {};
    argument.buffer = rawhal_buffer_address(at);
    argument.events = rawhal_buffer_address(at) + main_bytes;
    argument.wave_capacity = wave_capacity;
    argument.event_capacity = event_capacity;

    std::vector<char> blob(info->kernarg_size, 0);
    memcpy(blob.data(), dispatch.blob, dispatch.blob_size);
    memcpy(blob.data() + info->argument_offset, &argument, sizeof argument);
    const rawhal_device_kernel_t *found = nullptr;
    rawhal_executable_t *executable = load(plan.probed);
    EXPECT_OK(rawhal_executable_kernel(executable, info->kernel->name, 0, &found, &error));
    dispatch.kernel = found;
    dispatch.blob = blob.data();
    dispatch.blob_size = blob.size();
    EXPECT_OK(run(queue(), dispatch));

    const std::vector<char> left = download<char>(at, memory.size());
    const char *from = left.data();
    memcpy(&seen.header, from, sizeof seen.header);
    seen.counters.resize(info->counters);
    memcpy(seen.counters.data(), from + sizeof seen.header, info->counters * 8);
    seen.waves.resize(std::min(seen.header.waves, wave_capacity));
    memcpy(seen.waves.data(), from + main_bytes - wave_capacity * sizeof(rawhal_probe_wave_t),
           seen.waves.size() * sizeof(rawhal_probe_wave_t));
    seen.events.resize(std::min(seen.header.events, event_capacity));
    for (size_t i = 0; i < seen.events.size(); ++i)
      memcpy(&seen.events[i], from + main_bytes + i * info->event_bytes, info->event_bytes);
    seen.beyond.assign(left.end() - guard, left.end());
    return seen;
  }

  // Instructions of the dispatch, by the device's own count.
  uint64_t instructions(const rawhal_dispatch_t &dispatch)
  {
    uint64_t count = 0;
    rawhal_ticket_t ticket = 0;
    rawhal_queue_t *on = queue();
    EXPECT_OK(rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
    EXPECT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
    EXPECT_OK(rawhal_queue_instructions(on, ticket, &count, &error));
    return count;
  }
};

// What the blocks' counters say: instructions that all waves ran.
inline uint64_t counted(const rawhal_probe_plan_info_t *info, const Seen &seen)
{
  uint64_t sum = 0;
  for (size_t i = 0; i < info->point_count; ++i)
    if (info->points[i].action == RAWHAL_PROBE_COUNT)
      sum += seen.counters[info->points[i].counter] * info->points[i].instructions;
  return sum;
}

#endif
