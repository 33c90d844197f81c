// `rawhal doctor`: whole machines, broken ones, and checks that hang or crash.
#include "tests/child.h"
#include "tests/tools/command.h"

#include <grp.h>
#include <sys/resource.h>
#include <sys/stat.h>

extern "C" {
#include "tools/doctor/doctor.h"
}

namespace {

const std::vector<std::string> on_softgpu = {"RAWHAL_DEVICE=softgpu"};

std::vector<std::string> with(const std::string &variable)
{
  return {"RAWHAL_DEVICE=softgpu", variable};
}

struct Row {
  std::string check, state, found, fix;
};

struct Answer {
  Outcome got;
  std::vector<Row> rows;

  // The one row that begins with these words, its check first.
  Row row(const std::string &words) const
  {
    std::vector<Row> found;
    for (const Row &row : rows)
      if ((row.check + ": " + row.found).find(words) == 0)
        found.push_back(row);
    EXPECT_EQ(1u, found.size()) << words << "\n" << got.out;
    return found.empty() ? Row() : found[0];
  }
};

Answer ask(const std::vector<std::string> &environment, std::vector<std::string> words = {})
{
  words.insert(words.begin(), {tool, "doctor", "--json"});
  Answer answer = {run(words, environment), {}};
  Json document = parse(answer.got.out);
  EXPECT_TRUE(document) << answer.got.out << answer.got.err;
  const json_t *rows = json_object_get(document.get(), "rows");
  long long problems = 0;
  for (size_t i = 0; i < json_array_size(rows); ++i) {
    const json_t *row = json_array_get(rows, i);
    answer.rows.push_back(
        {text_of(row, "check"), text_of(row, "state"), text_of(row, "found"), text_of(row, "fix")});
    problems += answer.rows.back().state == "problem";
    EXPECT_TRUE(answer.rows.back().state != "problem" || !answer.rows.back().fix.empty())
        << answer.rows.back().found;
  }
  EXPECT_EQ(problems, number_of(document.get(), "problems"));
  EXPECT_EQ(problems ? 1 : 0, answer.got.status);
  EXPECT_EQ("", answer.got.err);
  return answer;
}

// A library whose constructor does this.
std::string library_that(const Scratch &scratch, const std::string &does)
{
  spit(scratch / "bad.c", "#include <signal.h>\n#include <unistd.h>\n"
                          "__attribute__((constructor)) static void begin(void) { " +
                              does + "; }\n");
  const Outcome built = run(
      {"/usr/bin/env", RAWHAL_CC, "-shared", "-fPIC", "-o", scratch / "bad.so", scratch / "bad.c"});
  EXPECT_EQ(0, built.status) << built.err;
  return scratch / "bad.so";
}

// What a check says, as text.
template <class Check> std::string lines_of(Check check)
{
  doctor_t doctor = {};
  std::string text;
  doctor.check = "x";
  doctor.context = &text;
  doctor.take = [](void *context, const doctor_row_t *row) {
    const char *const states[] = {"ok", "note", "problem"};
    *static_cast<std::string *>(context) +=
        std::string(states[row->state]) + ": " + row->found + " | " + row->fix + "\n";
  };
  check(&doctor);
  return text;
}

} // namespace

TEST(Doctor, FindsNothingMissingHere)
{
  const Answer answer = ask(on_softgpu);
  EXPECT_EQ(0, answer.got.status) << answer.got.out;
  EXPECT_EQ("ok", answer.row("devices: device 0: gfx90a").state);
  EXPECT_TRUE(contains(answer.row("devices: device 0").found, "copies data and responds"));
  EXPECT_TRUE(contains(answer.row("devices: the runtime starts").found, "HSA 1."));
  EXPECT_TRUE(contains(answer.row("runtime: ").found, "libhsa-runtime64.so.1"));
  EXPECT_TRUE(contains(answer.row("front: ").found, "librawhal-front.so"));
  EXPECT_TRUE(contains(answer.row("softgpu: HSA and HIP").found, "softgpu/softgpu-run"));
  EXPECT_TRUE(contains(answer.row("libraries: libelf").found, "libelf"));
  EXPECT_TRUE(contains(answer.row("libraries: libzstd").found, "1."));
  EXPECT_TRUE(contains(answer.row("libraries: jansson").found, "libjansson.so.4"));
  EXPECT_TRUE(
      contains(answer.row("environment: RAWHAL_DEVICE=softgpu").found, "the kind of device"));
}

