// JSON as it is written: well-formed whatever goes in, numbers exact up to 2^64-1, and of a value
// that is copied exactly what was asked for.
#include "tests/tools/command.h"

#include <random>

extern "C" {
#include "tools/shared/json.h"
}

namespace {

class Document {
public:
  Document() { writer.out = open_memstream(&text, &size); }
  ~Document()
  {
    if (writer.out)
      fclose(writer.out);
    free(text);
  }
  std::string str()
  {
    fclose(writer.out);
    writer.out = nullptr;
    return {text, size};
  }

  json_writer_t writer = {};

private:
  char *text = nullptr;
  size_t size = 0;
};

bool is_even(const void *, size_t index)
{
  return index % 2 == 0;
}

// `json` through json_copy_text() in pieces of `piece` bytes.
std::string copied(const std::string &json, size_t piece, const json_filter_t *filter = nullptr)
{
  Document document;
  json_copy_t copy = {};
  copy.writer = &document.writer;
  copy.filter = filter;
  for (size_t at = 0; at < json.size(); at += piece)
    EXPECT_TRUE(json_copy_text(&copy, json.data() + at, std::min(piece, json.size() - at)));
  return document.str();
}

Json loaded(const std::string &text)
{
  return Json(json_loadb(text.data(), text.size(), JSON_DECODE_ANY | JSON_ALLOW_NUL, nullptr));
}

Json random_value(std::mt19937 &random, unsigned depth)
{
  static const char *const texts[] = {
      "",       "a",       "\"",           "\\",
      "\x01",   "kernels", "\xe2\x80\xae", "\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e",
      "}]{[,:", "\\u0041"};
  switch (random() % (depth ? 7 : 5)) {
  case 0:
    return Json(json_integer(static_cast<json_int_t>(random()) - 1000000));
  case 1:
    return Json(json_boolean(random() % 2));
  case 2:
    return Json(json_null());
  case 3:
    return Json(json_real(static_cast<double>(random()) / 3));
  case 4: { /* json_string() is a name inside of the static library, too */
    const char *text = texts[random() % 10];
    return Json(json_stringn(text, strlen(text)));
  }
  case 5: {
    Json array(json_array());
    for (unsigned i = random() % 4; i--;)
      json_array_append_new(array.get(), random_value(random, depth - 1).release());
    return array;
  }
  default:
    Json object(json_object());
    for (unsigned i = random() % 4; i--;)
      json_object_set_new(object.get(), texts[random() % 10],
                          random_value(random, depth - 1).release());
    return object;
  }
}

} // namespace

TEST(JsonWriter, NumbersAreExact)
{
  Document document;
  json_writer_t *out = &document.writer;
  json_begin_object(out, nullptr);
  json_put_unsigned(out, "top", UINT64_MAX);
  json_put_unsigned(out, "half", UINT64_C(1) << 63);
  json_put_signed(out, "low", INT64_MIN);
  json_put_offset(out, "nowhere", RAWHAL_NO_OFFSET);
  json_end(out);
  EXPECT_EQ("{\n \"top\": 18446744073709551615,\n \"half\": 9223372036854775808,\n"
            " \"low\": -9223372036854775808,\n \"nowhere\": null\n}\n",
            document.str());
}

TEST(JsonWriter, EmptyAndNestedContainers)
{
  Document document;
  json_writer_t *out = &document.writer;
  json_begin_array(out, nullptr);
  json_begin_object(out, nullptr);
  json_end(out);
  json_begin_object(out, nullptr);
  json_begin_array(out, "none");
  json_end(out);
  json_put_text(out, "no_text", nullptr);
  json_put_bool(out, "yes", true);
  json_end(out);
  json_put_string(out, nullptr, {"a\0b", 3});
  json_end(out);
  Json value = loaded(document.str());
  ASSERT_TRUE(value);
  EXPECT_EQ(3u, json_array_size(value.get()));
  EXPECT_EQ(3u, json_object_size(json_array_get(value.get(), 1)));
  EXPECT_EQ(3u, json_string_length(json_array_get(value.get(), 2)));
}

TEST(JsonCopy, IsTheSameValue)
{
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    Json value = random_value(random, 5);
    for (size_t flags : {JSON_COMPACT | JSON_ENCODE_ANY, JSON_INDENT(3) | JSON_ENCODE_ANY,
                         JSON_ENSURE_ASCII | JSON_ENCODE_ANY}) {
      char *dumped = json_dumps(value.get(), flags);
      std::string text = dumped;
      free(dumped);
      std::string got = copied(text, 1 + random() % 9);
      Json again = loaded(got);
      ASSERT_TRUE(again) << text << "\n" << got;
      ASSERT_TRUE(json_equal(value.get(), again.get())) << text << "\n" << got;
      ASSERT_FALSE(contains(got, "\xe2\x80\xae")) << got;
    }
  }
}

TEST(JsonCopy, OnlyTheElementsThatAreWanted)
{
  const json_filter_t filter = {"kernels", is_even, nullptr};
  const struct {
    const char *in, *out;
  } rows[] = {
      {"{\"kernels\":[1,2,3]}", "{\"kernels\":[1,3]}"},
      {"{\"kernels\":[\"a\",\"b\"],\"x\":[1,2]}", "{\"kernels\":[\"a\"],\"x\":[1,2]}"},
      {"{\"x\":[0,1],\"kernels\":[{\"kernels\":[1,2]},{\"a\":[{}]},[1,2,[3]],{},null]}",
       "{\"x\":[0,1],\"kernels\":[{\"kernels\":[1,2]},[1,2,[3]],null]}"},
      {"{\"kernels\":[[],[]]}", "{\"kernels\":[[]]}"},
      {"{\"kernels\":[1,\"]\\\"}\",{\"]\":\"[\"},4,5]}", "{\"kernels\":[1,{\"]\":\"[\"},5]}"},
      {"{\"kernels\":{\"a\":1,\"b\":2}}", "{\"kernels\":{\"a\":1,\"b\":2}}"},
      {"{\"kernelss\":[1,2]}", "{\"kernelss\":[1,2]}"},
      {"{\"x\":\"kernels\",\"y\":[1,2]}", "{\"x\":\"kernels\",\"y\":[1,2]}"},
      {"[\"kernels\",[1,2]]", "[\"kernels\",[1,2]]"},
      {"{\"kernels\":[1,true,false,null,-1.5e3]}", "{\"kernels\":[1,false,-1.5e3]}"},
  };
  for (const auto &row : rows)
    for (size_t piece = 1; piece < 8; ++piece) {
      Json wanted = loaded(row.out), got = loaded(copied(row.in, piece, &filter));
      ASSERT_TRUE(got) << row.in;
      EXPECT_TRUE(json_equal(wanted.get(), got.get())) << row.in << copied(row.in, piece, &filter);
    }
}
