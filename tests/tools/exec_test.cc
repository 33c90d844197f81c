// The command line of `rawhal exec`; tests/front has what it does to programs.
#include "tests/tools/command.h"

TEST(Exec, WhatIsOfARecordingWantsOne)
{
  Scratch scratch;
  const std::string file = scratch / "recording";
  for (const std::vector<std::string> &option :
       {std::vector<std::string>{"--record-bytes", "1M"}, {"--record-buffers"}}) {
    std::vector<std::string> words = {tool, "exec"};
    words.insert(words.end(), option.begin(), option.end());
    const auto with = [&words](std::vector<std::string> more) {
      more.insert(more.begin(), words.begin(), words.end());
      return more;
    };
    expect_refusal(run(with({"--", "/bin/true"})), 2, option[0] + " requires --record FILE");
    EXPECT_EQ(0, run(with({"--record", file, "--", "/bin/true"})).status); // in whichever order
    EXPECT_EQ(0, run(with({"--", "/bin/true"}), {"RAWHAL_RECORD=" + file}).status);
    expect_refusal(run(with({"--", "/bin/true"}), {"RAWHAL_RECORD="}), 2, option[0]);
  }
}

// What a rule of probes may be.
TEST(Exec, ProbesAreReadBeforeItStarts)
{
  Scratch scratch;
  const struct {
    const char *rule, *said;
  } wrong[] = {
      {"", "-o FILE requires --probe"},
      {"waves+", "got ''"},
      {"wave", "got 'wave'"},
      {"kernel=a", "got 'kernel=a'"},
      {"waves,kernel=", "got 'kernel='"},
      {"waves,kernels=a", "got 'kernels=a'"},
      {"waves,object=xyz", "'xyz' is not the beginning of a code object's hash"},
      {"waves,queue=-1", "'-1'"},
      {"waves,grid=4", "got 'grid=4'"},
      {"waves,sample=2", "expected sample=1/N, got '2'"},
      {"waves,sample=1/0", "sample=1/0"},
      {"waves,first=x", "'x'"},
      {"waves,skip=-1", "'-1'"},
      {"waves,after=2", "a duration such as"},
      {"waves,until=soon", "a duration such as"},
      {"waves,client=", "got 'client='"},
      {"waves,buffer=1", "a buffer of '1' bytes"},
      {"waves,buffer=5G", "a buffer of '5G' bytes"},
      {"waves,buffer=1T", "a buffer of '1T' bytes"},
      {"waves,by=magic", "got 'magic'"},
      {"waves,wait=1", "got 'wait=1'"},
      {"waves,value=v1@0", "values requires value=REGISTER@OFFSET"},
      {"values", "values requires value=REGISTER@OFFSET"},
      {"values,value=w1@0", "got 'w1@0'"},
      {"values,value=v512@0", "got 'v512@0'"},
      {"values,value=v1", "got 'v1'"},
      {"values,value=v1@-4", "got 'v1@-4'"},
      {"waves\nblocks", "has several lines"},
      {"waves,verified=", "got 'verified='"},
      {"waves,by=softgpu,verified=/", "by=softgpu makes none"},
  };
  for (const auto &each : wrong) {
    const Outcome got =
        run({tool, "exec", "--probe", each.rule, "-o", scratch / "out", "--", "/bin/true"});
    EXPECT_EQ(2, got.status) << each.rule;
    EXPECT_TRUE(contains(got.err, each.said)) << each.rule << "\n" << got.err;
  }
  for (const char *right :
       {"waves", "waves+blocks+edges+exec+memory+barriers", "values,value=v0@0,value=s101@0x10",
        "blocks,kernel=*,object=0123abcd,queue=7,grid>=64,grid<=1024,sample=1/10,first=3,"
        "skip=2,after=500ms,until=2s,client=*,buffer=4096,by=softgpu,wait",
        "waves,verified=/,by=code"})
    EXPECT_EQ(0, run({tool, "exec", "--probe", right, "--probe", "waves", "-o", scratch / "out",
                      "--", "/bin/true"})
                     .status)
        << right;
  EXPECT_NE(0, access((scratch / "out").c_str(), F_OK));
}

