// Every field of every kernel's metadata, as rawhal decodes it and as llvm-readelf prints it.
#include <gtest/gtest.h>

#include <jansson.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <rawhal/container.h>
#include <rawhal/hsaco.h>

#include "objects.h"
#include "tests/extended.h"
#include "yaml.h"

namespace {

constexpr char kReader[] = "llvm-readelf-19";

std::string text_of(rawhal_string_t text)
{
  return std::string(text.data ? text.data : "", text.size);
}

std::string output_of(const std::string &command)
{
  std::string output;
  std::unique_ptr<FILE, int (*)(FILE *)> pipe(popen(command.c_str(), "r"), pclose);
  std::string piece(1 << 16, '\0');
  for (size_t count; pipe && (count = fread(piece.data(), 1, piece.size(), pipe.get()));)
    output.append(piece, 0, count);
  return output;
}

// What the reader prints for these bytes; it wants a file.
std::string notes_by_llvm(rawhal_bytes_t bytes)
{
  int file = memfd_create("object", 0);
  const char *data = static_cast<const char *>(bytes.data);
  for (size_t done = 0; done < bytes.size;) {
    ssize_t count = write(file, data + done, bytes.size - done);
    if (count <= 0)
      return "";
    done += static_cast<size_t>(count);
  }
  std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file);
  std::string output = output_of(std::string(kReader) + " --notes " + path + " 2>/dev/null");
  close(file);
  return output;
}

// ---- Facts as text, by metadata key; what an absent key leaves is "", "0" or zeros ----

using Facts = std::map<std::string, std::string>;

template <typename... T> std::string numbers(T... values)
{
  std::string text;
  for (uint64_t value : {static_cast<uint64_t>(values)...})
    text += (text.empty() ? "" : " ") + std::to_string(value);
  return text;
}

std::string triple(const uint32_t values[3])
{
  return numbers(values[0], values[1], values[2]);
}

Facts facts_of(const rawhal_argument_t &argument)
{
  static const char *const spaces[] = {"",      "private", "global", "constant",
                                       "local", "generic", "region"};
  static const char *const accesses[] = {"", "read_only", "write_only", "read_write"};
  auto flag = [&](int bit) { return numbers((argument.flags & bit) != 0); };
  return {
      {".name", text_of(argument.name)},
      {".type_name", text_of(argument.detail->type_name)},
      {".offset", numbers(argument.offset)},
      {".size", numbers(argument.size)},
      {".value_kind", text_of(argument.detail->value_kind_text)},
      {".value_type", text_of(argument.detail->value_type)},
      {".pointee_align", numbers(argument.detail->pointee_align)},
      {".address_space", spaces[argument.address_space]},
      {".access", accesses[argument.access]},
      {".actual_access", accesses[argument.actual_access]},
      {".is_const", flag(RAWHAL_ARGUMENT_CONST)},
      {".is_restrict", flag(RAWHAL_ARGUMENT_RESTRICT)},
      {".is_volatile", flag(RAWHAL_ARGUMENT_VOLATILE)},
      {".is_pipe", flag(RAWHAL_ARGUMENT_PIPE)},
  };
}

Facts facts_of(const rawhal_kernel_t &kernel)
{
  return {
      {".name", text_of(kernel.name)},
      {".symbol", text_of(kernel.symbol)},
      {".language", text_of(kernel.language)},
      {".vec_type_hint", text_of(kernel.vec_type_hint)},
      {".device_enqueue_symbol", text_of(kernel.device_enqueue_symbol)},
      {".kind", text_of(kernel.kind)},
      {".kernarg_segment_size", numbers(kernel.kernarg_segment_size)},
      {".kernarg_segment_align", numbers(kernel.kernarg_segment_align)},
      {".group_segment_fixed_size", numbers(kernel.group_segment_fixed_size)},
      {".private_segment_fixed_size", numbers(kernel.private_segment_fixed_size)},
      {".wavefront_size", numbers(kernel.wavefront_size)},
      {".sgpr_count", numbers(kernel.sgpr_count)},
      {".vgpr_count", numbers(kernel.vgpr_count)},
      {".agpr_count", numbers(kernel.agpr_count)},
      {".sgpr_spill_count", numbers(kernel.sgpr_spill_count)},
      {".vgpr_spill_count", numbers(kernel.vgpr_spill_count)},
      {".max_flat_workgroup_size", numbers(kernel.max_flat_workgroup_size)},
      {".reqd_workgroup_size", triple(kernel.reqd_workgroup_size)},
      {".workgroup_size_hint", triple(kernel.workgroup_size_hint)},
      {".cluster_dims", triple(kernel.cluster_dims)},
      {".max_num_workgroups_x", numbers(kernel.max_num_workgroups[0])},
      {".max_num_workgroups_y", numbers(kernel.max_num_workgroups[1])},
      {".max_num_workgroups_z", numbers(kernel.max_num_workgroups[2])},
      {".language_version", numbers(kernel.language_version[0], kernel.language_version[1])},
      {".uses_dynamic_stack", numbers(kernel.uses_dynamic_stack)},
      {".workgroup_processor_mode", numbers(kernel.workgroup_processor_mode)},
      {".uniform_work_group_size", numbers(kernel.uniform_work_group_size)},
  };
}

