// The command line of `rawhal gdb`; tests/softgpu/debug has what happens below a debugger.
#include <sys/stat.h>

#include "tests/tools/command.h"

// A debugger that shows what it is given.
static std::string showing(const Scratch &scratch)
{
  const std::string file = scratch / "gdb";
  spit(file, "#!/bin/sh\nfor word; do echo \"$word\"; done\n"
             "echo \"$SOFTGPU_DEBUG ${LD_PRELOAD##*/} $SOFTGPU_DEBUG_PRELOAD\"\n"
             "case $LD_LIBRARY_PATH in *softgpu*) echo softly;; esac\nexit 7\n");
  EXPECT_EQ(0, chmod(file.c_str(), 0755));
  return file;
}

TEST(Gdb, GetsTheProgramAndTheDriver)
{
  Scratch scratch;
  const std::string gdb = showing(scratch);
  const std::vector<std::string> softly = {"RAWHAL_DEVICE=softgpu"};
  Outcome got = run({tool, "gdb", "--gdb", gdb, "--batch", "--ex", "break x", "-x", "file", "--",
                     "/bin/true", "--ex", "two words"},
                    softly);
  EXPECT_EQ(7, got.status) << got.err;
  EXPECT_EQ("-batch\n-ex\nbreak x\n-x\nfile\n--args\n/bin/true\n--ex\ntwo words\n"
            "1 libsoftgpu-debug.so \nsoftly\n",
            got.out);
  got = run({tool, "gdb", "--abi", "12", "--gdb", gdb, "/bin/true"}, softly);
  EXPECT_TRUE(contains(got.out, "12 libsoftgpu-debug.so")) << got.out << got.err;
}

// Of those in PATH the one that is linked with ROCdbgapi, here a library and a program that are called so.
// What its own programs inherit has nothing of the driver any more.
TEST(Gdb, IsFoundByWhatItIsLinkedWith)
{
  Scratch scratch;
  const std::string library = scratch / "librocm-dbgapi.so.0", found = scratch / "rocgdb";
  spit(scratch / "library.c", "int amd_dbgapi_initialize(void) { return 7; }\n");
  spit(scratch / "gdb.c", "#include <stdio.h>\n#include <stdlib.h>\n"
                          "int amd_dbgapi_initialize(void);\n"
                          "int main(void) { puts(getenv(\"SOFTGPU_DEBUG\"));\n"
                          "  puts(getenv(\"LD_PRELOAD\") ? \"loaded\" : \"as before\");\n"
                          "  return amd_dbgapi_initialize(); }\n");
  Outcome got = run({"/usr/bin/env", RAWHAL_CC, "-shared", "-fPIC",
                     "-Wl,-soname,librocm-dbgapi.so.0", scratch / "library.c", "-o", library});
  ASSERT_EQ(0, got.status) << got.err;
  got = run({"/usr/bin/env", RAWHAL_CC, scratch / "gdb.c", library, "-Wl,-rpath," + (scratch / ""),
             "-o", found});
  ASSERT_EQ(0, got.status) << got.err;
  got = run({tool, "gdb", "/bin/true"}, {"RAWHAL_DEVICE=softgpu", "RAWHAL_GDB=",
                                         "PATH=" + (scratch / "") + ":" + getenv("PATH")});
  EXPECT_EQ(7, got.status) << got.err;
  EXPECT_EQ("1\nas before\n", got.out);
}

TEST(Gdb, RefusesWhatCannotBeDebugged)
{
  Scratch scratch;
  const std::vector<std::string> softly = {"RAWHAL_DEVICE=softgpu", "PATH=" + (scratch / "")};
  expect_refusal(run({tool, "gdb"}), 2, "expected PROGRAM, or -p PID");
  expect_refusal(run({tool, "gdb", "-p", "1", "/bin/true"}), 2, "no PROGRAM beside it");
  expect_refusal(run({tool, "gdb", "-p", "x"}), 2, "'x' is not a process");
  expect_refusal(run({tool, "gdb", "--abi", "7", "/bin/true"}), 2, "from 8 to 12, not '7'");
  expect_refusal(run({tool, "gdb", "--gdb", scratch / "none", "-p", "1"}), 3, "not found");
  expect_refusal(run({tool, "gdb", "--gdb", "/bin/true", "-p", std::to_string(getpid())}), 3,
                 "start the program with SOFTGPU_DEBUG=1");
  expect_refusal(run({tool, "gdb", "--gdb", "/bin/true", "-p", "2147483647"}), 3, "No such file");
  // Without --gdb a gdb that knows no GPUs is as none; there may be a rocgdb in /opt.
  const Outcome got = run({tool, "gdb", "-p", std::to_string(getpid())}, softly);
  EXPECT_EQ(3, got.status);
}
