#include "tests/libraries/library.h"

#include <cxxabi.h>
#include <glob.h>

namespace {

// Demangled without the return type, and without arguments unless they are wanted.
std::string plain_name(const std::string &mangled, bool with_arguments)
{
  int status;
  std::unique_ptr<char, void (*)(void *)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), free);
  if (!text)
    return mangled;
  std::string name = text.get();
  for (const char *prefix : {"static ", "void "})
    if (name.rfind(prefix, 0) == 0)
      name.erase(0, strlen(prefix));
  if (with_arguments)
    return name;
  int depth = 0; // parentheses inside of <> are casts of template arguments
  for (size_t i = 0; i < name.size(); ++i) {
    depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
    if (name[i] == '(' && depth == 0)
      return name.substr(0, i);
  }
  return name;
}

// What a mangled name must contain: the template's own name without scope.
std::string bare_name(const std::string &name)
{
  std::string scoped = name.substr(0, name.find_first_of("<("));
  size_t colons = scoped.rfind("::");
  return colons == std::string::npos ? scoped : scoped.substr(colons + 2);
}

// Those that this process has opened, closed when its tests have run.
struct Opened : ::testing::Environment {
  void TearDown() override { libraries.clear(); }
  std::map<std::string, std::unique_ptr<Library>> libraries;
};

Opened *const opened =
    static_cast<Opened *>(::testing::AddGlobalTestEnvironment(new Opened)); // which owns it

} // namespace

std::string Library::find_file(const std::string &pattern)
{
  glob_t found;
  std::string path;
  if (glob((RAWHAL_BUILD_DIR "/" + pattern).c_str(), 0, nullptr, &found) == 0) {
    path = found.gl_pathv[0];
    globfree(&found);
  }
  return path;
}

Library *Library::open(const std::string &path)
{
  std::unique_ptr<Library> &library = opened->libraries[path];
  if (!library && !path.empty())
    library.reset(new Library(path));
  return library.get();
}

Library *Library::rocsparse()
{
  return open(find_file("rocsparse/usr/lib/*/librocsparse.so.0.*"));
}

Library *Library::rocrand()
{
  return open(find_file("rocrand/usr/lib/*/librocrand.so.1.*"));
}

Library *Library::gemm()
{
  return open(RAWHAL_SOURCE_DIR "/tests/fixtures/gemm-gfx90a-v5.co");
}

Library::Library(const std::string &path)
{
  rawhal_error_t error = {};
  rawhal_instance_options_t options = {};
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  options.softgpu_options = "timeout_ms=200000";
  EXPECT_EQ(RAWHAL_OK, rawhal_instance_create(&options, &instance_, &error)) << error.message;
  device_ = rawhal_instance_device(instance_, 0);
  EXPECT_EQ(RAWHAL_OK, rawhal_queue_create(device_, nullptr, &queue_, &error)) << error.message;
  EXPECT_EQ(RAWHAL_OK, rawhal_container_open_file(path.c_str(), nullptr, &container_, &error))
      << error.message;
  for (size_t i = 0; i < rawhal_container_count(container_); ++i)
    if (!rawhal_target_match(&rawhal_container_object(container_, i)->target,
                             &rawhal_device_info(device_)->target))
      objects_[i] = nullptr;
}

Library::~Library()
{
  rawhal_queue_destroy(queue_);
  for (auto &[index, executable] : executables_)
    rawhal_executable_destroy(executable);
  for (auto &[index, hsaco] : objects_)
    rawhal_hsaco_close(hsaco);
  rawhal_container_close(container_);
  rawhal_instance_destroy(instance_);
}

rawhal_executable_t *Library::executable(size_t object)
{
  rawhal_error_t error = {};
  rawhal_executable_t *&loaded = executables_[object];
  if (!loaded) {
    EXPECT_EQ(RAWHAL_OK, rawhal_executable_load(device_, objects_[object], &loaded, &error))
        << error.message;
  }
  return loaded;
}

const rawhal_device_kernel_t *Library::kernel(const std::string &name)
{
  const rawhal_device_kernel_t *found = find(name);
  if (!found)
    ADD_FAILURE() << "the library has no kernel " << name;
  return found;
}

bool Library::has(const std::string &name)
{
  return find(name) != nullptr;
}

const rawhal_device_kernel_t *Library::find(const std::string &name)
{
  const rawhal_device_kernel_t *&found = kernels_[name];
  if (found)
    return found;
  const std::string bare = bare_name(name);
  const bool with_arguments = name.back() == ')';
  for (auto &[index, hsaco] : objects_) {
    rawhal_error_t error = {};
    const rawhal_container_object_t *object = rawhal_container_object(container_, index);
    if (!hsaco && rawhal_hsaco_open(object->bytes.data, object->bytes.size, nullptr, &hsaco,
                                    &error) != RAWHAL_OK) {
      ADD_FAILURE() << error.message;
      return nullptr;
    }
    for (size_t k = 0; k < rawhal_hsaco_info(hsaco)->kernel_count; ++k) {
      const rawhal_kernel_t *kernel = rawhal_hsaco_kernel(hsaco, k);
      std::string mangled(kernel->name.data, kernel->name.size);
      if (mangled.find(bare) == std::string::npos || plain_name(mangled, with_arguments) != name)
        continue;
      EXPECT_EQ(RAWHAL_OK,
                rawhal_executable_kernel(executable(index), kernel->name, 0, &found, &error))
          << error.message;
      return found;
    }
  }
  return nullptr;
}

void Library::run(const std::string &name, Extent workgroups, Extent workgroup,
                  const std::vector<uint8_t> &blob)
{
  rawhal_error_t error = {};
  rawhal_dispatch_t dispatch = {};
  dispatch.kernel = kernel(name);
  if (!dispatch.kernel)
    return;
  // The blob was packed from the C++ signature; the metadata must agree.
  EXPECT_EQ(
      rawhal_kernarg_layout_info(rawhal_device_kernel_info(dispatch.kernel)->layout)->explicit_end,
      blob.size())
      << name;
  const uint32_t sizes[3] = {workgroup.x, workgroup.y, workgroup.z};
  const uint32_t groups[3] = {workgroups.x, workgroups.y, workgroups.z};
  for (int i = 0; i < 3; ++i) {
    dispatch.workgroup[i] = static_cast<uint16_t>(sizes[i]);
    dispatch.work_items[i] = groups[i] * sizes[i];
  }
  dispatch.blob = blob.data();
  dispatch.blob_size = blob.size();
  rawhal_ticket_t ticket = 0;
  const uint64_t deadline =
      rawhal_deadline_after(240 * UINT64_C(1000000000)); // past the device's own
  EXPECT_EQ(RAWHAL_OK, rawhal_queue_submit(queue_, &dispatch, 1, deadline, &ticket, &error))
      << name << ": " << error.message;
  if (!ticket)
    return;
  EXPECT_EQ(RAWHAL_OK, rawhal_queue_wait(queue_, ticket, deadline, &error))
      << name << ": " << error.message;
}