std::string fact_of(const Yaml &value)
{
  if (value.kind == Yaml::kTruth)
    return value.text == "true" ? "1" : "0";
  std::string text = value.text;
  for (const Yaml &item : value.items)
    text += (text.empty() ? "" : " ") + item.text;
  return text;
}

// Counts what was compared; the first few differences are enough to see.
class Comparison {
public:
  size_t fields = 0, kernels = 0, arguments = 0;

  void object(const std::string &name, const rawhal_hsaco_t *hsaco)
  {
    const rawhal_hsaco_info_t &info = *rawhal_hsaco_info(hsaco);
    std::vector<Yaml> documents;
    std::string wrong;
    where_ = name;
    EXPECT_TRUE(parse_yaml(notes_by_llvm(info.bytes), documents, wrong)) << name << ": " << wrong;
    equal("notes", numbers(documents.size()), numbers(info.note_count));
    size_t index = 0;
    for (const Yaml &document : documents) {
      const Yaml *list = document.find("amdhsa.kernels");
      for (size_t i = 0; list && i < list->items.size(); ++i)
        kernel(list->items[i], rawhal_hsaco_kernel(hsaco, index++));
    }
    const rawhal_kernel_t *rest = rawhal_hsaco_kernel(hsaco, index);
    equal("kernels with metadata", "all of LLVM's",
          rest && rest->has_metadata ? "more" : "all of LLVM's");
    where_ = name;
    verbatim(documents, hsaco);
  }

private:
  void equal(const std::string &what, const std::string &llvm, const std::string &ours)
  {
    ++fields;
    if (llvm != ours && ++differences_ <= 20)
      ADD_FAILURE() << where_ << ", " << what << ": LLVM says '" << llvm << "', rawhal '" << ours
                    << "'";
  }

  void facts(const Yaml &map, const Facts &ours, const std::string &without)
  {
    static const std::set<std::string> zeros = {"", "0", "0 0", "0 0 0"};
    for (const auto &[key, value] : map.entries) {
      auto found = ours.find(key);
      if (found != ours.end())
        equal(key, fact_of(value), found->second);
      else if (key != without)
        equal(key, "a key", "no field for it");
    }
    for (const auto &[key, value] : ours)
      if (!map.find(key))
        equal(key, "absent", zeros.count(value) ? "absent" : value);
  }

  void kernel(const Yaml &map, const rawhal_kernel_t *kernel)
  {
    ++kernels;
    const Yaml *name = map.find(".name");
    where_ = name ? name->text : "a kernel without a name";
    if (!kernel)
      return equal("the kernel", "present", "absent");
    facts(map, facts_of(*kernel), ".args");
    const Yaml *list = map.find(".args");
    equal(".args", numbers(list != nullptr), numbers(kernel->has_arguments));
    size_t count = list ? list->items.size() : 0;
    equal("arguments", numbers(count), numbers(kernel->argument_count));
    for (size_t i = 0; i < count && i < kernel->argument_count; ++i) {
      const rawhal_argument_t &argument = kernel->arguments[i];
      ++arguments;
      facts(list->items[i], facts_of(argument), "");
      bool hidden = text_of(argument.detail->value_kind_text).compare(0, 7, "hidden_") == 0;
      equal("hidden", numbers(hidden), numbers(rawhal_argument_is_hidden(&argument)));
    }
  }

