// Dispatches in an order that can be had again, on both engines: which waves go on, where they stop,
// and who wrote what.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "tests/extended.h"
#include "tests/harness/allocation_failure.h"
#include "tests/softgpu/isa/device.h"

extern "C" {
#include "softgpu/back.h"
#include "softgpu/device/clock.h"
#include "softgpu/isa/run/notes.h"
#include "softgpu/order/order.h"
}

namespace {

// A kernel of the fixtures, its arguments and what it writes to.
struct Scene {
  std::string file, kernel;
  uint32_t groups, items, lds;
  std::vector<uint64_t> values; // behind the output, of 8 bytes, or of 4 each if `is_narrow`
  bool is_narrow;
  bool has_input; // of as many bytes, before the values
  size_t bytes;
};

const std::vector<Scene> &scenes()
{
  static const std::vector<Scene> all = {
      {"lds_checks-gfx90a-v5.co", "lds_race", 3, 256, 1024, {0}, true, false, 1024},
      {"lds_checks-gfx90a-v5.co", "lds_two_writers", 2, 128, 512, {1}, true, false, 512},
      {"lds_checks-gfx90a-v5.co", "lds_atomic", 2, 256, 4, {}, true, false, 1024},
      {"reduce-gfx90a-v5.co", "reduce", 12, 256, 1024, {}, true, true, 16384},
      {"emulator-gfx90a-v5.co", "contend", 20, 256, 0, {5000}, true, false, 64},
      {"emulator-gfx90a-v5.co", "softmax", 4, 256, 1024, {512}, true, true, 8192},
      {"mandelbrot-gfx90a-v5.co",
       "mandelbrot",
       4,
       256,
       0,
       {32 | 1024ull << 32, 0xc0000000bfa00000, 0x3d800000 | 60ull << 32},
       false,
       false,
       4096},
      {"grid_barrier-gfx90a-v5.co", "grid_barrier", 24, 64, 0, {24}, true, true, 256},
      {"turns-gfx90a-v4.co", "turn", 1, 64, 0, {3000}, false, false, 8},
      {"emulator-gfx90a-v5.co", "wide_copy", 3, 256, 0, {600}, true, true, 12288},
  };
  return all;
}

struct Ran {
  device::Result result{};
  softgpu_back_told_t told{};
  std::vector<softgpu_back_writer_t> writers;
  std::vector<uint8_t> before, after;
  uint64_t out = 0;
};

// Sets the order back.
class Order : public ::testing::Test {
protected:
  void TearDown() override
  {
    if (order_seed())
      softgpu_back(nullptr, 0);
    order_begin(0);
    softgpu_engine_reference(false);
  }

  // `ask` may change what is asked, which is nothing but how it ran.
  static Ran run(const Scene &scene, uint64_t seed, bool reference,
                 const std::function<void(softgpu_back_t &)> &ask = {})
  {
    static std::map<std::string, device::CodeObject> objects;
    static device::Memory out(65536), in(65536), kernargs(512);
    const device::CodeObject &object = objects.try_emplace(scene.file, scene.file).first->second;
    for (size_t i = 0; i < 65536; ++i) {
      out.as<uint8_t>()[i] = scene.kernel == "grid_barrier" ? 0 : uint8_t(0xa5 + i / 4);
      in.as<uint8_t>()[i] = scene.kernel == "softmax" ? 0 : uint8_t(i * 7);
    }
    memset(kernargs.as<void>(), 0, 512);
    auto *at = kernargs.as<uint8_t>();
    auto add = [&](uint64_t value, size_t size) { memcpy(at, &value, size), at += size; };
    add(out.address(), 8);
    if (scene.has_input)
      add(in.address(), 8);
    for (uint64_t value : scene.values)
      add(value, scene.is_narrow ? 4 : 8);
    auto dispatch = device::dispatch(object.symbol(scene.kernel + ".kd"), kernargs.as<void>(),
                                     scene.groups, static_cast<uint16_t>(scene.items));
    dispatch.group_bytes = scene.lds;
    Ran ran;
    ran.out = out.address();
    ran.before.assign(out.as<uint8_t>(), out.as<uint8_t>() + scene.bytes);
    softgpu_invalidate_code();
    order_begin(seed);
    softgpu_engine_reference(reference);
    softgpu_back_t asked{};
    asked.kernel_object = dispatch.kernel_object;
    if (ask)
      ask(asked);
    EXPECT_EQ(softgpu_back(&asked, sizeof asked), seed != 0);
    ran.result = device::run(dispatch, 60000);
    EXPECT_EQ(softgpu_back_told(
                  &ran.told, sizeof ran.told,
                  [](void *context, const softgpu_back_writer_t *writer) {
                    static_cast<Ran *>(context)->writers.push_back(*writer);
                  },
                  &ran),
              seed != 0);
    softgpu_engine_reference(false);
    ran.after.assign(out.as<uint8_t>(), out.as<uint8_t>() + scene.bytes);
    return ran;
  }

