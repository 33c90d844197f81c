// What a queue does about packets it cannot process: every status the runtime can deliver.
#include "newer.h"
#include "runtime.h"

namespace {

class Errors : public Runtime {
protected:
  // A dispatch that only its one flaw keeps from running.
  hsa_kernel_dispatch_packet_t good()
  {
    hsa_kernel_dispatch_packet_t packet = dispatch_packet(0, nullptr, 64, 64, signal(1));
    void *code = device_memory(4096);
    memset(code, 0, 4096);
    packet.kernel_object = (uint64_t)code;
    return packet;
  }

  // Submits the flawed packet and one behind it; checks what everybody gets to know.
  void expect(const void *packet, uint32_t header, hsa_status_t status, const char *text)
  {
    hsa_queue_t *q = queue(), *other = queue();
    softgpu_counters_t before{}, after{};
    hsa->counters(&before, sizeof(before));
    uint64_t index = submit(q, packet, header);
    hsa_signal_t behind = submit_barrier(q);
    EXPECT_EQ(as_of_5_2(queue_error()), status) << text;

    std::string why = fault_text(q);
    EXPECT_NE(why.find(text), std::string::npos) << why;
    EXPECT_EQ(why.rfind("packet 0", 0), 0u) << why;
    softgpu_fault_info_t info{};
    ASSERT_TRUE(hsa->queue_fault_info(q, &info, sizeof(info)));
    EXPECT_EQ(info.packet_index, index);
    hsa->counters(&after, sizeof(after));
    EXPECT_EQ(after.queue_errors, before.queue_errors + 1);

    // The packet and all behind it stay where they are; other queues go on.
    auto completion = ((const hsa_kernel_dispatch_packet_t *)packet)->completion_signal;
    if (completion.handle > 4096) {
      EXPECT_EQ(hsa->hsa_signal_load_scacquire(completion), 1);
    }
    EXPECT_EQ(hsa->hsa_queue_load_read_index_scacquire(q), index);
    EXPECT_EQ(hsa->hsa_signal_load_scacquire(behind), 1);
    EXPECT_TRUE(reaches(submit_barrier(other), 0));
    EXPECT_EQ(hsa->queue_fault(other, nullptr, 0), 0u);
    EXPECT_FALSE(hsa->queue_fault_info(other, &info, sizeof(info)));
  }
};

TEST_F(Errors, zero_grid)
{
  auto packet = good();
  packet.grid_size_x = 0;
  expect(&packet, dispatch_header(), HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
         "dimension x has 0 work-items");
}

TEST_F(Errors, zero_workgroup_in_the_third_dimension)
{
  auto packet = good();
  packet.workgroup_size_z = 0;
  expect(&packet, dispatch_header(3), HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, "dimension z");
}

TEST_F(Errors, no_dimensions)
{
  auto packet = good();
  expect(&packet, dispatch_header(0), HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, "0 dimensions");
}

TEST_F(Errors, registers_beyond_the_device)
{
  auto packet = good();
  packet.workgroup_size_x = packet.grid_size_x = 1024;
  *(uint32_t *)(packet.kernel_object + 48) = 136 / 8 - 1; // COMPUTE_PGM_RSRC1
  expect(&packet, dispatch_header(), HSA_STATUS_ERROR_INVALID_ISA,
         "16 waves with 136 vector registers each; a compute unit has room for 12");
}

TEST_F(Errors, group_segment_beyond_the_device)
{
  auto packet = good();
  packet.group_segment_size = 65537;
  expect(&packet, dispatch_header(), HSA_STATUS_ERROR_INVALID_ALLOCATION,
         "a group segment of 65537 bytes; the device has 65536");
}

TEST_F(Errors, workgroup_beyond_the_device)
{
  auto packet = good();
  packet.workgroup_size_x = 1025;
  expect(&packet, dispatch_header(), HSA_STATUS_ERROR_INVALID_ARGUMENT, "1025 work-items");
}

TEST_F(Errors, kernel_object_in_no_memory)
{
  auto packet = good();
  packet.kernel_object = 64;
  expect(&packet, dispatch_header(), HSA_STATUS_ERROR_INVALID_CODE_OBJECT, "kernel object 0x40");
}

TEST_F(Errors, completion_signal_in_no_memory)
{
  auto packet = good();
  packet.completion_signal.handle = 128;
  expect(&packet, dispatch_header(), HSA_STATUS_ERROR_INVALID_PACKET_FORMAT,
         "completion signal 0x80");
}

TEST_F(Errors, dependency_in_no_memory)
{
  hsa_barrier_and_packet_t packet{};
  packet.dep_signal[3].handle = 192;
  expect(&packet, packet_header(HSA_PACKET_TYPE_BARRIER_AND),
         HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, "dependency 0xc0");
}

TEST_F(Errors, unknown_packet_type)
{
  hsa_barrier_and_packet_t packet{};
  expect(&packet, 77, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, "type is unknown");
}

TEST_F(Errors, unknown_vendor_format)
{
  hsa_barrier_and_packet_t packet{};
  expect(&packet, vendor_header(9), HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, "vendor packet");
}

TEST_F(Errors, unknown_condition_of_a_barrier_value)
{
  hsa_amd_barrier_value_packet_t packet{};
  packet.cond = 4;
  expect(&packet, vendor_header(HSA_AMD_PACKET_TYPE_BARRIER_VALUE),
         HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, "condition");
}

TEST_F(Errors, statuses_of_the_codes_that_only_kernels_cause)
{
  // Written as the device writes them, so that the table in report.h is the runtime's.
  const struct {
    int64_t code;
    int status;
  } codes[] = {
      {128, HSA_STATUS_ERROR_INVALID_ISA},
      {0x20000000, HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION},
      {0x40000000, HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION},
      {0x80000000, HSA_STATUS_ERROR_EXCEPTION},
  };
  for (auto &[code, status] : codes) {
    hsa_queue_t *q = queue();
    hsa->hsa_signal_store_screlease(((amd_queue_t *)q)->queue_inactive_signal, code);
    EXPECT_EQ(as_of_5_2(queue_error()), status) << code;
  }
}

// As a tool hands out queues of its own.
TEST_F(Errors, a_queue_is_found_by_its_id)
{
  hsa_queue_t *q = queue(), *other = queue(), face = *q, stranger = *q;
  stranger.id = UINT64_MAX;
  EXPECT_EQ(hsa->queue_fault(&face, nullptr, 0), 0u); // in order
  ASSERT_TRUE(hsa->inject("queue_error", &face, 1, 64));
  hsa_barrier_and_packet_t packet{};
  packet.completion_signal = signal(1);
  submit(other, &packet, packet_header(HSA_PACKET_TYPE_BARRIER_AND));
  EXPECT_TRUE(reaches(packet.completion_signal, 0)); // it is not that one's
  packet.completion_signal = signal(1);
  submit(q, &packet, packet_header(HSA_PACKET_TYPE_BARRIER_AND));
  EXPECT_EQ(queue_error(), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fault_text(&face), fault_text(q));
  softgpu_fault_info_t info{};
  EXPECT_TRUE(hsa->queue_fault_info(&face, &info, sizeof(info)));
  EXPECT_EQ(hsa->queue_fault(&stranger, nullptr, 0), 0u);
  EXPECT_EQ(hsa->queue_fault((const void *)16, nullptr, 0), 0u);
}

TEST_F(Errors, a_failed_queue_can_be_destroyed_and_replaced)
{
  for (int i = 0; i < 3; ++i) {
    hsa_queue_t *q = queue();
    hsa_barrier_and_packet_t packet{};
    submit(q, &packet, vendor_header(9));
    EXPECT_EQ(queue_error(), HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
    queue_destroy(q);
    EXPECT_EQ(hsa->queue_fault(q, nullptr, 0), 0u); // no answer for what is gone
  }
}

TEST_F(Errors, fault_text_is_cut_to_the_buffer)
{
  hsa_queue_t *q = queue();
  hsa_barrier_and_packet_t packet{};
  submit(q, &packet, vendor_header(9));
  ASSERT_EQ(queue_error(), HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
  char text[8];
  memset(text, '#', sizeof(text));
  EXPECT_GT(hsa->queue_fault(q, text, 7), 7u);
  EXPECT_STREQ(text, "packet");
  EXPECT_EQ(text[7], '#');
}

TEST_F(Errors, more_scratch_than_a_wave_can_have)
{
  auto packet = good();
  packet.private_segment_size = 200000;
  expect(&packet, dispatch_header(), HSA_STATUS_ERROR_OUT_OF_RESOURCES,
         "not enough memory for the scratch of this dispatch");
}

} // namespace
