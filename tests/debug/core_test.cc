// Core files made of descriptions: our reader of the debugger's rules finds in them what was described, within any budget.
#include "tests/debug/listing.h"
#include "tests/debug/scene.h"

#include <gtest/gtest.h>

#include <filesystem>

using scene::Scene;

namespace {

struct Seen {
  std::vector<walk_wave_t> waves;
  std::vector<walk_queue_t> queues;
  std::vector<walk_object_t> objects;
  walk_finding_t finding = {};
  bool whole = false;
};

bool see_wave(void *to, const walk_wave_t *wave)
{
  return static_cast<Seen *>(to)->waves.push_back(*wave), true;
}
bool see_queue(void *to, const walk_queue_t *queue)
{
  return static_cast<Seen *>(to)->queues.push_back(*queue), true;
}
bool see_object(void *to, const walk_object_t *object)
{
  return static_cast<Seen *>(to)->objects.push_back(*object), true;
}

Seen walk(const core_view_t &view)
{
  Seen seen;
  const walk_visitor_t visitor = {nullptr, see_object, see_queue, see_wave, nullptr, &seen};
  seen.whole = core_walk(&view, &visitor, &seen.finding);
  return seen;
}

struct Opened {
  core_file_t file = {};
  rawhal_error_t error = {};
  explicit Opened(const std::string &bytes)
  {
    status = core_file_open(&file, {bytes.data(), bytes.size()}, &error);
  }
  ~Opened() { core_file_close(&file); }
  rawhal_status_t status;
};

class Core : public testing::TestWithParam<int> {
protected:
  const scene::Chip &chip = scene::chips[GetParam()];
};

} // namespace

TEST_P(Core, WhatIsDescribedIsReadBack)
{
  Scene made(chip, 2, 3);
  std::string bytes;
  core_written_t written;
  rawhal_error_t error = {};
  ASSERT_EQ(scene::write(made, &bytes, &written, &error), RAWHAL_OK) << error.message;
  EXPECT_EQ(written.bytes, bytes.size());
  EXPECT_EQ(written.waves, made.waves.size());
  EXPECT_EQ(written.queues, 3u);
  EXPECT_EQ(written.left_out_bytes, 0u);
  Opened opened(bytes);
  ASSERT_EQ(opened.status, RAWHAL_OK) << opened.error.message;
  const Seen seen = walk(opened.file.view);
  ASSERT_TRUE(seen.whole) << core_mistake_text(seen.finding.mistake);
  EXPECT_EQ(seen.finding.seen, 0u);
  EXPECT_EQ(seen.finding.r_version, 10u);
  ASSERT_EQ(seen.objects.size(), 1u);
  EXPECT_EQ(seen.objects[0].size, made.objects[0].bytes.size);
  ASSERT_EQ(seen.waves.size(), made.waves.size());
  for (size_t i = 0; i < seen.waves.size(); ++i) {
    const walk_wave_t &wave = seen.waves[i];
    const core_wave_t &from = made.waves[i];
    EXPECT_EQ(wave.queue, from.queue);
    EXPECT_EQ(wave.xcc, from.xcc);
    EXPECT_EQ(wave.packet, 67u);
    EXPECT_EQ(wave.group[0], from.group[0]);
    EXPECT_EQ(wave.index, from.index);
    EXPECT_EQ(wave.pc, from.pc + (from.stop == CORE_STOP_TRAP ? 4 : 0));
    EXPECT_EQ(wave.reason, from.stop == CORE_STOP_MEMORY ? uint32_t{WALK_MEMORY_VIOLATION}
                           : from.stop == CORE_STOP_TRAP ? uint32_t{WALK_ASSERT_TRAP}
                                                         : 0u);
    EXPECT_EQ(wave.exec, from.exec);
    EXPECT_EQ(wave.scratch, from.scratch);
    EXPECT_EQ(wave.vgprs, 8u);
    EXPECT_EQ(wave.agprs, 8u);
    EXPECT_EQ(memcmp(wave.sgprs, from.sgprs, 4 * 102), 0);
    uint32_t row[CORE_LANES];
    for (uint32_t r = 0; r < from.vgpr_count; ++r) {
      ASSERT_TRUE(core_view_read(&opened.file.view, wave.vgprs_at + 256 * r, row, sizeof row));
      EXPECT_EQ(memcmp(row, from.vgprs[r], sizeof row), 0);
    }
    for (uint32_t r = 0; r < from.agpr_count; ++r) {
      ASSERT_TRUE(core_view_read(&opened.file.view, wave.agprs_at + 256 * r, row, sizeof row));
      EXPECT_EQ(memcmp(row, from.agprs[r], sizeof row), 0);
    }
    std::string lds(made.lds.size(), 0);
    ASSERT_TRUE(core_view_read(&opened.file.view, wave.lds_at, &lds[0], lds.size()));
    EXPECT_EQ(lds, made.lds);
  }
  for (const core_memory_t &memory : made.memory) {
    std::string back(memory.size, 0);
    ASSERT_TRUE(core_view_read(&opened.file.view, memory.address, &back[0], back.size()));
    EXPECT_EQ(memcmp(back.data(), memory.bytes, back.size()), 0);
  }
}

