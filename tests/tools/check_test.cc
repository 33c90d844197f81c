// rawhal check: each byte of a blob is explained, and the verdict is the blob rule's.
#include "tests/tools/command.h"

static const std::string vector_add = fixtures + "vector_add-gfx90a-v5.co";

// c = 0x1000, a = 0x2000, b = 0x3000, n = 1024, then bytes that count up.
static std::string vector_add_blob(size_t size)
{
  std::string blob(24, '\0');
  blob[1] = 0x10, blob[9] = 0x20, blob[17] = 0x30;
  blob += std::string("\x00\x04\x00\x00", 4);
  for (size_t i = blob.size(); i < size; ++i)
    blob += static_cast<char>(i);
  return blob.substr(0, size);
}

class Check : public testing::Test {
protected:
  Outcome check(const std::string &file, const std::string &kernel, const std::string &blob,
                const std::vector<std::string> &options = {})
  {
    spit(scratch / "blob", blob);
    std::vector<std::string> words = {tool,     "check",         file, "--kernel", kernel,
                                      "--blob", scratch / "blob"};
    words.insert(words.end(), options.begin(), options.end());
    return run(words);
  }
  Scratch scratch;
};

// The row that starts at this offset, without its mark.
static std::string row(const std::string &text, size_t offset)
{
  char start[16];
  snprintf(start, sizeof(start), " %6zu  ", offset);
  size_t at = text.find(start);
  return at == std::string::npos ? "" : text.substr(at + 9, text.find('\n', at) - at - 9);
}

TEST_F(Check, ExactBlobIsAccepted)
{
  Outcome got = check(vector_add, "vector_add", vector_add_blob(28));
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_EQ("", got.err);
  EXPECT_TRUE(contains(got.out, "28 bytes; the rule takes 28 to 288"));
  EXPECT_EQ("00 20 00 00 00 00 00 00  1 'a' (global_buffer) 8..16 = 0x2000, float*",
            row(got.out, 8));
  EXPECT_EQ("00 04 00 00              3 'n' (by_value) 24..28 = 1024 (0x400), uint",
            row(got.out, 24));
  EXPECT_TRUE(contains(row(got.out, 28), "padding 28..32, zeros: the blob has ended"));
  EXPECT_TRUE(contains(row(got.out, 44), "hidden_group_size_x 44..46, hidden: the launch writes"));
  EXPECT_TRUE(contains(got.out, "\naccepted\n"));
  EXPECT_FALSE(contains(got.out, "!"));
}

TEST_F(Check, ShortBlobIsRefusedInTheRulesWords)
{
  Outcome got = check(vector_add, "vector_add", vector_add_blob(27));
  expect_refusal(got, 1, "blob ends at 27, argument 3 'n' (by_value) occupies 24..28");
  EXPECT_TRUE(contains(got.out, "!     24  00 04 00"));
  EXPECT_TRUE(contains(row(got.out, 24), "missing: the blob ends after 3 of 4 bytes"));
  EXPECT_TRUE(contains(got.out, "refused"));
  expect_refusal(check(vector_add, "vector_add", ""), 1, "blob ends at 0, argument 0 'c'");
}

TEST_F(Check, LongBlobsShowPaddingHiddenBytesAndExcess)
{
  Outcome whole = check(vector_add, "vector_add", vector_add_blob(288));
  EXPECT_EQ(0, whole.status) << whole.err;
  EXPECT_TRUE(contains(row(whole.out, 28), "1c 1d 1e 1f"));
  EXPECT_TRUE(contains(row(whole.out, 28), "not zero: copied as it is"));
  EXPECT_TRUE(contains(row(whole.out, 32), "20 21 22 23"));
  EXPECT_TRUE(contains(row(whole.out, 32), "the launch writes it, not these bytes"));
  EXPECT_EQ("6a 6b 6c 6d 6e 6f 70 71 ", row(whole.out, 106)); // every byte is shown

  Outcome longer = check(vector_add, "vector_add", vector_add_blob(297));
  expect_refusal(longer, 1, "blob has 297 bytes");
  EXPECT_TRUE(contains(longer.out, "!    288  20 21 22 23 24 25 26 27  9 bytes beyond"));
  EXPECT_EQ("28                      ", row(longer.out, 296));
  EXPECT_EQ(0, check(vector_add, "vector_add", vector_add_blob(297), {"--clamp"}).status);

  Outcome kept = check(vector_add, "vector_add", vector_add_blob(38), {"--keep-hidden"});
  EXPECT_TRUE(contains(row(kept.out, 32), "kept as the blob has it"));
  EXPECT_TRUE(contains(row(kept.out, 36), "the launch writes it")); // covered by half
}