TEST(Doctor, Text)
{
  const Outcome got = run({tool, "doctor"}, on_softgpu);
  EXPECT_EQ(0, got.status) << got.out << got.err;
  EXPECT_EQ(0u, got.out.find("ok       libraries            librawhal ")) << got.out;
  EXPECT_TRUE(contains(got.out, "\nok       devices              the runtime starts"));
  EXPECT_TRUE(contains(got.out, "\nno problems; ")) << got.out;
  const Outcome bad = run({tool, "doctor"}, with("RAWHAL_FRONT_LIBRARY=/nonexistent/a\x1b[2J"));
  EXPECT_EQ(1, bad.status);
  EXPECT_TRUE(contains(bad.out, "problem  front ")) << bad.out;
  EXPECT_TRUE(contains(bad.out, "\n                              fix: install all of rawhal"))
      << bad.out;
  EXPECT_TRUE(contains(bad.out, "\n2 problems; ")) << bad.out; // the variable names no file, too
  EXPECT_FALSE(contains(bad.out, "\x1b"));
}

TEST(Doctor, IsAsItsSchemaHasIt)
{
  const Outcome got = run({tool, "doctor", "--json"}, on_softgpu);
  Json document = parse(got.out),
       schema = parse(slurp(RAWHAL_SOURCE_DIR "/docs/doctor.schema.json"));
  ASSERT_TRUE(document && schema) << got.out;
  expect_described(document.get(), schema.get());
  EXPECT_EQ("rawhal-doctor-1", text_of(document.get(), "schema"));
  const json_t *rows = json_object_get(document.get(), "rows");
  EXPECT_GE(json_array_size(rows), 13u);
  for (size_t i = 0; i < json_array_size(rows); ++i)
    expect_described(json_array_get(rows, i),
                     json_object_get(json_object_get(schema.get(), "$defs"), "row"));
}

TEST(Doctor, AsksForNothingButOptions)
{
  expect_refusal(run({tool, "doctor", "all"}), 2, "unexpected argument");
  expect_refusal(run({tool, "doctor", "--all"}), 2, "--all");
  expect_refusal(run({tool, "doctor", "--device", "abacus"}), 2, "abacus");
  expect_refusal(run({tool, "doctor", "--timeout", "0"}), 2, "'0'");
}

// ---- Checks that do not end as they should ----

TEST(Doctor, ARuntimeThatHangsIsARow)
{
  Scratch scratch;
  const std::string bad = library_that(scratch, "for (;;) pause()");
  const Answer answer = ask(with("RAWHAL_RUNTIME_LIBRARY=" + bad), {"--timeout", "1"});
  for (const char *check : {"runtime", "devices"}) {
    const Row row = answer.row(std::string(check) + ": the check did not end within 1 second");
    EXPECT_EQ("problem", row.state);
    EXPECT_TRUE(contains(row.fix, "dmesg"));
  }
  EXPECT_EQ("ok", answer.row("shared memory: ").state); // the others are there
}

TEST(Doctor, ARuntimeThatCrashesIsARow)
{
  Scratch scratch;
  const std::string bad = library_that(scratch, "(void)raise(SIGKILL)");
  const Answer answer = ask(with("RAWHAL_RUNTIME_LIBRARY=" + bad));
  for (const char *check : {"runtime", "devices"})
    EXPECT_EQ("problem",
              answer.row(std::string(check) + ": the check was ended by signal 9").state);
  const std::string leaves = library_that(scratch, "_exit(42)");
  EXPECT_EQ("problem", ask(with("RAWHAL_RUNTIME_LIBRARY=" + leaves))
                           .row("runtime: the check ended early, with status 42")
                           .state);
}

TEST(Doctor, WhereSignalsOfChildrenAreIgnored)
{
  const Outcome got = run({"/usr/bin/env", "--ignore-signal=CHLD", tool, "doctor", "--device",
                           "softgpu", "--timeout", "5"});
  EXPECT_EQ(0, got.status) << got.out;
  EXPECT_FALSE(contains(got.out, "did not end")) << got.out;
}

// ---- What is missing ----

