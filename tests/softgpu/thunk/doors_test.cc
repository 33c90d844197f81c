// Both libraries, called by a runtime of our own at every entry point.
#include <fcntl.h>

#include <cstddef>

#include "fake.h"
#include "names.h"

namespace {

TEST_P(Fake, has_every_name_that_is_asked_for)
{
  if (GetParam().dtif) {
    for (const auto &[name, flags] : kLoaderNames)
      EXPECT_NE(dlsym(library, name), nullptr) << name;
    return;
  }
  for (const auto &[name, flags] : kLoaderNames)
    EXPECT_TRUE(!(flags & kIn624) || dlvsym(library, name, "HSAKMT_1")) << name;
  for (const char *name : {"amdgpu_device_initialize", "amdgpu_query_gpu_info",
                           "amdgpu_device_deinitialize", "drmOpenRender", "drmClose"})
    EXPECT_NE(dlsym(library, name), nullptr) << name; // 5.3 and later cannot do without
}

TEST_P(Fake, refuses_plainly_what_it_has_not)
{
  for (const auto &[name, flags] : kLoaderNames)
    if (flags & kRefuses) {
      EXPECT_EQ(call(name, 1ull, 1ull, 1ull, 1ull, 1ull, 1ull), HSAKMT_STATUS_NOT_SUPPORTED)
          << name;
    }
}

// HsaNodeProperties as offsets, which the two kinds of header have differently.
struct Layout {
  size_t size, banks, caches, capability, wave_size, engine, device, memory, name, unique, tail;
};
constexpr Layout kDynamic = {356, 8, 12, 28, 44, 68, 74, 80, 100, 328, 344};
constexpr Layout kDtif = {368, 12, 16, 32, 52, 76, 86, 92, 112, 340, 356};

template <typename T> T at(const unsigned char *bytes, size_t offset)
{
  T value;
  memcpy(&value, bytes + offset, sizeof(value));
  return value;
}

TEST_P(Fake, nodes_in_the_layout_of_the_caller)
{
  const Layout &layout = GetParam().dtif ? kDtif : kDynamic;
  for (uint32_t node = 0; node < 2; ++node) {
    unsigned char bytes[512];
    memset(bytes, 0xcd, sizeof(bytes));
    ASSERT_EQ(call("hsaKmtGetNodeProperties", node, bytes), 0);
    for (size_t i = layout.size; i < sizeof(bytes); ++i)
      ASSERT_EQ(bytes[i], 0xcd) << "written beyond the structure, at " << i;
    EXPECT_EQ(at<uint32_t>(bytes, layout.banks), node == 0 ? 1u : 4u);
    EXPECT_EQ(at<uint32_t>(bytes, layout.caches), GetParam().dtif ? 1u : node == 0 ? 3u : 2u);
    EXPECT_EQ(at<uint16_t>(bytes, layout.name), node == 0 ? u'H' : u'A'); // Host CPU, AMD ..
    if (node == 0)
      continue;
    EXPECT_EQ(at<uint32_t>(bytes, 4), 104u * 4);
    EXPECT_EQ(at<uint32_t>(bytes, layout.capability) >> 12 & 3, 2u); // doorbells
    EXPECT_EQ(at<uint32_t>(bytes, layout.wave_size), 64u);
    EXPECT_EQ(at<uint32_t>(bytes, layout.engine) >> 10, 9u | 10u << 14);
    EXPECT_EQ(at<uint16_t>(bytes, layout.device), 0x740f);
    EXPECT_EQ(at<uint64_t>(bytes, layout.memory), 8ull << 30);
    EXPECT_EQ(at<uint64_t>(bytes, layout.unique) >> 32, 0x736f6674u);
    EXPECT_EQ(at<uint32_t>(bytes, layout.tail), 1u); // XCCs, which runtimes divide by
    EXPECT_NE(at<uint32_t>(bytes, layout.tail + 4), 0u);
    EXPECT_EQ(at<uint32_t>(bytes, layout.tail + 8), 141u);
    if (!GetParam().dtif)
      continue;
    EXPECT_EQ(at<uint32_t>(bytes, 8), 0u);  // neural cores
    EXPECT_EQ(at<uint32_t>(bytes, 36), 0u); // the second word of capabilities
    EXPECT_EQ(at<uint32_t>(bytes, 80), 0u); // no other engine is pretended
  }
}

TEST_P(Fake, links_and_caches_in_the_layout_of_the_caller)
{
  const size_t stride = GetParam().dtif ? 52 : 48;
  unsigned char links[128], caches[4096];
  memset(links, 0xcd, sizeof(links));
  memset(caches, 0xcd, sizeof(caches));
  ASSERT_EQ(call("hsaKmtGetNodeIoLinkProperties", 0u, 2u, links), 0);
  EXPECT_EQ(at<uint32_t>(links, 16), 1u); // to node 1
  EXPECT_EQ(at<uint32_t>(links, stride - 4), 0u);
  EXPECT_EQ(links[stride], 0xcd);
  ASSERT_EQ(
      call("hsaKmtGetNodeCacheProperties", 1u, 0x80010000u, GetParam().dtif ? 1u : 2u, caches), 0);
  EXPECT_EQ(at<uint32_t>(caches, 4), GetParam().dtif ? 2u : 1u); // level
  EXPECT_EQ(caches[GetParam().dtif ? 1056 : 2 * 1056], 0xcd);
}

TEST_P(Fake, memory_by_alignment_and_what_is_left)
{
  HsaMemFlags flags{};
  flags.ui32.HostAccess = 1;
  uint64_t before = 0, after = 0;
  ASSERT_EQ(call("hsaKmtAvailableMemory", 1u, &before), 0);
  EXPECT_EQ(before, 8ull << 30);
  void *made = nullptr;
  const HSAuint64 size = 8192, alignment = 64 << 20;
  ASSERT_EQ(call("hsaKmtAllocMemoryAlign", 1u, size, alignment, flags, &made), 0);
  EXPECT_EQ((uintptr_t)made % alignment, 0u);
  memset(made, 1, size);
  ASSERT_EQ(call("hsaKmtAvailableMemory", 1u, &after), 0);
  EXPECT_EQ(after, before - size);
  EXPECT_EQ(call("hsaKmtFreeMemory", made, size), 0);
  ASSERT_EQ(call("hsaKmtAvailableMemory", 1u, &after), 0);
  EXPECT_EQ(after, before);
  EXPECT_EQ(call("hsaKmtAvailableMemory", 0u, &after), HSAKMT_STATUS_INVALID_NODE_UNIT);
  EXPECT_EQ(call("hsaKmtAllocMemoryAlign", 1u, size, (HSAuint64)12288, flags, &made),
            HSAKMT_STATUS_INVALID_PARAMETER);
  for (uint32_t handle_or_address : {1u << 18, 1u << 19}) {
    flags.Value = handle_or_address;
    EXPECT_EQ(call("hsaKmtAllocMemoryAlign", 1u, size, (HSAuint64)0, flags, &made),
              HSAKMT_STATUS_NOT_SUPPORTED);
  }
}

TEST_P(Fake, the_device_for_libdrm)
{
  void *handle = nullptr;
  uint64_t info[64] = {}, hertz = 0;
  uint32_t mask = 77, node = 0, id = 0;
  bool model = true;
  ASSERT_EQ(call("hsaKmtGetAMDGPUDeviceHandle", 1u, &handle), 0);
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(call("amdgpu_query_gpu_info", handle, info), 0);
  EXPECT_EQ(at<uint32_t>((unsigned char *)info, 72), 100000u); // the counter's kHz, in amdgpu.h
  EXPECT_NE(call("amdgpu_query_gpu_info", (void *)&mask, info), 0); // nobody's handle
  EXPECT_EQ(call("hsaKmtGetAMDGPUDeviceHandle", 0u, &handle), HSAKMT_STATUS_INVALID_NODE_UNIT);
  EXPECT_EQ(call("hsaKmtGetNodeWallclockFrequency", 1u, &hertz), 0);
  EXPECT_EQ(hertz, 100000000u);
  EXPECT_EQ(call("hsaKmtGetRuntimeCapabilities", &mask), 0);
  EXPECT_EQ(mask, 0u);
  EXPECT_EQ(call("hsaKmtModelEnabled", &model), 0);
  EXPECT_FALSE(model);
  EXPECT_EQ(call("hsaKmtGetDefaultHostGpu", &node, &id), 0);
  EXPECT_EQ(node, 1u);
  EXPECT_NE(id, 0u);
  if (!GetParam().dtif)
    return;
  uint64_t buffer = 0;
  EXPECT_LT(call("amdgpu_bo_import", handle, 2, 0u, (void *)info), 0);
  for (const char *name : {"amdgpu_bo_export", "amdgpu_bo_free", "amdgpu_bo_cpu_map",
                           "amdgpu_bo_va_op", "amdgpu_bo_query_info", "amdgpu_bo_set_metadata"})
    EXPECT_LT(call(name, (void *)&buffer, 0ull, 0ull, 0ull, 0ull, 0u), 0) << name;
  EXPECT_LT(call("amdgpu_device_initialize", -1, &node, &id, &handle), 0);
  EXPECT_LT(call("drmCommandWriteRead", -1, 1ul, (void *)info, 8ul), 0);
}

// As runtimes of ROCm 5.3 to 5.7 begin: by the render node that a GPU's properties name.
TEST_P(Fake, a_render_node_for_libdrm)
{
  if (GetParam().dtif)
    GTEST_SKIP() << "its callers have the handle of the thunk";
  void *handle = nullptr, *thunks = nullptr;
  uint64_t info[64] = {};
  uint32_t major = 0, minor = 0;
  int fd = call("drmOpenRender", 128);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(call("amdgpu_device_initialize", fd, &major, &minor, &handle), 0);
  EXPECT_EQ(major, 3u);
  EXPECT_EQ(call("hsaKmtGetAMDGPUDeviceHandle", 1u, &thunks), 0);
  EXPECT_EQ(handle, thunks);
  EXPECT_EQ(call("amdgpu_query_gpu_info", handle, info), 0);
  EXPECT_EQ(at<uint32_t>((unsigned char *)info, 72), 100000u);
  EXPECT_EQ(call("amdgpu_device_deinitialize", handle), 0);
  EXPECT_EQ(call("drmClose", fd), 0);
  EXPECT_LT(call("amdgpu_device_initialize", fd, &major, &minor, &handle), 0);
  EXPECT_LT(call("drmOpenRender", 129), 0); // of the one GPU there is, not the next
  int file = open("/dev/null", O_RDWR | O_CLOEXEC);
  EXPECT_LT(call("amdgpu_device_initialize", file, &major, &minor, &handle), 0);
  EXPECT_EQ(call("drmClose", file), 0); // without libdrm it is closed all the same
  EXPECT_EQ(fcntl(file, F_GETFD), -1);
}

TEST_P(Fake, events_have_an_age)
{
  HsaEventDescriptor descriptor{};
  descriptor.EventType = HSA_EVENTTYPE_SIGNAL;
  HsaEvent *event = nullptr, *other = nullptr;
  ASSERT_EQ(call("hsaKmtCreateEvent", &descriptor, false, false, &event), 0);
  ASSERT_EQ(call("hsaKmtCreateEvent", &descriptor, false, false, &other), 0);
  uint64_t age = 1;
  EXPECT_EQ(call("hsaKmtWaitOnEvent_Ext", event, 0u, &age), HSAKMT_STATUS_WAIT_TIMEOUT);
  EXPECT_EQ(age, 1u);
  EXPECT_EQ(call("hsaKmtSetEvent", event), 0);
  EXPECT_EQ(call("hsaKmtWaitOnEvent_Ext", event, 0u, (uint64_t *)nullptr), 0); // somebody took it
  EXPECT_EQ(call("hsaKmtWaitOnEvent", event, 0u), HSAKMT_STATUS_WAIT_TIMEOUT);
  EXPECT_EQ(call("hsaKmtWaitOnEvent_Ext", event, 0u, &age), 0); // but this caller did not see it
  EXPECT_EQ(age, 2u);
  EXPECT_EQ(call("hsaKmtWaitOnEvent_Ext", event, 0u, &age), HSAKMT_STATUS_WAIT_TIMEOUT);
  HsaEvent *both[] = {event, other};
  uint64_t ages[] = {1, 1};
  EXPECT_EQ(call("hsaKmtWaitOnMultipleEvents_Ext", both, 2u, true, 0u, ages),
            HSAKMT_STATUS_WAIT_TIMEOUT);
  ages[0] = 1;
  EXPECT_EQ(call("hsaKmtWaitOnMultipleEvents_Ext", both, 2u, false, 0u, ages), 0);
  EXPECT_EQ(ages[0], 2u);
  EXPECT_EQ(ages[1], 1u);
}

const Door kDoors[] = {{SOFTGPU_LIBRARY, false}, {DTIF_LIBRARY, true}};
INSTANTIATE_TEST_SUITE_P(Doors, Fake, ::testing::ValuesIn(kDoors),
                         [](const auto &door) { return door.param.dtif ? "dtif" : "hsakmt"; });

} // namespace
