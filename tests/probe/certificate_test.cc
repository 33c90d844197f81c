// Certificates: what is one, and what it is about.
#include "tests/assert_ok.h"

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "probe/certificate.h"

namespace {

const std::string kGood = R"({
 "schema": "rawhal-probe-certificate-1",
 "rawhal": "0.2.0",
 "kernel": "vector_add",
 "object": "0123456789abcdef0011223344556677",
 "copy": "ffeeddccbbaa99887766554433221100",
 "kinds": ["waves", "blocks"],
 "device": {"target": "gfx90a:sramecc+:xnack-", "software": true},
 "dispatches": 3,
 "bytes": 48000,
 "waves": 48,
 "instructions": 1392,
 "records": {"waves": 48, "counters": 12, "events": 0}
})";

certificate_subject_t subject()
{
  certificate_subject_t about = {};
  about.object = {0x0123456789abcdef, 0x0011223344556677};
  about.copy = {0xffeeddccbbaa9988, 0x7766554433221100};
  about.kernel = rawhal_string("vector_add");
  about.kinds = RAWHAL_PROBE_WAVES | RAWHAL_PROBE_BLOCKS;
  about.target = "gfx90a:sramecc+:xnack-";
  about.is_software = true;
  return about;
}

std::string replaced(const std::string &from, const std::string &to)
{
  std::string text = kGood;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// Why it is none; "": it is one.
std::string refusal(const std::string &text)
{
  certificate_t certificate;
  rawhal_error_t error = {};
  const rawhal_status_t status = certificate_read(text.data(), text.size(), &certificate, &error);
  certificate_close(&certificate);
  EXPECT_TRUE(status == RAWHAL_OK || status == RAWHAL_INVALID_ARGUMENT) << error.message;
  EXPECT_EQ(certificate.root, nullptr);
  return status == RAWHAL_OK ? "" : error.message;
}

TEST(Certificate, IsRead)
{
  certificate_t certificate;
  rawhal_error_t error = {};
  ASSERT_OK(certificate_read(kGood.data(), kGood.size(), &certificate, &error));
  const certificate_subject_t about = subject();
  EXPECT_OK(certificate_check(&certificate, &about, &error));
  EXPECT_EQ(certificate.dispatches, 3u);
  EXPECT_EQ(certificate.bytes, 48000u);
  EXPECT_TRUE(certificate.has_waves && certificate.has_instructions && certificate.has_records);
  EXPECT_EQ(certificate.records.waves, 48u);
  EXPECT_EQ(certificate.records.counters, 12u);
  EXPECT_EQ(certificate.records.events, 0u);
  EXPECT_EQ(certificate.waves, 48u);
  EXPECT_EQ(certificate.instructions, 1392u);
  certificate_close(&certificate);
  EXPECT_EQ("", refusal(replaced("\"waves\": 48", "\"waves\": null")));
  EXPECT_EQ("", refusal(replaced("1392", "null")));
  EXPECT_EQ("", refusal(replaced("{\"waves\": 48, \"counters\": 12, \"events\": 0}", "null")));
}

TEST(Certificate, WhatIsNone)
{
  const struct {
    const char *from, *to, *why;
  } rows[] = {
      {"certificate-1", "certificate-2", "its \"schema\" is not"},
      {"\"schema\"", "\"scheme\"", "its \"schema\" is not"},
      {"\"0.2.0\"", "\"\"", "its \"rawhal\" is not"},
      {"\"0.2.0\"", "2", "its \"rawhal\" is not"},
      {"\"vector_add\"", "\"\"", "its \"kernel\" is not"},
      {"\"vector_add\"", "\"vector\\u0000add\"", ""},
      {"\"vector_add\"", "\"vector\xff\"", ""},
      {"0123456789", "012345678", "its \"object\" is not"},
      {"0123456789", "01234567890", "its \"object\" is not"},
      {"0123456789a", "0123456789A", "its \"object\" is not"},
      {"0123456789a", "0123456789g", "its \"object\" is not"},
      {"221100\"", "2211 0\"", "its \"copy\" is not"},
      {"[\"waves\", \"blocks\"]", "[]", "its \"kinds\" is not"},
      {"[\"waves\", \"blocks\"]", "\"waves+blocks\"", "its \"kinds\" is not"},
      {"\"waves\", \"blocks\"", "\"waves\", \"waves\"", "its \"kinds\" is not"},
      {"\"waves\", \"blocks\"", "\"waves+blocks\"", "its \"kinds\" is not"},
      {"\"blocks\"", "\"block\"", "its \"kinds\" is not"},
      {"\"blocks\"", "7", "its \"kinds\" is not"},
      {"true", "1", "its \"device\" is not"},
      {"\"gfx90a:sramecc+:xnack-\"", "\"\"", "its \"device\" is not"},
      {"true}", "true, \"name\": \"x\"}", "its \"device\" is not"},
      {"{\"target\": \"gfx90a:sramecc+:xnack-\", \"software\": true}", "[true, true]",
       "its \"device\" is not"},
      {": 3", ": 0", "its \"dispatches\" is not"},
      {": 3", ": -3", "its \"dispatches\" is not"},
      {": 3", ": 3.0", "its \"dispatches\" is not"},
      {": 3", ": null", "its \"dispatches\" is not"},
      {"48000", "99999999999999999999", ""},
      {"48000", "-1", "its \"bytes\" is not"},
      {": 48,", ": true,", "its \"waves\" is not"},
      {"1392", "\"1392\"", "its \"instructions\" is not"},
      {" \"bytes\"", " \"more\": 1, \"bytes\"", "it has members that are none of its"},
      {" \"bytes\"", " \"bytes\": 48000, \"bytes\"", ""},
      {" \"bytes\": 48000,\n", "", "its \"bytes\" is not"},
      {"\"counters\": 12, ", "", "its \"records\" is not"},
      {"\"counters\": 12", "\"counters\": -12", "its \"records\" is not"},
      {"\"events\": 0}", "\"events\": 0, \"more\": 0}", "its \"records\" is not"},
      {"\"events\": 0}", "\"events\": null}", "its \"records\" is not"},
      {"{\"waves\": 48, \"counters\": 12, \"events\": 0}", "48", "its \"records\" is not"},
      {"0}\n}", "0}\n} {}", ""},
      {"{\n", "[\n", ""},
  };
  for (const auto &row : rows) {
    SCOPED_TRACE(row.to);
    const std::string why = refusal(replaced(row.from, row.to));
    EXPECT_NE(why, "");
    EXPECT_NE(why.find(row.why), std::string::npos) << why;
  }
  EXPECT_NE(refusal(""), "");
  EXPECT_NE(refusal("[1]"), "");
  EXPECT_NE(refusal("null"), "");
  EXPECT_NE(refusal(std::string(1 << 16, '[')), "");
  EXPECT_NE(refusal("{\"schema\": " + std::string(1000, '{')), "");
  const std::string large = kGood + std::string(CERTIFICATE_BYTES, ' ');
  EXPECT_EQ("it has " + std::to_string(large.size()) + " bytes; the most is 262144",
            refusal(large));
  EXPECT_EQ("", refusal(large.substr(0, CERTIFICATE_BYTES)));
}

// A file that was cut off is none, wherever; and a byte that is another makes it none, or one that is about something
// else, or says other counts.
TEST(Certificate, TornAndDamagedFiles)
{
  for (size_t size = 0; size < kGood.size(); ++size)
    ASSERT_NE(refusal(kGood.substr(0, size)), "") << size;
  const certificate_subject_t about = subject();
  const size_t counts = kGood.find("\"dispatches\"");
  size_t still = 0;
  for (size_t at = 0; at < kGood.size(); ++at)
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string text = kGood;
      text[at] = static_cast<char>(text[at] ^ (1 << bit));
      certificate_t certificate;
      rawhal_error_t error = {};
      if (certificate_read(text.data(), text.size(), &certificate, &error) != RAWHAL_OK)
        continue;
      const bool is_about = certificate_check(&certificate, &about, &error) == RAWHAL_OK;
      certificate_close(&certificate);
      const bool is_blank = strchr(" \n", kGood[at]);
      const bool is_version = at > kGood.find("0.2.0") - 1 && at < kGood.find("0.2.0") + 5;
      ASSERT_TRUE(!is_about || is_blank || is_version || at > counts) << text;
      ++still;
    }
  EXPECT_GT(still, 100u); // digits of hashes and counts
}

