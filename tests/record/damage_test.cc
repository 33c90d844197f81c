// Recordings that are cut, damaged, or made by somebody else: what is taken of them is exactly what was written.
#include <fcntl.h>

#include "tests/record/reading.h"

namespace {

class Damage : public testing::Test {
protected:
  // Some filesystems wait for the disk where a file is emptied first, and there are thousands here.
  void write_over(const std::string &bytes)
  {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_LE(0, file);
    EXPECT_EQ(static_cast<ssize_t>(bytes.size()), pwrite(file, bytes.data(), bytes.size(), 0));
    EXPECT_EQ(0, ftruncate(file, static_cast<off_t>(bytes.size())));
    close(file);
  }

  rawhal_status_t open(const std::string &bytes)
  {
    write_over(bytes);
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
    // another version that is known is only told by the header's check
    const char version = bytes[offsetof(format_header_t, version)];
    const bool known = byte == 12 && version >= 1 && version <= FORMAT_VERSION;
    ASSERT_LE(error.offset, known ? 16 : byte);
    uint64_t piece = byte < 8 ? byte : byte < 12 ? 8 : byte < 16 && !known ? 12 : 16;
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
  for (char version : {0, FORMAT_VERSION + 1}) {
    other[12] = version;
    EXPECT_EQ(RAWHAL_UNSUPPORTED, open(other));
    EXPECT_EQ(uint64_t{12}, error.offset);
  }
  rawhal_status_t status;
  EXPECT_FALSE(open_reader("/nonexistent", &status, &error));
  EXPECT_EQ(RAWHAL_NOT_FOUND, status);
  EXPECT_FALSE(open_reader("/dev/zero", &status, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, status);
}

// What the first version wrote is read; what it did not know is damage there.
TEST_F(Damage, TheFirstVersion)
{
  ASSERT_EQ(RAWHAL_OK, open(forge::whole_of_version_1().bytes)) << error.message;
  EXPECT_EQ(1u, record_reader_info(reader.get())->version);
  const record_buffers_t after = record_reader_buffers(reader.get(), 1, RECORD_AFTER);
  ASSERT_TRUE(after.all && after.count == 1);
  std::string content;
  EXPECT_OK(
      record_reader_content(reader.get(), &after.buffers[0].content, append_to, &content, &error));
  EXPECT_EQ("afterwards", content);
  record_place_t place;
  EXPECT_FALSE(record_reader_place(reader.get(), 1, &place));
  EXPECT_EQ(size_t{0}, record_reader_notes(reader.get(), 1).count);
  forge::File old = forge::File(1).object(1, 1, "code").dispatch(1, 1, "kernel", "");
  EXPECT_EQ(RAWHAL_UNSUPPORTED, open(forge::File(old).note(1, 5).bytes));
  EXPECT_EQ(RAWHAL_MALFORMED, open(old.buffer(2, 1, 0x1000, 8, 0, FORMAT_SEGMENT).bytes));
}

TEST_F(Damage, TheSecondVersion)
{
  ASSERT_EQ(RAWHAL_OK, open(forge::whole_of_version_2().bytes)) << error.message;
  const record_reader_info_t *info = record_reader_info(reader.get());
  EXPECT_EQ(2u, info->version);
  EXPECT_EQ(size_t{2}, record_reader_notes(reader.get(), 1).count +
                           record_reader_notes(reader.get(), 2).count);
  EXPECT_EQ(size_t{0}, info->probes + info->probed);
  EXPECT_EQ(RAWHAL_UNSUPPORTED,
            open(forge::most(2).probe(forge::one_probe(6), "kernel", forge::two_points()).bytes));
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
  expect_refused(File().piece(1, 0, "x"), "no such range");
  expect_refused(add(one).piece(1, 4, "x"), "no such range"); // it has all of them
  expect_refused(add(three).piece(2, 1, "x"), "no such range");
  expect_refused(add(three).piece(2, 0, "123456789"), "no such range");
  expect_refused(add(three).piece(2, 0, ""), "no such range");
  expect_refused(add(three).piece(0, 0, "x"), "no such range");
  expect_refused(
      File(two).buffer(2, 1, 0, RECORD_PIECE + 1).piece(2, 0, std::string(RECORD_PIECE + 1, 0)),
      "no such range");
  expect_refused(add(two).buffer(2, 1, 0, 8, 0, FORMAT_LEFT_OUT).piece(2, 0, "x"), "no such range");
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
  expect_refused(add(two).buffer(2, 1, 0, 8, 0, 4), "flags 0x4");
  expect_refused(add(two).captured(1, 0, 1), "of 0, 0 are incomplete");
  expect_refused(add(three).captured(1, 0, 1), "of 1, 1 are incomplete");
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
  const File four = File(three).piece(2, 0, "12345678").dispatch(2, 1, "other", "");
  auto more = [&four](uint64_t address, uint64_t size) {
    return File(four).buffer(3, 2, address, size);
  };
  EXPECT_EQ(RAWHAL_OK, open(more(0x1000, 8).again(3, 0, 2).bytes)) << error.message;
  expect_refused(more(0x1000, 8).again(3, 0, 1), "piece 1 is not of"); // of an object
  expect_refused(more(0x1000, 8).again(3, 0, 0), "piece 0 is not of");
  expect_refused(more(0x1000, 8).again(3, 0, 3), "piece 3 is not of");
  expect_refused(more(0x1000, 8).again(2, 0, 2), "is not of"); // which is whole
  expect_refused(more(0x1000, 8).again(4, 0, 2), "is not of");
  expect_refused(more(0x1000, 8).again(3, 8, 2), "is not of");
  expect_refused(more(0x1000, 8).again(3, 0, 2).again(3, 8, 2), "is not of");
  expect_refused(more(0x2000, 8).again(3, 0, 2), "is not of"); // another buffer
  expect_refused(more(0x1000, 16).again(3, 0, 2), "is not of");
  expect_refused(more(0x1000, 8).again(3, 0, 2).buffer(4, 2, 0x1000, 8, 1).again(4, 0, 3),
                 "is not of"); // of one that is again
  expect_refused(
      File(four).frame(FORMAT_OBJECT, bytes_of(format_object_t{2, 3, 0, 0, 8})).again(3, 0, 2),
      "is not of");
  const File half = File(two).buffer(2, 1, 0x1000, 8).piece(2, 0, "1234");
  expect_refused(File(half).buffer(3, 1, 0x1000, 8, 1).again(3, 0, 2).again(3, 4, 2),
                 "piece 2 is not of"); // a file would have any number of bytes of one piece
  expect_refused(File(four).piece(2, 8, "x"), "no such range");
  expect_refused(add(two).place(1, 0x1000, 0, 0), "has its code object");
  expect_refused(add(two).place(1, UINT64_MAX, 2, 0), "has its code object");
  expect_refused(add(two).place(2, 0x1000, 1, 0), "has its code object");
  expect_refused(add(two).place(1, 0x1000, 1, 0).place(1, 0x1000, 1, 0), "has its code object");
  expect_refused(add(two).note(2, 5), "a note of kind 5");
  expect_refused(add(two).note(1, 0), "a note of kind 0");
  expect_refused(add(two).note(1, 5, 1), "a note of kind 5");
  EXPECT_EQ(RAWHAL_UNSUPPORTED, open(add(two).frame(FORMAT_TYPES, "").bytes));
  EXPECT_EQ(RAWHAL_UNSUPPORTED, open(add(two).frame(0, "").bytes));
  expect_refused(add(two).frame(FORMAT_PIECE, std::string(FORMAT_MOST_PAYLOAD + 1, 0)),
                 "more than");
}

} // namespace
