// Every allocation of the writer and the reader fails once: the call says so, and what it is about stays good.
#include "tests/harness/allocation_failure.h"
#include "tests/record/reading.h"

namespace {

rawhal_status_t fill(void *, const record_range_t *, uint64_t, void *to, size_t size,
                     rawhal_error_t *)
{
  memset(to, 'm', size);
  return RAWHAL_OK;
}

rawhal_status_t no_records(void *, record_probe_part_t, uint64_t, void *to, size_t size,
                           rawhal_error_t *)
{
  memset(to, 0, size);
  return RAWHAL_OK;
}

// Calls with one more allocation each time until it goes well; how often it did not.
template <typename Call> int sweep(Call call)
{
  for (long allowed = 0; allowed < 1000; ++allowed) {
    rawhal_error_t error = {};
    allocations_left = allowed;
    const rawhal_status_t status = call(&error);
    allocations_left = -1;
    if (status == RAWHAL_OK)
      return static_cast<int>(allowed);
    EXPECT_EQ(RAWHAL_OUT_OF_MEMORY, status) << error.message;
    EXPECT_EQ(status, error.status);
  }
  return 1000;
}

TEST(Allocation, FailsOnceEach)
{
  Scratch scratch;
  const std::string path = scratch / "recording";
  const char *name = path.c_str();
  rawhal_error_t error;
  record_writer_t *writer = nullptr;
  EXPECT_EQ(
      1, sweep([&](rawhal_error_t *e) { return record_writer_create(name, nullptr, &writer, e); }));
  uint64_t object = 0, number = 0;
  int failed = 0;
  for (uint64_t i = 1; i <= 100; ++i) {
    failed += sweep([&](rawhal_error_t *e) {
      return record_writer_object(writer, {&i, sizeof(i)}, &object, e);
    });
    EXPECT_EQ(i, object);
  }
  EXPECT_EQ(102, failed) << "an entry for each, and the table with its buckets for the first";
  record_range_t range = {0x1000, 300000, false, false};
  const record_ranges_t ranges = {&range, 1};
  const record_note_t note = {RECORD_NOTE_DEEP, 1, 2, 3};
  for (int i = 0; i < 40; ++i) {
    record_dispatch_t dispatch = {};
    dispatch.object = 1;
    EXPECT_EQ(0, sweep([&](rawhal_error_t *e) {
                return record_writer_dispatch(writer, &dispatch, &number, e);
              }));
    EXPECT_EQ(1, sweep([&](rawhal_error_t *e) {
                return record_writer_buffers(writer, number, RECORD_BEFORE, &ranges, fill, nullptr,
                                             e);
              }));
    EXPECT_OK(record_writer_note(writer, number, &note, &error));
  }
  const record_allocation_t allocation = {0x1000, 8, 0, {"out", 3}};
  const record_probe_memory_t memory = {0, 0, no_records, nullptr};
  record_probe_t probe = {};
  record_probed_t probed = {};
  probe.object = 1;
  probed.dispatch = 1;
  probed.allocations = &allocation;
  probed.allocation_count = 1;
  EXPECT_EQ(1, sweep([&](rawhal_error_t *e) {
              return record_writer_probe(writer, &probe, &probed.probe, e);
            }));
  EXPECT_EQ(uint64_t{1}, probed.probe);
  EXPECT_EQ(1, sweep([&](rawhal_error_t *e) {
              return record_writer_probed(writer, &probed, &memory, nullptr, e);
            }));
  EXPECT_OK(record_writer_close(writer, &error));
  record_reader_t *reader = nullptr;
  EXPECT_LT(10, sweep([&](rawhal_error_t *e) { return record_reader_open(name, &reader, e); }));
  EXPECT_EQ(size_t{100}, record_reader_info(reader)->objects);
  EXPECT_EQ(size_t{40}, record_reader_info(reader)->dispatches);
  const record_take_records_t take = {};
  EXPECT_EQ(1, sweep([&](rawhal_error_t *e) { return record_reader_take(reader, 1, &take, e); }));
  for (uint64_t i = 1; i <= 40; ++i)
    EXPECT_TRUE(record_reader_buffers(reader, i, RECORD_BEFORE).all);
  record_reader_close(reader);
}

} // namespace
