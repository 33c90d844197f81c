// What goes wrong on the device reaches every waiter, with the cause, and nothing hangs.
#include "device_test.h"
#include "tests/graph_of.h"
#include "tests/values.h"

#include <hsa/hsa_ext_amd.h>
#include <rawhal/fault.h>

#include <thread>

namespace {

class Faults : public DeviceTest {
protected:
#ifdef __SANITIZE_THREAD__
  const char *softgpu_options() override
  {
    return "gpus=1,vram_mib=256,timeout_ms=4000,check_lds=refuse";
  }
#else
  const char *softgpu_options() override
  {
    return "gpus=1,vram_mib=256,timeout_ms=400,check_lds=refuse";
  }
#endif

  // fault_store(out, index, value) far outside of everything.
  rawhal_dispatch_t wild_store(Blob &blob)
  {
    if (!fault_store)
      fault_store = kernel("fault-gfx90a-v5.co", "fault_store");
    if (!out)
      out = buffer(4096);
    blob.bytes.clear();
    blob.add(rawhal_buffer_address(out)).add(int64_t{1} << 40).add(1u);
    return dispatch_of(fault_store, 1, 1, blob);
  }

  rawhal_dispatch_t good_store(uint32_t value, Blob &blob)
  {
    Blob ignored;
    rawhal_dispatch_t dispatch = wild_store(ignored);
    blob.bytes.clear();
    blob.add(rawhal_buffer_address(out)).add(int64_t{3}).add(value);
    dispatch.blob = blob.bytes.data();
    return dispatch;
  }

  rawhal_dispatch_t endless(Blob &blob)
  {
    const rawhal_device_kernel_t *spin = kernel("spin-gfx90a-v5.co", "spin");
    rawhal_buffer_t *flag = buffer(4);
    EXPECT_OK(rawhal_buffer_fill(flag, 0, 0, 4, &error));
    blob.add(rawhal_buffer_address(flag));
    return dispatch_of(spin, 1, 1, blob);
  }

  void expect_message(std::vector<std::string> parts)
  {
    for (const std::string &part : parts)
      EXPECT_NE(std::string(error.message).find(part), std::string::npos)
          << "'" << part << "' is missing in: " << error.message;
  }

  const rawhal_device_kernel_t *fault_store = nullptr;
  rawhal_buffer_t *out = nullptr;
};

class Unwritten : public Faults {
protected:
  const char *softgpu_options() override { return "gpus=1,vram_mib=64,check_memory=refuse"; }

  // c[i] = a[i] + b[i], of 64.
  rawhal_status_t add(const rawhal_buffer_t *c, const rawhal_buffer_t *a, const rawhal_buffer_t *b)
  {
    Blob blob;
    for (const rawhal_buffer_t *each : {c, a, b})
      blob.add(rawhal_buffer_address(each));
    blob.add(64u);
    on = queue();
    return run(on, dispatch_of(kernel("vector_add-gfx90a-v5.co", "vector_add"), 64, 64, blob));
  }
  rawhal_queue_t *on = nullptr;
};

TEST_F(Unwritten, MemoryIsToldWithItsArgument)
{
  rawhal_buffer_t *c = buffer(256), *a = buffer(256), *b = buffer(1000);
  ASSERT_OK(rawhal_buffer_fill(a, 0, 0, 256, &error));
  EXPECT_EQ(add(c, a, b), RAWHAL_FAULT);
  expect_message({"read of memory that was not written", "argument 2"});
  rawhal_fault_t fault = {};
  fault.size = sizeof(fault);
  ASSERT_OK(rawhal_queue_fault(on, &fault, &error));
  EXPECT_EQ(fault.kind, RAWHAL_FAULT_UNWRITTEN);
  EXPECT_EQ(fault.access, RAWHAL_FAULT_ACCESS_READ);
  EXPECT_EQ(fault.lanes, ~0ull);
  ASSERT_GT(fault.cause_count, 0u);
  EXPECT_EQ(fault.causes[0].kind, RAWHAL_CAUSE_UNWRITTEN);
  EXPECT_EQ(fault.causes[0].argument, 2u);
  EXPECT_EQ(fault.causes[0].offset, 0);
  EXPECT_EQ(fault.causes[0].allocation_bytes, 1000u);
}

// All ways by which the library writes.
TEST_F(Unwritten, MemoryIsWrittenByCopiesAndByKernels)
{
  const std::vector<float> values(64, 2);
  rawhal_buffer_t *c = buffer(256), *a = upload(values), *b = buffer(256);
  rawhal_queue_t *copies = queue();
  rawhal_ticket_t ticket = 0;
  const auto wait = [&] {
    return rawhal_queue_wait(copies, ticket, rawhal_deadline_after(10000 * millisecond), &error);
  };
  ASSERT_OK(rawhal_queue_write(copies, b, 0, values.data(), 256, RAWHAL_FOREVER, &ticket, &error));
  ASSERT_OK(wait());
  EXPECT_OK(add(c, a, b));
  b = buffer(256);
  ASSERT_OK(rawhal_queue_fill(copies, b, 0, 0, 256, RAWHAL_FOREVER, &ticket, &error));
  ASSERT_OK(wait());
  EXPECT_OK(add(b, c, b));
  a = buffer(256);
  ASSERT_OK(copy_in(copies, {0, a, 0, b, 0, 256}, RAWHAL_FOREVER, &ticket, &error));
  ASSERT_OK(wait());
  EXPECT_OK(add(c, a, b));
  EXPECT_EQ(download<float>(c, 64), std::vector<float>(64, 8)) << "2 + 2 is in b and a";
  EXPECT_OK(add(c, buffer(256, RAWHAL_MEMORY_HOST), b)); // the host's is not looked at
}

class Lds : public Faults {
protected:
  const char *softgpu_options() override { return "gpus=1,vram_mib=64,check_lds=refuse"; }