  static Ran watch(const Scene &scene, uint64_t seed, bool reference)
  {
    return run(scene, seed, reference, [&](softgpu_back_t &asked) {
      asked.space = SOFTGPU_BACK_MEMORY;
      asked.address = out_of(scene, seed);
      asked.bytes = scene.bytes;
    });
  }

  static uint64_t out_of(const Scene &scene, uint64_t seed)
  {
    static const uint64_t address = run(scene, seed, false).out;
    return address;
  }
};

// The same seed, the same turns and the same bytes: on both engines, whether each instruction is
// looked at or not.
TEST_F(Order, is_the_same_for_the_same_seed)
{
  const int times = by_length(is_sanitized ? 2 : 4, 12, 100);
  for (const Scene &scene : scenes())
    for (uint64_t seed : {1ull, 2ull, 0x123456789abcdefull}) {
      SCOPED_TRACE(scene.kernel + " " + std::to_string(seed));
      const Ran first = run(scene, seed, false);
      ASSERT_TRUE(first.result.ok) << first.result.fault.text;
      EXPECT_EQ(first.told.state, SOFTGPU_BACK_ENDED);
      EXPECT_GT(first.told.all, 0u);
      for (int n = 0; n < times; ++n) {
        const bool reference = n % 2, looks = n / 2 % 2;
        const Ran again = looks ? watch(scene, seed, reference) : run(scene, seed, reference);
        ASSERT_TRUE(again.result.ok) << again.result.fault.text;
        ASSERT_EQ(again.told.run, first.told.run) << reference << looks;
        ASSERT_EQ(again.told.all, first.told.all) << reference << looks;
        ASSERT_TRUE(again.after == first.after) << reference << looks;
      }
    }
}

TEST_F(Order, is_another_for_another_seed)
{
  std::set<uint64_t> runs;
  std::set<std::vector<uint8_t>> results, ordered;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const Ran raced = run(scenes()[0], seed, false);
    runs.insert(raced.told.run);
    results.insert(raced.after);
    ordered.insert(
        run({"lds_checks-gfx90a-v5.co", "lds_race", 3, 256, 1024, {1}, true, false, 1024}, seed,
            false)
            .after);
  }
  EXPECT_EQ(runs.size(), 12u);
  EXPECT_GT(results.size(), 2u) << "waves that race";
  EXPECT_EQ(ordered.size(), 1u);
}

// Stops between the same two instructions of a wave, wherever that is.
TEST_F(Order, stops_at_a_moment)
{
  const Scene &scene = scenes()[0];
  uint64_t steps = 0;
  for (uint64_t count = 0;; ++count) {
    Ran stopped[3];
    for (int way = 0; way < 3; ++way)
      stopped[way] = run(scene, 7, way == 1, [&](softgpu_back_t &asked) {
        asked.stop = SOFTGPU_BACK_AT_WAVE;
        asked.workgroup[0] = 1;
        asked.wave = 2;
        asked.count = count;
        if (way == 2) {
          asked.space = SOFTGPU_BACK_MEMORY;
          asked.address = out_of(scene, 7);
          asked.bytes = 4;
        }
      });
    for (int way = 1; way < 3; ++way) {
      ASSERT_EQ(stopped[0].told.state, stopped[way].told.state) << count << way;
      ASSERT_EQ(stopped[0].told.pc, stopped[way].told.pc) << count << way;
      ASSERT_EQ(stopped[0].told.run, stopped[way].told.run) << count << way;
      ASSERT_EQ(stopped[0].told.all, stopped[way].told.all) << count << way;
    }
    if (stopped[0].told.state == SOFTGPU_BACK_ENDED)
      break;
    ASSERT_EQ(stopped[0].told.state, SOFTGPU_BACK_STOPPED);
    EXPECT_FALSE(stopped[0].result.ok);
    EXPECT_EQ(stopped[0].result.fault.kind, SOFTGPU_FAULT_MOMENT);
    EXPECT_EQ(stopped[0].result.fault.pc, stopped[0].told.pc);
    EXPECT_EQ(stopped[0].result.fault.workgroup[0], 1u);
    EXPECT_EQ(stopped[0].result.fault.wave, 2u);
    EXPECT_EQ(stopped[0].told.instructions, count);
    EXPECT_EQ(stopped[0].told.pc_offset == 0, count == 0);
    steps = count;
  }
  EXPECT_GT(steps, 10u);
}

