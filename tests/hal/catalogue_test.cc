// What goes wrong with kernels, provoked: the first cause that a fault is given is the true one.
#include "catalogue.h"

#include "tests/child.h"

#include <hsa/hsa_ext_amd.h>
#include <rawhal/fault.h>
#include <sys/mman.h>

namespace {

class Catalogue : public CatalogueTest {};

TEST_P(Catalogue, OneElementPastTheEnd)
{
  rawhal_buffer_t *out = buffer(4096);
  rawhal_buffer_label(out, "image");
  const rawhal_fault_t fault = why("store_at", 1, Blob().add(at(out)).add(int64_t{1024}).add(7u));
  expect(fault, RAWHAL_FAULT_MEMORY, RAWHAL_CAUSE_OUT_OF_BOUNDS, 0);
  EXPECT_EQ(fault.causes[0].offset, 4096);
  EXPECT_EQ(fault.causes[0].allocation, at(out));
  EXPECT_EQ(fault.causes[0].allocation_bytes, 4096u);
  EXPECT_STREQ(fault.causes[0].argument_name, "data");
  EXPECT_STREQ(fault.causes[0].label, "image");
  EXPECT_STREQ(fault.kernel, "store_at");
  EXPECT_EQ(fault.known & ~(RAWHAL_FAULT_KNOWS_LANES),
            RAWHAL_FAULT_KNOWS_DISPATCH | RAWHAL_FAULT_KNOWS_PC | RAWHAL_FAULT_KNOWS_OBJECT |
                RAWHAL_FAULT_KNOWS_ADDRESS | RAWHAL_FAULT_KNOWS_LANE);
  EXPECT_EQ(fault.ticket, 1u);
  EXPECT_EQ(fault.packet, 0u);
  EXPECT_EQ(fault.address, at(out) + 4096);
  EXPECT_EQ(fault.bytes, 4u);
  EXPECT_NE(std::string(fault.causes[0].text).find("'data'"), std::string::npos)
      << fault.causes[0].text;
}

TEST_P(Catalogue, FarPastTheEnd)
{
  rawhal_buffer_t *out = buffer(4096);
  expect(why("store_at", 1, Blob().add(at(out)).add(int64_t{40000}).add(7u)), RAWHAL_FAULT_MEMORY,
         RAWHAL_CAUSE_OUT_OF_BOUNDS, 0);
}

TEST_P(Catalogue, BeforeTheStart)
{
  rawhal_buffer_t *out = buffer(4096);
  const rawhal_fault_t fault = why("store_at", 1, Blob().add(at(out)).add(int64_t{-1}).add(7u));
  expect(fault, RAWHAL_FAULT_MEMORY, RAWHAL_CAUSE_OUT_OF_BOUNDS, 0);
  EXPECT_EQ(fault.causes[0].offset, -4);
}

TEST_P(Catalogue, UseAfterFree)
{
  rawhal_buffer_t *out = buffer(1 << 20);
  const uint64_t address = at(out);
  retire(out);
  const rawhal_fault_t fault = why("fill", 64, Blob().add(address).add(7u));
  expect(fault, RAWHAL_FAULT_MEMORY, RAWHAL_CAUSE_FREED, 0);
  EXPECT_GT(fault.causes[0].freed_ns, 0u);
}

TEST_P(Catalogue, FreedInFlight)
{
  rawhal_buffer_t *flag = buffer(4096, RAWHAL_MEMORY_HOST), *out = buffer(1 << 20);
  auto *set = static_cast<uint32_t *>(rawhal_buffer_host(flag));
  __atomic_store_n(set, 0u, __ATOMIC_SEQ_CST);
  rawhal_queue_t *on = queue();
  Blob first, second;
  first.add(at(flag));
  second.add(at(out)).add(7u);
  const rawhal_dispatch_t hold = dispatch_of(mistake("wait_for"), 1, 1, first);
  const rawhal_dispatch_t use = dispatch_of(mistake("fill"), 64, 64, second);
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(on, &hold, 1, RAWHAL_FOREVER, &ticket, &error));
  ASSERT_OK(rawhal_queue_submit(on, &use, 1, RAWHAL_FOREVER, &ticket, &error));
  rawhal_buffer_free(out);
  buffers.pop_back();
  __atomic_store_n(set, 1u, __ATOMIC_SEQ_CST);
  EXPECT_EQ(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error), RAWHAL_FAULT);
  const rawhal_fault_t fault = why(on);
  expect(fault, RAWHAL_FAULT_MEMORY, RAWHAL_CAUSE_FREED, 0);
  EXPECT_EQ(fault.ticket, ticket);
}

