// The runtime's tables of both majors, and what the front makes of them.
#include "tests/front/front_test.h"

#include <hsa/hsa_api_trace.h>

#include <array>

namespace {

hsa_status_t nobody(hsa_agent_t, void *)
{
  return HSA_STATUS_SUCCESS;
}

std::map<std::string, size_t> HeadersOffsets()
{
#define OF_CORE(ours, theirs)                                                                      \
  {                                                                                                \
#ours, offsetof(CoreApiTable, hsa_##theirs##_fn)                                               \
  }
#define OF_AMD(ours, theirs)                                                                       \
  {                                                                                                \
#ours, offsetof(AmdExtTable, hsa_amd_##theirs##_fn)                                            \
  }
  return {OF_CORE(init, init),
          OF_CORE(system_get_info, system_get_info),
          OF_CORE(extension_table, system_get_extension_table),
          OF_CORE(code_object_deserialize, code_object_deserialize),
          OF_CORE(code_object_destroy, code_object_destroy),
          OF_CORE(load_code_object, executable_load_code_object),
          OF_CORE(load_program_code_object, executable_load_program_code_object),
          OF_CORE(reader_from_file, code_object_reader_create_from_file),
          OF_CORE(iterate_agents, iterate_agents),
          OF_CORE(agent_get_info, agent_get_info),
          OF_CORE(queue_create, queue_create),
          OF_CORE(soft_queue_create, soft_queue_create),
          OF_CORE(queue_destroy, queue_destroy),
          OF_CORE(queue_inactivate, queue_inactivate),
          OF_CORE(load_read_scacquire, queue_load_read_index_scacquire),
          OF_CORE(load_read_relaxed, queue_load_read_index_relaxed),
          OF_CORE(load_write_scacquire, queue_load_write_index_scacquire),
          OF_CORE(load_write_relaxed, queue_load_write_index_relaxed),
          OF_CORE(store_write_relaxed, queue_store_write_index_relaxed),
          OF_CORE(store_write_screlease, queue_store_write_index_screlease),
          OF_CORE(cas_write_scacq_screl, queue_cas_write_index_scacq_screl),
          OF_CORE(cas_write_scacquire, queue_cas_write_index_scacquire),
          OF_CORE(cas_write_relaxed, queue_cas_write_index_relaxed),
          OF_CORE(cas_write_screlease, queue_cas_write_index_screlease),
          OF_CORE(add_write_scacq_screl, queue_add_write_index_scacq_screl),
          OF_CORE(add_write_scacquire, queue_add_write_index_scacquire),
          OF_CORE(add_write_relaxed, queue_add_write_index_relaxed),
          OF_CORE(add_write_screlease, queue_add_write_index_screlease),
          OF_CORE(store_read_relaxed, queue_store_read_index_relaxed),
          OF_CORE(store_read_screlease, queue_store_read_index_screlease),
          OF_CORE(memory_allocate, memory_allocate),
          OF_CORE(memory_free, memory_free),
          OF_CORE(memory_copy, memory_copy),
          OF_CORE(isa_get_info_alt, isa_get_info_alt),
          OF_CORE(executable_destroy, executable_destroy),
          OF_CORE(major_extension_table, system_get_major_extension_table),
          OF_CORE(load_agent_code_object, executable_load_agent_code_object),
          OF_CORE(load_code_object, executable_load_code_object),
          OF_CORE(load_program_code_object, executable_load_program_code_object),
          OF_CORE(signal_create, signal_create),
          OF_CORE(signal_destroy, signal_destroy),
          OF_CORE(signal_load_relaxed, signal_load_relaxed),
          OF_CORE(signal_load_scacquire, signal_load_scacquire),
          OF_CORE(signal_wait_relaxed, signal_wait_relaxed),
          OF_CORE(signal_wait_scacquire, signal_wait_scacquire),
          OF_CORE(signal_store_relaxed, signal_store_relaxed),
          OF_CORE(signal_store_screlease, signal_store_screlease),
          OF_CORE(signal_subtract, signal_subtract_screlease),
          OF_CORE(executable_destroy, executable_destroy),
          OF_CORE(executable_freeze, executable_freeze),
          OF_CORE(symbol_get_info, executable_symbol_get_info),
          OF_CORE(reader_from_memory, code_object_reader_create_from_memory),
          OF_CORE(reader_destroy, code_object_reader_destroy),
          OF_CORE(executable_create, executable_create_alt),
          OF_CORE(get_symbol, executable_get_symbol_by_name),
          OF_CORE(silent_store_relaxed, signal_silent_store_relaxed),
          OF_CORE(silent_store_screlease, signal_silent_store_screlease),
          OF_AMD(set_profiler_enabled, profiling_set_profiler_enabled),
          OF_AMD(async_copy_enable, profiling_async_copy_enable),
          OF_AMD(get_copy_time, profiling_get_async_copy_time),
          OF_AMD(async_copy, memory_async_copy),
          OF_AMD(memory_fill, memory_fill),
          OF_AMD(copy_rect, memory_async_copy_rect),
          OF_AMD(get_dispatch_time, profiling_get_dispatch_time),
          OF_AMD(cu_set_mask, queue_cu_set_mask),
          OF_AMD(pool_get_info, memory_pool_get_info),
          OF_AMD(iterate_pools, agent_iterate_memory_pools),
          OF_AMD(pool_allocate, memory_pool_allocate),
          OF_AMD(pool_free, memory_pool_free),
          OF_AMD(async_copy, memory_async_copy),
          OF_AMD(memory_lock, memory_lock),
          OF_AMD(memory_unlock, memory_unlock),
          OF_AMD(memory_lock_to_pool, memory_lock_to_pool),
          OF_AMD(memory_fill, memory_fill),
          OF_AMD(signal_value_pointer, signal_value_pointer),
          OF_AMD(svm_attributes_set, svm_attributes_set),
          OF_AMD(svm_prefetch, svm_prefetch_async),
          OF_AMD(allow_access, agents_allow_access),
          OF_AMD(pointer_info, pointer_info),
          OF_AMD(memory_migrate, memory_migrate),
          OF_AMD(interop_map, interop_map_buffer),
          OF_AMD(interop_unmap, interop_unmap_buffer),
          OF_AMD(ipc_attach, ipc_memory_attach),
          OF_AMD(ipc_detach, ipc_memory_detach),
          OF_AMD(amd_signal_create, signal_create),
          OF_AMD(intercept_create, queue_intercept_create),
          OF_AMD(intercept_register, queue_intercept_register),
          OF_AMD(register_event_handler, register_system_event_handler),
          OF_AMD(queue_set_priority, queue_set_priority),
          OF_AMD(cu_get_mask, queue_cu_get_mask)};
}

} // namespace