TEST_F(Order, stops_at_an_instruction)
{
  const Scene &scene = scenes()[0]; // 12 waves
  const Ran whole = watch(scene, 3, false);
  ASSERT_FALSE(whole.writers.empty());
  const uint64_t pc = whole.writers[0].pc;
  ASSERT_NE(pc, 0u);
  std::set<std::pair<uint32_t, uint32_t>> waves;
  for (uint64_t n = 0; n <= 13; ++n) {
    const auto ask = [&](softgpu_back_t &asked) {
      asked.stop = SOFTGPU_BACK_AT_PC;
      asked.pc = pc;
      asked.count = n;
    };
    const Ran stopped = run(scene, 3, n % 2, ask);
    ASSERT_EQ(stopped.told.state, n <= 12 ? SOFTGPU_BACK_STOPPED : SOFTGPU_BACK_ENDED) << n;
    if (n > 12)
      continue;
    EXPECT_EQ(stopped.told.pc, pc);
    if (n > 0) {
      EXPECT_TRUE(waves.insert({stopped.told.workgroup[0], stopped.told.wave}).second) << n;
    }
    // The same moment by what the wave had executed.
    const Ran same = run(scene, 3, false, [&](softgpu_back_t &asked) {
      asked.stop = SOFTGPU_BACK_AT_WAVE;
      memcpy(asked.workgroup, stopped.told.workgroup, sizeof asked.workgroup);
      asked.wave = stopped.told.wave;
      asked.count = stopped.told.instructions;
    });
    EXPECT_EQ(same.told.pc, pc);
    EXPECT_TRUE(same.after == stopped.after);
  }
}

// What has changed has a writer, and what a wave was the last to write has it where it stores.
TEST_F(Order, knows_the_last_writer_of_each_byte)
{
  for (const Scene &scene : scenes())
    for (bool reference : {false, true}) {
      SCOPED_TRACE(scene.kernel);
      const Ran ran = watch(scene, 5, reference);
      ASSERT_TRUE(ran.result.ok) << ran.result.fault.text;
      uint64_t next = 0, written = 0;
      for (const softgpu_back_writer_t &writer : ran.writers) {
        ASSERT_EQ(writer.offset, next);
        next += writer.bytes;
        if (!writer.pc) {
          for (uint64_t i = writer.offset; i < next; ++i)
            ASSERT_EQ(ran.before[i], ran.after[i]) << i;
          continue;
        }
        written += writer.bytes;
        const std::string text = writer.instruction_text;
        ASSERT_TRUE(text.find("store") != std::string::npos ||
                    text.find("atomic") != std::string::npos)
            << text;
        ASSERT_LT(writer.workgroup[0], scene.groups);
        ASSERT_LT(writer.wave * 64, scene.items);
        ASSERT_LT(writer.lane, 64u);
        // It is the wave's next instruction when it has executed so many.
        if (writer.offset % 64 == 0 && !reference) {
          const Ran there = run(scene, 5, false, [&](softgpu_back_t &asked) {
            asked.stop = SOFTGPU_BACK_AT_WAVE;
            memcpy(asked.workgroup, writer.workgroup, sizeof asked.workgroup);
            asked.wave = writer.wave;
            asked.count = writer.instructions;
          });
          ASSERT_EQ(there.told.pc, writer.pc);
        }
      }
      EXPECT_EQ(next, scene.bytes);
      EXPECT_GT(written, 0u);
    }
}

