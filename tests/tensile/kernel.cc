#include "tests/tensile/kernel.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

namespace {

const Format kFormats[] = {
    {"S", 4, 8, 23, 127, false, false}, {"D", 8, 11, 52, 1023, false, false},
    {"C", 8, 8, 23, 127, false, true},  {"Z", 16, 11, 52, 1023, false, true},
    {"H", 2, 5, 10, 15, false, false},  {"B", 2, 8, 7, 127, false, false},
    {"I8", 1, 0, 8, 0, false, false},   {"I", 4, 0, 32, 0, false, false},
    {"F8", 1, 4, 3, 8, true, false},    {"B8", 1, 5, 2, 16, true, false},
};

const Format *format_of(const std::string &name)
{
  for (const Format &each : kFormats)
    if (name == each.name)
      return &each;
  return nullptr;
}

// "F8F8S" in three formats, or "F8B8HS" in four: of A, B, D and sums; no B where it has that of A.
bool split_formats(const std::string &names, std::vector<const Format *> &formats)
{
  if (names.empty())
    return formats.size() == 3 || formats.size() == 4;
  for (size_t length : {2, 1}) {
    const Format *format = names.size() < length ? nullptr : format_of(names.substr(0, length));
    if (!format)
      continue;
    formats.push_back(format);
    if (split_formats(names.substr(length), formats))
      return true;
    formats.pop_back();
  }
  return false;
}

std::vector<std::string> words_of(const std::string &name)
{
  std::vector<std::string> words(1);
  for (char each : name)
    if (each == '_')
      words.emplace_back();
    else
      words.back() += each;
  return words;
}

// "GSU4" has the parameter GSU, with 4; negative numbers are written "n4". The first of that name,
// or the one after `skip` others.
int parameter(const std::vector<std::string> &words, const std::string &name, int otherwise,
              int skip = 0)
{
  for (const std::string &word : words) {
    if (word.compare(0, name.size(), name) != 0 || word.size() == name.size())
      continue;
    const bool negative = word[name.size()] == 'n';
    const std::string digits = word.substr(name.size() + negative);
    const bool number =
        !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos;
    if (number && skip-- == 0)
      return negative ? -atoi(digits.c_str()) : atoi(digits.c_str());
  }
  return otherwise;
}

bool has(const std::vector<std::string> &words, const char *word)
{
  for (const std::string &each : words)
    if (each == word)
      return true;
  return false;
}

// "Alik" and so on, for the matrix whose own index is `own`.
bool parse_matrix(const std::string &word, char letter, char own, bool own_first_is_transposed,
                  bool &transposed, bool &conjugate)
{
  const std::string own_first = {letter, own, 'l', 'k'}, sum_first = {letter, 'l', own, 'k'};
  const std::string base = word.substr(0, 4);
  conjugate = word == base + 'C';
  transposed = (base == own_first) == own_first_is_transposed;
  return (base == own_first || base == sum_first) && (conjugate || word == base);
}

// "ASGT3256": size 3 is greater than 256; more of these follow, "_164".
template <typename Set>
void each_size(const std::vector<std::string> &words, const std::string &name, const Set &set)
{
  bool ours = false;
  for (const std::string &word : words) {
    const size_t skip = word.compare(0, name.size(), name) == 0 ? name.size() : 0;
    const std::string digits = word.substr(skip);
    ours = (skip || ours) && digits.size() > 1 && digits[0] < '4' &&
           digits.find_first_not_of("0123456789") == std::string::npos;
    if (ours)
      set(digits[0] - '0', static_cast<uint32_t>(atoi(digits.c_str() + 1)));
  }
}

std::array<Size, 4> sizes_of(const std::vector<std::string> &words, const Kernel &kernel)
{
  std::array<Size, 4> sizes = {};
  auto &[m, n, batch, k] = sizes;
  k.least = batch.least = 0;
  m.multiple = static_cast<uint32_t>(parameter(words, "AF0EM", parameter(words, "AFEM", 1)));
  n.multiple = static_cast<uint32_t>(parameter(words, "AF1EM", parameter(words, "AFEM", 1, 1)));
  k.multiple = static_cast<uint32_t>(parameter(words, "ASEM", 1));
  // Loads of several elements are moved back from an edge, not made shorter.
  if (!kernel.a_transposed)
    m.least = static_cast<uint32_t>(parameter(words, "GLVWA", parameter(words, "GRVWA", 1)));
  if (kernel.b_transposed)
    n.least = static_cast<uint32_t>(parameter(words, "GLVWB", parameter(words, "GRVWB", 1)));
  if (kernel.split == Split::kSingle || kernel.split == Split::kMultiple)
    k.least = static_cast<uint32_t>(parameter(words, "MKFGSU", 0)) * kernel.splits;
  auto raise = [&sizes](size_t i, uint32_t to) { sizes[i].least = std::max(sizes[i].least, to); };
  auto lower = [&sizes](size_t i, uint32_t to) { sizes[i].most = std::min(sizes[i].most, to); };
  each_size(words, "ASGT", [&](size_t i, uint32_t value) { raise(i, value + 1); });
  each_size(words, "ASLT", [&](size_t i, uint32_t value) { lower(i, value - 1); });
  each_size(words, "ASE", [&](size_t i, uint32_t value) { raise(i, value), lower(i, value); });
  each_size(words, "ASM", [&](size_t i, uint32_t value) {
    sizes[i].multiple = std::lcm(sizes[i].multiple, value);
  });
  return sizes;
}

} // namespace

