// Text that somebody else wrote, as it is shown: nothing of it reaches a terminal as anything but
// plain characters, and it can be told from every other text.
#include "tests/hsaco/builder.h"
#include "tests/tools/command.h"

#include <random>

#include <rawhal/limit.h>

extern "C" {
#include "queue/limit/config.h"
#include "tools/shared/escape.h"
}

namespace {

// What must not be shown, each as bytes and as it stands in text and in JSON.
struct Hostile {
  const char *what;
  std::string bytes, text, json;
};

const std::vector<Hostile> hostile = {
    {"escape", "\x1b[2J", "\\x1b[2J", "\\u001b[2J"},
    {"newline", "\n", "\\x0a", "\\u000a"},
    {"carriage return", "\r", "\\x0d", "\\u000d"},
    {"NUL", std::string(1, '\0'), "\\x00", "\\u0000"},
    {"delete", "\x7f", "\\x7f", "\\u007f"},
    {"backslash", "\\", "\\\\", "\\\\"},
    {"C1 as UTF-8: CSI", "\xc2\x9b", "\\u{9b}", "\\u009b"},
    {"C1 as a byte: CSI", "\x9b", "\\x9b", "\\u009b"},
    {"soft hyphen", "\xc2\xad", "\\u{ad}", "\\u00ad"},
    {"Arabic letter mark", "\xd8\x9c", "\\u{61c}", "\\u061c"},
    {"zero width space", "\xe2\x80\x8b", "\\u{200b}", "\\u200b"},
    {"zero width joiner", "\xe2\x80\x8d", "\\u{200d}", "\\u200d"},
    {"right-to-left mark", "\xe2\x80\x8f", "\\u{200f}", "\\u200f"},
    {"line separator", "\xe2\x80\xa8", "\\u{2028}", "\\u2028"},
    {"U+202A", "\xe2\x80\xaa", "\\u{202a}", "\\u202a"},
    {"U+202E", "\xe2\x80\xae", "\\u{202e}", "\\u202e"},
    {"word joiner", "\xe2\x81\xa0", "\\u{2060}", "\\u2060"},
    {"U+2066", "\xe2\x81\xa6", "\\u{2066}", "\\u2066"},
    {"U+2069", "\xe2\x81\xa9", "\\u{2069}", "\\u2069"},
    {"byte order mark", "\xef\xbb\xbf", "\\u{feff}", "\\ufeff"},
    {"tag letter", "\xf3\xa0\x81\x81", "\\u{e0041}", "\\udb40\\udc41"},
    {"lone continuation", "\x80", "\\x80", "\\u0080"},
    {"overlong slash", "\xc0\xaf", "\\xc0\\xaf", "\\u00c0\\u00af"},
    {"overlong backslash", "\xe0\x81\x9c", "\\xe0\\x81\\x9c", "\\u00e0\\u0081\\u009c"},
    {"surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80", "\\u00ed\\u00a0\\u0080"},
    {"cut sequence", "\xe2\x82", "\\xe2\\x82", "\\u00e2\\u0082"},
    {"cut by a letter", "\xe2\x82z", "\\xe2\\x82z", "\\u00e2\\u0082z"},
    {"beyond Unicode", "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "\\u00f4\\u0090\\u0080\\u0080"},
    {"no lead byte", "\xff\xfe", "\\xff\\xfe", "\\u00ff\\u00fe"},
};

rawhal_string_t string_of(const std::string &text)
{
  return {text.data(), text.size()};
}

template <typename Write> std::string written(Write write)
{
  char *text = nullptr;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  write(out);
  fclose(out);
  std::string result(text, size);
  free(text);
  return result;
}

std::string as_text(const std::string &bytes, size_t most = SIZE_MAX, size_t *columns = nullptr)
{
  return written([&](FILE *out) {
    size_t used = escape_text(out, string_of(bytes), most);
    if (columns)
      *columns = used;
  });
}

std::string as_json(const std::string &bytes)
{
  return written([&](FILE *out) { escape_json(out, string_of(bytes)); });
}

// Back to the bytes, by rules of its own.
std::string unescaped(const std::string &text)
{
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      bytes += text[i];
    } else if (text[i + 1] == '\\') {
      bytes += text[++i];
    } else if (text[i + 1] == 'x') {
      bytes += static_cast<char>(std::stoi(text.substr(i + 2, 2), nullptr, 16));
      i += 3;
    } else {
      size_t end = text.find('}', i);
      auto value = static_cast<uint32_t>(std::stoul(text.substr(i + 3, end - i - 3), nullptr, 16));
      if (value < 0x800)
        bytes += {static_cast<char>(0xc0 | value >> 6), static_cast<char>(0x80 | (value & 0x3f))};
      else if (value < 0x10000)
        bytes +=
            {static_cast<char>(0xe0 | value >> 12), static_cast<char>(0x80 | (value >> 6 & 0x3f)),
             static_cast<char>(0x80 | (value & 0x3f))};
      else
        bytes +=
            {static_cast<char>(0xf0 | value >> 18), static_cast<char>(0x80 | (value >> 12 & 0x3f)),
             static_cast<char>(0x80 | (value >> 6 & 0x3f)),
             static_cast<char>(0x80 | (value & 0x3f))};
      i = end;
    }
  }
  return bytes;
}