  void expect_told(const char *name, uint32_t how, rawhal_fault_kind_t kind, const char *mnemonic)
  {
    Blob blob;
    blob.add(rawhal_buffer_address(buffer(1024))).add(how);
    rawhal_queue_t *on = queue();
    EXPECT_EQ(run(on, dispatch_of(kernel("lds_checks-gfx90a-v5.co", name), 256, 256, blob)),
              RAWHAL_FAULT);
    rawhal_fault_t fault = {};
    fault.size = sizeof(fault);
    ASSERT_OK(rawhal_queue_fault(on, &fault, &error));
    EXPECT_EQ(fault.kind, kind) << fault.device_text;
    EXPECT_EQ(std::string(fault.instruction_text).substr(0, strlen(mnemonic)), mnemonic);
    ASSERT_GT(fault.cause_count, 0u);
    EXPECT_EQ(fault.causes[0].kind, RAWHAL_CAUSE_LDS);
    EXPECT_NE(std::string(fault.causes[0].text).find("byte "), std::string::npos);
  }
};

TEST_F(Lds, UnwrittenIsAKindOfItsOwn)
{
  expect_told("lds_unwritten", 70, RAWHAL_FAULT_LDS_UNWRITTEN, "ds_read_b32 ");
}

class LdsRaces : public Lds {
protected:
  const char *softgpu_options() override { return "gpus=1,vram_mib=64,check_races=refuse"; }
};

TEST_F(LdsRaces, AreAKindOfTheirOwn)
{
  expect_told("lds_race", 0, RAWHAL_FAULT_LDS_RACE, "ds_write_b32 ");
}

TEST_F(Faults, NameKernelPcAndAddress)
{
  Blob blob;
  rawhal_dispatch_t dispatch = wild_store(blob);
  EXPECT_EQ(run(queue(), dispatch), RAWHAL_FAULT);
  char address[32];
  snprintf(address, sizeof(address), "0x%llx",
           static_cast<unsigned long long>(rawhal_buffer_address(out) + (4ull << 40)));
  expect_message({"kernel fault_store", "pc", address});
  EXPECT_NE(error.hsa_status, 0);
}

// a, then b beside the one that fails, then c.
TEST_F(Faults, AGraphKnowsHowFarItCame)
{
  Blob blob, good;
  rawhal_graph_t *graph = nullptr;
  ASSERT_OK(rawhal_graph_create(device, &graph, &error));
  rawhal_dispatch_t store = good_store(1, good), wild = wild_store(blob);
  wild.label = "layer 3";
  rawhal_graph_node_t a, b, bad, c;
  ASSERT_OK(rawhal_graph_add_kernel(graph, &store, nullptr, 0, &a, &error));
  ASSERT_OK(rawhal_graph_add_kernel(graph, &store, &a, 1, &b, &error));
  ASSERT_OK(rawhal_graph_add_kernel(graph, &wild, &a, 1, &bad, &error));
  ASSERT_OK(rawhal_graph_add_kernel(graph, &store, &bad, 1, &c, &error));
  rawhal_graph_exec_t *exec = nullptr;
  ASSERT_OK(rawhal_graph_instantiate(graph, nullptr, &exec, &error));
  rawhal_queue_t *on = queue();
  rawhal_graph_failure_t failure = {};
  failure.size = sizeof(failure);
  ASSERT_OK(run(on, store));
  EXPECT_EQ(rawhal_graph_failure(exec, on, 1, &failure, &error), RAWHAL_NOT_FOUND) << "it is alive";
  rawhal_ticket_t ticket = 0, behind = 0;
  softgpu_call("softgpu_pause");
  EXPECT_OK(rawhal_graph_launch(on, exec, nullptr, 0, 0, &ticket, &error));
  EXPECT_OK(rawhal_graph_launch(on, exec, nullptr, 0, 0, &behind, &error));
  softgpu_call("softgpu_resume");
  EXPECT_EQ(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error), RAWHAL_FAULT);
  ASSERT_OK(rawhal_graph_failure(exec, on, ticket, &failure, &error));
  EXPECT_EQ(failure.failed, bad);
  EXPECT_STREQ(failure.label, "layer 3");
  EXPECT_EQ(failure.finished, b) << "a has; b may not have";
  EXPECT_EQ(failure.begun, c);
  ASSERT_OK(rawhal_graph_failure(exec, on, behind, &failure, &error));
  EXPECT_EQ(failure.failed, UINT32_MAX);
  EXPECT_EQ(failure.finished, 0u);
  EXPECT_EQ(failure.begun, 0u) << "nothing of it began";
  EXPECT_EQ(rawhal_graph_failure(exec, on, 1, &failure, &error), RAWHAL_NOT_FOUND)
      << "it had finished";
  EXPECT_EQ(rawhal_graph_failure(exec, on, 99, &failure, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_graph_failure(nullptr, on, 1, &failure, &error), RAWHAL_INVALID_ARGUMENT);
  rawhal_graph_exec_destroy(exec);
  rawhal_graph_destroy(graph);
}

// Of a batch whose second fails; of a graph; of dispatches as older headers have them; of what is unlabelled, none,
// though others have been where its packet is.
TEST_F(Faults, HaveTheLabelsOfQueueAndDispatch)
{
  rawhal_fault_t fault = {};
  const auto failed = [&](rawhal_queue_t *on, const char *label, const char *queue_label) {
    EXPECT_EQ(rawhal_queue_wait(on, 1, RAWHAL_FOREVER, &error), RAWHAL_FAULT);
    fault.size = sizeof(fault);
    ASSERT_OK(rawhal_queue_fault(on, &fault, &error));
    EXPECT_STREQ(fault.label, label);
    EXPECT_STREQ(fault.queue_label, queue_label);
    const std::string message = error.message; // of the wait: rawhal_queue_fault() has succeeded
    const auto has = [&message](const std::string &part) {
      return message.find(part) != std::string::npos;
    };
    EXPECT_EQ(has("(dispatch '"), *label != '\0') << message;
    EXPECT_TRUE(!*label || has(std::string("(dispatch '") + label + "'")) << message;
    EXPECT_EQ(has("queue '"), *queue_label != '\0') << message;
    EXPECT_TRUE(!*queue_label || has(std::string("queue '") + queue_label + "')")) << message;
  };
  Blob blob, good;
  rawhal_dispatch_t all[3] = {good_store(1, good), wild_store(blob), good_store(1, good)};
  all[0].label = "before";
  all[1].label = "layer 3, attention, and more than fits";
  all[2].label = "behind";
  rawhal_queue_t *on = queue();
  rawhal_queue_label(on, "prefill");
  rawhal_queue_label(on, "decode");
  ASSERT_OK(rawhal_queue_submit(on, all, 3, RAWHAL_FOREVER, nullptr, &error));
  failed(on, "layer 3, attention, and more th", "decode");

  on = queue();
  rawhal_graph_exec_t *exec = nullptr;
  all[1].label = "launched";
  ASSERT_OK(graph_of(device, on, all, 2, &exec, &error));
  all[1].label = nullptr;
  ASSERT_OK(rawhal_graph_launch(on, exec, nullptr, 0, RAWHAL_FOREVER, nullptr, &error));
  failed(on, "launched", "");
  rawhal_graph_exec_destroy(exec);

  constexpr size_t old = offsetof(rawhal_dispatch_t, label);
  struct alignas(8) {
    unsigned char bytes[2][old];
  } older;
  memcpy(older.bytes[0], &all[0], old);
  memcpy(older.bytes[1], &all[1], old);
  on = queue();
  ASSERT_OK(rawhal_queue_submit_sized(on, reinterpret_cast<rawhal_dispatch_t *>(&older), old, 2,
                                      RAWHAL_FOREVER, nullptr, &error));
  failed(on, "", "");
  EXPECT_EQ(fault.packet, 1u);

  rawhal_queue_options_t options = {};
  options.packets = 64;
  ASSERT_OK(rawhal_queue_create(device, &options, &on, &error));
  queues.push_back(on);
  rawhal_ticket_t ticket = 0;
  for (int i = 0; i < 64; ++i) {
    ASSERT_OK(rawhal_queue_submit(on, &all[0], 1, RAWHAL_FOREVER, &ticket, &error));
  }
  ASSERT_OK(rawhal_queue_submit(on, &all[1], 1, RAWHAL_FOREVER, &ticket, &error));
  EXPECT_EQ(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error), RAWHAL_FAULT);
  ASSERT_OK(rawhal_queue_fault(on, &fault, &error));
  EXPECT_EQ(fault.packet, 64u);
  EXPECT_STREQ(fault.label, "");

