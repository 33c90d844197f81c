// The reader of LLVM's YAML, by what llvm-readelf-19 prints for odd values.
#include <gtest/gtest.h>

#include "yaml.h"

TEST(OracleYaml, WhatLlvmWrites)
{
  std::vector<Yaml> documents;
  std::string wrong;
  ASSERT_TRUE(parse_yaml("Displaying notes found in: .note\n"
                         "        ---\n"
                         "amdhsa.kernels:\n"
                         "  - .args:\n"
                         "      - .name:           'it''s: a'\n"
                         "        .offset:         -5\n"
                         "      - .name:           !str '12'\n"
                         "    .symbol:         a:b\n"
                         "    .empty:          []\n"
                         "  - .nested:\n"
                         "      - - 1\n"
                         "        - true\n"
                         "      - \"x\\ny\\0z\\x1F\"\n"
                         "'odd: key':      !nil ''\n"
                         "...\n"
                         "        ---\n"
                         "a:               !str 'true'\n"
                         "...\n",
                         documents, wrong))
      << wrong;
  ASSERT_EQ(2u, documents.size());
  const std::vector<Yaml> &kernels = documents[0].find("amdhsa.kernels")->items;
  ASSERT_EQ(2u, kernels.size());
  const std::vector<Yaml> &arguments = kernels[0].find(".args")->items;
  ASSERT_EQ(2u, arguments.size());
  EXPECT_EQ("it's: a", arguments[0].find(".name")->text);
  EXPECT_EQ(Yaml::kNumber, arguments[0].find(".offset")->kind);
  EXPECT_EQ("-5", arguments[0].find(".offset")->text);
  EXPECT_EQ(Yaml::kText, arguments[1].find(".name")->kind);
  EXPECT_EQ("12", arguments[1].find(".name")->text);
  EXPECT_EQ("a:b", kernels[0].find(".symbol")->text);
  EXPECT_EQ(Yaml::kList, kernels[0].find(".empty")->kind);
  const std::vector<Yaml> &nested = kernels[1].find(".nested")->items;
  ASSERT_EQ(2u, nested.size());
  ASSERT_EQ(2u, nested[0].items.size());
  EXPECT_EQ("1", nested[0].items[0].text);
  EXPECT_EQ(Yaml::kTruth, nested[0].items[1].kind);
  EXPECT_EQ(std::string("x\ny\0z\x1f", 6), nested[1].text);
  EXPECT_EQ(Yaml::kNil, documents[0].find("odd: key")->kind);
  EXPECT_EQ(Yaml::kText, documents[1].find("a")->kind);
}

TEST(OracleYaml, SaysWhatItDoesNotUnderstand)
{
  std::vector<Yaml> documents;
  std::string wrong;
  EXPECT_FALSE(parse_yaml("---\na: 1\nno key\n...\n", documents, wrong));
  EXPECT_EQ("no key", wrong);
  EXPECT_FALSE(parse_yaml("---\na: 1\n", documents, wrong)); // no end
}
