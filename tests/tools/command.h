// What the tests of the `rawhal` command share: where it is, its answers, altered fixtures.
#ifndef TESTS_TOOLS_COMMAND_H
#define TESTS_TOOLS_COMMAND_H

#include <gtest/gtest.h>
#include <jansson.h>

#include <algorithm>
#include <memory>

#include "tests/tools/process.h"

static const std::string tool = RAWHAL_TOOL;
static const std::string fixtures = RAWHAL_SOURCE_DIR "/tests/fixtures/";

inline bool contains(const std::string &text, const std::string &part)
{
  return text.find(part) != std::string::npos;
}

inline size_t lines(const std::string &text)
{
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

// A refusal: the exit status asked for, exactly one line on standard error, and these words in it.
inline void expect_refusal(const Outcome &got, int status, const std::string &words)
{
  EXPECT_EQ(status, got.status) << got.err;
  EXPECT_TRUE(contains(got.err, words)) << got.err;
  EXPECT_EQ(status == 2 ? 2u : 1u, lines(got.err)) << got.err; // usage errors name --help
}

struct JsonDeleter {
  void operator()(json_t *value) const { json_decref(value); }
};
using Json = std::unique_ptr<json_t, JsonDeleter>;

inline Json parse(const std::string &text)
{
  return Json(json_loads(text.c_str(), 0, nullptr));
}

// Has `object` the keys that its schema describes, and does that ask for all of them?
inline void expect_described(const json_t *object, const json_t *schema)
{
  const json_t *properties = json_object_get(schema, "properties");
  EXPECT_EQ(json_object_size(properties), json_object_size(object));
  EXPECT_EQ(json_object_size(properties), json_array_size(json_object_get(schema, "required")));
  json_t *keys = const_cast<json_t *>(object);
  for (void *at = json_object_iter(keys); at; at = json_object_iter_next(keys, at))
    EXPECT_TRUE(json_object_get(properties, json_object_iter_key(at))) << json_object_iter_key(at);
}

inline std::string text_of(const json_t *object, const char *key)
{
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

inline long long number_of(const json_t *object, const char *key)
{
  return json_integer_value(json_object_get(object, key));
}

// A fixture with the first occurrence of `from` behind `after` replaced; both have one length, so
// that every offset in the file stays right.
inline std::string altered(const std::string &bytes, const std::string &after,
                           const std::string &from, const std::string &to)
{
  std::string result = bytes;
  size_t start = bytes.find(after);
  size_t at = start == std::string::npos ? start : bytes.find(from, start);
  EXPECT_NE(std::string::npos, at) << after << " ... " << from;
  EXPECT_EQ(from.size(), to.size());
  if (at != std::string::npos)
    result.replace(at, from.size(), to);
  return result;
}

inline void spit(const std::string &path, const std::string &bytes)
{
  spit(path, bytes.data(), bytes.size());
}

// Bytes behind a URI, which is decoded here on its own.
inline std::string behind(const std::string &uri)
{
  EXPECT_EQ(0u, uri.find("file:///"));
  size_t end = uri.find('#');
  std::string path;
  for (size_t i = 7; i < end; ++i) {
    path +=
        uri[i] == '%' ? static_cast<char>(std::stoi(uri.substr(i + 1, 2), nullptr, 16)) : uri[i];
    i += uri[i] == '%' ? 2 : 0;
  }
  unsigned long long offset = 0, size = 0;
  EXPECT_EQ(2, sscanf(uri.c_str() + end, "#offset=%llu&size=%llu", &offset, &size)) << uri;
  std::string bytes = slurp(path);
  EXPECT_LE(offset + size, bytes.size());
  return bytes.substr(offset, size);
}

#endif
