#include "answer.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include <rawhal/hsaco.h>

extern "C" {
#include "hsaco/relabel.h"
}

namespace {

// ---- Why ROCr may refuse what rawhal calls loadable ----

rawhal_target_t device_target()
{
  const std::string &isa = Rocr::get().isa();
  rawhal_target_t device;
  if (rawhal_target_parse({isa.data(), isa.size()}, &device, nullptr))
    device = {};
  return device;
}

uint32_t mismatch(const rawhal_hsaco_t *hsaco)
{
  rawhal_target_t device = device_target();
  return rawhal_target_match(&rawhal_hsaco_info(hsaco)->target, &device);
}

bool has_other_features(const rawhal_hsaco_t *hsaco)
{
  return mismatch(hsaco);
}

// The runtime knows some processors by name only, and others not at all.
bool has_other_processor(const rawhal_hsaco_t *hsaco)
{
  return mismatch(hsaco) & RAWHAL_MISMATCH_PROCESSOR;
}

bool is_v6(const rawhal_hsaco_t *hsaco)
{
  return rawhal_hsaco_info(hsaco)->code_object_version == 6;
}

bool has_relocation(const rawhal_hsaco_t *hsaco, bool (*is)(const rawhal_relocation_t *))
{
  const rawhal_relocation_t *relocation;
  for (size_t i = 0; (relocation = rawhal_hsaco_relocation(hsaco, i)); ++i)
    if (is(relocation))
      return true;
  return false;
}

// R_AMDGPU_ABS32: applied by ROCr 6.2 and later.
bool has_abs32(const rawhal_hsaco_t *hsaco)
{
  return has_relocation(hsaco, [](const rawhal_relocation_t *r) { return r->type == 6; });
}

// Data or code: for ROCr an absolute number without a type is no definition.
bool defines(const rawhal_hsaco_t *hsaco, rawhal_string_t name)
{
  const rawhal_symbol_t *symbol;
  for (size_t i = 0; (symbol = rawhal_hsaco_symbol(hsaco, i)); ++i)
    if (symbol->defined && symbol->kind != RAWHAL_SYMBOL_OTHER && symbol->name.size == name.size &&
        memcmp(symbol->name.data, name.data, name.size) == 0)
      return true;
  return false;
}

// A relocation that needs the address of a symbol that the object does not define.
bool needs_external(const rawhal_hsaco_t *hsaco)
{
  const rawhal_relocation_t *relocation;
  for (size_t i = 0; (relocation = rawhal_hsaco_relocation(hsaco, i)); ++i)
    if (relocation->type != 13 && relocation->symbol.size && !defines(hsaco, relocation->symbol))
      return true;
  return false;
}

const struct {
  Answer::Kind kind;
  bool (*holds)(const rawhal_hsaco_t *);
  int status;
  bool always; // where it holds, ROCr refuses; else it may
} explanations[] = {
    {Answer::kTooNew, is_v6, HSA_STATUS_ERROR_INVALID_CODE_OBJECT, true},
    {Answer::kOtherTarget, has_other_processor, HSA_STATUS_ERROR_INVALID_CODE_OBJECT, true},
    {Answer::kOtherTarget, has_other_processor, HSA_STATUS_ERROR_INVALID_ISA_NAME, true},
    {Answer::kOtherTarget, has_other_features, HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, true},
    {Answer::kTooNew, has_abs32, HSA_STATUS_ERROR_INVALID_CODE_OBJECT, true},
    {Answer::kExternal, needs_external, HSA_STATUS_ERROR_VARIABLE_UNDEFINED, false},
};

Answer::Kind explain(const rawhal_hsaco_t *hsaco, const Rocr::Loaded &loaded)
{
  if (loaded.status != HSA_STATUS_SUCCESS && loaded.step != Rocr::kLoad)
    return Answer::kUnexplained;
  for (const auto &one : explanations) {
    if (loaded.status == HSA_STATUS_SUCCESS ? one.always && one.holds(hsaco)
                                            : loaded.status == one.status && one.holds(hsaco))
      return loaded.status == HSA_STATUS_SUCCESS ? Answer::kUnexplained : one.kind;
  }
  return loaded.status == HSA_STATUS_SUCCESS ? Answer::kAccepted : Answer::kUnexplained;
}

// ---- The same facts ----

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

// ---- Asking ----

Answer ask(const rawhal_hsaco_t *hsaco, const std::string &bytes, std::string &complaints)
{
  Answer answer;
  if (!Rocr::get().started())
    return answer;
  Guarded guarded(bytes);
  Rocr::Loaded loaded = Rocr::get().load(guarded.data(), bytes.size());
  answer.step = loaded.step;
  answer.status = loaded.status;
  answer.kind = explain(hsaco, loaded);
  if (answer.kind == Answer::kUnexplained)
    complaints += answer.text() + "\n";
  if (answer.kind == Answer::kAccepted) {
    size_t before = complaints.size();
    compare_kernels(hsaco, loaded, complaints);
    compare_variables(hsaco, loaded, complaints);
    if (complaints.size() != before)
      answer.kind = Answer::kDisagrees;
  }
  Rocr::get().unload(loaded);
  return answer;
}

} // namespace

const char *name_of(Answer::Kind kind)
{
  static const char *const names[Answer::kKinds] = {
      "accepted",    "for another target", "newer than the runtime", "external variables",
      "unexplained", "other facts",        "not loadable",           "no runtime"};
  return names[kind];
}

Answer Answer::unpack(int packed)
{
  Answer answer;
  answer.kind = static_cast<Kind>(packed >> 20);
  answer.step = static_cast<Rocr::Step>(packed >> 16 & 15);
  answer.status = packed & 0xffff;
  return answer;
}

std::string Answer::text() const
{
  static const char *const steps[] = {"reader", "create", "load", "freeze", "done"};
  char text[96];
  snprintf(text, sizeof(text), "%s: ROCr answers 0x%x at %s", name_of(kind),
           static_cast<unsigned>(status), steps[step]);
  return text;
}

static Answer ask_of(const std::string &bytes, bool loadable, std::string &complaints)
{
  rawhal_hsaco_options_t options = {};
  options.flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS;
  rawhal_hsaco_t *hsaco;
  Answer answer;
  answer.kind = Answer::kNotLoadable;
  if (rawhal_hsaco_open(bytes.data(), bytes.size(), &options, &hsaco, nullptr))
    return answer;
  unsigned char *copy = nullptr; // as rawhal_executable_load() makes it
  if (rawhal_hsaco_info(hsaco)->loadable == loadable) {
    if (loadable && hsaco_has_static_relocations(hsaco) &&
        hsaco_relabel(hsaco, nullptr, RELABEL_ABI_V5, nullptr, &copy, nullptr))
      return answer;
    answer = ask(hsaco, copy ? std::string(reinterpret_cast<char *>(copy), bytes.size()) : bytes,
                 complaints);
    free(copy);
  }
  rawhal_hsaco_close(hsaco);
  return answer;
}

Answer ask_rocr(const std::string &bytes, std::string &complaints)
{
  return ask_of(bytes, true, complaints);
}

Answer ask_rocr_all_the_same(const std::string &bytes, std::string &complaints)
{
  return ask_of(bytes, false, complaints);
}