  char small[offsetof(rawhal_fault_t, label) +
             sizeof(void *)]; // of a program that does not know of labels
  memset(small, 0x5a, sizeof(small));
  auto *const first = reinterpret_cast<rawhal_fault_t *>(small);
  first->size = 0;
  ASSERT_OK(rawhal_queue_fault(on, first, &error));
  EXPECT_EQ(small[offsetof(rawhal_fault_t, label)], 0x5a);
}

TEST_F(Faults, EachKindIsReported)
{
  const rawhal_device_kernel_t *illegal = kernel("illegal-gfx90a-v5.co", "illegal");
  out = buffer(4096);
  Blob blob;
  blob.add(rawhal_buffer_address(out));
  EXPECT_EQ(run(queue(), dispatch_of(illegal, 1, 1, blob)), RAWHAL_FAULT);
  expect_message({"kernel illegal", "pc"});

  const rawhal_device_kernel_t *lds = kernel("fault-gfx90a-v5.co", "fault_lds_store");
  blob.bytes.clear();
  blob.add(rawhal_buffer_address(out)).add(65536u);
  EXPECT_EQ(run(queue(), dispatch_of(lds, 1, 1, blob)), RAWHAL_FAULT);
  expect_message({"kernel fault_lds_store"});
}

// What abort(), a failed assert() and __builtin_trap() come to on the device.
TEST_F(Faults, AnAbortIsAnException)
{
  const rawhal_device_kernel_t *trap = kernel("fault-gfx90a-v5.co", "fault_trap");
  Blob blob;
  blob.add(1u);
  EXPECT_EQ(run(queue(), dispatch_of(trap, 1, 1, blob)), RAWHAL_FAULT);
  expect_message({"kernel fault_trap", "pc", "s_trap 0x2", "abort"});
  EXPECT_EQ(error.hsa_status, HSA_STATUS_ERROR_EXCEPTION);
}

