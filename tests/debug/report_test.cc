// Faults as text and JSON: what is known is there, what is not is not, and nothing is trusted.
#include <gtest/gtest.h>
#include <jansson.h>

#include <memory>
#include <random>
#include <sstream>

#include "tests/limit/schema.h"

extern "C" {
#include "debug/report.h"
}

namespace {

struct JsonDeleter {
  void operator()(json_t *value) const { json_decref(value); }
};
using Json = std::unique_ptr<json_t, JsonDeleter>;

std::string Report(const rawhal_fault_t &fault, report_form_t form)
{
  std::string text;
  report(
      &fault, form,
      [](void *context, const char *piece, size_t size) {
        EXPECT_NE(0u, size);
        static_cast<std::string *>(context)->append(piece, size);
      },
      &text);
  return text;
}

rawhal_fault_t Whole()
{
  rawhal_fault_t fault = {};
  fault.size = sizeof(fault);
  fault.kind = RAWHAL_FAULT_MEMORY;
  fault.known = RAWHAL_FAULT_KNOWS_DISPATCH | RAWHAL_FAULT_KNOWS_PC | RAWHAL_FAULT_KNOWS_OBJECT |
                RAWHAL_FAULT_KNOWS_ADDRESS | RAWHAL_FAULT_KNOWS_LANE | RAWHAL_FAULT_KNOWS_LANES;
  fault.hsa_status = 0x2b;
  fault.dispatch = 1;
  fault.queue_id = 3;
  fault.ticket = 41;
  fault.packet = 40;
  fault.kernel_object = 0x7f0000002000;
  fault.pc = 0x7f0000003040;
  fault.pc_offset = 64;
  fault.object_address = 0x1c40;
  fault.address = 0x7f0000001000;
  fault.bytes = 4;
  fault.access = RAWHAL_FAULT_ACCESS_WRITE;
  fault.instruction[0] = 0xdc708000;
  fault.instruction[1] = 0x007f0200;
  fault.group[0] = 7;
  fault.wave = 3;
  fault.lanes = 0xff;
  snprintf(fault.kernel, sizeof(fault.kernel), "vector_add");
  snprintf(fault.device_text, sizeof(fault.device_text), "memory access fault at pc ...");
  snprintf(fault.label, sizeof(fault.label), "layer 3");
  snprintf(fault.queue_label, sizeof(fault.queue_label), "decode");
  fault.cause_count = 2;
  rawhal_cause_t &first = fault.causes[0], &second = fault.causes[1];
  first.kind = RAWHAL_CAUSE_OUT_OF_BOUNDS;
  first.confidence = 93;
  first.argument = 2;
  first.offset = 4096;
  first.allocation = 0x7f0000000000;
  first.allocation_bytes = 4096;
  first.ticket = 41;
  snprintf(first.argument_name, sizeof(first.argument_name), "b");
  snprintf(first.label, sizeof(first.label), "weights");
  snprintf(
      first.text, sizeof(first.text),
      "one element past the end of argument 2 'b' (buffer 'weights', 4096 bytes, offset 4096)");
  second.kind = RAWHAL_CAUSE_FREED;
  second.confidence = 5;
  second.argument = RAWHAL_NO_ARGUMENT;
  second.freed_ns = 120000;
  snprintf(second.text, sizeof(second.text), "memory of kernel 'a\\x1b' that was freed");
  return fault;
}

TEST(Report, ALineSaysWhatWhereAndWhy)
{
  EXPECT_EQ("memory access fault in kernel 'vector_add' of ticket 41, dispatch 'layer 3', queue "
            "'decode': write of 4 bytes at "
            "0x7f0000001000 by lane 0 of wave 3 of work-group 7,0,0; likely cause (93 %): one "
            "element past the end of argument 2 'b' (buffer 'weights', 4096 bytes, offset 4096)",
            Report(Whole(), REPORT_LINE));
}

TEST(Report, WhatIsNotKnownIsNotSaid)
{
  rawhal_fault_t fault = {};
  EXPECT_EQ("unknown fault", Report(fault, REPORT_LINE));
  EXPECT_EQ("unknown fault\n  dispatch     not known\nno cause is known\n",
            Report(fault, REPORT_TEXT));
  fault.kind = RAWHAL_FAULT_LDS;
  fault.known = RAWHAL_FAULT_KNOWS_ADDRESS;
  fault.address = 64;
  EXPECT_EQ("access beyond the work-group's LDS: access at offset 64", Report(fault, REPORT_LINE));
  fault.kind = RAWHAL_FAULT_LDS_RACE;
  EXPECT_EQ("race in LDS: access at offset 64", Report(fault, REPORT_LINE));
  fault.kind = RAWHAL_FAULT_LDS_UNWRITTEN;
  EXPECT_EQ("read of unwritten LDS: access at offset 64", Report(fault, REPORT_LINE));
  fault.kind = RAWHAL_FAULT_TRAP;
  fault.known |= RAWHAL_FAULT_KNOWS_PC;
  EXPECT_EQ("trap: wave 0 of work-group 0,0,0", Report(fault, REPORT_LINE));
}

TEST(Report, TextSaysAll)
{
  EXPECT_EQ("memory access fault in kernel 'vector_add'\n"
            "  dispatch     ticket 41, number 1 in it, packet 40 of queue 3\n"
            "  labels       dispatch 'layer 3', queue 'decode'\n"
            "  runtime      status 0x2b\n"
            "  access       write of 4 bytes at 0x7f0000001000\n"
            "  work-item    lane 0 of wave 3 of work-group 7,0,0; lanes 0xff, 8 in all\n"
            "  instruction  pc 0x7f0000003040 (entry+64): 0xdc708000 0x007f0200, 0x1c40 in the "
            "code object\n"
            "  device       memory access fault at pc ...\n"
            "causes\n"
            "  1.  93 %  out of bounds: one element past the end of argument 2 'b' (buffer "
            "'weights', 4096 bytes, offset 4096)\n"
            "  2.   5 %  freed memory: memory of kernel 'a\\x1b' that was freed\n",
            Report(Whole(), REPORT_TEXT));
}

TEST(Report, TextSaysNothingOfWhatNobodyTold)
{
  const auto dispatch = [](const rawhal_fault_t &fault) {
    const std::string text = Report(fault, REPORT_TEXT), before = "\n  dispatch     ";
    const size_t at = text.find(before) + before.size();
    return text.substr(at, text.find('\n', at) - at);
  };
  rawhal_fault_t fault = Whole();
  fault.ticket = 0;
  EXPECT_EQ("packet 40 of queue 3", dispatch(fault));
  fault.known &= ~static_cast<uint32_t>(RAWHAL_FAULT_KNOWS_DISPATCH);
  EXPECT_EQ("not known; queue 3", dispatch(fault));
  fault.queue_id = 0;
  EXPECT_EQ("not known", dispatch(fault));
}

const json_t *Schema()
{
  static const Json schema(json_load_file(RAWHAL_SOURCE_DIR "/docs/fault.schema.json", 0, nullptr));
  return schema.get();
}

std::string Violations(const std::string &text)
{
  const Json document(json_loads(text.c_str(), 0, nullptr));
  return Schema() && document ? Violation(Schema(), document.get()) : "no JSON: " + text;
}

TEST(Report, JsonIsWhatItsSchemaDescribes)
{
  rawhal_fault_t fault = Whole();
  EXPECT_EQ("", Violations(Report(fault, REPORT_JSON)));
  EXPECT_EQ("", Violations(Report({}, REPORT_JSON)));
  for (uint32_t known = 0; known < 64; ++known) {
    fault.kind = static_cast<rawhal_fault_kind_t>(known % (RAWHAL_FAULT_MOMENT + 2));
    fault.known = known;
    fault.access = static_cast<rawhal_fault_access_t>(known % 5);
    ASSERT_EQ("", Violations(Report(fault, REPORT_JSON))) << known;
  }
}

TEST(Report, JsonHasWhatIsKnown)
{
  Json document(json_loads(Report(Whole(), REPORT_JSON).c_str(), 0, nullptr));
  ASSERT_TRUE(document);
  const json_t *of = document.get(), *cause = json_array_get(json_object_get(of, "causes"), 1);
  const auto text = [](const json_t *object, const char *key) {
    const char *value = json_string_value(json_object_get(object, key));
    return std::string(value ? value : "(null)");
  };
  EXPECT_EQ("memory access fault", text(of, "kind"));
  EXPECT_EQ("vector_add", text(of, "kernel"));
  EXPECT_EQ("0x7f0000001000", text(of, "address"));
  EXPECT_EQ("write", text(of, "access"));
  EXPECT_EQ(41, json_integer_value(json_object_get(of, "ticket")));
  EXPECT_EQ(7, json_integer_value(json_array_get(json_object_get(of, "workgroup"), 0)));
  EXPECT_EQ("0x007f0200",
            std::string(json_string_value(json_array_get(json_object_get(of, "instruction"), 1))));
  EXPECT_EQ("memory of kernel 'a\\x1b' that was freed", text(cause, "text"));
  EXPECT_EQ(120000, json_integer_value(json_object_get(cause, "freed_ns")));
  EXPECT_TRUE(json_is_null(json_object_get(cause, "argument")));
  EXPECT_TRUE(json_is_null(json_object_get(cause, "allocation")));
}

TEST(Report, IsCutToTheBytesThatThereAre)
{
  const rawhal_fault_t fault = Whole();
  for (report_form_t form : {REPORT_LINE, REPORT_TEXT, REPORT_JSON}) {
    const std::string whole = Report(fault, form);
    EXPECT_EQ(whole.size(), report_into(&fault, form, nullptr, 0));
    for (size_t size : {size_t(0), size_t(1), size_t(2), whole.size(), whole.size() + 1}) {
      std::string text(whole.size() + 2, '#');
      EXPECT_EQ(whole.size(), report_into(&fault, form, &text[0], size));
      const size_t kept = size ? std::min(size - 1, whole.size()) : 0;
      EXPECT_EQ(whole.substr(0, kept), text.substr(0, kept));
      if (size) {
        EXPECT_EQ('\0', text[kept]);
      }
      EXPECT_EQ('#', text[std::max(size, size_t(1))]) << size;
    }
  }
}

TEST(Report, BytesFromAFileAreShownAndDoNoHarm)
{
  std::mt19937_64 random(7);
  rawhal_fault_t fault;
  for (int round = 0; round < 40; ++round) {
    unsigned char *bytes = reinterpret_cast<unsigned char *>(&fault);
    for (size_t i = 0; i < sizeof(fault); ++i)
      bytes[i] = static_cast<unsigned char>(random() | 1); // no field ends
    const std::string text = Report(fault, REPORT_TEXT) + Report(fault, REPORT_LINE);
    for (unsigned char c : text)
      ASSERT_TRUE(c == '\n' || (c >= 0x20 && c != 0x7f));
    std::istringstream all(Report(fault, REPORT_TEXT));
    std::string line;
    for (int number = 0; std::getline(all, line); ++number) {
      bool is_ours = !number;
      for (const char *begin :
           {"  dispatch", "  labels", "  runtime", "  access", "  work-item", "  instruction",
            "  device", "causes", "  1. ", "  2. ", "  3. ", "  4. ", "  5. ", "  6. "})
        is_ours |= line.rfind(begin, 0) == 0;
      EXPECT_TRUE(is_ours) << line;
    }
    const Json document(
        json_loads(Report(fault, REPORT_JSON).c_str(), JSON_DECODE_INT_AS_REAL, nullptr));
    ASSERT_TRUE(document);
  }
}

} // namespace