TEST(Doctor, SaysWhatIsMissing)
{
  Scratch scratch;
  spit(scratch / "text", std::string("no library\n"));
  const std::string empty = library_that(scratch, "(void)0");
  EXPECT_TRUE(contains(ask(with("RAWHAL_RUNTIME_LIBRARY=" + (scratch / "text")))
                           .row("runtime: the HSA runtime cannot")
                           .fix,
                       "libhsa-runtime64-1"));
  EXPECT_EQ("problem", ask(with("RAWHAL_RUNTIME_LIBRARY=" + empty))
                           .row("runtime: " + empty + " is not an HSA runtime")
                           .state);
  EXPECT_EQ("problem",
            ask(with("RAWHAL_SOFTGPU_LIBRARY=/nonexistent/s.so")).row("softgpu: ").state);
  EXPECT_EQ("problem", ask(with("RAWHAL_SOFTGPU_LIBRARY=" + empty))
                           .row("softgpu: " + empty + " is not libhsakmt")
                           .state);
  EXPECT_EQ("problem", ask(with("RAWHAL_FRONT_LIBRARY=" + empty)).row("front: ").state);
  EXPECT_EQ("problem",
            ask(with("RAWHAL_OBJDUMP=/nonexistent/objdump")).row("disassembler: ").state);
  spit(scratch / "libjansson.so.4", std::string("no library\n"));
  EXPECT_EQ(
      "note",
      ask(with("LD_LIBRARY_PATH=" + scratch.root)).row("libraries: no JSON can be read").state);
  const Row none = ask(with("PATH=/nonexistent")).row("disassembler: ");
  EXPECT_EQ("note", none.state); // for one option of one command
  EXPECT_TRUE(contains(none.fix, "llvm-19"));
  EXPECT_EQ("note", ask(with("RAWHAL_OBJDUMP=/bin/false")).row("disassembler: ").state);
}

TEST(Doctor, SaysThatThereIsNoHardware)
{
  if (!access("/dev/kfd", F_OK))
    GTEST_SKIP() << "this machine has /dev/kfd";
  Answer answer = ask({}, {"--device", "hsa"});
  EXPECT_EQ("problem",
            answer.row("driver: there is no /dev/kfd, but hardware was requested").state);
  EXPECT_TRUE(contains(answer.row("driver: ").fix, "modprobe amdgpu"));
  EXPECT_EQ("problem", answer.row("devices: the runtime does not start").state);
  answer = ask({});
  EXPECT_EQ("note", answer.row("driver: ").state);
  EXPECT_EQ(0, answer.got.status) << answer.got.out;
}

TEST(Doctor, SaysThatNoDeviceIsShown)
{
  const Row row = ask(with("ROCR_VISIBLE_DEVICES=7")).row("devices: the runtime shows no device");
  EXPECT_EQ("problem", row.state);
  EXPECT_TRUE(contains(row.fix, "ROCR_VISIBLE_DEVICES"));
}

// ---- The environment ----

TEST(Doctor, Environment)
{
  const Answer good = ask({"RAWHAL_DEVICE=softgpu", "HSA_OVERRIDE_GFX_VERSION=9.0.0",
                           "HSA_NOBODY_KNOWS=1", "RAWHAL_PY_SHARE=1", "RAWHAL_GPU_SHARE=30%",
                           "RAWHAL_GPU_SHARE_0=30%", "RAWHAL_CORPUS=/x"});
  for (const char *row : {"HSA_OVERRIDE_GFX_VERSION=9.0.0: the runtime treats",
                          "HSA_NOBODY_KNOWS=1: read by the HSA runtime",
                          "RAWHAL_PY_SHARE=1: read by rawhal's Python package",
                          "RAWHAL_GPU_SHARE=30%: a limit", "RAWHAL_GPU_SHARE_0=30%: a limit"})
    EXPECT_EQ("note", good.row(std::string("environment: ") + row).state);
  for (const Row &row : good.rows)
    EXPECT_FALSE(contains(row.found, "RAWHAL_CORPUS")); // it is the tests'
  const Row bad = ask(with("RAWHAL_GPU_SHARE=much")).row("environment: RAWHAL_GPU_SHARE: ");
  EXPECT_EQ("problem", bad.state);
  EXPECT_EQ("problem", ask(with("HSA_TOOLS_LIB=libfine.so /nonexistent/t.so"))
                           .row("environment: HSA_TOOLS_LIB: cannot read /nonexistent/t.so")
                           .state);
  // No such file; a folder; one beside the program.
  for (const char *place : {"/nonexistent/p", "/tmp/", "there-is-no-such-file"})
    EXPECT_EQ("problem", ask(with(std::string("RAWHAL_POLICY=") + place))
                             .row(std::string("environment: RAWHAL_POLICY: cannot read ") + place)
                             .state);
}

