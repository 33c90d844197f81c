// Notes of ours, and what is done to core files that are there.
#include "tests/debug/scene.h"

#include <gtest/gtest.h>

extern "C" {
#include "debug/core/change.h"
}

using scene::Scene;

namespace {

std::string written_by(Scene &made)
{
  std::string bytes;
  core_written_t written;
  rawhal_error_t error = {};
  EXPECT_EQ(scene::write(made, &bytes, &written, &error), RAWHAL_OK) << error.message;
  return bytes;
}

struct File {
  core_file_t file = {};
  rawhal_error_t error = {};
  explicit File(const std::string &bytes)
  {
    EXPECT_EQ(core_file_open(&file, {bytes.data(), bytes.size()}, &error), RAWHAL_OK)
        << error.message;
  }
  ~File() { core_file_close(&file); }
  rawhal_bytes_t note(uint32_t type) const
  {
    core_file_note_t note;
    for (core_note_cursor_t cursor = {}; core_file_note(&file, &cursor, &note);)
      if (note.type == type)
        return note.bytes;
    return {};
  }
};

std::string text_of(rawhal_string_t text)
{
  return {text.data, text.size};
}

bool see_wave(void *to, const walk_wave_t *wave)
{
  return static_cast<std::vector<walk_wave_t> *>(to)->push_back(*wave), true;
}

std::vector<walk_wave_t> waves_of(const core_file_t &file, uint32_t *version = nullptr)
{
  std::vector<walk_wave_t> waves;
  walk_visitor_t visitor = {};
  walk_finding_t finding;
  visitor.wave = see_wave;
  visitor.context = &waves;
  EXPECT_TRUE(core_walk(&file.view, &visitor, &finding)) << core_mistake_name(finding.mistake);
  if (version)
    *version = finding.r_version;
  return waves;
}

} // namespace

TEST(CoreNotes, WhatIsPutIsReadBack)
{
  Scene made(scene::chips[0]);
  const std::string bytes = written_by(made);
  File opened(bytes);
  rawhal_fault_t fault;
  const rawhal_fault_t from = made.fault();
  ASSERT_TRUE(core_notes_fault(opened.note(CORE_NOTE_CAUSE), &fault));
  EXPECT_EQ(fault.size, sizeof fault);
  fault.size = 0;
  EXPECT_EQ(memcmp(&fault, &from, sizeof fault), 0);
  core_record_t record;
  uint64_t cursor = 0;
  ASSERT_TRUE(core_notes_next(opened.note(CORE_NOTE_DISPATCHES), &cursor, &record));
  ASSERT_EQ(record.type, CORE_RECORD_DISPATCH);
  EXPECT_EQ(record.as.dispatch.ticket, 41u);
  EXPECT_EQ(record.as.dispatch.outcome, uint32_t{CORE_OUTCOME_FAILED});
  EXPECT_EQ(text_of(record.as.dispatch.label), "step 3");
  EXPECT_EQ(record.as.dispatch.kernarg_bytes.size, 9u);
  EXPECT_FALSE(core_notes_next(opened.note(CORE_NOTE_DISPATCHES), &cursor, &record));
  size_t allocations = 0;
  for (cursor = 0; core_notes_next(opened.note(CORE_NOTE_ALLOCATIONS), &cursor, &record);)
    allocations += record.as.allocation.size == 4096;
  EXPECT_EQ(allocations, 40u);
}

