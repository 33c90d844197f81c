// What tests of probes ask softgpu for, and what is recorded then.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/softgpu/isa/device.h"
#include "tests/softgpu/isa/probe_plan.h"

extern "C" {
#include "softgpu/isa/run/probe.h"
}

namespace probing {

enum : uint32_t {
  ALL = RAWHAL_PROBE_WAVES | RAWHAL_PROBE_BLOCKS | RAWHAL_PROBE_EDGES | RAWHAL_PROBE_EXEC |
        RAWHAL_PROBE_MEMORY | RAWHAL_PROBE_VALUES | RAWHAL_PROBE_BARRIERS,
  EVENT_BYTES = sizeof(rawhal_probe_event_t) + RAWHAL_PROBE_LANES_BYTES,
};

// A dispatch's memory, of which the host reads what was recorded.
class Records {
public:
  Records(uint32_t counters, uint32_t waves, uint32_t events)
      : waves_(waves), events_(events), waves_at_((64 + 8 * counters + 63) / 64 * 64),
        buffer(waves_at_ + 64 * waves), lanes(std::max(EVENT_BYTES * events, 64u))
  {
    argument.buffer = buffer.address();
    argument.events = events ? lanes.address() : 0;
    argument.wave_capacity = waves;
    argument.event_capacity = events;
  }
  const rawhal_probe_header_t &header() { return *buffer.as<rawhal_probe_header_t>(); }
  uint64_t counter(uint32_t n) { return buffer.as<uint64_t>()[8 + n]; }
  const rawhal_probe_wave_t &wave(uint32_t n)
  {
    return *reinterpret_cast<rawhal_probe_wave_t *>(buffer.as<char>() + waves_at_ + 64 * n);
  }
  const rawhal_probe_event_t &event(uint32_t n)
  {
    return *reinterpret_cast<rawhal_probe_event_t *>(lanes.as<char>() + EVENT_BYTES * n);
  }
  const uint64_t *lanes_of(uint32_t n) { return reinterpret_cast<const uint64_t *>(&event(n) + 1); }
  uint32_t waves() { return std::min(header().waves, waves_); }
  uint32_t events() { return std::min(header().events, events_); }

  // All of it, but for times, the places of waves and the order of records.
  std::vector<std::string> comparable()
  {
    std::vector<std::string> out, of;
    auto text = [](const auto &value) { return std::string((const char *)&value, sizeof value); };
    for (uint32_t n = 0; n < waves(); ++n) {
      rawhal_probe_wave_t record = wave(n);
      EXPECT_GT(record.start, 0u);
      EXPECT_GE(record.end, record.start);
      record.start = record.end = record.hw_id = record.xcc_id = 0;
      of.push_back(text(record));
    }
    out = of;
    for (uint32_t n = 0; n < events(); ++n) {
      rawhal_probe_event_t record = event(n);
      EXPECT_LT(record.wave, waves());
      const std::string name = record.wave < of.size() ? of[record.wave] : "";
      record.wave = 0;
      if (barriers.count(record.offset))
        record.scalar[0] = record.scalar[1] = 0;
      out.push_back(name + text(record) + std::string((const char *)lanes_of(n), 512));
    }
    std::sort(out.begin(), out.end());
    out.push_back(text(header()));
    for (uint32_t at = 64; at < waves_at_; at += 8)
      out.push_back(text(buffer.as<uint64_t>()[at / 8]));
    return out;
  }

private:
  uint32_t waves_, events_, waves_at_;

public:
  device::Memory buffer, lanes;
  rawhal_probe_argument_t argument = {};
  std::set<uint32_t> barriers; // where events have a time
};

inline bool ask(uint64_t kernarg, Records &records, const std::vector<rawhal_probe_point_t> &points,
                uint32_t counters, uint32_t kinds = ALL)
{
  for (const auto &point : points)
    if (point.action == RAWHAL_PROBE_ARRIVE)
      records.barriers.insert(point.offset);
  return isa_probe_ask(kernarg, &records.argument, kinds, EVENT_BYTES, counters, points.data(),
                       points.size());
}

inline rawhal_probe_point_t point(uint32_t offset, uint8_t action, uint32_t counter = 0)
{
  rawhal_probe_point_t out = {};
  out.offset = offset;
  out.action = action;
  out.counter = counter;
  out.scalar = 0xff;
  return out;
}

struct Way {
  bool is_reference;
  unsigned threads;
};

inline const Way ways[] = {{false, 1}, {false, 4}, {true, 4}};
inline std::string name_of(const testing::TestParamInfo<Way> &way)
{
  return std::string(way.param.is_reference ? "reference" : "fast") + "_" +
         std::to_string(way.param.threads);
}

class Probing : public testing::TestWithParam<Way> {
protected:
  void SetUp() override
  {
    softgpu_engine_threads(GetParam().threads);
    softgpu_engine_reference(GetParam().is_reference);
  }
  void TearDown() override
  {
    EXPECT_EQ(isa_probes_asked, 0u);
    softgpu_engine_threads(0);
    softgpu_engine_reference(false);
  }
};

// Waves enter a block from the start, or by a branch, or from the block before it.
inline void expect_flow(const probing::Plan &plan, Records &records, uint32_t waves)
{
  std::map<uint32_t, uint64_t> entered = {{0, waves}};
  for (const probing::Block &block : plan.blocks) {
    const uint64_t count = records.counter(block.counter);
    const uint64_t passed = block.branches ? records.counter(block.passed)
                            : block.falls  ? count
                                           : 0;
    EXPECT_LE(passed, count);
    entered[block.next] += passed;
    entered[block.target] += count - passed;
  }
  for (size_t i = 0; i < plan.blocks.size(); ++i) {
    const probing::Block &block = plan.blocks[i];
    EXPECT_EQ(records.counter(block.counter), entered[block.offset]) << "+" << block.offset;
    EXPECT_LE(records.counter(plan.active + uint32_t(i)), 64 * records.counter(block.counter));
  }
}

inline uint64_t instructions(const probing::Plan &plan, Records &records)
{
  uint64_t sum = 0;
  for (const probing::Block &block : plan.blocks)
    sum += records.counter(block.counter) * block.instructions;
  return sum;
}

} // namespace probing
