// Four producers on one queue with small rings.
//
// Producer p owns a row of words. Its dispatch i writes words i, i + 1, .. i + size - 1 of the row,
// its own id to the first. Its next dispatches overwrite all but that one: when everything ran once
// and in the producer's order, the row is the ids in order. A dispatch that is missing leaves
// another's value in its word; one that ran late, or twice, overwrites its successor's.
#include "device_test.h"
#include "tests/extended.h"
#include "tests/values.h"

#include <cstring>
#include <random>
#include <thread>

namespace {

constexpr uint32_t producers = 4, largest = 16, most_in_a_batch = 8;

class Stress : public DeviceTest {
protected:
  static uint32_t count() { return by_length(5000, 50000, 1000000); }

  // What one producer's id is: never a value that another dispatch's later work-items write.
  static uint32_t id_of(uint32_t producer, uint32_t i) { return (producer << 28) + i * 32 + 17; }

  struct Producer {
    uint32_t number;
    rawhal_queue_t *queue;
    const rawhal_device_kernel_t *kernels[2]; // with and without hidden arguments
    uint64_t row;                             // device address
    rawhal_ticket_t last = 0;
    uint64_t refused = 0;
    rawhal_error_t error = {};
  };

  // Submits dispatches `first` up to `first + size`; false when it failed.
  static bool batch(Producer &p, uint32_t first, uint32_t size, std::mt19937 &random)
  {
    struct {
      uint64_t out;
      uint32_t width, height, bias, padding;
    } blobs[most_in_a_batch];
    rawhal_dispatch_t dispatches[most_in_a_batch] = {};
    for (uint32_t k = 0; k < size; ++k) {
      uint32_t items = 1 + random() % largest;
      blobs[k] = {p.row + 4ull * (first + k), items, 1, id_of(p.number, first + k), 0};
      rawhal_dispatch_t &dispatch = dispatches[k];
      dispatch.kernel = p.kernels[random() % 2];
      dispatch.work_items[0] = items;
      dispatch.workgroup[0] = static_cast<uint16_t>(1 + random() % items);
      dispatch.work_items[1] = dispatch.work_items[2] = dispatch.workgroup[1] =
          dispatch.workgroup[2] = 1;
      dispatch.blob = &blobs[k];
      dispatch.blob_size = 20 + random() % 5;
    }
    bool patient = random() % 4 != 0;
    rawhal_ticket_t ticket = 0;
    for (;;) {
      rawhal_status_t status = rawhal_queue_submit(p.queue, dispatches, size,
                                                   patient ? RAWHAL_FOREVER : 0, &ticket, &p.error);
      if (status == RAWHAL_OK)
        break;
      if (status != RAWHAL_WOULD_BLOCK || patient)
        return false;
      ++p.refused;
      std::this_thread::yield();
    }
    bool grows = ticket > p.last;
    p.last = ticket;
    return grows;
  }

  static void produce(Producer &p)
  {
    std::mt19937 random(p.number + 1);
    for (uint32_t i = 0; i < count();) {
      uint32_t size = std::min(1 + static_cast<uint32_t>(random()) % most_in_a_batch, count() - i);
      ASSERT_TRUE(batch(p, i, size, random)) << p.error.message;
      i += size;
      if (random() % 64 == 0) {
        ASSERT_EQ(rawhal_queue_wait(p.queue, p.last, RAWHAL_FOREVER, &p.error), RAWHAL_OK)
            << p.error.message;
      }
    }
    ASSERT_EQ(rawhal_queue_wait(p.queue, p.last, RAWHAL_FOREVER, &p.error), RAWHAL_OK)
        << p.error.message;
  }
};

TEST_F(Stress, EveryDispatchRunsOnceAndInOrder)
{
  rawhal_queue_options_t sizes = {};
  sizes.packets = 64;
  sizes.submissions = 16;
  sizes.kernarg_bytes = 64 * 128;
  rawhal_queue_t *on = queue(sizes);
  const rawhal_device_kernel_t *v5 = kernel("write_ids-gfx90a-v5.co", "write_ids"),
                               *v4 = kernel("write_ids-gfx90a-v4.co", "write_ids");
  size_t row = count() + largest;
  rawhal_buffer_t *out = buffer(producers * row * 4);
  ASSERT_OK(rawhal_buffer_fill(out, 0, 0, producers * row * 4, &error));
  std::vector<Producer> all;
  for (uint32_t p = 0; p < producers; ++p)
    all.push_back({p, on, {v5, v4}, rawhal_buffer_address(out) + 4 * row * p});
  std::vector<std::thread> threads;
  for (Producer &producer : all)
    threads.emplace_back(produce, std::ref(producer));
  for (std::thread &thread : threads)
    thread.join();

  rawhal_queue_info_t info = queue_info(on);
  EXPECT_EQ(info.status, RAWHAL_OK);
  EXPECT_EQ(info.finished, info.last_ticket);
  uint64_t refused = 0;
  for (const Producer &producer : all)
    refused += producer.refused;
  RecordProperty("refused", std::to_string(refused));
  std::vector<uint32_t> got = download<uint32_t>(out, producers * row);
  for (uint32_t p = 0; p < producers; ++p)
    for (uint32_t i = 0; i < count(); ++i)
      ASSERT_EQ(got[p * row + i], id_of(p, i)) << "producer " << p << ", dispatch " << i;
}

} // namespace