TEST_P(Core, ABudgetIsKept)
{
  Scene made(chip, 1, 2);
  made.add(scene::BUFFER, std::string(1 << 20, 'B'), CORE_BUFFER);
  made.bytes.push_back(made.bytes[0] + std::string(60000, 0)); // larger than all that is reserved
  made.objects[0].bytes = {made.bytes.back().data(), made.bytes.back().size()};
  std::string bytes;
  core_written_t written;
  rawhal_error_t error = {};
  ASSERT_EQ(scene::write(made, &bytes, &written, &error), RAWHAL_OK) << error.message;
  const size_t whole = bytes.size();
  unsigned refused = 0, partial = 0;
  for (size_t budget = 1000; budget < whole + 5000; budget += 4999) {
    made.options.budget = budget;
    const rawhal_status_t status = scene::write(made, &bytes, &written, &error);
    if (status != RAWHAL_OK) {
      EXPECT_EQ(status, RAWHAL_QUOTA_EXCEEDED) << error.message;
      ++refused;
      continue;
    }
    EXPECT_LE(bytes.size(), budget);
    partial += written.left_out_bytes > 0;
    Opened opened(bytes);
    ASSERT_EQ(opened.status, RAWHAL_OK);
    const Seen seen = walk(opened.file.view);
    EXPECT_TRUE(seen.whole) << core_mistake_text(seen.finding.mistake);
    EXPECT_EQ(seen.waves.size(), written.waves);
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(partial, 10u);
}

namespace {

bool count(void *to, const void *, size_t size)
{
  return *static_cast<uint64_t *>(to) += size, true;
}

} // namespace

// Budgets that operators set: as much as there is room for, never a byte more.
TEST_P(Core, BudgetsThatOperatorsSet)
{
  Scene made(chip, 2, 2);
  made.add(scene::BUFFER, std::string(1 << 20, 'B'), CORE_BUFFER);
  for (uint64_t i = 1; i < 100; ++i) { // 100 MiB; the bytes may be the same
    core_memory_t more = made.memory.back();
    more.address += 1ull << 32;
    made.memory.push_back(more);
  }
  const core_description_t *description = made.describe();
  for (const uint64_t budget : {64u << 10, 1u << 20, 64u << 20, 0u}) {
    uint64_t counted = 0;
    core_written_t written;
    rawhal_error_t error = {};
    made.options.budget = budget;
    ASSERT_EQ(core_write(description, &made.options, count, &counted, &written, &error), RAWHAL_OK)
        << error.message;
    EXPECT_EQ(written.bytes, counted);
    EXPECT_GT(written.waves, 0u) << budget;
    if (budget) {
      EXPECT_LE(counted, budget);
      EXPECT_GT(counted, budget - (32 << 10));
      EXPECT_GT(written.left_out_bytes, 0u);
    } else {
      EXPECT_GT(counted, 100u << 20);
      EXPECT_EQ(written.left_out_bytes, 0u);
    }
  }
}

TEST_P(Core, AQueueThatWouldBeRefusedIsLeftOutAndTheOthersStay)
{
  Scene made(chip, 1, 2);
  made.waves[0].packet = 5; // not in flight
  std::string bytes;
  core_written_t written;
  rawhal_error_t error = {};
  ASSERT_EQ(scene::write(made, &bytes, &written, &error), RAWHAL_OK) << error.message;
  EXPECT_EQ(written.queues, 1u);
  EXPECT_EQ(written.waves, made.waves.size() / 2);
  Opened opened(bytes);
  core_file_note_t note;
  bool named = false;
  for (core_note_cursor_t cursor = {}; core_file_note(&opened.file, &cursor, &note);) {
    core_record_t record;
    if (note.type != CORE_NOTE_LEFT_OUT)
      continue;
    for (uint64_t at = 0; core_notes_next(note.bytes, &at, &record);)
      named |= record.type == CORE_RECORD_LEFT_OUT_ENTRY &&
               record.as.entry.address == scene::QUEUE &&
               record.as.entry.reason == CORE_REASON_MISTAKE + MISTAKE_PACKET_ID;
  }
  EXPECT_TRUE(named);
}

TEST_P(Core, EachMistakeHasItsName)
{
  Scene made(chip);
  std::string bytes;
  core_written_t written;
  rawhal_error_t error = {};
  ASSERT_EQ(scene::write(made, &bytes, &written, &error), RAWHAL_OK) << error.message;
  Opened opened(bytes);
  const core_file_t &file = opened.file;
  const size_t note =
      static_cast<size_t>(static_cast<const char *>(file.view.note.data) - bytes.data());
  const Seen good = walk(file.view);
  const auto offset = [&](uint64_t address) {
    const core_range_t &range =
        file.view.ranges[core_range_behind(file.view.ranges, file.view.count, address)];
    return static_cast<size_t>(reinterpret_cast<const char *>(range.bytes) - bytes.data() +
                               (address - range.address));
  };
  const size_t agent = note + sizeof(core_format_note_t) + sizeof(core_format_runtime_t);
  const size_t queue = agent + sizeof(core_format_agent_t),
               save = offset(good.queues[0].entry.save_area);
  const size_t stack = save + 64, special = offset(good.waves[0].special_at),
               r_debug = offset(good.finding.r_debug);
  const bool parks = good.waves[0].chip->parks;
  const size_t ttmps = special + 4 * (FORMAT_SGPRS + FORMAT_HWREGS);
  const struct {
    size_t at;
    uint32_t value;
    core_mistake_t mistake;
    bool ends;
  } rows[] = {
      {note + 24, 2, MISTAKE_NOTE_SIZE, true},
      {note + 12, 12, MISTAKE_KFD_VERSION, true},
      {note + 8, 2, MISTAKE_KFD_VERSION, true},
      {note + sizeof(core_format_note_t) + 4, 1, MISTAKE_R_DEBUG, true},
      {note + sizeof(core_format_note_t) + 8, 0, MISTAKE_INACTIVE, false},
      {note + sizeof(core_format_note_t) + 8, 2, MISTAKE_RUNTIME_STATE, true},
      {agent + offsetof(core_format_agent_t, gfx_target_version), 80000, MISTAKE_CHIP, false},
      {agent + offsetof(core_format_agent_t, simds), 0, MISTAKE_NODE, true},
      {agent + offsetof(core_format_agent_t, capability), FORMAT_DEBUG, MISTAKE_CAPABILITY, false},
      {queue + offsetof(core_format_queue_t, gpu_id), 1, MISTAKE_GPU_ID, true},
      {queue + offsetof(core_format_queue_t, ring_bytes), 100, MISTAKE_RING, true},
      {queue + offsetof(core_format_queue_t, type), 1, MISTAKE_QUEUE_TYPE, false},
      {queue + offsetof(core_format_queue_t, read_pointer) + 4, 1, MISTAKE_QUEUE_MEMORY, true},
      {r_debug, 7, MISTAKE_R_VERSION, true},
      {r_debug + 24, 1, MISTAKE_R_STATE, false},
      {offset(good.objects[0].address), 0, MISTAKE_CODE_OBJECT, true},
      {save + 8, 0x10, MISTAKE_SAVE_HEADER, true},
      {stack + 12, FORMAT_EVENT, MISTAKE_GROUP, true},
      {stack + 8, FORMAT_EVENT, MISTAKE_SAVE_AREA, true},
      {offset(scene::QUEUE + FORMAT_WRITE_ID), 0, MISTAKE_PACKET_ID, true},
      {offset(scene::RING) + 3 * 64 + 36, 1, MISTAKE_KERNEL, true},
      {parks ? ttmps + 28 : special + 4 * (FORMAT_SGPRS + HWREG_PC), 2, MISTAKE_PC, true},
      {ttmps + 24, 0xc0000000, MISTAKE_WAVE_TTMPS, false},
  };
  for (const auto &row : rows) {
    std::string damaged = bytes;
    memcpy(&damaged[row.at], &row.value, sizeof row.value);
    Opened again(damaged);
    const Seen seen = walk(again.file.view);
    EXPECT_EQ(seen.whole, !row.ends) << core_mistake_name(row.mistake);
    if (row.ends)
      EXPECT_STREQ(core_mistake_name(seen.finding.mistake), core_mistake_name(row.mistake))
          << row.at;
    else
      EXPECT_TRUE(seen.finding.seen >> row.mistake & 1) << core_mistake_name(row.mistake);
  }
}

TEST_P(Core, SegmentsMayNotOverlap)
{
  Scene made(chip);
  std::string bytes;
  core_written_t written;
  rawhal_error_t error = {};
  ASSERT_EQ(scene::write(made, &bytes, &written, &error), RAWHAL_OK) << error.message;
  Elf64_Phdr first, second; // behind the notes, by address
  char *const headers = &bytes[sizeof(Elf64_Ehdr) + sizeof first];
  memcpy(&first, headers, sizeof first);
  memcpy(&second, headers + sizeof first, sizeof second);
  second.p_vaddr = first.p_vaddr + first.p_filesz;
  memcpy(headers + sizeof first, &second, sizeof second);
  EXPECT_EQ(Opened(bytes).status, RAWHAL_OK);
  second.p_vaddr -= 1;
  memcpy(headers + sizeof first, &second, sizeof second);
  EXPECT_EQ(Opened(bytes).status, RAWHAL_MALFORMED);
}

TEST_P(Core, EveryPrefixAndDamagedByteIsReadWithinItsBounds)
{
  Scene made(chip);
  std::string bytes;
  core_written_t written;
  rawhal_error_t error = {};
  ASSERT_EQ(scene::write(made, &bytes, &written, &error), RAWHAL_OK) << error.message;
  for (size_t size = 0; size < bytes.size(); size += 1 + size / 50) {
    const std::string prefix(bytes.data(), size);
    Opened opened(prefix);
    EXPECT_NE(opened.status, RAWHAL_OK) << size;
  }
  for (size_t at = 0; at < bytes.size(); at += at < 8192 ? 1 : 61) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    Opened opened(damaged);
    if (opened.status == RAWHAL_OK)
      (void)walk(opened.file.view);
  }
}

