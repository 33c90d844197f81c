// JSON: every kind of value, escapes, merged notes. jansson is the judge of validity.
#include <jansson.h>

#include "hsaco_test.h"

using build::Object;
using build::Pack;
using build::plain_kernel;

static std::string to_json(const std::string &value, rawhal_status_t expected = RAWHAL_OK)
{
  std::string text;
  auto append = [](void *context, const char *piece, size_t size) {
    static_cast<std::string *>(context)->append(piece, size);
    return true;
  };
  rawhal_error_t error = {};
  Exact exact(value);
  EXPECT_EQ(expected,
            rawhal_metadata_to_json({exact.data.get(), exact.size}, append, &text, &error))
      << error.message;
  return text;
}

TEST(Json, EveryKindOfValue)
{
  EXPECT_EQ("null", to_json(Pack().nil().bytes));
  EXPECT_EQ("true", to_json(Pack().boolean(true).bytes));
  EXPECT_EQ("18446744073709551615", to_json(Pack().number(UINT64_MAX).bytes));
  EXPECT_EQ("-9223372036854775808", to_json(Pack().negative(INT64_MIN).bytes));
  EXPECT_EQ("-1", to_json("\xff"));
  EXPECT_EQ("0.5", to_json(Pack().real(0.5).bytes));
  EXPECT_EQ("null", to_json(Pack().real(__builtin_inf()).bytes));
  EXPECT_EQ("[]", to_json(Pack().array(0).bytes));
  EXPECT_EQ("{}", to_json(Pack().map(0).bytes));
  EXPECT_EQ("[1,[2,[]],{\"a\":{\"b\":[3]},\"c\":4}]", to_json(Pack()
                                                                  .array(3)
                                                                  .number(1)
                                                                  .array(2)
                                                                  .number(2)
                                                                  .array(0)
                                                                  .map(2)
                                                                  .str(".a")
                                                                  .map(1)
                                                                  .str("b")
                                                                  .numbers({3})
                                                                  .str("c")
                                                                  .number(4)
                                                                  .bytes));
  EXPECT_EQ("{\"1\":2,\"true\":null}",
            to_json(Pack().map(2).number(1).number(2).boolean(true).nil().bytes));
  EXPECT_EQ("\"ab\"", to_json(std::string("\xc4\x02"
                                          "ab",
                                          4))); // bin
  EXPECT_EQ("\"\\u0005a\"", to_json(std::string("\xd4\x05"
                                                "a",
                                                3))); // ext
  EXPECT_EQ("\"\"",
            to_json(std::string("\xc9\xff\xff\xff\xff\x01", 6)).substr(0, 2)); // ext32 wraps
}

TEST(Json, StringsAreAlwaysValid)
{
  EXPECT_EQ("\"\"", to_json(Pack().str("").bytes));
  EXPECT_EQ("\"a\\\"b\\\\c\\u000a\\u0000\\u007f\"",
            to_json(Pack().str(std::string("a\"b\\c\n\0\x7f", 8)).bytes));
  EXPECT_EQ("\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"",
            to_json(Pack().str("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80").bytes));
  // Overlong, lone continuation, surrogate, cut.
  EXPECT_EQ("\"\\u00c0\\u00af\"", to_json(Pack().str("\xc0\xaf").bytes));
  EXPECT_EQ("\"\\u0080x\"", to_json(Pack().str("\x80x").bytes));
  EXPECT_EQ("\"\\u00ed\\u00a0\\u0080\"", to_json(Pack().str("\xed\xa0\x80").bytes));
  EXPECT_EQ("\"\\u00e2\\u0082\"", to_json(Pack().str("\xe2\x82").bytes));
  std::string all;
  for (int i = 0; i < 4096; ++i)
    all += static_cast<char>(i * 37 + i / 256);
  json_error_t error;
  json_t *value =
      json_loads(to_json(Pack().str(all).bytes).c_str(), JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
  EXPECT_NE(nullptr, value) << error.text;
  json_decref(value);
}

TEST(Json, ContainersAsKeysAreLeftOut)
{
  Pack pack;
  pack.map(2).array(0).number(1).map(1).str("x").numbers({4, 5}).number(2);
  EXPECT_EQ("{\"?\":1,\"?\":2}", to_json(pack.bytes));
  Pack deeper;
  deeper.array(2).map(1).map(1).map(1).nil().str("a key of a key").number(2).numbers({3}).number(7);
  EXPECT_EQ("[{\"?\":[3]},7]", to_json(deeper.bytes));
}

TEST(Json, WhatIsNoValue)
{
  to_json(std::string(300, '\x91') + "\x01", RAWHAL_MALFORMED);
  to_json("", RAWHAL_MALFORMED);
  to_json("\xc1", RAWHAL_MALFORMED);
  to_json("\x93\x01", RAWHAL_MALFORMED);
}

TEST(Json, DocumentMergesNotesAndKeepsUnknownKeys)
{
  Object object;
  object.kernels = {plain_kernel("a"), plain_kernel("b")};
  for (int i = 0; i < 2; ++i) {
    Pack root;
    root.map(4).str("amdhsa.version").numbers({1, 2}).str("custom.config").map(1).str("x");
    root.number(static_cast<uint64_t>(i)).str("amdhsa.kernels").array(1);
    root.raw(build::pack_kernel(object.kernels[static_cast<size_t>(i)]));
    root.str("amdhsa.printf").array(1).str("1:0:x");
    object.notes.push_back(root.bytes);
  }
  Opened opened(object.build());
  ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  json_error_t error;
  json_t *root = json_loads(opened.json().c_str(), JSON_REJECT_DUPLICATES, &error);
  ASSERT_NE(nullptr, root) << error.text << "\n" << opened.json();
  EXPECT_EQ(2u, json_array_size(json_object_get(root, "kernels")));
  EXPECT_EQ(2u, json_array_size(json_object_get(root, "printf")));
  json_t *second = json_array_get(json_object_get(root, "kernels"), 1);
  EXPECT_STREQ("b", json_string_value(json_object_get(second, "name")));
  EXPECT_EQ(3u, json_array_size(json_object_get(second, "args")));
  json_t *custom = json_object_get(root, "custom.config"); // of the first note
  EXPECT_EQ(0, json_integer_value(json_object_get(custom, "x")));
  EXPECT_EQ(2, json_integer_value(json_array_get(json_object_get(root, "version"), 1)));
  json_decref(root);
}

TEST(Json, WriterMayStop)
{
  Opened opened(build::plain_object(50).bytes);
  int calls = 0;
  auto stop = [](void *context, const char *, size_t) {
    return ++*static_cast<int *>(context) < 2;
  };
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_hsaco_metadata_json(opened.hsaco, stop, &calls, nullptr));
  EXPECT_EQ(2, calls);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_hsaco_metadata_json(nullptr, stop, &calls, nullptr));
}