// Of hardware the runtime tells an error, and no more.
TEST_P(Catalogue, AnErrorWithoutAnAddress)
{
  rawhal_buffer_t *out = buffer(4096);
  rawhal_queue_t *on = queue();
  Blob blob;
  blob.add(at(out)).add(7u);
  ASSERT_TRUE(softgpu_order("queue_error", on, 1, 0x20000000));
  EXPECT_EQ(run(on, dispatch_of(mistake("fill"), 64, 64, blob)), RAWHAL_FAULT);
  const rawhal_fault_t fault = why(on);
  EXPECT_STREQ(fault.kernel, "fill");
  EXPECT_EQ(fault.kind, RAWHAL_FAULT_MEMORY) << all(fault);
  EXPECT_EQ(fault.hsa_status, 41); // HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION
  EXPECT_EQ(fault.known, uint32_t{RAWHAL_FAULT_KNOWS_DISPATCH});
}

// Of a batch that is larger than what is looked at, all but the last harmless.
TEST_P(Catalogue, TheLastOfALargeBatch)
{
  rawhal_buffer_t *out = buffer(4096);
  Blob right, wrong;
  right.add(at(out)).add(int64_t{0}).add(7u);
  wrong.add(at(out)).add(int64_t{1024}).add(7u);
  const rawhal_device_kernel_t *store = mistake("store_at");
  std::vector<rawhal_dispatch_t> batch(200, dispatch_of(store, 1, 1, right));
  batch.back() = dispatch_of(store, 1, 1, wrong);
  rawhal_queue_t *on = queue();
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(on, batch.data(), batch.size(), RAWHAL_FOREVER, &ticket, &error));
  EXPECT_EQ(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error), RAWHAL_FAULT);
  const rawhal_fault_t fault = why(on);
  expect(fault, RAWHAL_FAULT_MEMORY, RAWHAL_CAUSE_OUT_OF_BOUNDS, 0);
  EXPECT_EQ(fault.dispatch, 199u);
}

TEST_P(Catalogue, NullPointer)
{
  expect(why("fill", 64, Blob().add(uint64_t{0}).add(7u)), RAWHAL_FAULT_MEMORY, RAWHAL_CAUSE_NULL,
         0);
}

TEST_P(Catalogue, NullAndAnOffset)
{
  expect(why("store_at", 1, Blob().add(uint64_t{0}).add(int64_t{6}).add(7u)), RAWHAL_FAULT_MEMORY,
         RAWHAL_CAUSE_NULL, 0);
}

TEST_P(Catalogue, APointerToNoMemory)
{
  expect(why("fill", 64, Blob().add(uint64_t{0x123456789000}).add(7u)), RAWHAL_FAULT_MEMORY,
         RAWHAL_CAUSE_WILD, 0);
}

TEST_P(Catalogue, MemoryOfAnotherDevice)
{
  rawhal_device_t *first = device;
  device = rawhal_instance_device(instance, 1);
  ASSERT_NE(device, nullptr);
  rawhal_buffer_t *others = buffer(4096);
  device = first;
  expect(why("fill", 64, Blob().add(at(others)).add(7u)), RAWHAL_FAULT_NO_ACCESS,
         RAWHAL_CAUSE_NO_ACCESS, 0);
}

TEST_P(Catalogue, SwappedArguments)
{
  rawhal_buffer_t *wide = buffer(32768), *narrow = buffer(16384);
  expect(why("widen", 4096, Blob().add(at(narrow)).add(at(wide))), RAWHAL_FAULT_MEMORY,
         RAWHAL_CAUSE_ARGUMENTS, 0);
}

TEST_P(Catalogue, TooLargeAGrid)
{
  rawhal_buffer_t *out = buffer(4096);
  const rawhal_fault_t fault = why("fill", 4096, Blob().add(at(out)).add(7u), 256);
  expect(fault, RAWHAL_FAULT_MEMORY, RAWHAL_CAUSE_GRID, 0);
  EXPECT_GE(fault.group[0], 4u);
}