uint32_t Size::made(uint32_t size) const
{
  size = std::max(size, least);
  size = (size + multiple - 1) / multiple * multiple;
  return size <= most ? size : most / multiple * multiple;
}

uint64_t encode(const Format &format, double value)
{
  if (format.exponent_bits == 0) {
    const uint64_t bits = static_cast<uint64_t>(static_cast<int64_t>(value));
    return bits & ((uint64_t{1} << format.mantissa_bits) - 1);
  }
  if (value == 0)
    return 0;
  int exponent;
  const double fraction = std::frexp(std::fabs(value), &exponent); // from 1/2 to 1
  const double scaled = std::ldexp(fraction, static_cast<int>(format.mantissa_bits) + 1);
  // What rounds up to the next power of two carries into the exponent by itself.
  const uint64_t mantissa =
      static_cast<uint64_t>(std::nearbyint(scaled)) - (uint64_t{1} << format.mantissa_bits);
  const uint64_t biased = static_cast<uint64_t>(exponent - 1 + format.bias);
  const uint64_t sign = value < 0;
  return sign << (format.exponent_bits + format.mantissa_bits) |
         ((biased << format.mantissa_bits) + mantissa);
}

double decode(const Format &format, uint64_t bits)
{
  if (format.exponent_bits == 0) {
    const unsigned unused = 64 - format.mantissa_bits;
    return static_cast<double>(static_cast<int64_t>(bits << unused) >> unused);
  }
  const uint64_t one = uint64_t{1} << format.mantissa_bits, fraction = bits & (one - 1);
  const int biased =
      static_cast<int>(bits >> format.mantissa_bits & ((1u << format.exponent_bits) - 1));
  const int scale = format.bias + static_cast<int>(format.mantissa_bits);
  const double size = biased ? std::ldexp(static_cast<double>(one + fraction), biased - scale)
                             : std::ldexp(static_cast<double>(fraction), 1 - scale);
  return bits >> (format.exponent_bits + format.mantissa_bits) ? -size : size;
}

