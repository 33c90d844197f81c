// What rawhal calls loadable loads and freezes in ROCr, and ROCr then reports the same facts.
#include <gtest/gtest.h>

#include <cstring>

#include <rawhal/hsaco.h>

#include "children.h"
#include "objects.h"
#include "rocr.h"

namespace {

constexpr int kRuntimeMissing = -1000, kNotLoadable = -1001;
constexpr int kTooNew = -1002;    // V6 for a runtime that ends at V5
constexpr int kExternals = -1003; // variables that must be supplied first, which is not done here

// What ROCr must answer to an object that rawhal calls loadable.
int expected_status(const rawhal_hsaco_t *hsaco)
{
  const rawhal_hsaco_info_t *info = rawhal_hsaco_info(hsaco);
  const std::string &isa = Rocr::get().isa();
  rawhal_target_t device;
  if (rawhal_target_parse({isa.data(), isa.size()}, &device, nullptr))
    return kRuntimeMissing;
  return rawhal_target_match(&info->target, &device) ? HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS
                                                     : HSA_STATUS_SUCCESS;
}

std::string text_of(rawhal_string_t text)
{
  return std::string(text.data ? text.data : "", text.size);
}

// The bytes that the file gives for `address`.
const char *in_file(const rawhal_hsaco_t *hsaco, uint64_t address)
{
  const rawhal_hsaco_info_t *info = rawhal_hsaco_info(hsaco);
  for (size_t i = 0; i < info->segment_count; ++i) {
    const rawhal_segment_t *segment = rawhal_hsaco_segment(hsaco, i);
    if (segment->type == 1 && address >= segment->address &&
        address - segment->address < segment->file_size)
      return static_cast<const char *>(info->bytes.data) + segment->offset + address -
             segment->address;
  }
  return nullptr;
}

template <typename T>
void agree(std::string &complaints, const std::string &name, const char *what, T ours, T theirs)
{
  if (ours != theirs)
    complaints += name + ": " + what + " is " + std::to_string(ours) + " for rawhal, " +
                  std::to_string(theirs) + " for ROCr\n";
}

void compare_kernels(const rawhal_hsaco_t *hsaco, const Rocr::Loaded &loaded,
                     std::string &complaints)
{
  uint64_t base = 0; // where ROCr put address 0 of the object
  for (size_t i = 0; i < rawhal_hsaco_info(hsaco)->kernel_count; ++i) {
    const rawhal_kernel_t *kernel = rawhal_hsaco_kernel(hsaco, i);
    if (!kernel->usable)
      continue;
    std::string name = text_of(kernel->symbol);
    Rocr::Symbol symbol = Rocr::get().symbol(loaded, name);
    if (!symbol.found || symbol.kind != HSA_SYMBOL_KIND_KERNEL) {
      complaints += name + ": not a kernel for ROCr\n";
      continue;
    }
    const rawhal_descriptor_t &descriptor = *kernel->descriptor;
    agree(complaints, name, "group size", descriptor.group_segment_size, symbol.group_size);
    agree(complaints, name, "private size", descriptor.private_segment_size, symbol.private_size);
    agree(complaints, name, "kernarg size", descriptor.kernarg_size, symbol.kernarg_size);
    base = base ? base : symbol.address - descriptor.address;
    agree(complaints, name, "kernel object", base + descriptor.address, symbol.address);
    const char *bytes = in_file(hsaco, descriptor.address);
    if (!bytes || memcmp(reinterpret_cast<const void *>(symbol.address), bytes, 64))
      complaints += name + ": ROCr's kernel object does not hold the descriptor\n";
  }
}

void compare_variables(const rawhal_hsaco_t *hsaco, const Rocr::Loaded &loaded,
                       std::string &complaints)
{
  for (size_t i = 0; i < rawhal_hsaco_info(hsaco)->symbol_count; ++i) {
    const rawhal_symbol_t *ours = rawhal_hsaco_symbol(hsaco, i);
    if (ours->kind != RAWHAL_SYMBOL_VARIABLE || !ours->defined)
      continue;
    Rocr::Symbol symbol = Rocr::get().symbol(loaded, text_of(ours->name));
    if (!symbol.found || symbol.kind != HSA_SYMBOL_KIND_VARIABLE)
      complaints += text_of(ours->name) + ": not a variable for ROCr\n";
    else
      agree(complaints, text_of(ours->name), "variable size", ours->size,
            uint64_t{symbol.variable_size});
  }
}

bool has_undefined(const rawhal_hsaco_t *hsaco)
{
  for (size_t i = 0; i < rawhal_hsaco_info(hsaco)->symbol_count; ++i)
    if (!rawhal_hsaco_symbol(hsaco, i)->defined)
      return true;
  return false;
}

// In a child: the object's HSA status, with all disagreements.
int load_and_compare(const std::string &bytes, std::string &complaints)
{
  rawhal_hsaco_options_t options = {};
  options.flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS;
  rawhal_hsaco_t *hsaco;
  if (rawhal_hsaco_open(bytes.data(), bytes.size(), &options, &hsaco, nullptr))
    return kNotLoadable;
  if (!rawhal_hsaco_info(hsaco)->loadable) {
    rawhal_hsaco_close(hsaco);
    return kNotLoadable;
  }
  if (!Rocr::get().started())
    return kRuntimeMissing;
  Guarded guarded(bytes);
  Rocr::Loaded loaded = Rocr::get().load(guarded.data(), bytes.size());
  int status = loaded.status;
  if (rawhal_hsaco_info(hsaco)->code_object_version == 6 &&
      status == HSA_STATUS_ERROR_INVALID_CODE_OBJECT)
    status = kTooNew;
  else if (has_undefined(hsaco) && status == HSA_STATUS_ERROR_VARIABLE_UNDEFINED)
    status = kExternals;
  else if (status != expected_status(hsaco))
    complaints += "ROCr answers " + std::to_string(status) + " instead of " +
                  std::to_string(expected_status(hsaco)) + "\n";
  if (status == HSA_STATUS_SUCCESS) {
    compare_kernels(hsaco, loaded, complaints);
    compare_variables(hsaco, loaded, complaints);
  }
  Rocr::get().unload(loaded);
  rawhal_hsaco_close(hsaco);
  return status;
}

// Returns how many were loaded.
size_t all_load(const std::vector<NamedObject> &objects)
{
  std::string complaints;
  std::vector<Outcome> outcomes = run_in_children(
      objects.size(),
      [&](size_t i, std::string &complaint) {
        int status = load_and_compare(objects[i].bytes, complaint);
        if (!complaint.empty())
          complaint = objects[i].name + ":\n" + complaint;
        return status;
      },
      complaints);
  EXPECT_EQ("", complaints);
  size_t count = 0;
  for (size_t i = 0; i < objects.size(); ++i) {
    EXPECT_EQ(Outcome::kDone, outcomes[i].kind) << objects[i].name;
    count += outcomes[i].value == HSA_STATUS_SUCCESS;
  }
  return count;
}

class OracleRocr : public testing::Test {
protected:
  void SetUp() override
  {
    std::string ignored;
    auto start = [](size_t, std::string &) { return int{Rocr::get().started()}; };
    if (!run_in_children(1, start, ignored)[0].value)
      GTEST_SKIP() << "no libhsa-runtime64.so.1 here";
  }
};

} // namespace

TEST_F(OracleRocr, FixturesLoad)
{
  std::vector<NamedObject> objects = fixtures_for("gfx90a");
  ASSERT_GT(objects.size(), 10u);
  EXPECT_EQ(objects.size(), all_load(objects));
}

TEST_F(OracleRocr, CorpusLoads)
{
  std::vector<NamedObject> objects = corpus_for("gfx90a");
  if (objects.empty())
    GTEST_SKIP() << "no corpus beside the checkout";
  EXPECT_GT(all_load(objects), objects.size() / 4); // the others are for other settings, or V6
}

TEST_F(OracleRocr, RocrandLoads)
{
  std::vector<NamedObject> objects =
      objects_of(find_file(RAWHAL_BUILD_DIR "/rocrand/usr/lib/*/librocrand.so.1.*"), "gfx90a");
  if (objects.empty())
    GTEST_SKIP() << "no rocRAND in the build folder";
  EXPECT_EQ(1u, all_load(objects)); // of xnack+ and xnack-, one
}