TEST_P(Catalogue, AStalePointerWithinAStructure)
{
  struct {
    uint32_t count, step;
    uint64_t data;
  } box = {64, 1, 0};
  rawhal_buffer_t *gone = buffer(1 << 20);
  box.data = at(gone);
  retire(gone);
  const rawhal_fault_t fault = why("fill_box", 64, Blob().add(box).add(7u));
  expect(fault, RAWHAL_FAULT_MEMORY, RAWHAL_CAUSE_FREED, 0);
  EXPECT_EQ(fault.causes[0].levels, 1u);
}

TEST_P(Catalogue, APointerInMemory)
{
  rawhal_buffer_t *one = buffer(4096), *gone = buffer(1 << 20);
  rawhal_buffer_t *table = upload<uint64_t>({at(one), at(gone)});
  retire(gone);
  const rawhal_fault_t fault = why("fill_table", 64, Blob().add(at(table)).add(1u).add(7u));
  expect(fault, RAWHAL_FAULT_MEMORY, RAWHAL_CAUSE_FREED, 0);
  EXPECT_EQ(fault.causes[0].levels, 1u);
}

TEST_P(Catalogue, TheArgumentsOfAnotherKernel)
{
  rawhal_buffer_t *y = buffer(4096), *x = buffer(4096);
  rawhal_queue_t *on = queue();
  Blob right, wrong;
  right.add(at(y)).add(at(x)).add(2.0f).add(64u);
  const rawhal_dispatch_t good = dispatch_of(mistake("scale_add"), 64, 64, right);
  ASSERT_OK(run(on, good));
  wrong.add(at(y)).add(int64_t(at(x))).add(2.0f).add(64u); // store_at's index is a pointer
  rawhal_dispatch_t bad = dispatch_of(mistake("store_at"), 1, 1, wrong);
  bad.blob_size = 20;
  EXPECT_EQ(run(on, bad), RAWHAL_FAULT);
  const rawhal_fault_t fault = why(on);
  expect(fault, RAWHAL_FAULT_MEMORY, RAWHAL_CAUSE_ARGUMENTS, 1);
}

TEST_P(Catalogue, MisalignedAtomic)
{
  rawhal_buffer_t *out = buffer(4096);
  expect(why("atomic_at", 1, Blob().add(at(out)).add(uint64_t{2})), RAWHAL_FAULT_MISALIGNED,
         RAWHAL_CAUSE_MISALIGNED, 0);
}

TEST_P(Catalogue, BeyondThePrivateSegment)
{
  rawhal_buffer_t *out = buffer(4096);
  expect(why("scratch_at", 1, Blob().add(at(out)).add(int64_t{1 << 20})), RAWHAL_FAULT_SCRATCH,
         RAWHAL_CAUSE_SCRATCH);
  EXPECT_TRUE(!writes || seen.waves.at(0).scratch);
}

TEST_P(Catalogue, BeyondLds)
{
  rawhal_buffer_t *out = buffer(4096);
  expect(why("lds_at", 1, Blob().add(at(out)).add(65536u)), RAWHAL_FAULT_LDS, RAWHAL_CAUSE_LDS);
}

TEST_P(Catalogue, Abort)
{
  expect(why("give_up", 1, Blob().add(1u)), RAWHAL_FAULT_TRAP, RAWHAL_CAUSE_ABORT);
}

TEST_P(Catalogue, NotCode)
{
  rawhal_buffer_t *out = buffer(4096);
  expect(why("not_code", 1, Blob().add(at(out))), RAWHAL_FAULT_INSTRUCTION,
         RAWHAL_CAUSE_INSTRUCTION);
}

TEST_P(Catalogue, AnEndlessLoop)
{
  rawhal_buffer_t *flag = upload<uint32_t>({0});
  expect(why("wait_for", 1, Blob().add(at(flag))), RAWHAL_FAULT_TIME_LIMIT, RAWHAL_CAUSE_ENDLESS);
}

TEST_P(Catalogue, ABarrierThatOneWaveNeverReaches)
{
  rawhal_buffer_t *flag = upload<uint32_t>({0});
  const rawhal_fault_t fault = why("half_barrier", 256, Blob().add(at(flag)), 256);
  expect(fault, RAWHAL_FAULT_TIME_LIMIT, RAWHAL_CAUSE_DEPENDENCY);
  const char *const text = fault.causes[0].text;
  EXPECT_NE(strstr(text, "waves 1 to 3 of work-group 0,0,0 wait at s_barrier (entry+"), nullptr)
      << text;
  EXPECT_NE(strstr(text, ") for wave 0 at entry+"), nullptr) << text;
}

