// rawhal inspect --disassemble: what is run, with what, and what comes of its output.
#include "tests/hsaco/builder.h"
#include "tests/tools/command.h"

#include <sys/stat.h>

namespace {

const std::string v5 = fixtures + "vector_add-gfx90a-v5.co";
const std::string layouts = fixtures + "layouts-gfx90a-v5.co";

class Disassemble : public testing::Test {
protected:
  // A program in the place of llvm-objdump.
  std::string program(const std::string &lines, const std::string &name = "objdump")
  {
    spit(scratch / name, "#!/bin/sh\n" + lines);
    chmod((scratch / name).c_str(), 0700);
    return scratch / name;
  }

  Outcome with(const std::string &lines, const std::vector<std::string> &words)
  {
    std::vector<std::string> command = {tool, "inspect", "--disassemble"};
    command.insert(command.end(), words.begin(), words.end());
    return run(command, {"RAWHAL_OBJDUMP=" + program(lines)});
  }

  Scratch scratch;
};

} // namespace

TEST_F(Disassemble, GetsTheBytesOfEachObject)
{
  Outcome got =
      with("cat \"$2\" >" + scratch.root + "/copy; echo \"$1 $#\"; wc -c <\"$2\"; cat", {v5});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_EQ(slurp(v5), slurp(scratch / "copy"));
  EXPECT_EQ("object 0: gfx90a\n-d 2\n" + std::to_string(slurp(v5).size()) + "\n",
            got.out); // and no input
  got = with("echo run", {fixtures + "vector_add.bundle"});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_TRUE(contains(got.out, "object 0: gfx90a\nrun\n\nobject 1: ")) << got.out;
  got = with("echo run", {fixtures + "vector_add.bundle", "--target", "gfx942"});
  EXPECT_EQ("\nobject 1: gfx942\nrun\n", got.out);
}

// A kernel is asked for by where it is: its name may be anything.
TEST_F(Disassemble, OfKernelsByAddress)
{
  Json json = parse(run({tool, "inspect", "--json", layouts}).out);
  json_t *object = json_array_get(json_object_get(json.get(), "objects"), 0);
  json_t *kernels = json_object_get(object, "kernels"),
         *symbols = json_object_get(object, "symbols");
  std::string wanted = "object 0: gfx90a\n";
  size_t count = 0;
  for (size_t i = 0; i < json_array_size(kernels); ++i) {
    json_t *kernel = json_array_get(kernels, i);
    if (!contains(text_of(kernel, "name"), "hidden"))
      continue;
    long long entry = number_of(json_object_get(kernel, "descriptor"), "entry"), end = 0;
    for (size_t k = 0; k < json_array_size(symbols); ++k)
      if (text_of(json_array_get(symbols, k), "name") == text_of(kernel, "name"))
        end = entry + number_of(json_array_get(symbols, k), "size");
    char line[128];
    snprintf(line, sizeof(line), "--start-address=0x%llx --stop-address=0x%llx\n", entry, end);
    wanted += "\nkernel " + text_of(kernel, "name") + "\n" + line;
    ++count;
  }
  ASSERT_GE(count, 2u);
  Outcome got = with("shift 2; echo \"$@\"", {layouts, "--kernel", "hidden"});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_EQ(wanted, got.out);
  expect_refusal(with("echo never", {layouts, "--kernel", "nobody"}), 3,
                 "no kernel's name contains 'nobody'");
}

TEST_F(Disassemble, NoNameIsAWordOfAShell)
{
  const std::string name =
      "$(touch " + scratch.root + "/shell);`touch " + scratch.root + "/shell`,--help";
  build::Object object;
  object.kernels = {build::plain_kernel(name)};
  spit(scratch / name.substr(0, 7), object.build());
  Outcome got = with("echo \"$#\"", {scratch / name.substr(0, 7), "--kernel", name});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_TRUE(contains(got.out, "kernel " + name + "\n")) << got.out;
  EXPECT_EQ("", slurp(scratch / "shell"));
  EXPECT_NE(0, access((scratch / "shell").c_str(), F_OK));
}

TEST_F(Disassemble, WhatItPrintsIsEscaped)
{
  Outcome got = with("printf 'a\\tb \\033[2J \\342\\200\\256\\377\\n\\r\\n'; printf 'no end'; "
                     "printf 'w\\033\\n' >&2",
                     {v5});
  EXPECT_EQ(0, got.status);
  EXPECT_EQ("object 0: gfx90a\na\tb \\x1b[2J \\u{202e}\\xff\n\\x0d\nno end", got.out);
  EXPECT_EQ("w\\x1b\n", got.err);
}

// More than a pipe holds, on both streams at once, in lines that no buffer holds.
TEST_F(Disassemble, AnyAmountGoesThrough)
{
  Outcome got = with(
      "i=0; while [ $i -lt 3 ]; do head -c 300000 /dev/zero | tr '\\0' x; head -c 300000 /dev/zero "
      "| "
      "tr '\\0' y >&2; i=$((i+1)); done; head -c 200001 /dev/zero | sed 's/./\\xe2\\x82\\xac/g'",
      {v5});
  EXPECT_EQ(0, got.status);
  std::string euros;
  for (int i = 0; i < 200001; ++i)
    euros += "\xe2\x82\xac";
  EXPECT_EQ("object 0: gfx90a\n" + std::string(900000, 'x') + euros, got.out);
  EXPECT_EQ(std::string(900000, 'y'), got.err);
}