// out[id] of lds_race is the work-item's own, and so is its word of LDS.
TEST_F(Order, names_lanes)
{
  const Scene &scene = scenes()[0];
  const Ran ran = watch(scene, 1, false);
  ASSERT_EQ(ran.writers.size(), 256u);
  for (uint32_t i = 0; i < 256; ++i) {
    EXPECT_EQ(ran.writers[i].offset, 4 * i);
    EXPECT_EQ(ran.writers[i].bytes, 4u);
    EXPECT_EQ(ran.writers[i].wave, i / 64);
    EXPECT_EQ(ran.writers[i].lane, i % 64);
  }
  const Ran lds = run(scene, 1, false, [&](softgpu_back_t &asked) {
    asked.space = SOFTGPU_BACK_LDS;
    asked.lds_group[0] = 2;
    asked.bytes = 1024;
  });
  ASSERT_EQ(lds.writers.size(), 256u);
  for (uint32_t i = 0; i < 256; ++i) {
    EXPECT_EQ(lds.writers[i].workgroup[0], 2u);
    EXPECT_EQ(lds.writers[i].wave, i / 64);
    EXPECT_EQ(lds.writers[i].lane, i % 64);
    EXPECT_EQ(0, strncmp(lds.writers[i].instruction_text, "ds_write", 8));
  }
}

// Code that is written here: who wrote the bytes that `ask` names, on an engine. The chip's number is the dispatch's.
std::vector<softgpu_back_writer_t> writers_of(const std::vector<uint32_t> &code,
                                              softgpu_chip_t chip, bool reference,
                                              const std::vector<uint32_t> &kernargs,
                                              softgpu_back_t asked)
{
  device::Kernel kernel(code);
  device::Memory arguments(512);
  std::vector<softgpu_back_writer_t> writers;
  memcpy(arguments.as<void>(), kernargs.data(), kernargs.size() * 4);
  softgpu_dispatch_t dispatch =
      device::dispatch(kernel.object(), arguments.as<void>(), 1, 64, chip);
  dispatch.group_bytes = 2048;
  softgpu_invalidate_code();
  order_begin(1);
  softgpu_engine_reference(reference);
  asked.kernel_object = kernel.object();
  EXPECT_TRUE(softgpu_back(&asked, sizeof asked));
  const device::Result result = device::run(dispatch, 60000);
  EXPECT_TRUE(result.ok) << result.fault.text;
  softgpu_back_told_t told{};
  EXPECT_TRUE(softgpu_back_told(
      &told, sizeof told,
      [](void *context, const softgpu_back_writer_t *writer) {
        static_cast<std::vector<softgpu_back_writer_t> *>(context)->push_back(*writer);
      },
      &writers));
  return writers;
}

struct Part {
  uint64_t bytes;
  const char *instruction; // what its text begins with; "": nobody
  uint32_t lane;
};

void expect_parts(const std::vector<softgpu_back_writer_t> &writers, const std::vector<Part> &parts)
{
  ASSERT_EQ(writers.size(), parts.size());
  uint64_t next = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    SCOPED_TRACE(i);
    const std::string text = writers[i].instruction_text;
    EXPECT_EQ(writers[i].offset, next);
    EXPECT_EQ(writers[i].bytes, parts[i].bytes);
    EXPECT_EQ(text.substr(0, text.find(' ')), parts[i].instruction);
    EXPECT_EQ(writers[i].lane, parts[i].lane);
    EXPECT_EQ(writers[i].pc != 0, *parts[i].instruction != 0);
    next += parts[i].bytes;
  }
}

softgpu_back_t memory_of(const device::Memory &memory, uint64_t bytes)
{
  softgpu_back_t asked{};
  asked.space = SOFTGPU_BACK_MEMORY;
  asked.address = memory.address();
  asked.bytes = bytes;
  return asked;
}

