// Recordings of what probes saw, made up: every number in them is known.
#ifndef TESTS_TOOLS_PROBE_SCENE_H
#define TESTS_TOOLS_PROBE_SCENE_H

#include <array>
#include <cstring>
#include <functional>
#include <tuple>

#include "tests/assert_ok.h"
#include "tests/tools/command.h"

extern "C" {
#include "record/writer.h"
}
#include "hsaco/hsaco.h"

namespace probes {

using Lanes = std::array<uint64_t, RAWHAL_PROBE_LANES>;

// Lane i has first + i * step.
inline Lanes lanes_from(uint64_t first, uint64_t step)
{
  Lanes lanes;
  for (size_t i = 0; i < lanes.size(); ++i)
    lanes[i] = first + i * step;
  return lanes;
}

// A probed kernel, and what dispatches of it left.
struct Scene {
  std::string kernel = "vector_add", object = slurp(fixtures + "vector_add-gfx90a-v5.co");
  record_probe_t probe = {};
  std::vector<rawhal_probe_point_t> points;
  std::vector<uint64_t> counters;
  std::vector<rawhal_probe_wave_t> waves;
  std::vector<rawhal_probe_event_t> events;
  std::vector<Lanes> lanes; // of each event, or of none
  std::vector<record_allocation_t> allocations;
  uint32_t lost_waves = 0, lost_events = 0, flags = RECORD_PROBED_HOST_TIME;
  uint32_t work_items[3] = {256, 1, 1};
  uint16_t workgroup[3] = {128, 1, 1};

  Scene()
  {
    rawhal_hsaco_t *hsaco = nullptr;
    rawhal_error_t error;
    EXPECT_OK(rawhal_hsaco_open(object.data(), object.size(), nullptr, &hsaco, &error));
    const rawhal_kernel_t *found = rawhal_hsaco_find_kernel(hsaco, rawhal_string("vector_add"));
    probe.entry = found->descriptor->entry;
    for (size_t i = 0; const rawhal_symbol_t *symbol = rawhal_hsaco_symbol(hsaco, i); ++i)
      if (symbol->kind == RAWHAL_SYMBOL_FUNCTION && symbol->address == probe.entry)
        probe.code_bytes = static_cast<uint32_t>(symbol->size);
    rawhal_hsaco_close(hsaco);
    probe.maker = RECORD_MADE_BY_DEVICE;
    probe.kinds = 127;
  }

  rawhal_probe_point_t &point(uint32_t offset, rawhal_probe_action_t action)
  {
    rawhal_probe_point_t point = {};
    point.offset = offset;
    point.action = static_cast<uint8_t>(action);
    points.push_back(point);
    return points.back();
  }

  void block(uint32_t offset, uint32_t bytes, uint32_t instructions, uint64_t count)
  {
    rawhal_probe_point_t &made = point(offset, RAWHAL_PROBE_COUNT);
    made.block_bytes = bytes;
    made.instructions = instructions;
    made.counter = static_cast<uint32_t>(counters.size());
    counters.push_back(count);
  }

  void access(uint32_t offset, rawhal_probe_source_t source, uint8_t flags_of, uint8_t bytes,
              uint8_t lane_bytes = 4)
  {
    rawhal_probe_point_t &made = point(offset, RAWHAL_PROBE_ACCESS);
    made.source = static_cast<uint8_t>(source);
    made.flags = flags_of;
    made.bytes = bytes;
    made.lane_bytes = lane_bytes;
  }

  void wave(uint32_t group, uint32_t in_group, uint32_t hw_id, uint64_t start, uint64_t end)
  {
    rawhal_probe_wave_t made = {};
    made.workgroup[0] = group;
    made.first_item = in_group * 64;
    made.hw_id = hw_id;
    made.start = start;
    made.end = end;
    waves.push_back(made);
  }

  void event(uint32_t offset, uint32_t of_wave, const Lanes &values, uint64_t exec = UINT64_MAX,
             std::array<uint32_t, 4> scalar = {})
  {
    rawhal_probe_event_t made = {};
    made.offset = offset;
    made.wave = of_wave;
    made.exec = exec;
    memcpy(made.scalar, scalar.data(), sizeof(made.scalar));
    events.push_back(made);
    lanes.push_back(values);
  }

  // What the device's memory would have.
  std::string buffer() const
  {
    rawhal_probe_header_t header = {};
    header.waves = static_cast<uint32_t>(waves.size()) + lost_waves;
    header.events = static_cast<uint32_t>(events.size()) + lost_events;
    std::string bytes(reinterpret_cast<const char *>(&header), sizeof(header));
    bytes.append(reinterpret_cast<const char *>(counters.data()), 8 * counters.size());
    bytes.resize((bytes.size() + 63) / 64 * 64);
    bytes.append(reinterpret_cast<const char *>(waves.data()), 64 * waves.size());
    return bytes;
  }

  std::string event_bytes() const
  {
    std::string bytes;
    for (size_t i = 0; i < events.size(); ++i) {
      bytes.append(reinterpret_cast<const char *>(&events[i]), sizeof(events[i]));
      bytes.append(reinterpret_cast<const char *>(lanes[i].data()), RAWHAL_PROBE_LANES_BYTES);
    }
    return bytes;
  }