TEST_F(Faults, EarlierTicketsAreGoodLaterOnesFail)
{
  rawhal_queue_t *on = queue();
  Blob good, wild, later;
  rawhal_dispatch_t batch[3] = {good_store(7, good), wild_store(wild), good_store(8, later)};
  rawhal_ticket_t first = 0, second = 0;
  ASSERT_OK(rawhal_queue_submit(on, &batch[0], 1, RAWHAL_FOREVER, &first, &error));
  ASSERT_OK(rawhal_queue_submit(on, batch, 3, RAWHAL_FOREVER, &second, &error));
  EXPECT_EQ(rawhal_queue_wait(on, second, RAWHAL_FOREVER, &error), RAWHAL_FAULT);
  expect_message({"kernel fault_store"}); // the middle one of the batch
  EXPECT_OK(rawhal_queue_wait(on, first, 0, &error));
  EXPECT_EQ(rawhal_queue_wait(on, second, 0, &error), RAWHAL_FAULT);
  uint64_t start, end;
  EXPECT_EQ(rawhal_queue_timing(on, second, &start, &end, &error), RAWHAL_FAULT);
  rawhal_ticket_t ticket = 5;
  memset(&error, 0, sizeof(error));
  EXPECT_EQ(rawhal_queue_submit(on, &batch[0], 1, RAWHAL_FOREVER, &ticket, &error), RAWHAL_FAULT);
  EXPECT_EQ(ticket, 0u);
  expect_message({"kernel fault_store"});
  EXPECT_EQ(queue_info(on).status, RAWHAL_FAULT);
  EXPECT_EQ(queue_info(on).finished, first);
  EXPECT_EQ(download<uint32_t>(out, 4)[3], 7u); // the third of the batch never ran
}