// The installed header is of one major; the other differs by what was inserted.
TEST(FrontOffsets, AreTheHeaders)
{
  if (sizeof(AmdExtTable) != 400)
    GTEST_SKIP() << "the installed header is not of major 1";
  std::map<std::string, size_t> headers = HeadersOffsets();
  toy_entry_t entry;
  size_t count = 0;
  for (; toy_entry(count, &entry); ++count) {
    SCOPED_TRACE(entry.name);
    if (!entry.first)
      continue;
    EXPECT_EQ(headers.at(entry.name), entry.first);
    const size_t before_first = 144, before_second = 392; // where entries were inserted
    const size_t moved = !entry.amd || entry.first < before_first ? 0
                         : entry.first < before_second            ? 16
                                                                  : 40;
    EXPECT_EQ(entry.first + moved, entry.second);
  }
  EXPECT_EQ(headers.size() + 19, count); // nineteen are in major 2 alone
}

class FrontTables : public FrontTest, public testing::WithParamInterface<int> {};

TEST_P(FrontTables, NothingIsReplacedWithoutLimits)
{
  Load(static_cast<uint32_t>(GetParam()));
  EXPECT_EQ(0u, toy_replaced());
  EXPECT_EQ("", Report());
}

TEST_P(FrontTables, QueuesGetNoProxyWhenOnlyMemoryIsLimited)
{
  Set("RAWHAL_MEMORY_LIMIT", "64M");
  void *as_made = nullptr;
  Load(static_cast<uint32_t>(GetParam()));
  as_made = toy_core(136); // hsa_queue_store_write_index_relaxed
  EXPECT_EQ(GetParam() == 1 ? 26u : 36u, toy_replaced());
  Unload();
  EXPECT_EQ(as_made, toy_core(136));
}

TEST_P(FrontTables, EntriesAreReplacedWhereTheyAreInThatMajor)
{
  Set("RAWHAL_GPU_SHARE", "50%");
  Load(static_cast<uint32_t>(GetParam()));
  toy_entry_t entry;
  size_t expected = 0;
  void *untouched = toy_core(40); // of which nothing is known
  for (size_t i = 0; toy_entry(i, &entry); ++i) {
    size_t at = GetParam() == 1 ? entry.first : entry.second;
    expected += at && (entry.amd ? toy_amd(at) : toy_core(at)) != untouched;
  }
  EXPECT_EQ(GetParam() == 1 ? 65u : 77u, toy_replaced());
  EXPECT_LT(toy_replaced(), expected);
  EXPECT_EQ(GetParam() == 1, toy_amd(392) != untouched);
  if (GetParam() == 2) {
    EXPECT_NE(untouched, toy_amd(432));
    EXPECT_NE(untouched, toy_amd(472));
    EXPECT_NE(untouched, toy_amd(560));
  }
  Unload();
  EXPECT_EQ(0u, toy_replaced());
}

INSTANTIATE_TEST_SUITE_P(Majors, FrontTables, testing::Values(1, 2),
                         testing::PrintToStringParamName());

class FrontLoading : public FrontTest {};