TEST(Doctor, MisspeltVariables)
{
  const Row row = ask(with("RAWHAL_DEVCIE=hsa")).row("environment: RAWHAL_DEVCIE: ");
  EXPECT_EQ("problem", row.state); // no program gets a device
  EXPECT_TRUE(contains(row.found, "nearest is RAWHAL_DEVICE")) << row.found;
  EXPECT_TRUE(contains(row.fix, "unset it"));
}

TEST(Doctor, LimitsOfProcesses)
{
  const Outcome got =
      run({"/bin/sh", "-c", "ulimit -S -n 200; exec " + tool + " doctor --device softgpu"});
  EXPECT_EQ(0, got.status) << got.out;
  EXPECT_TRUE(contains(got.out, "nofile is 200 (at most ")) << got.out;
  EXPECT_TRUE(contains(got.out, "fix: ulimit -S -n 1024\n")) << got.out;
  EXPECT_FALSE(contains(run({tool, "doctor"}, on_softgpu).out, "nofile is 200 (at most "));
  const bool sanitized = *RAWHAL_SANITIZER; // which takes more addresses than any bound
  const std::string hard =
      run({"/bin/sh", "-c",
           std::string("ulimit -n 200; ") + (sanitized ? "" : "ulimit -v 4000000; ") + "exec " +
               tool + " doctor --device softgpu"})
          .out;
  EXPECT_TRUE(
      contains(hard, "rawhal.conf, and log in again; in a container: --ulimit nofile=1024\n"))
      << hard;
  // docker has no such option
  EXPECT_EQ(
      !sanitized,
      contains(
          hard,
          "'* - as unlimited' | sudo tee /etc/security/limits.d/rawhal.conf, and log in again\n"))
      << hard;
}

// ---- Debuggers and core files ----

TEST(Doctor, WhoMayAttachToWhom)
{
  const struct {
    const char *scope;
    bool all; // this user may
    const char *told;
  } cases[] = {
      {"0\n", false, "ok: processes of one user may attach to each other: ptrace_scope is 0"},
      {"1\n", false, "note: only a process's parents may attach to it: ptrace_scope is 1"},
      {"1\n", true, "ok: processes of one user may attach to each other: ptrace_scope is 1"},
      {"2\n", false, "note: only root may attach to a process: ptrace_scope is 2"},
      {"2\n", true, "ok: "},
      {"3\n", true, "note: nobody may attach to a process until the next boot"},
      {"4\n", true, "note: Yama's ptrace_scope is '4', which is unknown"},
      {"x\n", false, "note: Yama's ptrace_scope is 'x', which is unknown"},
      {nullptr, false, "ok: processes of one user may attach to each other: there is no Yama"}};
  for (const auto &one : cases) {
    Scratch scratch;
    if (one.scope)
      spit(scratch / "scope", std::string(one.scope));
    EXPECT_EQ(0u, lines_of([&](const doctor_t *doctor) {
                    doctor_look_at_yama(doctor, (scratch / "scope").c_str(), one.all);
                  }).find(one.told))
        << one.told;
  }
}

TEST(Doctor, WhereTheKernelPutsCoreFiles)
{
  const std::pair<const char *, const char *> cases[] = {
      {"core\n", "'core', in the program's folder"},
      {"/var/crash/core.%p\n", "'/var/crash/core.%p'; 'rawhal core merge'"},
      {"|/usr/lib/systemd/systemd-coredump %P\n", "to '/usr/lib/systemd/systemd-coredump %P'"}};
  for (const auto &[pattern, told] : cases) {
    Scratch scratch;
    spit(scratch / "pattern", std::string(pattern));
    const std::string said = lines_of([&](const doctor_t *doctor) {
      doctor_look_at_pattern(doctor, (scratch / "pattern").c_str());
    });
    EXPECT_TRUE(contains(said, told)) << said;
  }
}