TEST_F(Faults, EveryWaiterWakes)
{
  rawhal_queue_t *on = queue();
  Blob good, wild;
  std::vector<rawhal_ticket_t> tickets;
  rawhal_dispatch_t bad = wild_store(wild), fine = good_store(1, good);
  Blob spinning;
  rawhal_dispatch_t spin = endless(spinning); // until its time limit: the waiters block meanwhile
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(on, &spin, 1, RAWHAL_FOREVER, &ticket, &error));
  tickets.push_back(ticket);
  for (const rawhal_dispatch_t *next : {&fine, &bad, &fine}) {
    ASSERT_OK(rawhal_queue_submit(on, next, 1, RAWHAL_FOREVER, &ticket, &error));
    tickets.push_back(ticket);
  }
  std::vector<std::thread> waiters;
  for (rawhal_ticket_t one : tickets)
    waiters.emplace_back([on, one] {
      rawhal_error_t its = {};
      EXPECT_EQ(rawhal_queue_wait(on, one, RAWHAL_FOREVER, &its), RAWHAL_FAULT);
      EXPECT_NE(std::string(its.message).find("kernel spin"), std::string::npos) << its.message;
    });
  for (std::thread &waiter : waiters)
    waiter.join();
}

TEST_F(Faults, ASubmitThatWaitsForRoomFails)
{
  rawhal_queue_options_t options = {};
  options.submissions = 2;
  rawhal_queue_t *on = queue(options);
  Blob blob;
  rawhal_dispatch_t spin = endless(blob);
  for (int i = 0; i < 2; ++i)
    ASSERT_OK(rawhal_queue_submit(on, &spin, 1, 0, nullptr, &error));
  EXPECT_EQ(rawhal_queue_submit(on, &spin, 1, RAWHAL_FOREVER, nullptr, &error), RAWHAL_FAULT);
  expect_message({"kernel spin"});
}

TEST_F(Faults, OtherQueuesGoOnAndANewOneTakesOver)
{
  rawhal_queue_t *on = queue(), *other = queue();
  Blob wild, good;
  rawhal_dispatch_t bad = wild_store(wild), fine = good_store(9, good);
  EXPECT_EQ(run(on, bad), RAWHAL_FAULT);
  ASSERT_OK(run(other, fine));
  EXPECT_EQ(download<uint32_t>(out, 4)[3], 9u);
  queues.erase(queues.begin());
  rawhal_queue_destroy(on);
  fine = good_store(10, good);
  ASSERT_OK(run(queue(), fine));
  EXPECT_EQ(download<uint32_t>(out, 4)[3], 10u);
}

TEST_F(Faults, DeadlineOfAKernelThatNeverEnds)
{
  rawhal_queue_t *on = queue();
  Blob blob;
  rawhal_dispatch_t spin = endless(blob);
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(on, &spin, 1, 0, &ticket, &error));
  uint64_t deadline = rawhal_deadline_after(20 * millisecond);
  EXPECT_EQ(rawhal_queue_wait(on, ticket, deadline, &error), RAWHAL_TIMED_OUT);
  EXPECT_GE(rawhal_deadline_after(0), deadline);
  EXPECT_EQ(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error), RAWHAL_FAULT);
  expect_message({"kernel spin", "time limit exceeded"});
}

class Endless : public Faults {
protected:
  const char *softgpu_options() override { return "gpus=1,vram_mib=64,timeout_ms=0"; }
};