TEST_F(Order, knows_scalar_stores)
{
  const std::vector<uint32_t> code = {
      0xc0060100, 0x00000000, // s_load_dwordx2 s[4:5], s[0:1], 0x0
      0xbe880088,             // s_mov_b32 s8, 8
      0xbe890089,             // s_mov_b32 s9, 9
      0xbe8a008a,             // s_mov_b32 s10, 10
      0xbe8b008b,             // s_mov_b32 s11, 11
      0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
      0xbe8c0004,             // s_mov_b32 s12, s4
      0xbe8d0005,             // s_mov_b32 s13, s5
      0xb00e0040,             // s_movk_i32 s14, 0x40
      0xbe8f00ff, 0x00027000, // s_mov_b32 s15, 0x27000
      0xc0420202, 0x00000000, // s_store_dword s8, s[4:5], 0x0
      0xc0460202, 0x00000008, // s_store_dwordx2 s[8:9], s[4:5], 0x8
      0xc04a0202, 0x00000010, // s_store_dwordx4 s[8:11], s[4:5], 0x10
      0xc0620206, 0x00000020, // s_buffer_store_dword s8, s[12:15], 0x20
      0xc20a0202, 0x00000024, // s_atomic_add s8, s[4:5], 0x24
      0xc0840000, 0x00000000, // s_dcache_wb
      0xbf810000,             // s_endpgm
  };
  const uint32_t scalar = SOFTGPU_BACK_NO_LANE;
  for (softgpu_chip_t chip : {SOFTGPU_GFX90A, SOFTGPU_GFX942, SOFTGPU_GFX950})
    for (bool reference : {false, true}) {
      SCOPED_TRACE(std::to_string(chip) + (reference ? " reference" : " fast"));
      device::Memory out(4096);
      memset(out.as<void>(), 0, 4096);
      expect_parts(writers_of(code, chip, reference,
                              {uint32_t(out.address()), uint32_t(out.address() >> 32)},
                              memory_of(out, 48)),
                   {{4, "s_store_dword", scalar},
                    {4, "", 0},
                    {8, "s_store_dwordx2", scalar},
                    {16, "s_store_dwordx4", scalar},
                    {4, "s_buffer_store_dword", scalar},
                    {4, "s_atomic_add", scalar},
                    {8, "", 0}});
    }
}

TEST_F(Order, knows_stores_to_images)
{
  const std::vector<uint32_t> code = {
      0xc00e0200, 0x00000000, // s_load_dwordx8 s[8:15], s[0:1], 0x0
      0x7e080300,             // v_mov_b32_e32 v4, v0
      0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
      0xf0201f00, 0x00020400, // image_store v[4:7], v0, s[8:15] dmask:0xf unorm
      0xbf810000,             // s_endpgm
  };
  for (bool reference : {false, true}) {
    SCOPED_TRACE(reference);
    device::Memory out(4096);
    memset(out.as<void>(), 0, 4096);
    // 40 texels of four dwords, so that the lanes behind write nothing.
    const uint64_t base = out.address() >> 8;
    const uint32_t rgba32 = 14, whole = 4, one_dimension = 8,
                   components = 4 | 5 << 3 | 6 << 6 | 7 << 9;
    std::vector<Part> parts;
    for (uint32_t lane = 0; lane < 40; ++lane)
      parts.push_back({16, "image_store", lane});
    parts.push_back({128, "", 0});
    expect_parts(writers_of(code, SOFTGPU_GFX90A, reference,
                            {uint32_t(base), uint32_t(base >> 32) | rgba32 << 20 | whole << 26, 39,
                             one_dimension << 28 | components, 39 << 13, 0, 0, 0},
                            memory_of(out, 40 * 16 + 128)),
                 parts);
  }
}

// Of 16 bytes, which gfx950 alone has.
TEST_F(Order, knows_loads_into_lds)
{
  const std::vector<uint32_t> code = {
      0xc0060100, 0x00000000, // s_load_dwordx2 s[4:5], s[0:1], 0x0
      0xb0060040,             // s_movk_i32 s6, 0x40
      0xbefc0006,             // s_mov_b32 m0, s6
      0x24020084,             // v_lshlrev_b32_e32 v1, 4, v0
      0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
      0xddf48000, 0x00040001, // global_load_lds_dwordx4 v1, s[4:5]
      0xbf8c0f70,             // s_waitcnt vmcnt(0)
      0xbf810000,             // s_endpgm
  };
  std::vector<Part> parts = {{64, "", 0}};
  for (uint32_t lane = 0; lane < 64; ++lane)
    parts.push_back({16, "global_load_lds_dwordx4", lane});
  parts.push_back({64, "", 0});
  for (bool reference : {false, true}) {
    SCOPED_TRACE(reference);
    device::Memory in(4096);
    softgpu_back_t asked{};
    asked.space = SOFTGPU_BACK_LDS;
    asked.bytes = 64 + 64 * 16 + 64;
    expect_parts(writers_of(code, SOFTGPU_GFX950, reference,
                            {uint32_t(in.address()), uint32_t(in.address() >> 32)}, asked),
                 parts);
  }
}