// As programs understand it.
TEST(Doctor, CoreFiles)
{
  Scratch scratch;
  const auto core = [](const std::string &where, const std::string &more = "RAWHAL_CORE_BYTES=") {
    return ask({"RAWHAL_DEVICE=softgpu", "RAWHAL_CORE=" + where, more});
  };
  EXPECT_EQ("ok", ask(on_softgpu).row("core files: a queue that fails leaves no core file").state);
  const Answer good = core(scratch / "%e.%p", "RAWHAL_CORE_CONTENTS=kernargs");
  const Row row = good.row("core files: a queue that fails leaves a core file '");
  EXPECT_EQ("ok", row.state);
  EXPECT_TRUE(contains(row.found, "of at most 67108864 bytes, at most 1 an hour for each program "
                                  "and folder, with arguments, which 'rawhal replay' needs"))
      << row.found;
  const Row wrong =
      core(scratch / "%e", "RAWHAL_CORE_BYTES=lots").row("core files: RAWHAL_CORE_BYTES: expected");
  EXPECT_EQ("problem", wrong.state);
  EXPECT_TRUE(contains(wrong.fix, "programs get no device")) << wrong.fix;
  EXPECT_EQ("problem", core(scratch / "none/core")
                           .row("core files: no core file can be written: RAWHAL_CORE names files "
                                "in '" +
                                (scratch / "none") + "': No such")
                           .state);
  EXPECT_EQ("problem", core("|/nonexistent/program")
                           .row("core files: no core file can be passed on: RAWHAL_CORE names the "
                                "program '/nonexistent/program'")
                           .state);
  EXPECT_EQ("ok", core("|/bin/cat -").row("core files: a queue that fails passes").state);
}

TEST(Doctor, LimitsOfCoreFiles)
{
  rlimit cores = {};
  if (getrlimit(RLIMIT_CORE, &cores) || cores.rlim_max < 1 << 20)
    GTEST_SKIP() << "this process may not write core files";
  Scratch scratch;
  const auto limited = [&](const char *limits) {
    return run({"/bin/sh", "-c", std::string(limits) + "; exec " + tool + " doctor"},
               {"RAWHAL_DEVICE=softgpu", "RAWHAL_CORE=" + (scratch / "core")});
  };
  const Outcome none = limited("ulimit -S -c 0");
  EXPECT_EQ(1, none.status) << none.out;
  EXPECT_TRUE(contains(none.out, "though RAWHAL_CORE asks for them: core is 0\n")) << none.out;
  EXPECT_TRUE(contains(none.out, "fix: ulimit -S -c unlimited\n")) << none.out;
  const Outcome some = limited("ulimit -S -c 2000; ulimit -f 2000"); // of half a KiB
  // (A sanitizer allows none.)
  EXPECT_EQ(!*RAWHAL_SANITIZER, contains(some.out, "core files end after 1024000 bytes: core\n"))
      << some.out;
  EXPECT_TRUE(contains(some.out, "core files end after 1024000 bytes: fsize\n")) << some.out;
  EXPECT_TRUE(contains(some.out, "fix: raise the hard limit: ulimit -H -f")) << some.out;
}

TEST(Doctor, DebuggersThatKnowGpus)
{
  Scratch scratch;
  const auto in_path = [&](const std::string &more = "LC_ALL=C") {
    return ask({"RAWHAL_DEVICE=softgpu", "PATH=" + scratch.root, more});
  };
  EXPECT_EQ("note", in_path().row("debuggers: there is neither rocgdb nor gdb").state);
  const std::string shell = slurp("/bin/sh");
  const auto program = [&](const char *name, const std::string &bytes) {
    spit(scratch / name, bytes);
    EXPECT_EQ(0, chmod((scratch / name).c_str(), 0755));
  };
  program("gdb", shell);
  const Row plain = in_path().row("debuggers: " + (scratch / "gdb") + " knows no GPUs");
  EXPECT_EQ("note", plain.state);
  EXPECT_TRUE(contains(plain.fix, "rocgdb")) << plain.fix;
  program("gdb", shell + "librocm-dbgapi.so.0");
  EXPECT_EQ("ok", in_path().row("debuggers: " + (scratch / "gdb") + " shows waves of GPUs").state);
  program("rocgdb", "#!/bin/sh\n[ \"$1\" = --configuration ] && echo ' --with-amd-dbgapi'\n");
  EXPECT_EQ("ok", in_path().row("debuggers: " + (scratch / "rocgdb") + " shows waves").state);
}