// No byte of what is printed may be a control or a part of what hides.
void expect_showable(const std::string &printed)
{
  for (unsigned char c : printed)
    EXPECT_TRUE(c == '\n' || (c >= 0x20 && c != 0x7f)) << "byte " << int(c) << " in " << printed;
  // jansson knows UTF-8 of its own.
  Json text(json_stringn(printed.data(), printed.size()));
  EXPECT_TRUE(text) << "no UTF-8: " << testing::PrintToString(printed);
  for (const Hostile &row : hostile) {
    bool wide = static_cast<unsigned char>(row.bytes[0]) >= 0xc2 && row.bytes.size() > 1;
    if (wide && row.text.rfind("\\u", 0) == 0) {
      EXPECT_FALSE(contains(printed, row.bytes)) << row.what << " in " << printed;
    }
  }
}

std::string all_hostile()
{
  std::string all = "k";
  for (const Hostile &row : hostile)
    if (row.bytes[0] != '\0')
      all += row.bytes + "|";
  return all;
}

// An object whose kernel, argument and type have that name.
std::string object_named(const std::string &name)
{
  build::Object object;
  build::Kernel kernel = build::plain_kernel(name);
  kernel.arguments[1].name = name;
  kernel.arguments[1].kind = name;
  object.kernels = {kernel};
  return object.build();
}

} // namespace

TEST(Escape, WhatIsNotToBeShown)
{
  for (const Hostile &row : hostile) {
    SCOPED_TRACE(row.what);
    EXPECT_EQ("a" + row.text + "b", as_text("a" + row.bytes + "b"));
    EXPECT_EQ("a" + row.json + "b", as_json("a" + row.bytes + "b"));
  }
}

TEST(Escape, WhatIsPlainStaysAsItIs)
{
  for (const std::string &plain :
       {std::string("_ZN7rocrand_4mainEv.kd"), std::string("a \"b\" <c> & 'd'"), std::string(""),
        std::string("Gr\xc3\xb6\xc3\x9f"
                    "e \xe2\x82\xac \xe4\xb8\xad \xf0\x9d\x84\x9e")}) {
    EXPECT_EQ(plain, as_text(plain));
    Json value = parse("[\"" + as_json(plain) + "\"]");
    ASSERT_TRUE(value);
    EXPECT_EQ(plain, json_string_value(json_array_get(value.get(), 0)));
  }
  EXPECT_EQ("\\\"", as_json("\""));
}

TEST(Escape, EveryTextCanBeToldFromEveryOther)
{
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes;
    for (unsigned length = random() % 12; bytes.size() < length;)
      if (random() % 2)
        bytes += hostile[random() % hostile.size()].bytes;
      else
        bytes += static_cast<char>(random());
    std::string text = as_text(bytes);
    ASSERT_EQ(bytes, unescaped(text)) << text;
    expect_showable(text);
    std::string json = "[\"" + as_json(bytes) + "\"]";
    Json value(json_loadb(json.data(), json.size(), JSON_ALLOW_NUL, nullptr));
    ASSERT_TRUE(value) << json;
    expect_showable(json);
    if (HasFailure())
      return;
  }
}

TEST(Escape, AllKindsOfCodePoints)
{
  for (uint32_t code = 0; code < 0x110000; code += code < 0x3000 ? 1 : 13) {
    if (code >= 0xd800 && code < 0xe000)
      continue;
    char escape[16];
    snprintf(escape, sizeof(escape), "\\u{%x}", code);
    std::string bytes = code < 0x80 ? std::string(1, static_cast<char>(code)) : unescaped(escape);
    std::string text = as_text(bytes), json = "[\"" + as_json(bytes) + "\"]";
    ASSERT_EQ(bytes, unescaped(text));
    Json value(json_loadb(json.data(), json.size(), JSON_ALLOW_NUL, nullptr));
    ASSERT_TRUE(value) << json;
    json_t *string = json_array_get(value.get(), 0);
    ASSERT_EQ(bytes, std::string(json_string_value(string), json_string_length(string)));
    bool bidi = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
    if (bidi || code < 0x20 || (code >= 0x7f && code < 0xa0)) {
      ASSERT_EQ('\\', text[0]) << code;
    }
  }
}