// A list that runs in a circle, in a file in which a thousand segments are the same bytes: what is looked at is bounded by
// the file's bytes.
TEST_P(Core, AFileThatSaysItIsLargerThanItIsIsNotReadForLonger)
{
  Scene made(chip);
  std::string bytes;
  core_written_t written;
  rawhal_error_t error = {};
  ASSERT_EQ(scene::write(made, &bytes, &written, &error), RAWHAL_OK) << error.message;
  Elf64_Ehdr elf;
  memcpy(&elf, bytes.data(), sizeof elf);
  std::string headers = bytes.substr(elf.e_phoff, elf.e_phnum * sizeof(Elf64_Phdr));
  for (uint64_t i = 0; i < 1000; ++i) {
    const Elf64_Phdr more = {PT_LOAD, PF_R, 0, (i + 1) << 32, 0, bytes.size(), bytes.size(), 1};
    headers.append(reinterpret_cast<const char *>(&more), sizeof more);
  }
  Opened opened(bytes);
  const Seen seen = walk(opened.file.view);
  ASSERT_EQ(seen.objects.size(), 1u);

  const uint64_t link = seen.finding.r_debug + 64;
  const core_range_t &range =
      opened.file.view
          .ranges[core_range_behind(opened.file.view.ranges, opened.file.view.count, link)];
  const size_t at = static_cast<size_t>(reinterpret_cast<const char *>(range.bytes) - bytes.data() +
                                        (link - range.address));
  memcpy(&bytes[at + offsetof(core_format_link_t, next)], &link, sizeof link);
  elf.e_phoff = bytes.size();
  elf.e_phnum = static_cast<uint16_t>(elf.e_phnum + 1000);
  memcpy(&bytes[0], &elf, sizeof elf);
  bytes += headers;
  Opened again(bytes);
  ASSERT_EQ(again.status, RAWHAL_OK) << again.error.message;
  const Seen all = walk(again.file.view);
  EXPECT_EQ(all.finding.mistake, MISTAKE_TOO_MUCH);
  EXPECT_LT(all.objects.size(), bytes.size() / 32);
}