// Another version's record: with a field more, with fields missing, of a type that nobody knows.
TEST(CoreNotes, OtherVersionsAreReadAsFarAsTheyGo)
{
  alignas(8) char room[1024] = "";
  core_notes_t notes;
  core_notes_begin(&notes, room, sizeof room);
  const core_note_module_t module = {1, 2, 3, rawhal_string("a name")};
  ASSERT_TRUE(core_notes_put(&notes, CORE_RECORD_MODULE, &module));
  const size_t whole = core_notes_end(&notes).size;
  const auto read = [&](uint32_t type, uint32_t bytes) {
    const uint32_t head[2] = {type, bytes};
    memcpy(room + CORE_NOTES_HEAD, head, sizeof head);
    core_record_t record = {};
    uint64_t cursor = 0;
    return core_notes_next({room, CORE_NOTES_HEAD + bytes}, &cursor, &record)
               ? std::to_string(record.as.module.delta) + text_of(record.as.module.name)
               : "nothing";
  };
  const uint32_t size = static_cast<uint32_t>(whole - CORE_NOTES_HEAD);
  EXPECT_EQ(read(CORE_RECORD_MODULE, size), "1a name");
  EXPECT_EQ(read(CORE_RECORD_MODULE, size + 64), "1a name");
  EXPECT_EQ(read(CORE_RECORD_MODULE, 16), "1");
  EXPECT_EQ(read(CORE_RECORD_MODULE, size - 8), "1");
  EXPECT_EQ(read(99, size), "nothing");
  EXPECT_EQ(read(CORE_RECORD_MODULE, 4), "nothing");
  EXPECT_EQ(read(CORE_RECORD_MODULE, 0), "nothing");
}

TEST(CoreNotes, WhatHasNoRoomIsCounted)
{
  Scene made(scene::chips[0]);
  const rawhal_fault_t fault = made.fault();
  alignas(8) char room[400];
  for (size_t size = 0; size < sizeof room; ++size) {
    core_notes_t notes;
    core_notes_begin(&notes, room, size);
    const core_note_module_t module = {1, 2, 3, rawhal_string("a name")};
    const bool put = core_notes_put(&notes, CORE_RECORD_MODULE, &module);
    EXPECT_FALSE(core_notes_put_fault(&notes, &fault));
    const rawhal_bytes_t note = core_notes_end(&notes);
    EXPECT_LE(note.size, size);
    EXPECT_EQ(core_notes_dropped(note), note.size ? 1u + !put : 0u);
  }
}

TEST(CoreNotes, AnyBytesAreReadWithinTheirBounds)
{
  Scene made(scene::chips[0]);
  const rawhal_bytes_t note = made.notes[0].bytes;
  const std::string good(static_cast<const char *>(note.data), note.size);
  for (size_t at = 0; at < good.size(); ++at)
    for (const char value : {'\0', '\1', '\x7f', '\xff'}) {
      std::string damaged = good.substr(0, good.size() - at % 8);
      damaged[at % damaged.size()] = value;
      core_record_t record;
      size_t count = 0;
      for (uint64_t cursor = 0;
           core_notes_next({damaged.data(), damaged.size()}, &cursor, &record);)
        ++count;
      EXPECT_LE(count, damaged.size() / 8);
    }
}

class CoreAbi : public testing::TestWithParam<int> {};

TEST_P(CoreAbi, AWaveAtItsTrapIsMovedAndNoOther)
{
  Scene made(scene::chips[GetParam()]);
  std::string &image = made.bytes[1]; // as it was loaded
  const uint32_t s_trap = 0xbf920002;
  memcpy(&image[made.entry - scene::IMAGE + 0x28], &s_trap, sizeof s_trap);
  made.waves[3].stop = CORE_STOP_OTHER; // stands as at trap 4, but at no s_trap
  std::string bytes = written_by(made);
  const std::string before = bytes;
  size_t traps = 0;
  for (const core_wave_t &wave : made.waves)
    traps += wave.stop == CORE_STOP_TRAP;
  core_abi_change_t change;
  rawhal_error_t error = {};
  const auto data = reinterpret_cast<unsigned char *>(&bytes[0]);
  ASSERT_EQ(core_change_abi(data, bytes.size(), 12, &change, &error), RAWHAL_OK) << error.message;
  EXPECT_EQ(change.was, 10u);
  EXPECT_EQ(change.moved, traps);
  EXPECT_EQ(change.unsure, 0u);
  {
    File opened(bytes);
    uint32_t version;
    const auto waves = waves_of(opened.file, &version);
    EXPECT_EQ(version, 12u);
    ASSERT_EQ(waves.size(), made.waves.size());
    for (size_t i = 0; i < waves.size(); ++i)
      EXPECT_EQ(waves[i].pc, made.waves[i].pc);
  }
  made.options.abi = 12;
  EXPECT_EQ(bytes, written_by(made)); // as the writer has it
  ASSERT_EQ(core_change_abi(data, bytes.size(), 11, &change, &error), RAWHAL_OK);
  ASSERT_EQ(core_change_abi(data, bytes.size(), 10, &change, &error), RAWHAL_OK);
  EXPECT_EQ(change.moved, 0u);
  EXPECT_EQ(bytes, before);
  EXPECT_EQ(core_change_abi(data, bytes.size(), 13, &change, &error), RAWHAL_INVALID_ARGUMENT);
  bytes[bytes.find("memory://")] = 'x';
  EXPECT_EQ(core_change_abi(data, bytes.size(), 12, &change, &error), RAWHAL_MALFORMED);
}