// However soon the program ends, and in the words of rawhal probe plan.
TEST(Exec, SaysWhyAChipHasNoProbes)
{
  Scratch scratch;
  const std::string file = fixtures + "vector_add-gfx1030-v5.co",
                    why = "it is for gfx1030; probes are for gfx90a, gfx942 and gfx950";
  EXPECT_TRUE(contains(run({tool, "probe", "plan", file}).out, why));
  for (const char *probes : {"waves", "blocks,by=softgpu"}) {
    const Outcome got = run(
        {tool,      "exec", "--probe",      probes,         "-o",           scratch / probes, "--",
         tool,      "run",  file,           "--kernel",     "vector_add",   "--grid",         "1",
         "--block", "64",   "ptr:zero:256", "ptr:zero:256", "ptr:zero:256", "u32:64"},
        {"RAWHAL_DEVICE=softgpu", "SOFTGPU_CHIP=gfx1030"});
    EXPECT_EQ(0, got.status) << got.err;
    EXPECT_TRUE(contains(got.err, "probe: vector_add is not probed: " + why)) << got.err;
    EXPECT_TRUE(contains(got.err, "1 not (1 of kernels that cannot be probed)")) << got.err;
  }
}

// What would leave the program without a device is one line, and it does not run.
TEST(Exec, LooksBeforeItStarts)
{
  Scratch scratch;
  const std::string file = scratch / "file", ran = scratch / "ran",
                    vector_add = fixtures + "vector_add-gfx90a-v5.co", folder = scratch / ".";
  spit(file, std::string("x"));
  const struct {
    std::vector<std::string> options, environment;
    std::string said;
    int status = 2;
  } cases[] = {
      {{"--trace", scratch / "no/trace"}, {}, "the trace '" + (scratch / "no/trace"), 3},
      {{"--trace", file}, {}, "already exists"},
      {{"--record", scratch / "no/recording"}, {}, "the recording '", 3},
      {{"--policy", file}, {}, "RAWHAL_POLICY, '" + file},
      {{"--policy", scratch / "none"}, {}, "No such file", 3},
      {{"--substitute", "a=" + (scratch / "none")}, {}, "RAWHAL_SUBSTITUTE: ", 3},
      {{"--region", file}, {}, "has 1 bytes, a region of this version has", 3},
      {{"--region", scratch / "no/region"}, {}, "opening the region", 3},
      {{"--substitute-cache", scratch / "no/cache", "--substitute", "a=" + vector_add},
       {},
       "RAWHAL_SUBSTITUTE_CACHE: ",
       3},
      {{"--probe", "waves"}, {}, "--probe requires -o FILE"},
      {{"-o", scratch / "probed"}, {}, "-o FILE requires --probe"},
      {{"--probe", "waves", "-o", file}, {}, "already exists"},
      {{"--probe", "waves", "-o", folder}, {}, "already exists"},
      {{"--record", folder}, {}, "already exists"},
      {{"--trace", folder}, {}, "already exists"},
      {{}, {"RAWHAL_PROBE=waves", "RAWHAL_PROBE_FILE=" + folder}, "Is a directory", 3},
      {{}, {"RAWHAL_RECORD=" + folder}, "Is a directory", 3},
      {{}, {"RAWHAL_TRACE=" + folder}, "Is a directory", 3},
      {{"--probe", "waves", "-o", "/dev/null"}, {}, "/dev/null': Operation not supported", 3},
      {{"--record", "/dev/null"}, {}, "/dev/null': Operation not supported", 3},
      {{"--probe-bytes", "1G"}, {}, "--probe-bytes requires --probe or --probe-engine"},
      {{"--probe", "waves", "-o", scratch / "no/probed"}, {}, "the file of probes '", 3},
      {{"--probe", "waves", "-o", scratch / "probed", "--probe-bytes", "much"}, {}, "'much'"},
      {{}, {"RAWHAL_PROBE=waves"}, "--probe requires -o FILE"},
      {{"--probe-engine", "/bin/true"}, {}, "--probe-engine requires --probe-folder FOLDER"},
      {{"--probe-folder", scratch / "w"}, {}, "--probe-folder FOLDER requires --probe-engine"},
      {{"--probe-callback", "/bin/true"}, {}, "RAWHAL_PROBE_ENGINE must be set, too"},
      {{"--probe-engine", scratch / "none", "--probe-folder", scratch / "w"},
       {},
       "RAWHAL_PROBE_ENGINE: cannot open " + (scratch / "none"),
       3},
      {{"--probe-engine", file, "--probe-folder", scratch / "w"}, {}, "Permission denied"},
      {{"--probe-engine", "/bin/true", "--probe-folder", scratch / "no/w"},
       {},
       "the folder of engines '" + (scratch / "no/w"),
       3},
      {{"--probe-engine", "/bin/true", "--probe-folder", file}, {}, "Not a directory", 3},
      {{"--probe-engine", "/bin/true", "--probe-folder", scratch / "w", "--probe-callback", file},
       {},
       "the callback '" + file,
       3},
      {{"--probe-engine", ",wait", "--probe-folder", scratch / "w"}, {}, "got ',wait'"},
      {{"--probe-engine", "/bin/true,by=code", "--probe-folder", scratch / "w"},
       {},
       "limit=TIME or wait, got 'by=code'"},
      {{"--probe-engine", "/bin/true,limit=2h", "--probe-folder", scratch / "w"}, {}, "'2h'"},
      {{"--probe-engine", "/bin/true,limit=3601s", "--probe-folder", scratch / "w"},
       {},
       "a limit of '3601s'; the most is 3600s"},
      {{"--probe", "waves,limit=1s", "-o", scratch / "probed"}, {}, "got 'limit=1s'"},
      {{"--region", file},
       {"RAWHAL_LIMIT_REGION=/other"},
       "conflicts with RAWHAL_LIMIT_REGION='/other'"},
      {{"--tenant", "a"}, {"RAWHAL_TENANT=b"}, "'a' conflicts with RAWHAL_TENANT='b'"},
      {{"--guard", "end"}, {}, "--guard: expected off, warn, report or refuse, got 'end'"},
      {{"--faults", "loud"}, {}, "--faults: expected off, text or json, got 'loud'"},
      {{"--watchdog", "10"}, {}, "RAWHAL_WATCHDOG: expected off, or a duration such as 10s"},
      {{"--door", "ajar"}, {}, "RAWHAL_DOOR: expected off, events, answers or poke, got 'ajar'"},
      {{"--check=loud"}, {}, "--check: expected off, warn, report or refuse, got 'loud'"},
      {{}, {"RAWHAL_GPU_SHAR=30%"}, "the nearest is RAWHAL_GPU_SHARE"},
      {{}, {"RAWHAL_GPU_SHARE_1=30"}, "RAWHAL_GPU_SHARE_1: "},
      {{}, {"RAWHAL_CHECK=loud"}, "RAWHAL_CHECK: expected off, warn, report or refuse, got 'loud'"},
      {{}, {"RAWHAL_FAULTS=loud"}, "RAWHAL_FAULTS: expected off, text or json, got 'loud'"},
      {{}, {"RAWHAL_CU_MASK=1"}, "RAWHAL_CU_MASK: ", 3},
      {{}, {"RAWHAL_RECORD_BUFFERS=1"}, "RAWHAL_RECORD must be set"},
      {{}, {"RAWHAL_DEVICE=abacus"}, "RAWHAL_DEVICE: expected softgpu or hsa, got 'abacus'"},
  };
  for (const auto &each : cases) {
    std::vector<std::string> words = {tool, "exec"};
    words.insert(words.end(), each.options.begin(), each.options.end());
    words.insert(words.end(), {"--", "/bin/sh", "-c", "> " + ran});
    const Outcome got = run(words, each.environment);
    EXPECT_EQ(each.status, got.status) << each.said << got.err;
    EXPECT_TRUE(contains(got.err, each.said)) << each.said << "\n" << got.err;
    EXPECT_NE(0, access(ran.c_str(), F_OK)) << each.said;
  }
  for (const char *mode : {"off", "warn", "report", "refuse"})
    EXPECT_EQ(0, run({tool, "exec", std::string("--check=") + mode, "--guard", mode, "--",
                      "/bin/sh", "-c", std::string("test $RAWHAL_CHECK = ") + mode})
                     .status)
        << mode;
  const std::vector<std::string> is = {"--", "/bin/sh", "-c", "test \"$RAWHAL_FAULTS\" = $0"};
  const auto gets = [&](const char *form, std::vector<std::string> words,
                        const std::vector<std::string> &environment = {}) {
    words.insert(words.begin(), {tool, "exec"});
    words.insert(words.end(), is.begin(), is.end());
    words.push_back(form);
    return run(words, environment).status == 0;
  };
  EXPECT_TRUE(gets("text", {}));
  EXPECT_TRUE(gets("off", {}, {"RAWHAL_FAULTS=off"}));
  EXPECT_TRUE(gets("json", {"--faults", "json"}, {"RAWHAL_FAULTS=off"}));
  EXPECT_EQ(1u, lines(run({tool, "exec", "--policy", file, "--", "/bin/true"}).err));
  EXPECT_EQ("x", slurp(file));
}