TEST(Certificate, WhatItIsAbout)
{
  certificate_t certificate;
  rawhal_error_t error = {};
  ASSERT_OK(certificate_read(kGood.data(), kGood.size(), &certificate, &error));
  const struct {
    const char *why;
    void (*change)(certificate_subject_t *about);
  } rows[] = {
      {"it is of another kernel",
       [](certificate_subject_t *about) { about->kernel = rawhal_string("vector_ad"); }},
      {"it is of another code object", [](certificate_subject_t *about) { ++about->object.low; }},
      {"it is of another code object", [](certificate_subject_t *about) { ++about->object.high; }},
      {"it is of other kinds of probes",
       [](certificate_subject_t *about) { about->kinds = RAWHAL_PROBE_WAVES; }},
      {"it is of other kinds of probes",
       [](certificate_subject_t *about) { about->kinds |= RAWHAL_PROBE_MEMORY; }},
      {"it is of another device",
       [](certificate_subject_t *about) { about->target = "gfx90a:sramecc+:xnack+"; }},
      {"it is of hardware where this is software, or the reverse",
       [](certificate_subject_t *about) { about->is_software = false; }},
      {"it is of another copy", [](certificate_subject_t *about) { ++about->copy.low; }},
  };
  char name[CERTIFICATE_FILE], other[CERTIFICATE_FILE];
  const certificate_subject_t own = subject();
  certificate_file(&own, name);
  EXPECT_EQ(std::string(name).size(), 37u);
  for (const auto &row : rows) {
    SCOPED_TRACE(row.why);
    certificate_subject_t about = subject();
    row.change(&about);
    EXPECT_EQ(RAWHAL_TARGET_MISMATCH, certificate_check(&certificate, &about, &error));
    EXPECT_STREQ(row.why, error.message);
    certificate_file(&about, other);
    EXPECT_EQ(strcmp(row.why, "it is of another copy") == 0, strcmp(name, other) == 0);
  }
  certificate_close(&certificate);
}

} // namespace
