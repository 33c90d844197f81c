// Queues of the catalogue: several, on several devices; and those that wait for what can never happen.
#include "catalogue.h"

#include "tests/debug/readers.h"

#include <hsa/hsa_ext_amd.h>

#include <functional>

namespace {

// ---- Several queues, several devices ----

class CatalogueOfQueues : public CatalogueTest {
protected:
  const char *limit() override { return "60000"; }
  rawhal_queue_t *queue_of(size_t index, uint32_t packets = 0)
  {
    rawhal_queue_options_t options = {};
    options.packets = packets;
    device = rawhal_instance_device(instance, index);
    return queue(options);
  }
  void more_checks(const core_file_t &file) override
  {
    if (checks)
      checks(file);
  }
  // By the note of rawhal's own.
  static std::vector<std::string> dispatches_of(const core_file_t &file)
  {
    std::vector<std::string> kernels;
    core_file_note_t note;
    core_record_t record;
    for (core_note_cursor_t cursor = {}; core_file_note(&file, &cursor, &note);)
      for (uint64_t at = 0;
           note.type == CORE_NOTE_DISPATCHES && core_notes_next(note.bytes, &at, &record);)
        kernels.emplace_back(record.as.dispatch.kernel.data, record.as.dispatch.kernel.size);
    return kernels;
  }
  std::function<void(const core_file_t &)> checks;
};

// One that died before, of another device; one that runs kernels, from the last packet of its ring on; one that has nothing to do; and the one that dies.
TEST_P(CatalogueOfQueues, AllAreInTheFile)
{
  if (!writes)
    GTEST_SKIP() << "this process may not write core files";
  rawhal_queue_t *const before = queue_of(1), *const idle = queue_of(2);
  device = rawhal_instance_device(instance, 1);
  Blob blob, waits, last;
  blob.add(at(buffer(4096))).add(65536u);
  ASSERT_EQ(run(before, dispatch_of(mistake("lds_at"), 1, 1, blob)), RAWHAL_FAULT);
  rawhal_fault_t first = {};
  ASSERT_OK(rawhal_queue_fault(before, &first, &error));
  rawhal_queue_t *const busy = queue_of(0, 64);
  rawhal_buffer_t *flag = buffer(4096, RAWHAL_MEMORY_HOST);
  auto *set = static_cast<uint32_t *>(rawhal_buffer_host(flag));
  waits.add(at(flag));
  const rawhal_dispatch_t hold = dispatch_of(mistake("wait_for"), 1, 1, waits);
  rawhal_ticket_t ticket = 0;
  __atomic_store_n(set, 1u, __ATOMIC_SEQ_CST);
  for (uint32_t i = 1; i < queue_info(busy).packets; ++i)
    ASSERT_OK(run(busy, hold));
  __atomic_store_n(set, 0u, __ATOMIC_SEQ_CST);
  for (int i = 0; i < 3; ++i)
    ASSERT_OK(rawhal_queue_submit(busy, &hold, 1, RAWHAL_FOREVER, &ticket, &error));
  rawhal_queue_t *const dies = queue_of(0);
  last.add(uint64_t{0}).add(7u);
  EXPECT_EQ(run(dies, dispatch_of(mistake("fill"), 64, 64, last)), RAWHAL_FAULT);
  std::vector<uint32_t> agents;
  std::vector<std::string> noted;
  checks = [&](const core_file_t &file) {
    const core_view_t &view = file.view;
    noted = dispatches_of(file);
    EXPECT_GT(seen.waves.size(), 1u);
    check_waves(before, first);
    EXPECT_GT(seen.compared, 0);
    for (const walk_queue_t &queue : seen.queues) {
      const auto *hsa_queue = static_cast<const hsa_queue_t *>(queue_info(busy).hsa_queue);
      agents.push_back(static_cast<uint32_t>(queue.agent));
      if (queue.entry.id != hsa_queue->id)
        continue;
      EXPECT_EQ(queue.read_id, hsa_queue->size - 1);
      EXPECT_EQ(queue.write_id - queue.read_id, 3u);
      for (uint64_t id = queue.read_id; id < queue.write_id; ++id) {
        hsa_kernel_dispatch_packet_t packet;
        char image[8];
        ASSERT_TRUE(core_view_read(&view, queue.entry.ring + 64 * (id % hsa_queue->size), &packet,
                                   sizeof(packet)));
        ASSERT_TRUE(core_view_read(&view, reinterpret_cast<uint64_t>(packet.kernarg_address), image,
                                   sizeof(image)));
        EXPECT_EQ(memcmp(image, waits.bytes.data(), sizeof(image)), 0);
      }
    }
  };
  expect(why(dies), RAWHAL_FAULT_MEMORY, RAWHAL_CAUSE_NULL, 0);
  std::sort(agents.begin(), agents.end());
  EXPECT_EQ(agents, (std::vector<uint32_t>{0, 0, 1, 2}));
  EXPECT_EQ(noted, (std::vector<std::string>{"fill", "wait_for", "wait_for", "wait_for"}));
  __atomic_store_n(set, 1u, __ATOMIC_SEQ_CST);
  EXPECT_OK(rawhal_queue_wait(busy, ticket, RAWHAL_FOREVER, &error));
  EXPECT_EQ(queue_info(idle).status, RAWHAL_OK);
}

// ---- What stock tools read ----

class CatalogueOfReaders : public CatalogueTest {
protected:
  // The file that a queue has just left, under a name of its own.
  void keep(const char *name)
  {
    readers::Ranges ranges;
    for (const rawhal_buffer_t *buffer : buffers)
      ranges[rawhal_buffer_address(buffer)] = {
          reinterpret_cast<const char *>(rawhal_buffer_address(buffer)),
          rawhal_buffer_size(buffer)};
    for (const walk_object_t &object : seen.objects)
      ranges[object.address] = std::string(this->object("mistakes").data(), object.size);
    kept.push_back({std::string(folder) + "/" + name, ranges});
    ASSERT_EQ(rename(core.c_str(), kept.back().path.c_str()), 0);
    (void)readers::by_readelf(kept.back().path, bytes, ranges);
  }
  std::vector<readers::File> kept;
};

TEST_P(CatalogueOfReaders, HaveTheMemoryAndTheThread)
{
  if (!writes || !readers::has("gdb"))
    GTEST_SKIP() << (writes ? "gdb is not installed" : "this process may not write core files");
  rawhal_buffer_t *out = upload<uint32_t>(std::vector<uint32_t>(5000, 0x5eed5eed));
  (void)why("store_at", 1, Blob().add(at(out)).add(int64_t{5000}).add(7u));
  keep("bounds");
  (void)why("lds_at", 1, Blob().add(at(out)).add(65536u));
  keep("lds");
  (void)why("give_up", 1, Blob().add(1u));
  keep("trap");
  const std::string text = readers::by_gdb(folder, kept, "-ex bt -ex 'info threads'");
  EXPECT_EQ(readers::count(text, "Core was generated by "), 3u) << text;
  EXPECT_EQ(readers::count(text, "* 1 "), 3u) << text;
  for (const readers::File &file : kept)
    unlink(file.path.c_str());
}

// ---- Queues that wait for what can never happen ----

class CatalogueOfWaits : public CatalogueTest {
protected:
  void SetUp() override
  {
    setenv("RAWHAL_WATCHDOG", "20ms,fail", 1);
    CatalogueTest::SetUp();
    for (hsa_signal_t &signal : signals)
      ASSERT_EQ(HSA(hsa_signal_create)(1, 0, nullptr, &signal), HSA_STATUS_SUCCESS);
  }
  void TearDown() override
  {
    for (rawhal_queue_t *queue : queues)
      rawhal_queue_destroy(queue);
    queues.clear();
    for (const hsa_signal_t signal : signals)
      (void)HSA(hsa_signal_destroy)(signal);
    CatalogueTest::TearDown();
    unsetenv("RAWHAL_WATCHDOG");
  }
  rawhal_ticket_t wait_for(rawhal_queue_t *on, hsa_signal_t signal)
  {
    rawhal_dependency_t dependency = {};
    rawhal_ticket_t ticket = 0;
    dependency.signal = signal.handle;
    EXPECT_OK(rawhal_queue_barrier(on, &dependency, 1, RAWHAL_FOREVER, &ticket, &error));
    return ticket;
  }
  rawhal_fault_t why_after(rawhal_queue_t *on, rawhal_ticket_t ticket)
  {
    EXPECT_EQ(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error), RAWHAL_FAULT);
    return why(on);
  }
  hsa_signal_t signals[2];
};

