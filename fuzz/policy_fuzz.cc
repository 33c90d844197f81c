// Any bytes as an operator's file for the front, or, after '=', as an expression in one, which is held against an
// evaluator that computes while it reads, with 128 bits.
#include <cstring>
#include <string>

#include <hsa/hsa.h>

extern "C" {
#include "front/policy.h"
}

static void check(bool holds)
{
  if (!holds)
    __builtin_trap();
}

namespace {

struct Facts {
  static constexpr uint32_t kArguments = 4;
  Facts()
  {
    static const struct {
      const char *name;
      uint32_t offset, size;
    } all[kArguments] = {{"n", 0, 4}, {"m", 8, 8}, {"b", 16, 1}, {"max", 18, 2}};
    static rawhal_argument_t arguments[kArguments];
    static rawhal_argument_detail_t detail = {rawhal_string("by_value"), {}, {}, 0};
    rawhal_kernel_t kernel = {};
    for (uint32_t i = 0; i < kArguments; ++i) {
      arguments[i] = {};
      arguments[i].name = rawhal_string(all[i].name);
      arguments[i].detail = &detail;
      arguments[i].offset = all[i].offset;
      arguments[i].size = all[i].size;
      arguments[i].value_kind = RAWHAL_VALUE_BY_VALUE;
    }
    kernel.has_arguments = true;
    kernel.arguments = arguments;
    kernel.argument_count = kArguments;
    kernel.kernarg_segment_size = 24;
    check(rawhal_kernarg_layout_create(&kernel, 0, &facts.layout_, nullptr) == RAWHAL_OK);
  }
  struct {
    rawhal_kernarg_layout_t *layout_ = nullptr;
  } facts;
  unsigned char image[24] = {0xe8, 3, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 0x88, 200, 0, 3, 1};
  static constexpr uint32_t items[3] = {1000, 3, 1}, group[3] = {64, 2, 0};
};

constexpr uint32_t Facts::items[3], Facts::group[3];

// Of text that contract_parse() has taken.
class Evaluator {
public:
  explicit Evaluator(const char *text) : at_(text) {}
  bool known = true, representable = true;
  uint64_t Run() { return Sum(); }

private:
  using wide = unsigned __int128;
  void Blanks()
  {
    while (*at_ == ' ' || *at_ == '\t')
      ++at_;
  }
  bool Take(char sign)
  {
    Blanks();
    return *at_ == sign && ++at_;
  }
  uint64_t Fit(wide value)
  {
    representable &= value <= UINT64_MAX;
    return static_cast<uint64_t>(value);
  }
  uint64_t Sum()
  {
    uint64_t value = Product();
    for (;;)
      if (Take('+')) {
        value = Fit(wide{value} + Product());
      } else if (Take('-')) {
        const uint64_t less = Product();
        representable &= less <= value;
        value -= less;
      } else {
        return value;
      }
  }
  uint64_t Product()
  {
    uint64_t value = Factor();
    for (;;) {
      Blanks();
      const char sign = *at_;
      if (sign != '*' && sign != '/' && sign != '%')
        return value;
      ++at_;
      const uint64_t other = Factor();
      representable &= sign == '*' || other != 0;
      if (sign == '*')
        value = Fit(wide{value} * other);
      else if (other)
        value = sign == '/' ? value / other : value % other;
    }
  }
  uint64_t Factor()
  {
    Blanks();
    if (Take('(')) {
      const uint64_t value = Sum();
      check(Take(')'));
      return value;
    }
    return *at_ >= '0' && *at_ <= '9' ? Number() : Word();
  }
  uint64_t Number()
  {
    char *end;
    const bool hexadecimal = at_[0] == '0' && (at_[1] == 'x' || at_[1] == 'X');
    uint64_t value = strtoull(at_, &end, hexadecimal ? 16 : 10);
    for (const char *suffix = "KMG"; *end && strchr("KMG", *end); ++suffix) {
      value *= 1024;
      if (*suffix == *end) {
        ++end;
        break;
      }
    }
    at_ = end;
    return value;
  }
  uint64_t Word()
  {
    static const Facts all;
    const char *begin = at_;
    while (*at_ == '_' || isalnum(static_cast<unsigned char>(*at_)))
      ++at_;
    const std::string word(begin, at_);
    if ((word == "max" || word == "min") && Take('(')) {
      const uint64_t a = Sum();
      check(Take(','));
      const uint64_t b = Sum();
      check(Take(')'));
      return (word == "max") == (a > b) ? a : b;
    }
    if (*at_ == '.') {
      const int axis = at_[1] - 'x';
      at_ += 2;
      const uint64_t items = Facts::items[axis], group = Facts::group[axis];
      return word == "work_items"  ? items
             : word == "workgroup" ? group
             : group               ? (items + group - 1) / group
                                   : 0;
    }
    uint64_t n, m;
    uint16_t most;
    memcpy(&n, all.image, 8);
    memcpy(&m, all.image + 8, 8);
    memcpy(&most, all.image + 18, 2);
    const uint64_t values[] = {n & UINT32_MAX, m, all.image[16], most};
    const std::string names[] = {"n", "m", "b", "max"};
    const bool indexed = word.size() > 3 && word.size() < 10 && word.compare(0, 3, "arg") == 0 &&
                         word.find_first_not_of("0123456789", 3) == std::string::npos;
    for (uint32_t i = 0; i < Facts::kArguments; ++i)
      if (word == names[i] || (indexed && std::stoul(word.substr(3)) == i))
        return values[i];
    known = false;
    return 0;
  }

  const char *at_;
};

void Expression(const std::string &text)
{
  static const Facts all;
  contract_t *contract = nullptr;
  rawhal_error_t error = {};
  if (contract_parse(text.c_str(), &contract, &error) != RAWHAL_OK) {
    check(!contract && *error.message);
    return;
  }
  const contract_facts_t facts = {all.facts.layout_,
                                  {all.image, sizeof(all.image)},
                                  {Facts::items[0], Facts::items[1], Facts::items[2]},
                                  {Facts::group[0], Facts::group[1], Facts::group[2]}};
  uint64_t value = 0;
  Evaluator other(text.c_str());
  const uint64_t expected = other.Run();
  const rawhal_status_t checked = contract_check(contract, all.facts.layout_, &error);
  check((checked == RAWHAL_OK) == other.known);
  const rawhal_status_t status = contract_evaluate(contract, &facts, &value, &error);
  if (checked == RAWHAL_OK)
    check(status == (other.representable ? RAWHAL_OK : RAWHAL_OUT_OF_RANGE));
  if (status == RAWHAL_OK)
    check(value == expected);
  contract_free(contract);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const std::string text(reinterpret_cast<const char *>(data), size);
  if (size && data[0] == '=' && text.find('\0') == std::string::npos)
    Expression(text.substr(1));
  policy_t policy;
  rawhal_error_t error = {};
  if (policy_read(text.data(), text.size(), &policy, &error) != RAWHAL_OK) {
    check(*error.message && !policy.rules && !policy.rule_count);
    return 0;
  }
  check(policy.rule_count <= POLICY_RULES);
  for (size_t i = 0; i < policy.rule_count; ++i) {
    const policy_rule_t &rule = policy.rules[i];
    check(rule.contract_count <= POLICY_CONTRACTS && rule.check <= WATCH_CHECK_REFUSE);
    for (size_t j = 0; j < rule.contract_count; ++j)
      check(rule.contracts[j].argument && rule.contracts[j].bytes);
    check(!rule.limit_count || (!rule.kernel && !rule.object));
  }
  policy_free(&policy);
  return 0;
}