TEST(Doctor, TheDebuggerLibraryAndWhatItTakes)
{
  Scratch scratch;
  spit(scratch / "dbgapi.c", std::string("#include <stdlib.h>\n"
                                         "void amd_dbgapi_get_version(unsigned *a, unsigned *b, "
                                         "unsigned *c)\n{ *a = 0, *b = atoi(getenv(\"MINOR\")), *c "
                                         "= atoi(getenv(\"PATCH\")); }\n"));
  const Outcome built = run({"/usr/bin/env", RAWHAL_CC, "-shared", "-fPIC", "-o",
                             scratch / "librocm-dbgapi.so.0", scratch / "dbgapi.c"});
  EXPECT_EQ(0, built.status) << built.err;
  const struct {
    const char *minor, *patch, *state, *takes;
  } cases[] = {{"77", "0", "ok", "takes core files of r_version 8 to 10"},
               {"77", "4", "ok", "takes core files of r_version 8 to 11"},
               {"82", "0", "note", "takes core files of r_version 12 alone"},
               {"70", "1", "note", "is not known to take r_version 10"}};
  for (const auto &one : cases) {
    const Answer answer =
        ask({"RAWHAL_DEVICE=softgpu", "LD_LIBRARY_PATH=" + scratch.root,
             std::string("MINOR=") + one.minor, std::string("PATCH=") + one.patch});
    const Row row = answer.row(std::string("debuggers: librocm-dbgapi 0.") + one.minor + "." +
                               one.patch + ", " + scratch.root);
    EXPECT_EQ(one.state, row.state) << row.found;
    EXPECT_TRUE(contains(row.found, one.takes)) << row.found;
    EXPECT_EQ(one.state == std::string("note"), contains(row.fix, "rawhal core --abi 12"));
  }
}

TEST(Doctor, WavesOfTheDevice)
{
  Scratch scratch;
  EXPECT_EQ("ok", ask(on_softgpu).row("debuggers: softgpu shows waves").state);
  const std::string empty = library_that(scratch, "(void)0");
  EXPECT_EQ("note", ask(with("RAWHAL_SOFTGPU_LIBRARY=" + empty))
                        .row("debuggers: " + empty + " shows no waves")
                        .state);
  EXPECT_EQ("note", ask({}, {"--device", "hsa"})
                        .row("debuggers: reports and core files of hardware have no waves")
                        .state);
}

// ---- Nodes of devices, seen by somebody who may not use them ----