  // Appends `times` dispatches to a recording.
  void write(record_writer_t *writer, int times = 1)
  {
    rawhal_error_t error;
    uint64_t number = 0, of_object = 0;
    record_dispatch_t dispatch = {};
    const std::string all[2] = {buffer(), event_bytes()};
    ASSERT_OK(record_writer_object(writer, {object.data(), object.size()}, &of_object, &error));
    probe.object = of_object;
    probe.kernel = {kernel.data(), kernel.size()};
    probe.counters = static_cast<uint32_t>(counters.size());
    probe.event_bytes = RECORD_EVENT_LANES_BYTES;
    probe.points = points.data();
    probe.point_count = static_cast<uint32_t>(points.size());
    ASSERT_OK(record_writer_probe(writer, &probe, &number, &error));
    dispatch.object = of_object;
    dispatch.queue = 3;
    dispatch.kernel = probe.kernel;
    dispatch.device = rawhal_string("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-");
    memcpy(dispatch.work_items, work_items, sizeof(work_items));
    memcpy(dispatch.workgroup, workgroup, sizeof(workgroup));
    record_probed_t probed = {};
    probed.probe = number;
    probed.flags = flags;
    probed.frequency = 1000000000;
    probed.allocations = allocations.data();
    probed.allocation_count = static_cast<uint32_t>(allocations.size());
    const record_probe_memory_t memory = {
        static_cast<uint32_t>(waves.size()), static_cast<uint32_t>(events.size()),
        [](void *context, record_probe_part_t part, uint64_t offset, void *to, size_t size,
           rawhal_error_t *) {
          static_cast<const std::string *>(context)[part].copy(static_cast<char *>(to), size,
                                                               offset);
          return RAWHAL_OK;
        },
        const_cast<std::string *>(all)};
    for (int i = 0; i < times; ++i) {
      ASSERT_OK(record_writer_dispatch(writer, &dispatch, &probed.dispatch, &error));
      ASSERT_OK(record_writer_probed(writer, &probed, &memory, nullptr, &error));
    }
  }
};

inline void save(const std::string &path, const std::function<void(record_writer_t *)> &fill)
{
  rawhal_error_t error;
  record_writer_t *writer = nullptr;
  ASSERT_OK(record_writer_create(path.c_str(), nullptr, &writer, &error));
  fill(writer);
  EXPECT_OK(record_writer_close(writer, &error));
}

inline void save(const std::string &path, Scene &scene, int times = 1)
{
  save(path, [&](record_writer_t *writer) { scene.write(writer, times); });
}

// HW_ID of a slot of a SIMD of a CU.
inline uint32_t hw_id(uint32_t slot, uint32_t simd, uint32_t cu, uint32_t engine = 0)
{
  return slot | simd << 4 | cu << 8 | engine << 13;
}

constexpr uint64_t kIn = 0x7f0000000000, kOut = 0x7f0000100000;

// Two work-groups of two waves each, on two CUs: what each test looks at is said there.
inline Scene everything()
{
  Scene scene;
  scene.block(0, 40, 10, 4);
  rawhal_probe_point_t &lanes = scene.point(0, RAWHAL_PROBE_ACTIVE);
  lanes.counter = 1;
  scene.counters.push_back(4 * 64);
  scene.access(16, RAWHAL_PROBE_GLOBAL, RAWHAL_PROBE_READS, 4);
  scene.access(24, RAWHAL_PROBE_LDS, RAWHAL_PROBE_WRITES, 4);
  scene.point(28, RAWHAL_PROBE_ARRIVE);
  rawhal_probe_point_t &passed = scene.point(36, RAWHAL_PROBE_PASSED);
  passed.counter = 2;
  passed.target = 80;
  scene.counters.push_back(1);
  scene.block(40, 40, 10, 1);
  rawhal_probe_point_t &value = scene.point(40, RAWHAL_PROBE_VALUE);
  value.source = RAWHAL_PROBE_SGPR;
  value.scalar = 4;
  scene.access(40, RAWHAL_PROBE_FLAT, RAWHAL_PROBE_WRITES, 8, 8);
  scene.block(80, 8, 2, 25);
  scene.wave(0, 0, hw_id(0, 0, 3), 1000, 1100);
  scene.wave(0, 1, hw_id(0, 1, 3), 1010, 1200);
  scene.wave(1, 0, hw_id(1, 0, 3), 1020, 1300);
  scene.wave(1, 1, hw_id(0, 0, 4, 2), 1250, 1400);
  scene.allocations = {{kIn, 0x10000, 0, {"in", 2}},
                       {kOut, 0x1000, 16, {"out", 3}},
                       {kIn, 0x10000, 8, {"again", 5}},
                       {0x7f0000200000, 64, RECORD_NO_ARGUMENT, {}}};
  const std::array<uint32_t, 4> base = {static_cast<uint32_t>(kIn),
                                        static_cast<uint32_t>(kIn >> 32), 0, 0};
  scene.event(16, 0, lanes_from(0, 4), UINT64_MAX, base);  // 4 lines of 64, 2 of 128
  scene.event(16, 1, lanes_from(0, 64), UINT64_MAX, base); // 64 and 32
  scene.event(24, 0, lanes_from(0, 4));                    // no conflict
  scene.event(24, 1, lanes_from(0, 8));                    // two words in every other bank
  scene.event(28, 1, {});                                  // of group 0, wave 0 is the last
  scene.event(28, 0, {});
  scene.event(28, 3, {}); // of group 1, too
  scene.event(28, 2, {});
  scene.event(40, 2, {}, 1, {0xabcd, 0, 0, 0});        // the value,
  scene.event(40, 2, lanes_from(kOut, 8), 0xffffffff); // and the store of half a wave
  return scene;
}

} // namespace probes

#endif
