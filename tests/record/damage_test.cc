// Recordings that are cut, damaged, or made by somebody else: what is taken of them is exactly what was written.
#include "tests/record/reading.h"

namespace {

class Damage : public testing::Test {
protected:
  rawhal_status_t open(const std::string &bytes)
  {
    spit(path, bytes.data(), bytes.size());
    rawhal_status_t status;
    error = {};
    reader = open_reader(path, &status, &error);
    EXPECT_EQ(status == RAWHAL_OK, reader != nullptr);
    return status;
  }

  // A file whose checks are right is refused for what its last frame says.
  void expect_refused(const forge::File &file, const std::string &words)
  {
    EXPECT_EQ(RAWHAL_MALFORMED, open(file.bytes));
    EXPECT_NE(std::string::npos, std::string(error.message).find(words)) << error.message;
    EXPECT_EQ(file.frames.back(), error.offset) << error.message;
  }

  Scratch scratch;
  std::string path = scratch / "recording";
  rawhal_error_t error;
  Reader reader;
};

TEST_F(Damage, EveryPrefixIsWhatIsWholeInIt)
{
  const forge::File file = forge::whole();
  ASSERT_EQ(RAWHAL_OK, open(file.bytes)) << error.message;
  const std::vector<std::string> all = lines_of(reader.get());
  EXPECT_EQ(RECORD_CLOSED, record_reader_info(reader.get())->end);
  std::vector<uint64_t> ends = file.frames;
  ends.push_back(file.bytes.size());
  for (size_t size = 0; size < file.bytes.size(); ++size) {
    SCOPED_TRACE(size);
    ASSERT_EQ(RAWHAL_OK, open(file.bytes.substr(0, size))) << error.message;
    const record_reader_info_t *info = record_reader_info(reader.get());
    uint64_t whole = 0;
    for (uint64_t end : ends)
      whole = end <= size ? end : whole;
    EXPECT_EQ(whole, info->bytes);
    EXPECT_EQ(size - whole, info->torn);
    EXPECT_EQ(whole == size && size ? RECORD_UNFINISHED : RECORD_TORN, info->end);
    const std::vector<std::string> lines = lines_of(reader.get());
    EXPECT_LE(lines.size(), all.size());
    if (!whole)
      continue;
    ASSERT_EQ(RAWHAL_OK, open(file.bytes.substr(0, whole)));
    EXPECT_EQ(lines, lines_of(reader.get()));
  }
}

TEST_F(Damage, EveryBitIsNoticedWhereItIs)
{
  const forge::File file = forge::whole();
  std::vector<uint64_t> starts = file.frames;
  starts.push_back(file.bytes.size());
  for (size_t bit = 0; bit < 8 * file.bytes.size(); ++bit) {
    SCOPED_TRACE(bit);
    const uint64_t byte = bit / 8;
    std::string bytes = file.bytes;
    bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << bit % 8));
    const rawhal_status_t status = open(bytes);
    ASSERT_TRUE(status == RAWHAL_MALFORMED ||
                (status == RAWHAL_UNSUPPORTED && byte < sizeof(format_header_t)))
        << rawhal_status_name(status);
    ASSERT_LE(error.offset, byte);
    uint64_t piece = byte < 8 ? byte : byte < 12 ? 8 : byte < 16 ? 12 : 16;
    for (uint64_t start : file.frames)
      if (start <= byte)
        piece = byte < start + sizeof(format_frame_t) ? start : start + sizeof(format_frame_t);
    ASSERT_EQ(piece, error.offset) << error.message;
  }
}

TEST_F(Damage, FramesThatStandElsewhere)
{
  // Whole frames of the same file are good at their own places alone.
  const forge::File file = forge::whole();
  const std::string twice = file.bytes.substr(file.frames[0], file.frames[1] - file.frames[0]);
  EXPECT_EQ(RAWHAL_MALFORMED, open(file.bytes.substr(0, file.frames[1]) + twice));
  EXPECT_EQ(file.frames[1], error.offset);
  EXPECT_EQ(RAWHAL_MALFORMED, open(file.bytes + "x")); // behind its end
  EXPECT_EQ(file.bytes.size(), error.offset);
}