TEST(Exec, WhatIsTriedLeavesNothingBehind)
{
  Scratch scratch;
  for (const char *option : {"--trace", "--record"})
    EXPECT_EQ(0, run({tool, "exec", option, scratch / "out", "--", "/bin/true"}).status);
  EXPECT_NE(0, access((scratch / "out").c_str(), F_OK));
  EXPECT_EQ(0, run({tool, "exec", "--trace", "/dev/null", "--", "/bin/true"}).status);
}

// Without a GPU that is softgpu, as for run and devices.
TEST(Exec, ChoosesTheDevice)
{
  const std::string show = "echo $LD_LIBRARY_PATH; echo $HSA_ENABLE_DTIF";
  const auto on = [&](const std::vector<std::string> &environment) {
    return run({tool, "exec", "--", "/bin/sh", "-c", show}, environment);
  };
  EXPECT_TRUE(contains(on({"RAWHAL_DEVICE=softgpu"}).out, "softgpu")) << "by softgpu-run";
  if (access("/dev/kfd", F_OK) != 0) {
    EXPECT_EQ(on({"RAWHAL_DEVICE=softgpu"}).out, on({"RAWHAL_DEVICE="}).out);
    expect_refusal(on({"RAWHAL_DEVICE=hsa"}), 126, "there is no /dev/kfd");
  }
}

TEST(Exec, EndsAsTheProgramDoes)
{
  EXPECT_EQ(7, run({tool, "exec", "--", "/bin/sh", "-c", "exit 7"}).status);
  EXPECT_EQ(127, run({tool, "exec", "--", "/nonexistent/program"}).status);
  EXPECT_EQ(7, run({tool, "exec", "--gpu-share", "9%", "--", "/bin/sh", "-c", "exit 7"}).status);
  EXPECT_EQ(127, run({tool, "exec", "--gpu-share", "9%", "--", "/nonexistent/program"}).status);
  EXPECT_EQ(126, run({tool, "exec", "--gpu-share", "9%", "--", "/etc/passwd"}).status);
  expect_refusal(run({tool, "exec"}), 2, "expected PROGRAM");
}