TEST_P(Catalogue, AnotherTrap)
{
  rawhal_buffer_t *out = buffer(4096);
  const rawhal_fault_t fault = why("trap_five", 1, Blob().add(at(out)));
  expect(fault, RAWHAL_FAULT_TRAP, RAWHAL_CAUSE_ABORT);
  EXPECT_EQ(fault.address, 5u);
}

TEST_P(Catalogue, MemoryThatAnotherDeviceWasGiven)
{
  rawhal_device_t *const first = device, *const second = rawhal_instance_device(instance, 1),
                         *const third = rawhal_instance_device(instance, 2);
  ASSERT_NE(third, nullptr);
  device = second;
  rawhal_buffer_t *given = buffer(4096);
  ASSERT_OK(rawhal_buffer_allow(given, &third, 1, &error));
  device = first;
  expect(why("fill", 64, Blob().add(at(given)).add(7u)), RAWHAL_FAULT_NO_ACCESS,
         RAWHAL_CAUSE_NO_ACCESS, 0);
}

// hsa_agent_t.handle of the first device.
uint64_t agent()
{
  uint64_t handle = 0;
  const auto take = [](hsa_agent_t agent, void *data) {
    hsa_device_type_t type = HSA_DEVICE_TYPE_CPU;
    (void)HSA(hsa_agent_get_info)(agent, HSA_AGENT_INFO_DEVICE, &type);
    *static_cast<uint64_t *>(data) = agent.handle;
    return type == HSA_DEVICE_TYPE_GPU ? HSA_STATUS_INFO_BREAK : HSA_STATUS_SUCCESS;
  };
  EXPECT_EQ(HSA(hsa_iterate_agents)(take, &handle), HSA_STATUS_INFO_BREAK);
  return handle;
}

// As the kernel maps a range of the program's own memory for the device when it is told so.
TEST_P(Catalogue, ReadOnlyMemory)
{
  void *const pages =
      mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  hsa_amd_svm_attribute_pair_t rights[] = {{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, agent()},
                                           {HSA_AMD_SVM_ATTRIB_READ_ONLY, 1}};
  ASSERT_EQ(HSA(hsa_amd_svm_attributes_set)(pages, 8192, rights, 2), HSA_STATUS_SUCCESS);
  expect(why("fill", 64, Blob().add(reinterpret_cast<uint64_t>(pages)).add(7u)),
         RAWHAL_FAULT_READ_ONLY, RAWHAL_CAUSE_READ_ONLY, 0);
  munmap(pages, 8192);
}

TEST_P(Catalogue, CodeThatWasUnloaded)
{
  const rawhal_device_kernel_t *call = mistake("go_to");
  const rawhal_device_kernel_info_t info =
      *rawhal_device_kernel_info(kernel_of("scratch", "scratch"));
  const uint64_t entry =
      info.kernel_object - info.kernel->descriptor->address + info.kernel->descriptor->entry;
  rawhal_executable_destroy(executables.back());
  executables.pop_back();
  Blob blob;
  blob.add(entry);
  expect(why(dispatch_of(call, 1, 1, blob)), RAWHAL_FAULT_FETCH, RAWHAL_CAUSE_CODE_UNLOADED);
}

// ---- What is refused before it gets to the device: the message names the cause ----

#define EXPECT_SAID(part) EXPECT_NE(strstr(error.message, part), nullptr) << error.message

TEST_P(Catalogue, ABlobThatIsTooShort)
{
  Blob blob;
  blob.add(at(buffer(4096)));
  const rawhal_dispatch_t dispatch = dispatch_of(mistake("fill"), 64, 64, blob);
  EXPECT_EQ(run(queue(), dispatch), RAWHAL_OUT_OF_RANGE);
  EXPECT_SAID("12");
}

TEST_P(Catalogue, MoreThanTheQuota)
{
  rawhal_limit_config_t *limits = nullptr;
  ASSERT_OK(rawhal_limit_config_create(&limits, &error));
  ASSERT_OK(rawhal_limit_config_set(limits, RAWHAL_LIMIT_PROCESS_MEMORY, 1 << 20, &error));
  DeviceTest::TearDown();
  start(limits);
  rawhal_limit_config_destroy(limits);
  rawhal_buffer_t *never = nullptr;
  EXPECT_EQ(rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 2 << 20, &never, &error),
            RAWHAL_QUOTA_EXCEEDED);
  EXPECT_SAID("2097152 bytes");
}