TEST_F(Disassemble, ItsStatusIsReported)
{
  expect_refusal(with("exit 3", {v5}), 3, "objdump ended with status 3");
  expect_refusal(with("kill -SEGV $$", {v5}), 3, "objdump was killed by signal 11");
  spit(scratch / "noexec", "no program");
  chmod((scratch / "noexec").c_str(), 0700);
  expect_refusal(
      run({tool, "inspect", "--disassemble", v5}, {"RAWHAL_OBJDUMP=" + scratch / "noexec"}), 3,
      "cannot run '" + scratch.root + "/noexec': Exec format error");
}

TEST_F(Disassemble, WhereSignalsOfChildrenAreIgnored)
{
  const Outcome got =
      run({"/usr/bin/env", "--ignore-signal=CHLD", tool, "inspect", "--disassemble", v5},
          {"RAWHAL_OBJDUMP=" + program("echo run")});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_EQ("object 0: gfx90a\nrun\n", got.out);
}

TEST_F(Disassemble, TheNewestIsTaken)
{
  program("echo old", "llvm-objdump-15");
  program("echo new", "llvm-objdump-19");
  program("echo plain", "llvm-objdump");
  program("echo asked", "mine");
  const std::string path = "PATH=/nonexistent::" + scratch.root;
  auto third = [](const Outcome &got) { return got.out.substr(got.out.find('\n') + 1) + got.err; };
  EXPECT_EQ("new\n", third(run({tool, "inspect", "--disassemble", v5}, {path})));
  EXPECT_EQ("asked\n",
            third(run({tool, "inspect", "--disassemble", v5}, {path, "RAWHAL_OBJDUMP=mine"})));
  unlink((scratch / "llvm-objdump-15").c_str());
  unlink((scratch / "llvm-objdump-19").c_str());
  EXPECT_EQ("plain\n", third(run({tool, "inspect", "--disassemble", v5}, {path})));
  unlink((scratch / "llvm-objdump").c_str());
  expect_refusal(run({tool, "inspect", "--disassemble", v5}, {path}), 3,
                 "install it (Debian's package llvm-19)");
  expect_refusal(run({tool, "inspect", "--disassemble", v5}, {path, "RAWHAL_OBJDUMP=none"}), 3,
                 "RAWHAL_OBJDUMP: program 'none' not found");
}

TEST_F(Disassemble, IsLookedForAsShellsDo)
{
  program("echo here", "llvm-objdump");
  Scratch other;
  ASSERT_EQ(0, mkdir((other / "llvm-objdump-19").c_str(), 0700)); // a folder is no program,
  spit(other / "llvm-objdump-18", "#!/bin/sh\n");                 // nor is what may not be run
  chmod((other / "llvm-objdump-18").c_str(), 0600);
  const std::string endless(8000, 'x'), rest = other.root + ":/" + endless;
  auto with_path = [&](const std::string &path) {
    return run({"/bin/sh", "-c",
                "cd " + scratch.root + " && PATH='" + path + "' && export PATH && exec " + tool +
                    " inspect --disassemble " + v5});
  };
  for (const std::string &path : {scratch.root, std::string("."), std::string(), ":" + rest,
                                  rest + ":", other.root + "::/" + endless}) {
    const Outcome got = with_path(path);
    EXPECT_EQ("object 0: gfx90a\nhere\n", got.out) << path << ": " << got.err;
  }
  expect_refusal(with_path(rest), 3, "there is no llvm-objdump");
  expect_refusal(run({tool, "inspect", "--disassemble", v5},
                     {"RAWHAL_OBJDUMP=" + (other / "llvm-objdump-19")}),
                 3, "RAWHAL_OBJDUMP: program '");
}

// What is refused is not given to a reader that trusts it.
TEST_F(Disassemble, NotWhatIsRefused)
{
  spit(scratch / "cut.co", slurp(v5).substr(0, 3000));
  Outcome got = with("touch " + scratch.root + "/run", {scratch / "cut.co"});
  expect_refusal(got, 3, "MALFORMED");
  EXPECT_NE(0, access((scratch / "run").c_str(), F_OK));
  expect_refusal(with("", {v5, "--json"}), 2, "cannot be combined");
  expect_refusal(with("", {v5, "--html"}), 2, "cannot be combined");
  expect_refusal(with("", {v5, v5}), 2, "take one FILE");
  got = run({"/bin/sh", "-c",
             "RAWHAL_OBJDUMP='" + program("yes") + "' " + tool + " inspect --disassemble " + v5 +
                 " >/dev/full"});
  EXPECT_EQ(3, got.status);
  EXPECT_TRUE(contains(got.err, "standard output: ")) << got.err;
}

TEST_F(Disassemble, WithLlvm)
{
  if (run({"/bin/sh", "-c", "command -v llvm-objdump-19 || command -v llvm-objdump"}).status)
    GTEST_SKIP() << "llvm-objdump is not installed";
  Outcome got = run({tool, "inspect", "--disassemble", v5, "--kernel", "vector_add"});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_TRUE(contains(got.out, "<vector_add>:\n")) << got.out;
  EXPECT_TRUE(contains(got.out, "\ts_endpgm")) << got.out;
}