  // The same through the library's JSON: what has no field of its own is there, too.
  void verbatim(const std::vector<Yaml> &documents, const rawhal_hsaco_t *hsaco)
  {
    std::string text;
    auto append = [](void *context, const char *piece, size_t size) {
      static_cast<std::string *>(context)->append(piece, size);
      return true;
    };
    ASSERT_EQ(RAWHAL_OK, rawhal_hsaco_metadata_json(hsaco, append, &text, nullptr));
    json_error_t why;
    std::unique_ptr<json_t, void (*)(json_t *)> json(
        json_loadb(text.data(), text.size(), JSON_ALLOW_NUL, &why), json_decref);
    ASSERT_TRUE(json) << why.text;
    size_t index = 0;
    for (const Yaml &document : documents) {
      const Yaml *list = document.find("amdhsa.kernels");
      for (size_t i = 0; list && i < list->items.size(); ++i)
        value(list->items[i], json_array_get(json_object_get(json.get(), "kernels"), index++));
      for (const char *key : {"version", "target"}) {
        const Yaml *first = document.find(std::string("amdhsa.") + key);
        if (first && &document == documents.data())
          value(*first, json_object_get(json.get(), key));
      }
      const Yaml *printf = document.find("amdhsa.printf");
      if (printf && documents.size() == 1)
        value(*printf, json_object_get(json.get(), "printf"));
    }
  }

  void value(const Yaml &llvm, const json_t *ours)
  {
    switch (llvm.kind) {
    case Yaml::kMap:
      equal("keys", numbers(llvm.entries.size()), numbers(json_object_size(ours)));
      for (const auto &[key, inner] : llvm.entries)
        value(inner, json_object_get(ours, key.c_str() + (key[0] == '.')));
      return;
    case Yaml::kList:
      equal("items", numbers(llvm.items.size()), numbers(json_array_size(ours)));
      for (size_t i = 0; i < llvm.items.size(); ++i)
        value(llvm.items[i], json_array_get(ours, i));
      return;
    case Yaml::kText:
      return equal("text", llvm.text,
                   json_is_string(ours)
                       ? std::string(json_string_value(ours), json_string_length(ours))
                       : "no text");
    case Yaml::kTruth:
      return equal("truth", llvm.text,
                   json_is_true(ours)    ? "true"
                   : json_is_false(ours) ? "false"
                                         : "none");
    case Yaml::kNumber:
      if (json_is_real(ours))
        return equal("number", std::to_string(std::stod(llvm.text)),
                     std::to_string(json_real_value(ours)));
      return equal("number", llvm.text,
                   json_is_integer(ours) ? std::to_string(json_integer_value(ours)) : "no number");
    case Yaml::kNil:
      return equal("nil", "nil", json_is_null(ours) ? "nil" : "something");
    }
  }

  std::string where_;
  size_t differences_ = 0;
};

bool reader_is_installed()
{
  return !output_of(std::string(kReader) + " --version 2>/dev/null").empty();
}

// All objects in the file that open and have metadata.
void compare_file(const std::string &path, Comparison &comparison)
{
  rawhal_container_t *container;
  if (rawhal_container_open_file(path.c_str(), nullptr, &container, nullptr))
    return;
  for (size_t i = 0; i < rawhal_container_count(container); ++i) {
    rawhal_bytes_t bytes = rawhal_container_object(container, i)->bytes;
    rawhal_hsaco_t *hsaco;
    if (rawhal_hsaco_open(bytes.data, bytes.size, nullptr, &hsaco, nullptr))
      continue;
    if (rawhal_hsaco_info(hsaco)->has_metadata)
      comparison.object(path.substr(path.rfind('/') + 1) + " #" + std::to_string(i), hsaco);
    rawhal_hsaco_close(hsaco);
  }
  rawhal_container_close(container);
}

Comparison compare_files(const std::vector<std::string> &paths)
{
  Comparison comparison;
  for (const std::string &path : paths)
    compare_file(path, comparison);
  printf("%zu kernels, %zu arguments, %zu fields compared\n", comparison.kernels,
         comparison.arguments, comparison.fields);
  return comparison;
}

// ---- Objects that the compiler here makes ----

constexpr char kCompiler[] = "clang-19";

// rich.cl for a processor, with features behind colons as in a target id; empty when it fails.
std::string compile(const std::string &folder, const std::string &processor, int version)
{
  std::string object = folder + "/" + processor + "-v" + std::to_string(version) + ".co";
  std::string command = std::string(kCompiler) +
                        " -x cl -cl-std=CL2.0 -cl-ext=+all -cl-kernel-arg-info -O0 -w -nogpulib"
                        " -target amdgcn-amd-amdhsa -mcpu=" +
                        processor + " -mcode-object-version=" + std::to_string(version) +
                        " " RAWHAL_SOURCE_DIR "/tests/oracle/rich.cl -o " + object + " 2>&1";
  std::string complaints = output_of(command);
  EXPECT_EQ("", complaints) << command;
  return complaints.empty() ? object : "";
}