TEST(Escape, ColumnsAreNotExceededAndNothingIsCutInTwo)
{
  const std::string bytes = "ab\x1b\xe2\x82\xac"
                            "cd";
  const char *const wanted[] = {"", "a", "ab", "ab", "ab", "ab", "ab\\x1b"};
  for (size_t most = 0; most < 7; ++most) {
    size_t columns;
    EXPECT_EQ(wanted[most], as_text(bytes, most, &columns));
    EXPECT_EQ(strlen(wanted[most]), columns);
  }
  size_t columns;
  EXPECT_EQ("ab\\x1b\xe2\x82\xac", as_text(bytes, 7, &columns));
  EXPECT_EQ(7u, columns);
  EXPECT_EQ(2u, escape_cut(string_of("ab\xe2\x82\xac"), 2));
  for (size_t most = 2; most < 5; ++most)
    EXPECT_EQ(2u, escape_cut(string_of("ab\xe2\x82\xac"), most));
  EXPECT_EQ(5u, escape_cut(string_of("ab\xe2\x82\xac"), 5));
  EXPECT_EQ(3u, escape_cut(string_of("\x80\x80\x80\x80\x80"), 3));
}

/* ---- What the commands print ---- */

class HostileNames : public testing::Test {
protected:
  void SetUp() override
  {
    name = all_hostile();
    path = scratch / "k\x1b[1m\xe2\x80\xae.co";
    other = scratch / "other.co";
    spit(path, object_named(name));
    spit(other, object_named(name + "2"));
  }

  void expect_safe(const std::vector<std::string> &words)
  {
    std::vector<std::string> command = {tool};
    command.insert(command.end(), words.begin(), words.end());
    Outcome got = run(command);
    EXPECT_LT(got.status, 128) << words[0];
    EXPECT_NE("", got.out + got.err);
    expect_showable(got.out);
    expect_showable(got.err);
    bool json = std::find(words.begin(), words.end(), "--json") != words.end();
    if (json) {
      EXPECT_TRUE(parse(got.out)) << got.out;
    }
  }

  Scratch scratch;
  std::string name, path, other;
};

TEST_F(HostileNames, NeverReachTheTerminal)
{
  spit(scratch / "blob", std::string(12, '\0'));
  std::string blob = scratch / "blob";
  expect_safe({"inspect", path});
  expect_safe({"inspect", "--brief", path});
  expect_safe({"inspect", "--json", path});
  expect_safe({"inspect", path, "--kernel", "\x1b[2Jnobody"});
  expect_safe({"diff", path, other});
  expect_safe({"diff", path, other, "--json"});
  expect_safe({"diff", path, other, "--kernel", "\x9b"});
  expect_safe({"check", path, "--kernel", name, "--blob", blob});
  expect_safe({"check", path, "--kernel", name, "--blob", scratch / "\x1b\xc2\x9b"});
  expect_safe({"header", path});
  expect_safe({"coverage", path});
  expect_safe({"run", path, "--kernel", name, "--grid", "1", "--block", "64", "u32:1"});
  expect_safe({"run", path, "--kernel", name, "--grid", "1", "--block", "64", "\x1b\xe2\x80\xae"});
  expect_safe({"inspect", scratch / "none\x1b[1m\xe2\x80\xae.co"});
  expect_safe({"inspect", path, "--\x1b[1m"});
  expect_safe({"top", scratch / "none\x1b[1m\xe2\x80\xae"});
  expect_safe({"\x1b[1m"});
}

// A name is not lost by it: what JSON says is the name, where that is UTF-8.
TEST_F(HostileNames, AreStillTheNameInJson)
{
  const std::string plain = "k\x1b\xe2\x80\xae\xc2\x9b\\\"\xf3\xa0\x81\x81";
  spit(path, object_named(plain));
  Outcome got = run({tool, "inspect", "--json", path});
  ASSERT_EQ(0, got.status) << got.err;
  Json document = parse(got.out);
  ASSERT_TRUE(document);
  json_t *object = json_array_get(json_object_get(document.get(), "objects"), 0);
  EXPECT_EQ(plain, text_of(json_array_get(json_object_get(object, "kernels"), 0), "name"));
  json_t *metadata = json_object_get(object, "metadata");
  EXPECT_EQ(plain, text_of(json_array_get(json_object_get(metadata, "kernels"), 0), "name"));
  EXPECT_EQ(path, text_of(document.get(), "file"));
}

// Another tenant chooses his name; `top` is what the operator looks at.
TEST_F(HostileNames, OfTenantsInTheTable)
{
  rawhal_limit_config_t config = {};
  rawhal_error_t error = {};
  rawhal_limiter_t *limiter = nullptr;
  std::string region = scratch / "region";
  snprintf(config.region.text, sizeof(config.region.text), "%s", region.c_str());
  snprintf(config.tenant.text, sizeof(config.tenant.text), "a\x1b[31m\xe2\x80\xae\xc2\x9b\x9b");
  if (rawhal_limiter_open(&config, "GPU-\x1b[2J", &limiter, &error) != RAWHAL_OK)
    GTEST_SKIP() << "no such name gets into a region: " << error.message;
  for (const char *form : {"--once", "--json"}) {
    Outcome got = run({tool, "top", region, form});
    EXPECT_EQ(0, got.status) << got.err;
    expect_showable(got.out);
    expect_showable(got.err);
  }
  rawhal_limiter_close(limiter);
  Outcome got = run({tool, "limits"}, {"RAWHAL_TENANT=a\x1b[31m\xe2\x80\xae"});
  expect_showable(got.out + got.err);
}