// ROCr's own files may name an object by the path that it was loaded from.
TEST_P(Core, AnObjectThatIsAFileElsewhereHidesNothingElse)
{
  Scene made(chip);
  std::string bytes;
  core_written_t written;
  rawhal_error_t error = {};
  ASSERT_EQ(scene::write(made, &bytes, &written, &error), RAWHAL_OK) << error.message;
  const size_t uri = bytes.find("memory://4242#");
  ASSERT_NE(uri, std::string::npos);
  memcpy(&bytes[uri], "file:///kernels", 16);
  Opened opened(bytes);
  const Seen seen = walk(opened.file.view);
  EXPECT_TRUE(seen.whole) << core_mistake_name(seen.finding.mistake);
  EXPECT_EQ(seen.finding.seen, UINT64_C(1) << MISTAKE_OBJECT_ELSEWHERE);
  EXPECT_EQ(seen.waves.size(), made.waves.size());
}

// ROCr's own has no threads, and so no process.
TEST_P(Core, AFileOfGpusAloneIsRead)
{
  Scene made(chip);
  std::string bytes;
  core_written_t written;
  rawhal_error_t error = {};
  ASSERT_EQ(scene::write(made, &bytes, &written, &error), RAWHAL_OK) << error.message;
  for (size_t at; (at = bytes.find(std::string("CORE\0", 5))) != std::string::npos;)
    bytes[at] = 'X';
  Opened opened(bytes);
  const Seen seen = walk(opened.file.view);
  EXPECT_EQ(opened.file.view.process, 0);
  EXPECT_TRUE(seen.whole) << core_mistake_name(seen.finding.mistake);
  EXPECT_EQ(seen.finding.seen, UINT64_C(1) << MISTAKE_NO_PROCESS);
  EXPECT_EQ(seen.objects.size(), 1u);
  EXPECT_EQ(seen.waves.size(), made.waves.size());
}