TEST_P(CatalogueOfWaits, ASignalThatNobodySets)
{
  rawhal_queue_t *on = queue();
  const rawhal_fault_t fault = why_after(on, wait_for(on, signals[0]));
  expect(fault, RAWHAL_FAULT_TIME_LIMIT, RAWHAL_CAUSE_DEPENDENCY);
  EXPECT_NE(strstr(fault.causes[0].text, "which is 1 and which no packet in flight sets"), nullptr)
      << all(fault);
}

TEST_P(CatalogueOfWaits, BarriersOfTwoQueuesForEachOther)
{
  rawhal_queue_t *const both[] = {queue(), queue()};
  const rawhal_ticket_t tickets[] = {wait_for(both[0], signals[0]), wait_for(both[1], signals[1])};
  std::string texts; // the one that fails later waits for a dead queue
  for (int i = 0; i < 2; ++i)
    ASSERT_OK(rawhal_queue_signal(both[i], signals[1 - i].handle, RAWHAL_FOREVER, nullptr, &error));
  for (int i = 0; i < 2; ++i) {
    const rawhal_fault_t fault = why_after(both[i], tickets[i]);
    expect(fault, RAWHAL_FAULT_TIME_LIMIT, RAWHAL_CAUSE_DEPENDENCY);
    texts += fault.causes[0].text;
  }
  EXPECT_NE(texts.find("never ends: queue "), std::string::npos) << texts;
}

INSTANTIATE_TEST_SUITE_P(, CatalogueOfQueues, testing::ValuesIn(catalogue_chips),
                         CatalogueChip::of);
INSTANTIATE_TEST_SUITE_P(, CatalogueOfReaders, testing::Values(catalogue_chips[1]),
                         CatalogueChip::of);
INSTANTIATE_TEST_SUITE_P(, CatalogueOfWaits, testing::ValuesIn(catalogue_chips), CatalogueChip::of);
} // namespace