TEST_F(FrontLoading, EntriesBeyondTheTablesSizeAreNotThere)
{
  Set("RAWHAL_GPU_SHARE", "50%");
  toy_make(2, 0, 480);
  const std::array<void *, 3> made = {toy_amd(472), toy_amd(480), toy_amd(560)};
  Load(2, 0, 480); // ends within hsa_amd_vmem_handle_release
  EXPECT_NE(made[0], toy_amd(472));
  EXPECT_EQ(made[1], toy_amd(480));
  EXPECT_EQ(made[2], toy_amd(560));
}

TEST_F(FrontLoading, AnUnknownMajorIsLeftAlone)
{
  Load(3);
  EXPECT_EQ(0u, toy_replaced());
  EXPECT_EQ("", Report());
}

TEST_F(FrontLoading, AnUnknownMajorIsRefusedWhenThereAreLimits)
{
  Set("RAWHAL_GPU_SHARE", "50%");
  Load(3);
  EXPECT_EQ(3u, toy_replaced());
  EXPECT_NE(HSA_STATUS_SUCCESS, Core<decltype(hsa_init)>(16)());
  EXPECT_NE(HSA_STATUS_SUCCESS, Core<decltype(hsa_iterate_agents)>(56)(nobody, nullptr));
  hsa_queue_t *queue = nullptr;
  EXPECT_NE(HSA_STATUS_SUCCESS,
            Core<decltype(hsa_queue_create)>(72)(toy_agent(), 64, HSA_QUEUE_TYPE_MULTI, nullptr,
                                                 nullptr, 0, 0, &queue));
  EXPECT_NE(std::string::npos, Report().find("versions 2 and 3"));
}

// Whoever asks for a check and is not told that there is none takes silence for a good word.
TEST_F(FrontLoading, AnUnknownMajorIsRefusedWhenThereIsSomethingToWatch)
{
  for (const char *variable :
       {"RAWHAL_CHECK", "RAWHAL_WATCHDOG", "RAWHAL_TRACE", "RAWHAL_RECORD"}) {
    SCOPED_TRACE(variable);
    Set(variable, strcmp(variable, "RAWHAL_WATCHDOG") ? "warn" : "10s");
    Load(3);
    EXPECT_EQ(3u, toy_replaced());
    EXPECT_NE(HSA_STATUS_SUCCESS, Core<decltype(hsa_iterate_agents)>(56)(nobody, nullptr));
    Set(variable, "");
  }
  Set("RAWHAL_CHECK", "off");
  Set("RAWHAL_WATCHDOG", "off");
  Load(3);
  EXPECT_EQ(0u, toy_replaced());
}

TEST_F(FrontLoading, WhatIsMisspeltIsRefused)
{
  Set("RAWHAL_GPU_SHARE", "30 percent");
  Load();
  EXPECT_NE(HSA_STATUS_SUCCESS, Core<decltype(hsa_iterate_agents)>(56)(nobody, nullptr));
  EXPECT_NE(std::string::npos, Report().find("RAWHAL_GPU_SHARE"));
}

TEST_F(FrontLoading, WhatIsNotEnforcedIsRefused)
{
  Set("RAWHAL_CU_MASK", "f");
  Load();
  EXPECT_NE(HSA_STATUS_SUCCESS, Core<decltype(hsa_iterate_agents)>(56)(nobody, nullptr));
  EXPECT_NE(std::string::npos, Report().find("RAWHAL_CU_MASK"));
}

// Of a runtime that may make queues in ways that are not known here only memory is limited: a step
// that is not known, a table that ends before them, one with something else at their place.
TEST_F(FrontLoading, QueuesThatWouldEscapeAreRefused)
{
  const struct {
    uint32_t step, bytes;
  } unknown[] = {{0x13, 0}, {0x10, 608}, {0x12, 720}};
  for (const auto &table : unknown) {
    Set("RAWHAL_MEMORY_LIMIT", "64M");
    Load(2, table.step, table.bytes);
    EXPECT_EQ(HSA_STATUS_SUCCESS, Core<decltype(hsa_iterate_agents)>(56)(nobody, nullptr));
    Unload();
    Set("RAWHAL_GPU_SHARE", "50%");
    Load(2, table.step, table.bytes);
    EXPECT_NE(HSA_STATUS_SUCCESS, Core<decltype(hsa_iterate_agents)>(56)(nobody, nullptr));
    Unload();
    unsetenv("RAWHAL_GPU_SHARE");
  }
}

// A tool that came later has its own functions in the table, which call ours.
TEST_F(FrontLoading, AToolThatCameLaterStays)
{
  Set("RAWHAL_GPU_SHARE", "50%");
  Load();
  toy_replace_core(72, reinterpret_cast<void *>(nobody));
  Unload();
  EXPECT_EQ(reinterpret_cast<void *>(nobody), toy_core(72));
  EXPECT_EQ(1u, toy_replaced());
}