// RAWHAL_DBGAPI_CLIENT: a program that lists a core file through ROCm's debugger library.
TEST_P(Core, TheDebuggersLibraryShowsTheSame)
{
  const char *client = getenv("RAWHAL_DBGAPI_CLIENT");
  if (!client)
    GTEST_SKIP() << "RAWHAL_DBGAPI_CLIENT names no program";
  Scene made(chip, 2, 3);
  std::string bytes, text;
  core_written_t written;
  rawhal_error_t error = {};
  ASSERT_EQ(scene::write(made, &bytes, &written, &error), RAWHAL_OK) << error.message;
  const std::string path = testing::TempDir() + "core." + chip.name;
  std::ofstream(path, std::ios::binary) << bytes;
  const listing::Lines theirs = listing::by_debugger(path, &text);
  EXPECT_EQ(text, "");
  Opened opened(bytes);
  ASSERT_EQ(opened.status, RAWHAL_OK);
  const listing::Lines ours = listing::of(opened.file.view);
  EXPECT_GT(ours.size(), 100 * made.waves.size());
  EXPECT_EQ(listing::difference(ours, theirs), "");
}

// RAWHAL_DBGAPI_CORES: a folder of core files that programs have left.
TEST(RealCores, TheDebuggersLibraryShowsTheSame)
{
  const char *folder = getenv("RAWHAL_DBGAPI_CORES");
  if (!folder || !getenv("RAWHAL_DBGAPI_CLIENT"))
    GTEST_SKIP() << "RAWHAL_DBGAPI_CLIENT and RAWHAL_DBGAPI_CORES name no program and no folder";
  size_t files = 0, waves = 0, words = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::string text;
    Opened opened(bytes);
    ASSERT_EQ(opened.status, RAWHAL_OK) << entry.path();
    const listing::Lines ours = listing::of(opened.file.view);
    EXPECT_FALSE(ours.empty()) << entry.path();
    EXPECT_EQ(listing::difference(ours, listing::by_debugger(entry.path(), &text)), "")
        << entry.path();
    EXPECT_EQ(text, "") << entry.path();
    ++files;
    for (const std::string &line : ours) {
      waves += line.find(" reason ") != std::string::npos;
      words += static_cast<size_t>(std::count(line.begin(), line.end(), ' '));
    }
  }
  EXPECT_GT(files, 0u);
  printf("%zu files, %zu waves, %zu words\n", files, waves, words);
}

INSTANTIATE_TEST_SUITE_P(Chips, Core, testing::Range(0, 3),
                         [](const auto &info) { return scene::chips[info.param].name; });
