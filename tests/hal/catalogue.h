// What goes wrong with kernels, provoked on a chip; what dies leaves a core file, which is compared with softgpu.
#ifndef RAWHAL_TESTS_HAL_CATALOGUE_H
#define RAWHAL_TESTS_HAL_CATALOGUE_H

#include "device_test.h"

#include "tests/debug/listing.h"
#include "tests/debug/scene.h"

#include <hsa/hsa.h>
#include <rawhal/fault.h>

#include <algorithm>

extern "C" {
#include "softgpu/waves.h"
}

struct CatalogueChip {
  const char *name, *options;
  static std::string of(const testing::TestParamInfo<CatalogueChip> &info)
  {
    return info.param.name;
  }
};
#define CATALOGUE_COMMON "gpus=3,vram_mib=64,check_lds=refuse"
constexpr CatalogueChip catalogue_chips[] = {
    {"gfx90a", CATALOGUE_COMMON},
    {"gfx942", CATALOGUE_COMMON ",chip=gfx942,listed=gfx90a"},
    {"gfx950", CATALOGUE_COMMON ",chip=gfx950,listed=gfx90a"},
};

class CatalogueTest : public DeviceTest, public testing::WithParamInterface<CatalogueChip> {
protected:
  void SetUp() override
  {
    strcpy(folder, "/tmp/rawhal-catalogue-XXXXXX");
    ASSERT_NE(mkdtemp(folder), nullptr);
    core = std::string(folder) + "/core";
    writes = scene::may_write_cores();
    setenv("RAWHAL_CORE", core.c_str(), 1);
    setenv("RAWHAL_CORE_PER_HOUR", "0", 1);
    setenv("RAWHAL_CORE_CONTENTS", "all", 1);
    start();
  }
  void TearDown() override
  {
    DeviceTest::TearDown();
    for (const char *name : {"RAWHAL_CORE", "RAWHAL_CORE_PER_HOUR", "RAWHAL_CORE_CONTENTS"})
      unsetenv(name);
    unlink(core.c_str());
    EXPECT_EQ(rmdir(folder), 0);
  }
#ifdef __SANITIZE_THREAD__
  virtual const char *limit()
  {
    return "2000";
  }
#else
  virtual const char *limit()
  {
    return "300";
  }
#endif
  void start(const rawhal_limit_config_t *limits = nullptr)
  {
    rawhal_instance_options_t options = {};
    options.backend = RAWHAL_BACKEND_SOFTGPU;
    const std::string all = std::string(GetParam().options) + ",timeout_ms=" + limit();
    options.softgpu_options = all.c_str();
    options.limits = limits;
    options.log = [](void *context, rawhal_severity_t severity, const char *message) {
      if (severity == RAWHAL_SEVERITY_ERROR)
        static_cast<CatalogueTest *>(context)->lines += std::string(message) + "\n";
    };
    options.log_context = this;
    ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
    device = rawhal_instance_device(instance, 0);
  }

  // An object of tests/fixtures for the chip. Those of gfx942 run on gfx950, when they say so.
  std::vector<char> object(const char *name)
  {
    enum { FLAGS = 0x30, GFX950 = 0x4f };
    const bool is_first = !strcmp(GetParam().name, "gfx90a");
    std::vector<char> bytes =
        fixture_bytes(std::string(name) + (is_first ? "-gfx90a-v5.co" : "-gfx942-v5.co"));
    if (!strcmp(GetParam().name, "gfx950"))
      bytes.at(FLAGS) = GFX950;
    return bytes;
  }
  const rawhal_device_kernel_t *kernel_of(const char *fixture, const char *name)
  {
    const rawhal_device_kernel_t *found = nullptr;
    rawhal_executable_t *executable = load(object(fixture));
    if (executable)
      EXPECT_OK(rawhal_executable_kernel(executable, {name, strlen(name)}, 0, &found, &error));
    return found;
  }
  const rawhal_device_kernel_t *mistake(const char *name)
  {
    return kernel_of("mistakes", name);
  }

  // Why the queue has failed. Its core is looked at.
  rawhal_fault_t why(rawhal_queue_t *on)
  {
    rawhal_fault_t fault = {};
    fault.size = sizeof(fault);
    EXPECT_OK(rawhal_queue_fault(on, &fault, &error));
    if (writes)
      check_core(on, fault);
    return fault;
  }
  // Runs it, which must fail.
  rawhal_fault_t why(const rawhal_dispatch_t &dispatch)
  {
    rawhal_queue_t *on = queue();
    EXPECT_EQ(run(on, dispatch), RAWHAL_FAULT) << error.message;
    return why(on);
  }
  rawhal_fault_t why(const char *name, uint32_t grid, const Blob &blob, uint16_t workgroup = 64)
  {
    const rawhal_device_kernel_t *failing = mistake(name);
    return why(dispatch_of(failing, grid,
                           grid < workgroup ? static_cast<uint16_t>(grid) : workgroup, blob));
  }