std::optional<Kernel> parse_kernel(const std::string &name, std::string *why)
{
  const std::vector<std::string> words = words_of(name);
  Kernel kernel = {};
  if (words.size() < 5 || words[0] != "Cijk") {
    *why = "no product of matrices";
    return {};
  }
  if (!parse_matrix(words[1], 'A', 'i', false, kernel.a_transposed, kernel.a_conjugate) ||
      !parse_matrix(words[2], 'B', 'j', true, kernel.b_transposed, kernel.b_conjugate)) {
    *why = "other indices";
    return {};
  }
  // "SB": of one format, with beta; "S_MX_B": the same, rounded. "HHS_BH": of several, with beta and
  // sums of more precision.
  std::vector<const Format *> formats;
  const std::string &types = words[3];
  const bool rounded = words[4] == "MX" && words.size() > 5 && words[5] == "B";
  const bool beta = words[4] != "BH" && !types.empty() && types.back() == 'B';
  const std::string single = rounded ? types : beta ? types.substr(0, types.size() - 1) : "";
  if (const Format *format = format_of(single))
    formats.assign(3, format);
  else if (words[4] != "BH" || !split_formats(types, formats)) {
    *why = "other formats";
    return {};
  }
  kernel.problem = words[1] + '_' + words[2] + '_' + (single.empty() ? types : single);
  kernel.a = formats.front();
  kernel.b = formats.size() == 4 ? formats[1] : kernel.a;
  kernel.d = formats[formats.size() - 2];
  kernel.sum = formats.back();
  kernel.pointers = has(words, "GB");
  for (const std::string &word : words)
    if (sscanf(word.c_str(), "MT%ux%ux%u", &kernel.tile_m, &kernel.tile_n, &kernel.depth) == 3)
      break;
  if (kernel.depth == 0) {
    *why = "no size of a tile";
    return {};
  }
  for (const char *other : {"SR", "AmaxD", "GG", "SPA", "SPB"})
    if (has(words, other)) {
      *why = other;
      return {};
    }
  if (parameter(words, "SK", 0)) {
    *why = "work-groups that share out sums as there is room";
    return {};
  }
  kernel.stays = parameter(words, "PK", 0) != 0;
  kernel.stays_in_batch = parameter(words, "PKAB", 0) != 0;
  kernel.same_strides = has(words, "SE");
  kernel.splits = static_cast<uint32_t>(parameter(words, "GSU", 1));
  kernel.if_split = has(words, "GSUAMBSK")   ? Split::kLast
                    : has(words, "GSUAMB")   ? Split::kMultiple
                    : kernel.sum == kernel.d ? Split::kAtomic
                                             : Split::kSingle;
  kernel.split = kernel.splits > 1 ? kernel.if_split : Split::kNone;
  kernel.in_place = parameter(words, "ACED", 0) != 0;
  kernel.alpha = parameter(words, "AAV", 0);
  kernel.beta = parameter(words, "ABV", 0);
  kernel.stagger = static_cast<uint32_t>(parameter(words, "SU", 0));
  kernel.stagger_stride = static_cast<uint32_t>(parameter(words, "SUS", 0));
  kernel.group_mapping = parameter(words, "WGM", 1);
  kernel.sizes = sizes_of(words, kernel);
  return kernel;
}

uint32_t stagger_mask(const Kernel &kernel, uint32_t k)
{
  if (kernel.stagger == 0)
    return 0;
  uint32_t step = kernel.depth * kernel.a->bytes, places = kernel.stagger;
  uint32_t steps = 1; // in a stride of the staggering
  while (step * steps < kernel.stagger_stride)
    steps *= 2;
  while (places > 1 && k / kernel.depth / kernel.splits < places * steps)
    places /= 2;
  return places - 1;
}

std::array<uint32_t, 3> group_blocks(const Kernel &kernel, uint32_t rows, uint32_t columns)
{
  const uint32_t block = static_cast<uint32_t>(std::max(abs(kernel.group_mapping), 1));
  const uint32_t count = kernel.group_mapping < 0 ? rows : columns;
  const uint32_t last = count % block ? count % block : block;
  return {count / block, last, static_cast<uint32_t>((uint64_t{1} << 31) / last + 1)};
}

std::array<uint32_t, 2> magic_and_shift(uint32_t divisor)
{
  if (divisor == 1)
    return {0, 1u << 31};
  return {static_cast<uint32_t>((uint64_t{1} << 32) / divisor + 1), 0};
}
