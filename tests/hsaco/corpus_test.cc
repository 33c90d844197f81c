// The corpus of real, generated and damaged objects beside the checkout, when it is there: every
// fact LLVM's reader prints, and the one status each damaged file must get.
#include <dirent.h>
#include <jansson.h>

#include <algorithm>

#include "hsaco_test.h"

static const std::string corpus = RAWHAL_CORPUS "/";

static std::vector<std::string> files_in(const std::string &folder)
{
  std::vector<std::string> names;
  if (DIR *stream = opendir(folder.c_str())) {
    while (dirent *entry = readdir(stream))
      if (entry->d_name[0] != '.')
        names.push_back(entry->d_name);
    closedir(stream);
  }
  std::sort(names.begin(), names.end());
  return names;
}

static bool same_scalar(const json_t *want, const json_t *got)
{
  auto number = [](const json_t *value, long long *result) {
    if (json_is_boolean(value))
      *result = json_is_true(value);
    else if (json_is_integer(value))
      *result = json_integer_value(value);
    else
      return false;
    return true;
  };
  long long a, b;
  if (number(want, &a) && number(got, &b))
    return a == b;
  if (json_is_string(want) && number(got, &b))
    return json_string_value(want) == std::to_string(b);
  if (json_is_string(got) && number(want, &a))
    return json_string_value(got) == std::to_string(a);
  return json_equal(const_cast<json_t *>(want), const_cast<json_t *>(got));
}

// The first difference, or nothing. `exact`: `got` may have no further keys.
static std::string difference(const json_t *want, const json_t *got, const std::string &where,
                              bool exact)
{
  if (json_is_object(want)) {
    if (!json_is_object(got))
      return where + ": not a map";
    const char *key;
    json_t *value;
    json_object_foreach(const_cast<json_t *>(want), key, value)
    {
      const json_t *other = json_object_get(got, key);
      if (json_is_null(value) && (!other || json_is_null(other)))
        continue;
      if (!other)
        return where + "." + key + ": missing";
      std::string one =
          difference(value, other, where + "." + key, exact || !strcmp(key, "kernels"));
      if (!one.empty())
        return one;
    }
    json_object_foreach(const_cast<json_t *>(got), key,
                        value) if (exact && !json_object_get(want, key)) return where +
        "." + key + ": unexpected";
    return "";
  }
  if (json_is_array(want)) {
    if (json_array_size(want) != json_array_size(got))
      return where + ": another number of entries";
    for (size_t i = 0; i < json_array_size(want); ++i) {
      std::string one = difference(json_array_get(want, i), json_array_get(got, i),
                                   where + "[" + std::to_string(i) + "]", exact);
      if (!one.empty())
        return one;
    }
    return "";
  }
  return same_scalar(want, got) ? "" : where + ": another value";
}

// The typed view must agree with the expected facts too, not only the JSON.
static void check_typed(const json_t *want, const Opened &opened)
{
  size_t index;
  json_t *kernel;
  json_array_foreach(json_object_get(json_object_get(want, "metadata"), "kernels"), index, kernel)
  {
    const rawhal_kernel_t &got = opened.kernel(index);
    EXPECT_EQ(json_string_value(json_object_get(kernel, "name")), text_of(got.name));
    EXPECT_EQ(json_string_value(json_object_get(kernel, "symbol")), text_of(got.symbol));
    EXPECT_EQ(json_integer_value(json_object_get(kernel, "kernarg_segment_size")),
              got.kernarg_segment_size);
    EXPECT_EQ(json_integer_value(json_object_get(kernel, "vgpr_count")), got.vgpr_count);
    const json_t *arguments = json_object_get(kernel, "args");
    ASSERT_EQ(json_array_size(arguments), got.argument_count);
    for (size_t a = 0; a < got.argument_count; ++a) {
      const json_t *argument = json_array_get(arguments, a);
      EXPECT_EQ(json_integer_value(json_object_get(argument, "offset")), got.arguments[a].offset);
      EXPECT_EQ(json_integer_value(json_object_get(argument, "size")), got.arguments[a].size);
      EXPECT_EQ(json_string_value(json_object_get(argument, "value_kind")),
                text_of(got.arguments[a].detail->value_kind_text));
      EXPECT_NE(RAWHAL_VALUE_UNKNOWN, got.arguments[a].value_kind);
    }
    EXPECT_EQ(&got, opened.find(text_of(got.name)));
    ASSERT_NE(nullptr, got.descriptor) << text_of(got.name);
  }
}

static void check_good(const std::string &folder, const std::string &name)
{
  json_error_t failure;
  json_t *want = json_load_file((corpus + "expected/" + folder + "/" + name).c_str(), 0, &failure);
  ASSERT_NE(nullptr, want) << failure.text;
  std::string file = name.substr(0, name.size() - strlen(".json"));
  Opened opened(read_file(corpus + folder + "/" + file));
  if (file.rfind("c15-v2-", 0) == 0) {
    EXPECT_EQ(RAWHAL_UNSUPPORTED, opened.status);
    json_decref(want);
    return;
  }
  ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  const json_t *elf = json_object_get(want, "elf");
  EXPECT_EQ(json_integer_value(json_object_get(elf, "flags")), opened.info().elf_flags);
  EXPECT_EQ(json_integer_value(json_object_get(elf, "abi_version")), opened.info().elf_abi_version);
  if (json_object_get(want, "metadata")) {
    json_t *got = json_loads(opened.json().c_str(), JSON_REJECT_DUPLICATES, &failure);
    ASSERT_NE(nullptr, got) << failure.text;
    EXPECT_EQ("", difference(json_object_get(want, "metadata"), got, "metadata", false));
    json_decref(got);
    check_typed(want, opened);
  }
  json_decref(want);
}

TEST(Corpus, EveryFactOfEveryObject)
{
  size_t count = 0;
  for (const std::string &folder : files_in(corpus + "expected"))
    for (const std::string &name : files_in(corpus + "expected/" + folder)) {
      SCOPED_TRACE(folder + "/" + name);
      check_good(folder, name);
      ++count;
    }
  if (!count)
    GTEST_SKIP() << corpus << " is not there";
}

TEST(Corpus, LinkedObjectsAreLoadable)
{
  size_t count = 0;
  for (const char *folder : {"aiter", "generated"})
    for (const std::string &name : files_in(corpus + folder)) {
      Opened opened(read_file(corpus + folder + "/" + name));
      ++count;
      if (opened.status || name.find("etrel") != std::string::npos ||
          name.find("noshdr") != std::string::npos || name == "mach-unknown.co" ||
          name == "asm-v5-gfx90a-nometadata.co") // has no note section
        continue;
      EXPECT_TRUE(opened.info().loadable) << name << ": " << opened.reason();
      for (size_t i = 0; i < opened.info().kernel_count; ++i)
        EXPECT_TRUE(opened.kernel(i).usable) << name;
    }
  if (!count)
    GTEST_SKIP() << corpus << " is not there";
}

TEST(Corpus, EveryDamagedFileGetsItsStatus)
{
  json_error_t failure;
  json_t *expected = json_load_file((corpus + "damaged/expected-status.json").c_str(), 0, &failure);
  if (!expected)
    GTEST_SKIP() << corpus << " is not there";
  const char *name;
  json_t *status;
  json_object_foreach(expected, name, status)
  {
    Opened opened(read_file(corpus + "damaged/" + name));
    EXPECT_STREQ(json_string_value(status), rawhal_status_name(opened.status))
        << name << ": " << opened.error.message;
    EXPECT_EQ(nullptr, opened.hsaco);
  }
  json_decref(expected);
}