namespace {

struct Seen {
  std::vector<Row> rows;
};

void take(void *context, const doctor_row_t *row)
{
  const char *const states[] = {"ok", "note", "problem"};
  static_cast<Seen *>(context)->rows.push_back(
      {row->check, states[row->state], row->found, row->fix});
}

// What the check says to a user without rights, as text: it runs in a child.
std::string as_nobody(void (*check)(const doctor_t *, const char *), const std::string &path,
                      rawhal_backend_t wanted, gid_t extra = 0)
{
  int ends[2];
  EXPECT_EQ(0, pipe(ends));
  pid_t child = fork_child();
  if (child == 0) {
    Seen seen;
    doctor_t doctor = {};
    doctor.take = take;
    doctor.context = &seen;
    doctor.check = "x";
    doctor.backend = doctor.expected = wanted;
    if (geteuid() == 0 && (setgroups(extra ? 1 : 0, &extra) || setgid(65534) || setuid(65534)))
      _exit(1);
    check(&doctor, path.c_str());
    for (const Row &row : seen.rows) {
      const std::string line = row.state + ": " + row.found + " | " + row.fix + "\n";
      if (write(ends[1], line.data(), line.size()) < 0)
        _exit(1);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char piece[1024];
  for (ssize_t size; (size = read(ends[0], piece, sizeof(piece))) > 0;)
    text.append(piece, static_cast<size_t>(size));
  close(ends[0]);
  int status;
  waitpid(child, &status, 0);
  EXPECT_EQ(0, status);
  return text;
}

class DoctorNodes : public testing::Test {
protected:
  void SetUp() override { ASSERT_EQ(0, chmod(scratch.root.c_str(), 0755)); }
  std::string node(const std::string &name, mode_t mode, gid_t group)
  {
    spit(scratch / name, "");
    EXPECT_TRUE(geteuid() != 0 || chown((scratch / name).c_str(), 0, group) == 0);
    EXPECT_EQ(0, chmod((scratch / name).c_str(), mode));
    return scratch / name;
  }
  Scratch scratch;
};

} // namespace

TEST_F(DoctorNodes, Driver)
{
  EXPECT_TRUE(contains(as_nobody(doctor_look_at_driver, node("free", 0666, 0), RAWHAL_BACKEND_HSA),
                       "ok: "));
  const std::string ours =
      as_nobody(doctor_look_at_driver, node("root", 0600, 0), RAWHAL_BACKEND_HSA);
  EXPECT_EQ(0u, ours.find("problem: ")) << ours;
  EXPECT_TRUE(contains(ours, "SUBSYSTEM==\"kfd\", KERNEL==\"kfd\", GROUP=\"")) << ours;
  EXPECT_TRUE(contains(ours, "/etc/udev/rules.d/70-kfd.rules")) << ours;
  EXPECT_EQ(0u, as_nobody(doctor_look_at_driver, scratch / "root", RAWHAL_BACKEND_SOFTGPU)
                    .find("note: ")); // not needed
  EXPECT_EQ(0u, as_nobody(doctor_look_at_driver, scratch / "none", RAWHAL_BACKEND_HSA)
                    .find("problem: there is no "));
  EXPECT_EQ(
      0u, as_nobody(doctor_look_at_driver, scratch / "none", RAWHAL_BACKEND_SOFTGPU).find("ok: "));
}

TEST_F(DoctorNodes, GroupsOfTheUser)
{
  if (geteuid() != 0)
    GTEST_SKIP() << "needs root, to give a node to a group";
  const group *video = getgrnam("video");
  ASSERT_NE(nullptr, video);
  const gid_t gid = video->gr_gid;
  const std::string others =
      as_nobody(doctor_look_at_driver, node("kfd", 0660, gid), RAWHAL_BACKEND_HSA);
  EXPECT_TRUE(contains(others, "mode 0660, group video")) << others;
  EXPECT_TRUE(contains(others, "sudo usermod -aG video nobody, and log in again")) << others;
  EXPECT_EQ(
      0u, as_nobody(doctor_look_at_driver, scratch / "kfd", RAWHAL_BACKEND_HSA, gid).find("ok: "));
  const std::string nameless =
      as_nobody(doctor_look_at_driver, node("kfd2", 0660, 54321), RAWHAL_BACKEND_HSA);
  EXPECT_TRUE(contains(nameless, "group 54321 has no name here")) << nameless;
}

TEST_F(DoctorNodes, RenderNodes)
{
  node("renderD128", 0600, 0);
  node("renderD129", 0666, 0);
  node("card0", 0600, 0); // is not asked for
  const std::string seen = as_nobody(doctor_look_at_nodes, scratch.root, RAWHAL_BACKEND_HSA);
  EXPECT_EQ(2u, lines(seen)) << seen;
  EXPECT_TRUE(
      contains(seen, "problem: no permission to read and write " + (scratch / "renderD128")))
      << seen;
  EXPECT_TRUE(contains(seen, "SUBSYSTEM==\"drm\", KERNEL==\"renderD*\"")) << seen;
  EXPECT_TRUE(contains(seen, "ok: 1 render node can be read and written")) << seen;
  EXPECT_EQ(0u, as_nobody(doctor_look_at_nodes, "/nonexistent", RAWHAL_BACKEND_HSA)
                    .find("problem: there is no "));
}

TEST_F(DoctorNodes, SharedMemory)
{
  EXPECT_EQ(0u, as_nobody(doctor_look_at_memory, "/nonexistent", RAWHAL_BACKEND_SOFTGPU)
                    .find("problem: /nonexistent: "));
  ASSERT_EQ(0, mkdir((scratch / "closed").c_str(), 0555));
  const std::string closed =
      as_nobody(doctor_look_at_memory, scratch / "closed", RAWHAL_BACKEND_SOFTGPU);
  EXPECT_TRUE(contains(closed, "cannot write to ")) << closed;
  doctor_t doctor = {};
  Seen seen;
  doctor.take = take;
  doctor.context = &seen;
  doctor.check = "x";
  if (geteuid() == 0) { // who may write there, where there is room for nothing
    doctor_look_at_memory(&doctor, "/proc");
    ASSERT_EQ(1u, seen.rows.size());
    EXPECT_EQ("problem", seen.rows[0].state);
    EXPECT_TRUE(contains(seen.rows[0].found, "has 0 MiB free")) << seen.rows[0].found;
  }
}