// The ELF flags say what the compiler was asked for, and what it wrote into the metadata.
void expect_target(const std::string &path, const std::string &processor, uint32_t version)
{
  rawhal_hsaco_t *hsaco;
  rawhal_error_t error = {};
  ASSERT_EQ(RAWHAL_OK, rawhal_hsaco_open_file(path.c_str(), nullptr, &hsaco, &error))
      << path << ": " << error.message;
  const rawhal_hsaco_info_t &info = *rawhal_hsaco_info(hsaco);
  char target[64];
  rawhal_target_format(&info.target, target, sizeof(target));
  EXPECT_EQ(processor, target) << path;
  EXPECT_EQ("amdgcn-amd-amdhsa--" + processor, text_of(info.metadata_target)) << path;
  EXPECT_EQ(version, info.code_object_version) << path;
  EXPECT_EQ("", text_of(info.not_loadable_reason)) << path;
  for (size_t i = 0; i < info.kernel_count; ++i)
    EXPECT_EQ("", text_of(rawhal_hsaco_kernel(hsaco, i)->unusable_reason)) << path;
  rawhal_hsaco_close(hsaco);
}

class OracleLlvm : public testing::Test {
protected:
  void SetUp() override
  {
    if (!reader_is_installed())
      GTEST_SKIP() << "no " << kReader << " here";
  }
};

} // namespace

TEST_F(OracleLlvm, Fixtures)
{
  EXPECT_GT(compare_files(find_files(RAWHAL_SOURCE_DIR "/tests/fixtures/*.co")).kernels, 20u);
}

TEST_F(OracleLlvm, Corpus)
{
  std::vector<std::string> paths = find_files(RAWHAL_CORPUS "/aiter/*.co");
  for (const std::string &path : find_files(RAWHAL_CORPUS "/generated/*.co"))
    paths.push_back(path);
  if (paths.empty())
    GTEST_SKIP() << "no corpus at " RAWHAL_CORPUS;
  EXPECT_GT(compare_files(paths).kernels, 100u);
}

TEST_F(OracleLlvm, Compiled)
{
  if (output_of(std::string(kCompiler) + " --version 2>/dev/null").empty())
    GTEST_SKIP() << "no " << kCompiler << " here";
  const struct {
    const char *processor;
    int version;
  } targets[] = {
      {"gfx801:xnack+", 4}, {"gfx906:sramecc-:xnack+", 5},
      {"gfx90a", 5},        {"gfx90a:sramecc+:xnack-", 6},
      {"gfx942:xnack-", 6}, {"gfx1013:xnack+", 5},
      {"gfx1100", 4},       {"gfx1201", 5},
      {"gfx9-generic", 6},  {"gfx10-1-generic:xnack-", 6},
      {"gfx11-generic", 6},
  };
  char folder[] = "/tmp/rawhal-compiled-XXXXXX";
  ASSERT_NE(nullptr, mkdtemp(folder));
  std::vector<std::string> paths;
  for (const auto &target : targets) {
    paths.push_back(compile(folder, target.processor, target.version));
    if (!paths.back().empty())
      expect_target(paths.back(), target.processor, static_cast<uint32_t>(target.version));
  }
  EXPECT_GE(compare_files(paths).kernels, 9 * std::size(targets));
  std::filesystem::remove_all(folder);
}

TEST_F(OracleLlvm, Rocrand)
{
  std::string path = find_file(RAWHAL_BUILD_DIR "/rocrand/usr/lib/*/librocrand.so.1.*");
  if (path.empty())
    GTEST_SKIP() << "no rocRAND in the build folder";
  EXPECT_GE(compare_files({path}).kernels, 500u);
}

TEST_F(OracleLlvm, Rocsparse)
{
  std::string path = find_file(RAWHAL_BUILD_DIR "/rocsparse/usr/lib/*/librocsparse.so.0.*");
  if (path.empty() || !is_extended_to_all())
    GTEST_SKIP() << "no rocSPARSE in the build folder, or RAWHAL_TEST_EXTENDED is not all";
  EXPECT_GE(compare_files({path}).kernels, 80000u);
}
