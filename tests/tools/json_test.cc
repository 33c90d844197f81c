// JSON as it is written: well-formed whatever goes in, and numbers exact up to 2^64-1.
#include "tests/tools/command.h"

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

Json loaded(const std::string &text)
{
  return Json(json_loadb(text.data(), text.size(), JSON_DECODE_ANY | JSON_ALLOW_NUL, nullptr));
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