TEST_P(Catalogue, CodeOfAnotherTarget)
{
  const char *const other = strcmp(GetParam().name, "gfx90a") ? "gfx90a" : "gfx942";
  const std::vector<char> bytes = fixture_bytes(std::string("mistakes-") + other + "-v5.co");
  rawhal_executable_t *never = nullptr;
  EXPECT_EQ(rawhal_executable_open(device, bytes.data(), bytes.size(), nullptr, &never, &error),
            RAWHAL_TARGET_MISMATCH);
  EXPECT_SAID(other);
  EXPECT_SAID(GetParam().name);
}

// It stays until its kernels have ended.
TEST_P(Catalogue, CodeThatIsUnloadedInFlight)
{
  rawhal_buffer_t *flag = buffer(4096, RAWHAL_MEMORY_HOST);
  auto *set = static_cast<uint32_t *>(rawhal_buffer_host(flag));
  __atomic_store_n(set, 0u, __ATOMIC_SEQ_CST);
  Blob blob;
  blob.add(at(flag));
  rawhal_queue_t *on = queue();
  const rawhal_dispatch_t dispatch = dispatch_of(mistake("wait_for"), 1, 1, blob);
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
  rawhal_executable_destroy(executables.back());
  executables.pop_back();
  __atomic_store_n(set, 1u, __ATOMIC_SEQ_CST);
  EXPECT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
}

// ---- Queues that go away ----

struct Told {
  rawhal_queue_t *queue;
  rawhal_error_t result = {};
  rawhal_fault_t fault = {};
};

void tell(void *context, rawhal_ticket_t, const rawhal_error_t *result)
{
  auto *told = static_cast<Told *>(context);
  told->result = *result;
  rawhal_error_t error = {};
  EXPECT_OK(rawhal_queue_fault(told->queue, &told->fault, &error));
}

TEST_P(Catalogue, AQueueThatIsDestroyedInFlight)
{
  rawhal_buffer_t *flag = upload<uint32_t>({0});
  Blob blob;
  blob.add(at(flag));
  const rawhal_dispatch_t dispatch = dispatch_of(mistake("wait_for"), 1, 1, blob);
  Told told = {queue()};
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(told.queue, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
  ASSERT_OK(rawhal_queue_on_complete(told.queue, ticket, tell, &told, &error));
  rawhal_queue_destroy(told.queue);
  queues.pop_back();
  EXPECT_EQ(told.result.status, RAWHAL_DEVICE_LOST);
  EXPECT_NE(strstr(told.result.message, "destroyed"), nullptr) << told.result.message;
  expect(told.fault, RAWHAL_FAULT_DESTROYED, RAWHAL_CAUSE_DESTROYED);
}

TEST_P(Catalogue, ADeviceThatIsLost)
{
  rawhal_queue_t *on = queue();
  const int status = in_child([&] {
    rawhal_fault_t fault = {};
    const bool told = rawhal_queue_fault(on, &fault, &error) == RAWHAL_OK;
    return !(told && fault.kind == RAWHAL_FAULT_DEVICE_LOST && fault.cause_count == 1 &&
             fault.causes[0].kind == RAWHAL_CAUSE_DEVICE_LOST);
  });
  EXPECT_EQ(status, 0);
}

TEST_P(Catalogue, AQueueThatIsAlive)
{
  rawhal_fault_t fault = {};
  fault.size = sizeof(fault);
  fault.kind = RAWHAL_FAULT_TRAP;
  EXPECT_EQ(rawhal_queue_fault(queue(), &fault, &error), RAWHAL_NOT_FOUND);
  EXPECT_EQ(fault.kind, RAWHAL_FAULT_UNKNOWN);
  EXPECT_EQ(rawhal_queue_fault(nullptr, &fault, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_queue_fault(queues.back(), nullptr, &error), RAWHAL_INVALID_ARGUMENT);
}

INSTANTIATE_TEST_SUITE_P(, Catalogue, testing::ValuesIn(catalogue_chips), CatalogueChip::of);

} // namespace