INSTANTIATE_TEST_SUITE_P(Chips, CoreAbi, testing::Range(0, 3),
                         [](const auto &info) { return scene::chips[info.param].name; });

TEST(CoreMerge, TheHostsFileAndTheGpusAreOne)
{
  Scene made(scene::chips[1], 1, 2);
  made.add(0x401800, std::string(4096, 'G'), CORE_HOST); // half of it the host has
  const std::string gpus = written_by(made), host = scene::host_core(4242, scene::RING, 1 << 20);
  File one(host), other(gpus);
  std::string bytes;
  core_merged_t merged;
  rawhal_error_t error = {};
  ASSERT_EQ(core_merge(&one.file, &other.file, scene::append, &bytes, &merged, &error), RAWHAL_OK)
      << error.message;
  EXPECT_EQ(merged.bytes, bytes.size());
  EXPECT_EQ(merged.host_ranges, 1u); // the place without bytes is filled
  File opened(bytes);
  EXPECT_EQ(waves_of(opened.file).size(), made.waves.size());
  rawhal_fault_t fault;
  EXPECT_TRUE(core_notes_fault(opened.note(CORE_NOTE_CAUSE), &fault));
  size_t threads = 0;
  core_file_note_t note;
  for (core_note_cursor_t cursor = {}; core_file_note(&opened.file, &cursor, &note);)
    threads += core_note_is_of(&note, "CORE");
  EXPECT_EQ(threads, 1u); // the host's
  std::string back(6144, 0);
  ASSERT_TRUE(core_view_read(&opened.file.view, 0x401000, &back[0], back.size()));
  EXPECT_EQ(back, std::string(4096, 'H') + std::string(2048, 'G'));
  for (const core_memory_t &memory : made.memory) {
    if (memory.address < 0x402000)
      continue;
    back.assign(memory.size, 0);
    ASSERT_TRUE(core_view_read(&opened.file.view, memory.address, &back[0], back.size()));
    EXPECT_EQ(memcmp(back.data(), memory.bytes, back.size()), 0);
  }
}

TEST(CoreMerge, WhatDoesNotBelongTogetherIsRefused)
{
  Scene made(scene::chips[0]);
  const std::string gpus = written_by(made), host = scene::host_core(4242, 0, 0),
                    stranger = scene::host_core(4243, 0, 0);
  File one(host), other(gpus), third(stranger);
  core_merged_t merged;
  rawhal_error_t error = {};
  std::string bytes;
  const auto merge = [&](const File &a, const File &b) {
    return core_merge(&a.file, &b.file, scene::append, &bytes, &merged, &error);
  };
  EXPECT_EQ(merge(third, other), RAWHAL_INVALID_ARGUMENT);
  std::string alone = gpus;
  for (size_t at; (at = alone.find(std::string("CORE\0", 5))) != std::string::npos;)
    alone[at] = 'X';
  File fourth(alone); // whose process is not known: it may be any
  EXPECT_EQ(merge(one, fourth), RAWHAL_OK) << error.message;
  bytes.clear();
  EXPECT_EQ(merge(other, other), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(merge(one, one), RAWHAL_INVALID_ARGUMENT);
  EXPECT_TRUE(bytes.empty());
  const auto full = [](void *, const void *, size_t) { return false; };
  EXPECT_EQ(core_merge(&one.file, &other.file, full, nullptr, &merged, &error), RAWHAL_RUNTIME);
}