TEST_F(Order, refuses_what_makes_no_sense)
{
  softgpu_back_t asked{};
  EXPECT_FALSE(softgpu_back(&asked, sizeof asked)) << "there is no order";
  order_begin(1);
  EXPECT_TRUE(softgpu_back(&asked, sizeof asked));
  asked.stop = 3;
  EXPECT_FALSE(softgpu_back(&asked, sizeof asked));
  asked.stop = 0;
  asked.space = SOFTGPU_BACK_MEMORY;
  EXPECT_FALSE(softgpu_back(&asked, sizeof asked)) << "no bytes";
  asked.bytes = SOFTGPU_BACK_BYTES + 1;
  EXPECT_FALSE(softgpu_back(&asked, sizeof asked));
  asked.bytes = 16;
  asked.address = UINT64_MAX - 8;
  EXPECT_FALSE(softgpu_back(&asked, sizeof asked));
  const Ran gone = run(scenes()[0], 1, false, [](softgpu_back_t &ask) {
    ask.space = SOFTGPU_BACK_MEMORY;
    ask.address = 0x1000;
    ask.bytes = 4;
  });
  EXPECT_TRUE(gone.result.ok) << "it runs without";
  EXPECT_EQ(gone.told.state, SOFTGPU_BACK_NOT_THERE);
  const Ran other = run(scenes()[0], 1, false, [](softgpu_back_t &ask) { ++ask.kernel_object; });
  EXPECT_EQ(other.told.state, SOFTGPU_BACK_WAITS);
  EXPECT_TRUE(softgpu_back(nullptr, 0));
  softgpu_back_told_t told;
  EXPECT_FALSE(softgpu_back_told(&told, sizeof told, nullptr, nullptr));
}

TEST_F(Order, says_that_it_failed_before)
{
  device::Memory kernargs(512);
  device::CodeObject object("fault-gfx90a-v5.co");
  order_begin(1);
  softgpu_back_t asked{};
  asked.kernel_object = object.symbol("fault_store.kd");
  asked.stop = SOFTGPU_BACK_AT_WAVE;
  asked.count = 1000000;
  ASSERT_TRUE(softgpu_back(&asked, sizeof asked));
  const uint64_t nowhere = 0x123456789000;
  memcpy(kernargs.as<void>(), &nowhere, sizeof nowhere);
  EXPECT_FALSE(device::run(device::dispatch(asked.kernel_object, kernargs.as<void>(), 1, 1)).ok);
  softgpu_back_told_t told;
  ASSERT_TRUE(softgpu_back_told(&told, sizeof told, nullptr, nullptr));
  EXPECT_EQ(told.state, SOFTGPU_BACK_FAILED);
}

// The clock of waves counts their turns, and is the device's again without an order.
TEST_F(Order, gives_waves_a_clock)
{
  const Scene scene = {"turns-gfx90a-v4.co", "turn", 1, 1, 0, {3000}, false, false, 8};
  const Ran first = run(scene, 1, false), second = run(scene, 1, true);
  EXPECT_TRUE(first.after == second.after);
  order_begin(0);
  EXPECT_EQ(softgpu_wave_ticks, softgpu_clock_ticks);
  EXPECT_EQ(softgpu_wave_cycles, softgpu_clock_cycles);
  EXPECT_EQ(softgpu_engine_supervisor(), nullptr);
}

TEST_F(Order, is_there_without_memory_for_what_was_asked)
{
  const Scene &scene = scenes()[0];
  (void)watch(scene, 1, false);
  for (long left = 0; left < 3; ++left) {
    softgpu_back_t asked{};
    asked.space = SOFTGPU_BACK_MEMORY;
    asked.bytes = 64;
    allocations_left = left;
    const bool done = softgpu_back(&asked, sizeof asked);
    allocations_left = -1;
    EXPECT_EQ(done, left == 2) << left;
  }
}

// Nobody looks at dispatches that have no order.
TEST_F(Order, is_not_there_unless_asked_for)
{
  const Ran ran = run(scenes()[3], 0, false);
  EXPECT_TRUE(ran.result.ok);
  EXPECT_EQ(softgpu_engine_supervisor(), nullptr);
}

} // namespace