TEST_F(Damage, Headers)
{
  std::string bytes = forge::whole().bytes;
  EXPECT_EQ(RAWHAL_MALFORMED, open("\x7f"
                                   "ELF and more"));
  EXPECT_EQ(uint64_t{0}, error.offset);
  EXPECT_EQ(RAWHAL_MALFORMED, open("rawhalRx"));
  EXPECT_EQ(uint64_t{7}, error.offset);
  std::string other = bytes;
  std::swap(other[8], other[11]);
  std::swap(other[9], other[10]);
  EXPECT_EQ(RAWHAL_UNSUPPORTED, open(other));
  EXPECT_EQ(uint64_t{8}, error.offset);
  other = bytes;
  other[12] = 2;
  EXPECT_EQ(RAWHAL_UNSUPPORTED, open(other));
  EXPECT_EQ(uint64_t{12}, error.offset);
  rawhal_status_t status;
  EXPECT_FALSE(open_reader("/nonexistent", &status, &error));
  EXPECT_EQ(RAWHAL_NOT_FOUND, status);
  EXPECT_FALSE(open_reader("/dev/zero", &status, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, status);
}

TEST_F(Damage, ObjectsThatAreNotWhatTheirHashNames)
{
  ASSERT_EQ(RAWHAL_OK, open(forge::whole().bytes));
  char code[17];
  EXPECT_EQ(RAWHAL_MALFORMED, record_reader_object_bytes(reader.get(), 1, code, &error));
  EXPECT_EQ(sizeof(format_header_t), error.offset);
  EXPECT_EQ(RAWHAL_NOT_FOUND, record_reader_object_bytes(reader.get(), 2, code, &error));
}

TEST_F(Damage, FilesThatChangeMeanwhile)
{
  const forge::File file = forge::whole();
  ASSERT_EQ(RAWHAL_OK, open(file.bytes));
  record_dispatch_t dispatch;
  ASSERT_EQ(0, truncate(path.c_str(), static_cast<off_t>(file.frames[2] + 30)));
  EXPECT_EQ(RAWHAL_RUNTIME, record_reader_dispatch(reader.get(), 1, &dispatch, &error));
  EXPECT_EQ(RAWHAL_NOT_FOUND, record_reader_dispatch(reader.get(), 0, &dispatch, &error));
  EXPECT_EQ(RAWHAL_NOT_FOUND, record_reader_dispatch(reader.get(), 3, &dispatch, &error));
  ASSERT_EQ(RAWHAL_OK, open(file.bytes));
  std::string bytes = file.bytes;
  bytes[file.frames[2] + 70] ^= 1;
  spit(path, bytes.data(), bytes.size());
  EXPECT_EQ(RAWHAL_MALFORMED, record_reader_dispatch(reader.get(), 1, &dispatch, &error));
}

TEST_F(Damage, FramesThatContradictOthers)
{
  using forge::bytes_of;
  using forge::File;
  const File one = File().object(1, 1, "code");
  const File two = File(one).dispatch(1, 1, "kernel", "");
  const File three = File(two).buffer(2, 1, 0x1000, 8);
  auto add = [](File file) { return file; };
  expect_refused(File().frame(FORMAT_OBJECT, bytes_of(format_object_t{2, 1, 0, 0, 4})),
                 "comes after");
  expect_refused(File().frame(FORMAT_OBJECT, bytes_of(format_object_t{1, 2, 0, 0, 4})),
                 "comes after");
  expect_refused(File().frame(FORMAT_OBJECT, bytes_of(format_object_t{1, 1, 0, 0, 0})), "0 bytes");
  expect_refused(File().frame(FORMAT_OBJECT, "short"), "has 5 bytes");
  expect_refused(add(one).frame(FORMAT_CAPTURED, std::string(17, 0)), "has 17 bytes");
  expect_refused(File().piece(1, 0, "x"), "no such place");
  expect_refused(add(one).piece(1, 4, "x"), "no such place"); // it has all of them
  expect_refused(add(three).piece(2, 1, "x"), "no such place");
  expect_refused(add(three).piece(2, 0, "123456789"), "no such place");
  expect_refused(add(three).piece(2, 0, ""), "no such place");
  expect_refused(add(three).piece(0, 0, "x"), "no such place");
  expect_refused(
      File(two).buffer(2, 1, 0, RECORD_PIECE + 1).piece(2, 0, std::string(RECORD_PIECE + 1, 0)),
      "no such place");
  expect_refused(add(two).buffer(2, 1, 0, 8, 0, FORMAT_LEFT_OUT).piece(2, 0, "x"), "no such place");
  expect_refused(File().dispatch(1, 1, "k", ""), "does not stand before");
  expect_refused(
      File().frame(FORMAT_OBJECT, bytes_of(format_object_t{1, 1, 0, 0, 4})).dispatch(1, 1, "k", ""),
      "does not stand before"); // not all of it
  expect_refused(add(one).dispatch(1, 0, "k", ""), "does not stand before");
  expect_refused(add(one).dispatch(2, 1, "k", ""), "comes after 0");
  format_dispatch_t head = {};
  head.dispatch = head.object = 1;
  head.kernel_size = 5;
  expect_refused(add(one).frame(FORMAT_DISPATCH, bytes_of(head) + "four"), "has 4");
  head.kernel_size = UINT32_MAX;
  head.device_size = 5; // the sum of both is 4 in 32 bits
  expect_refused(add(one).frame(FORMAT_DISPATCH, bytes_of(head) + "four"), "has 4");
  head.device_size = 0;
  head.kernel_size = RECORD_MOST_NAME + 1;
  expect_refused(
      add(one).frame(FORMAT_DISPATCH, bytes_of(head) + std::string(RECORD_MOST_NAME + 1, 'k')),
      "has 65537");
  head.kernel_size = 0;
  head.zero = 1;
  expect_refused(add(one).frame(FORMAT_DISPATCH, bytes_of(head)), "a dispatch");
  expect_refused(add(one).buffer(2, 1, 0, 8), "does not stand before");
  expect_refused(add(two).buffer(2, 1, 0, 8, 2), "does not stand before");
  expect_refused(add(two).buffer(2, 1, UINT64_MAX, 2), "a buffer");
  expect_refused(add(two).buffer(2, 1, 0, 8, 0, 2), "flags 0x2");
  expect_refused(add(two).captured(1, 0, 1), "of 0 0 lack");
  expect_refused(add(three).captured(1, 0, 1), "of 1 1 lack");
  expect_refused(add(two).captured(1, 0, 0).captured(1, 0, 0), "more buffers than all");
  expect_refused(add(two).captured(1, 1, 0).buffer(2, 1, 0, 8, 1), "more buffers than all");
  expect_refused(add(two).captured(1, 2, 0), "does not stand before");
  expect_refused(add(two).end(1, 2), "counts");
  expect_refused(add(two).end(0, 1), "counts");
  expect_refused(add(two).end(1, 1, 0), "counts");
  expect_refused(add(two).end(1, 1, 4), "counts");
  File behind = two;
  behind.end(1, 1).captured(1, 0, 0);
  EXPECT_EQ(RAWHAL_MALFORMED, open(behind.bytes));
  EXPECT_EQ(behind.frames.back(), error.offset);
  EXPECT_EQ(RAWHAL_UNSUPPORTED, open(add(two).frame(7, "").bytes));
  EXPECT_EQ(RAWHAL_UNSUPPORTED, open(add(two).frame(0, "").bytes));
  expect_refused(add(two).frame(FORMAT_PIECE, std::string(FORMAT_MOST_PAYLOAD + 1, 0)),
                 "more than");
}

} // namespace