TEST_F(Endless, DestroyDoesNotWaitForKernels)
{
  rawhal_queue_t *on = queue();
  Blob blob;
  rawhal_dispatch_t spin = endless(blob);
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(on, &spin, 1, 0, &ticket, &error));
  EXPECT_EQ(rawhal_queue_wait(on, ticket, rawhal_deadline_after(20 * millisecond), &error),
            RAWHAL_TIMED_OUT);
  queues.clear();
  uint64_t deadline = rawhal_deadline_after(5000 * millisecond);
  rawhal_queue_destroy(on);
  EXPECT_LT(rawhal_deadline_after(0), deadline);
}

struct HardwareRow {
  const char *name, *kernel;
  Blob (*blob)(uint64_t data, uint64_t gone,
               uint64_t table); // buffers, of which one has been freed
  rawhal_cause_kind_t kind;
  uint32_t levels;
};

// Only the page of the address, and of no queue, while another queue runs. The runtime tells one such event.
class AsHardware : public Faults, public testing::WithParamInterface<HardwareRow> {
protected:
  const char *softgpu_options() override { return "gpus=1,vram_mib=64,hardware_faults=1"; }
};

TEST_P(AsHardware, TheTrueCauseIsAmongTheFirst)
{
  const uint64_t gone = rawhal_buffer_address(buffer(1 << 20));
  rawhal_buffer_free(buffers.back());
  buffers.pop_back();
  const uint64_t data = rawhal_buffer_address(buffer(4096));
  const uint64_t table = rawhal_buffer_address(upload<uint64_t>({data, gone}));
  Blob waits;
  waits.add(rawhal_buffer_address(upload<uint32_t>({0})));
  const Blob blob = GetParam().blob(data, gone, table);
  const rawhal_dispatch_t other =
      dispatch_of(kernel("mistakes-gfx90a-v5.co", "wait_for"), 1, 1, waits);
  const rawhal_dispatch_t failing =
      dispatch_of(kernel("mistakes-gfx90a-v5.co", GetParam().kernel), 64, 64, blob);
  rawhal_queue_t *busy = queue(), *on = queue();
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(busy, &other, 1, RAWHAL_FOREVER, &ticket, &error));
  EXPECT_EQ(run(on, failing), RAWHAL_FAULT);
  rawhal_fault_t fault = {};
  ASSERT_OK(rawhal_queue_fault(on, &fault, &error));
  EXPECT_EQ(fault.known & RAWHAL_FAULT_KNOWS_PC, 0u);
  EXPECT_EQ(fault.address % 4096, 0u);
  bool found = false;
  std::string all;
  for (uint32_t i = 0; i < fault.cause_count && i < 3; ++i) {
    const rawhal_cause_t &cause = fault.causes[i];
    found |= cause.kind == GetParam().kind && cause.argument == 0 &&
             cause.levels == GetParam().levels && cause.queue_id == fault.queue_id;
    all += std::string(cause.text) + "\n";
  }
  EXPECT_TRUE(found) << all;
}

#define BLOB(...)                                                                                  \
  [](uint64_t data, uint64_t gone, uint64_t table) {                                               \
    (void)data, (void)gone, (void)table;                                                           \
    return Blob() __VA_ARGS__;                                                                     \
  }
struct HardwareBox {
  uint32_t count, step;
  uint64_t data;
};
constexpr HardwareRow hardware_rows[] = {
    {"PastTheEnd", "store_at", BLOB(.add(data).add(int64_t{1024}).add(7u)),
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 0},
    {"BeforeTheStart", "store_at", BLOB(.add(data).add(int64_t{-1}).add(7u)),
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 0},
    {"Freed", "fill", BLOB(.add(gone).add(7u)), RAWHAL_CAUSE_FREED, 0},
    {"Null", "fill", BLOB(.add(uint64_t{0}).add(7u)), RAWHAL_CAUSE_NULL, 0},
    {"Wild", "fill", BLOB(.add(uint64_t{0x123456789000}).add(7u)), RAWHAL_CAUSE_WILD, 0},
    {"InAStructure", "fill_box", BLOB(.add(HardwareBox{64, 1, gone}).add(7u)), RAWHAL_CAUSE_FREED,
     1},
    {"InMemory", "fill_table", BLOB(.add(table).add(1u).add(7u)), RAWHAL_CAUSE_FREED, 1},
};
#undef BLOB
INSTANTIATE_TEST_SUITE_P(, AsHardware, testing::ValuesIn(hardware_rows),
                         [](const testing::TestParamInfo<HardwareRow> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