  static void expect(const rawhal_fault_t &fault, rawhal_fault_kind_t kind,
                     rawhal_cause_kind_t cause, uint32_t argument = RAWHAL_NO_ARGUMENT)
  {
    EXPECT_EQ(fault.kind, kind) << fault.device_text;
    ASSERT_GT(fault.cause_count, 0u) << fault.device_text;
    EXPECT_EQ(fault.causes[0].kind, cause) << all(fault);
    EXPECT_EQ(fault.causes[0].argument, argument) << all(fault);
  }
  static std::string all(const rawhal_fault_t &fault)
  {
    std::string text = fault.device_text;
    for (uint32_t i = 0; i < fault.cause_count; ++i)
      text += std::string("\n  ") + std::to_string(fault.causes[i].confidence) + "% " +
              rawhal_cause_kind_name(fault.causes[i].kind) + ": " + fault.causes[i].text;
    return text;
  }
  static uint64_t at(rawhal_buffer_t *buffer)
  {
    return rawhal_buffer_address(buffer);
  }

  // The waves, by the rules of ROCm's debugger library, are softgpu's: where they are, and all of their registers and LDS.
  // Where RAWHAL_DBGAPI_CLIENT names a program, that library itself shows the same.
  void check_core(rawhal_queue_t *on, const rawhal_fault_t &fault)
  {
    std::ifstream file(core, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
    core_file_t opened = {};
    ASSERT_EQ(core_file_open(&opened, {bytes.data(), bytes.size()}, &error), RAWHAL_OK)
        << error.message << "\n"
        << lines;
    seen = {};
    seen.view = &opened.view;
    walk();
    EXPECT_EQ(seen.agents, 3u);
    EXPECT_EQ(seen.queues.size(), queues.size());
    check_waves(on, fault);
    check_memory(opened.view);
    check_objects();
    if (getenv("RAWHAL_DBGAPI_CLIENT")) {
      std::string text;
      const std::string copy = core + ".seen"; // another queue may die, and write its own
      std::ofstream(copy, std::ios::binary) << bytes;
      const listing::Lines theirs = listing::by_debugger(copy, &text);
      unlink(copy.c_str());
      EXPECT_EQ(text, "");
      EXPECT_EQ(listing::difference(listing::of(opened.view), theirs), "");
    }
    more_checks(opened);
    core_file_close(&opened);
  }
  virtual void more_checks(const core_file_t &) {}
  // Those of one queue.
  void check_waves(rawhal_queue_t *on, const rawhal_fault_t &fault)
  {
    const auto *hsa_queue = static_cast<const hsa_queue_t *>(queue_info(on).hsa_queue);
    auto softgpu_waves = reinterpret_cast<softgpu_waves_fn *>(dlsym(RTLD_DEFAULT, "softgpu_waves"));
    const auto at = std::find_if(seen.queues.begin(), seen.queues.end(),
                                 [&](const auto &it) { return it.entry.id == hsa_queue->id; });
    ASSERT_NE(at, seen.queues.end());
    seen.queue = at->index;
    seen.packet = fault.packet;
    seen.compared = 0;
    (void)softgpu_waves(hsa_queue, compare, &seen);
    EXPECT_EQ(seen.compared, std::count_if(seen.waves.begin(), seen.waves.end(),
                                           [&](const auto &it) { return it.queue == at->index; }))
        << lines;
  }

  char folder[64];
  bool writes = false;
  std::string core, lines, bytes; // the file's

  struct Seen {
    const core_view_t *view;
    size_t agents;
    std::vector<walk_queue_t> queues;
    std::vector<walk_object_t> objects;
    std::vector<walk_wave_t> waves;
    size_t queue;    // whose waves are compared
    uint64_t packet; // that failed on it
    long compared;
  } seen;

private:
  void walk()
  {
    walk_visitor_t visitor = {};
    visitor.context = &seen;
    visitor.agent = [](void *to, const walk_agent_t *) {
      return ++static_cast<Seen *>(to)->agents, true;
    };
    visitor.queue = [](void *to, const walk_queue_t *queue) {
      return static_cast<Seen *>(to)->queues.push_back(*queue), true;
    };
    visitor.wave = [](void *to, const walk_wave_t *wave) {
      return static_cast<Seen *>(to)->waves.push_back(*wave), true;
    };
    visitor.object = [](void *to, const walk_object_t *object) {
      return static_cast<Seen *>(to)->objects.push_back(*object), true;
    };
    walk_finding_t finding = {};
    EXPECT_TRUE(core_walk(seen.view, &visitor, &finding)) << core_mistake_text(finding.mistake);
    EXPECT_EQ(finding.seen, 0u);
  }

  static bool compare(void *context, const softgpu_wave_t *wave, size_t)
  {
    auto *seen = static_cast<Seen *>(context);
    if (wave->state == SOFTGPU_WAVE_ENDED || wave->packet_index != seen->packet)
      return true;
    const auto found = std::find_if(seen->waves.begin(), seen->waves.end(), [&](const auto &it) {
      return it.queue == seen->queue && it.placed && it.packet == wave->packet_index &&
             it.index == wave->index && !memcmp(it.group, wave->workgroup, sizeof(it.group));
    });
    EXPECT_NE(found, seen->waves.end()) << wave->workgroup[0] << " " << wave->index;
    if (found == seen->waves.end())
      return true;
    ++seen->compared;
    const bool stopped = wave->state == SOFTGPU_WAVE_FAULTED;
    EXPECT_EQ(found->reason != 0, stopped);
    // Behind its s_trap, as the version of the file's lists has it.
    EXPECT_EQ(found->pc, wave->pc + (found->trap ? 4 : 0));
    EXPECT_EQ(found->exec, wave->exec);
    EXPECT_EQ(found->hwregs[HWREG_M0], wave->m0);
    EXPECT_EQ(found->hwregs[HWREG_MODE], wave->mode);
    EXPECT_EQ(found->hwregs[HWREG_STATUS] & STATUS_SCC, wave->scc);
    EXPECT_EQ(memcmp(found->sgprs, wave->sgprs, 4 * 102), 0);
    EXPECT_EQ(memcmp(&found->sgprs[106], &wave->sgprs[106], 8), 0); // VCC
    EXPECT_EQ(found->kernel, wave->kernel_object);
    EXPECT_GE(found->vgprs, wave->vgpr_count);
    expect_rows(*seen->view, found->vgprs_at, wave->vgprs, wave->vgpr_count);
    expect_rows(*seen->view, found->agprs_at, wave->agprs, wave->agpr_count);
    EXPECT_GE(found->lds_bytes, wave->lds_bytes);
    EXPECT_EQ(found->scratch, wave->scratch);
    std::vector<char> slice(wave->scratch ? wave->scratch_bytes : 0); // of private memory
    if (wave->scratch) {
      EXPECT_TRUE(core_view_read(seen->view, wave->scratch, slice.data(), slice.size()));
      EXPECT_EQ(memcmp(slice.data(), reinterpret_cast<const void *>(wave->scratch), slice.size()),
                0);
    }
    std::vector<char> lds(wave->lds_bytes + 1);
    EXPECT_TRUE(core_view_read(seen->view, found->lds_at, lds.data(), wave->lds_bytes));
    EXPECT_EQ(memcmp(lds.data(), wave->lds ? wave->lds : "", wave->lds_bytes), 0);
    return true;
  }
  static void expect_rows(const core_view_t &view, uint64_t at, const uint32_t (*rows)[64],
                          uint32_t count)
  {
    uint32_t row[64];
    for (uint32_t i = 0; i < count; ++i) {
      EXPECT_TRUE(core_view_read(&view, at + 256 * i, row, sizeof(row))) << i;
      EXPECT_EQ(memcmp(row, rows[i], sizeof(row)), 0) << i;
    }
  }
  // The bytes of the buffers that live; a device's own memory is the process's here.
  void check_memory(const core_view_t &view)
  {
    for (const rawhal_buffer_t *buffer : buffers) {
      const size_t size = rawhal_buffer_size(buffer);
      std::vector<char> saved(size);
      const uint64_t from = rawhal_buffer_address(buffer);
      EXPECT_TRUE(core_view_read(&view, from, saved.data(), size));
      EXPECT_EQ(memcmp(saved.data(), reinterpret_cast<const void *>(from), size), 0);
    }
  }
  // Those of the files, whatever the runtime was given.
  void check_objects()
  {
    std::vector<std::string> saved, given;
    for (const walk_object_t &object : seen.objects) {
      saved.emplace_back(object.size, 0);
      EXPECT_TRUE(core_view_read(seen.view, object.address, &saved.back()[0], object.size));
    }
    for (const rawhal_executable_t *executable : executables) {
      const rawhal_bytes_t file = rawhal_hsaco_info(rawhal_executable_hsaco(executable))->bytes;
      given.emplace_back(static_cast<const char *>(file.data), file.size);
    }
    for (std::vector<std::string> *all : {&saved, &given}) { // of a device it is loaded once
      std::sort(all->begin(), all->end());
      all->erase(std::unique(all->begin(), all->end()), all->end());
    }
    EXPECT_TRUE(saved == given) << saved.size();
  }
};

#endif