TEST_F(Check, ValuesHaveTheirTypes)
{
  std::string blob(32, '\0');
  blob.replace(16, 4, "\x00\x00\xc0\xbf", 4); // -1.5f
  Outcome got = check(fixtures + "saxpy_partial-gfx90a-v5.co", "saxpy_partial", blob);
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_TRUE(contains(row(got.out, 16), "2 'a' (by_value) 16..20 = 3217031168 (0xbfc00000), "
                                         "float -1.5"));

  std::string many(177, '\0');
  many.replace(4, 3, "\x01\xff\x7f");
  got = check(fixtures + "many_args-gfx90a-v5.co", "many_args", many);
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_TRUE(contains(row(got.out, 4), "char3 1, -1, 127, 0")) << got.out;
  EXPECT_TRUE(contains(row(got.out, 56), "'blob' (by_value) 56..164, blob_t")) << got.out;

  std::string untyped(20, '\0');
  untyped.replace(8, 4, "\x00\x00\x20\x40", 4); // 2.5f
  got = check(fixtures + "layouts-gfx90a-v5.co", "pointer_at_12", untyped);
  EXPECT_TRUE(contains(row(got.out, 8), "= 1075838976 (0x40200000), or 2.5 as float"));
}

TEST_F(Check, ArgumentsPastTheSegmentAreOptional)
{
  Outcome got = check(fixtures + "layouts-gfx90a-v5.co", "past_segment", std::string(14, '\1'));
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_TRUE(contains(row(got.out, 12), "missing: the blob ends after 2 of 4 bytes, zeros"));
  EXPECT_FALSE(contains(got.out, "!"));
}

TEST_F(Check, KernelsOfWhichOnlyTheSizeIsKnown)
{
  std::string layouts = fixtures + "layouts-gfx90a-v5.co", bare = fixtures + "bare-gfx90a-v5.co";
  EXPECT_EQ(0, check(layouts, "no_args", std::string(9, '\0')).status); // rounded up to 8: 16
  Outcome got = check(layouts, "no_args", std::string(8, '\0'));
  expect_refusal(got, 1, "blob ends at 8, the kernarg segment has 16 bytes");
  EXPECT_TRUE(contains(got.out, "the last 8 bytes are missing"));

  expect_refusal(check(bare, "bare_unsized", "12345678"), 3, "state the size");
  EXPECT_EQ(0, check(bare, "bare_unsized", "12345678", {"--kernarg-size", "8"}).status);
}

TEST_F(Check, ObjectsOfOneFileMustAgree)
{
  Outcome bundle = check(fixtures + "vector_add.bundle", "vector_add", vector_add_blob(28));
  EXPECT_EQ(0, bundle.status) << bundle.err;

  std::string both = scratch / "both.co"; // V4 has no hidden arguments
  spit(both,
       slurp(fixtures + "vector_add-gfx90a-v4.co") + slurp(fixtures + "vector_add-gfx942-v5.co"));
  expect_refusal(check(both, "vector_add", vector_add_blob(28)), 3,
                 "one layout in object 0 (gfx90a) and another in object 1 (gfx942)");
  Outcome v4 = check(both, "vector_add", vector_add_blob(28), {"--target", "gfx90a"});
  EXPECT_EQ(0, v4.status) << v4.err;
  EXPECT_TRUE(contains(v4.out, "takes 28 to 32"));
  Outcome v5 = check(both, "vector_add", vector_add_blob(28), {"--object", "1"});
  EXPECT_TRUE(contains(v5.out, "takes 28 to 288"));
}

TEST_F(Check, Refusals)
{
  expect_refusal(check(vector_add, "vector_sub", "x"), 3,
                 "no kernel 'vector_sub' in 1 object; nearest: 'vector_add'");
  expect_refusal(check(scratch / "none.co", "k", "x"), 3, "none.co");
  expect_refusal(
      run({tool, "check", vector_add, "--kernel", "vector_add", "--blob", scratch / "missing"}), 3,
      "missing");
  expect_refusal(run({tool, "check", vector_add}), 2, "--kernel and --blob");
  expect_refusal(run({tool, "check", vector_add, "--frob"}), 2, "--frob");
  expect_refusal(run({tool, "check", "--kernel", "k", "--blob", "b"}), 2, "expected one FILE");
  expect_refusal(check(vector_add, "vector_add", "x", {"--kernarg-size", "-1"}), 2, "-1");
  expect_refusal(check(vector_add, "vector_add", "x", {"--kernarg-size", "20"}), 3, "288");
}
