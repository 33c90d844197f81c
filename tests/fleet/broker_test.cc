// Regions that a broker hands out: `rawhal broker`, and what asks it.
#include <fstream>

#include <linux/capability.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/fleet/broker.h"
#include "tests/limit/shared.h"

namespace {

rawhal_status_t TryOpen(const rawhal_limit_config_t &config, rawhal_error_t *error)
{
  rawhal_limiter_t *limiter = nullptr;
  rawhal_status_t status = rawhal_limiter_open(&config, "device", &limiter, error);
  rawhal_limiter_close(limiter);
  return status;
}

size_t Rows(const std::string &path)
{
  rawhal_limit_view_t *view = nullptr;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, rawhal_limit_view_open(path.c_str(), &view, &error)) << error.message;
  const size_t rows = rawhal_limit_view_read(view, nullptr, sizeof(rawhal_limit_row_t), 0);
  rawhal_limit_view_close(view);
  return rows;
}

enum { DEVICE_TENANT_AND_PROCESS = 3, NO_NAMESPACES = 77 };

// A listening socket that answers one connection with those descriptors.
void AnswerWith(const std::string &path, const std::vector<int> &descriptors)
{
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof(address.sun_path), "%s", path.c_str());
  unlink(path.c_str());
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(0, bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof(address)));
  ASSERT_EQ(0, listen(listener, 1));
  const pid_t child = fork_child();
  if (child == 0) {
    const int client = accept(listener, nullptr, nullptr);
    char byte = 0;
    alignas(cmsghdr) char room[CMSG_SPACE(8 * sizeof(int))] = {};
    iovec text = {&byte, 1};
    msghdr message = {};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
      const size_t size = descriptors.size() * sizeof(int);
      message.msg_control = room;
      message.msg_controllen = CMSG_SPACE(size);
      cmsghdr *part = CMSG_FIRSTHDR(&message);
      part->cmsg_len = CMSG_LEN(size);
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      memcpy(CMSG_DATA(part), descriptors.data(), size);
    }
    (void)!sendmsg(client, &message, MSG_NOSIGNAL);
    _exit(0);
  }
  close(listener);
}

TEST(Broker, StandsForARegionsFile)
{
  RegionFile file;
  Broker broker(file.path());
  ASSERT_TRUE(broker.runs());
  rawhal_limiter_t *one = file.Open({{RAWHAL_LIMIT_MEMORY, 1 << 20}}, "blue"),
                   *other = file.Open({}, "blue");
  ASSERT_TRUE(one && other);
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, shim_reserve(one, 0, 1 << 20, &error)) << error.message;
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_reserve(other, 0, 4096, &error)) << "one quota of both";
  EXPECT_NE(shim_slot(one), shim_slot(other)) << "locks of their own";
  EXPECT_EQ(4u, Rows(file.path()));
  rawhal_limit_control_t *control = nullptr;
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_control_open(file.path().c_str(), &control, &error))
      << error.message;
  EXPECT_EQ(RAWHAL_OK, rawhal_limit_control_set(control, nullptr, "blue", RAWHAL_LIMIT_MEMORY,
                                                4 << 20, &error));
  rawhal_limit_control_close(control);
  EXPECT_EQ(RAWHAL_OK, shim_reserve(other, 0, 4096, &error)) << error.message;
  rawhal_limiter_close(one);
  rawhal_limiter_close(other);
  unlink((file.path() + ".region").c_str());
}

TEST(Broker, AllThatItGivesIsSealed)
{
  RegionFile file;
  Broker broker(file.path());
  int fd = -1;
  rawhal_error_t error = {};
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_region_open(file.path().c_str(), &fd, &error)) << error.message;
  for (const off_t size : {off_t{0}, off_t{1}, off_t{1} << 40})
    EXPECT_NE(0, ftruncate(fd, size)) << size;
  EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
  EXPECT_EQ(O_RDWR, fcntl(fd, F_GETFL) & O_ACCMODE);
  close(fd);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_limit_region_open(nullptr, &fd, &error));
  EXPECT_EQ(-1, fd);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_limit_region_open("/", nullptr, &error));
  EXPECT_EQ(RAWHAL_NOT_FOUND, rawhal_limit_region_open("/nowhere/at/all", &fd, &error));
  unlink((file.path() + ".region").c_str());
}

// What nobody has taken counts against its sender's limit of files, unless that may exceed limits.
TEST(Broker, WhoTakesNoAnswerKeepsNobodyAway)
{
  RegionFile file;
  Broker broker(file.path(), {}, [] {
    rlimit files = {};
    (void)getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = 32;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    for (const int capability : {CAP_SYS_RESOURCE, CAP_SYS_ADMIN})
      (void)prctl(PR_CAPBSET_DROP, capability);
  });
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof(address.sun_path), "%s", file.path().c_str());
  std::vector<int> waiting(100);
  for (int &client : waiting) {
    client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(0, connect(client, reinterpret_cast<sockaddr *>(&address), sizeof(address)));
  }
  int fd = -1;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, rawhal_limit_region_open(file.path().c_str(), &fd, &error)) << error.message;
  close(fd);
  for (const int client : waiting)
    close(client);
  unlink((file.path() + ".region").c_str());
}

// One that comes after it: while it runs, and when it was killed and only a program has the region.
TEST(Broker, GoesOnWithTheRegionOfTheOneBefore)
{
  RegionFile file;
  Broker first(file.path());
  rawhal_limiter_t *limiter = file.Open();
  ASSERT_TRUE(limiter);
  EXPECT_EQ(+DEVICE_TENANT_AND_PROCESS, Rows(file.path()));
  Broker second(file.path());
  first.End();
  EXPECT_EQ(+DEVICE_TENANT_AND_PROCESS, Rows(file.path())) << "it was asked for";
  second.End();
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_RUNTIME, TryOpen(file.Config(), &error)) << "nobody listens";
  EXPECT_NE(nullptr, strstr(error.message, "Connection refused")) << error.message;
  Broker third(file.path());
  EXPECT_EQ(+DEVICE_TENANT_AND_PROCESS, Rows(file.path())) << "a program had it";
  Broker fourth(file.path(), {"--new"});
  EXPECT_EQ(0u, Rows(file.path())) << "another";
  rawhal_limiter_close(limiter);
  fourth.End();
  third.End();
  Broker fifth(file.path());
  EXPECT_TRUE(fifth.runs()) << "there is none to go on with";
  EXPECT_EQ(0u, Rows(file.path()));
  unlink((file.path() + ".region").c_str());
}

TEST(Broker, OfWhomNothingGoodComesIsRefused)
{
  RegionFile file;
  rawhal_error_t error = {};
  const int unsealed = memfd_create("unsealed", MFD_CLOEXEC),
            null = open("/dev/null", O_RDWR | O_CLOEXEC);
  int region = -1;
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_region_create(&region, nullptr));
  const struct {
    std::vector<int> descriptors;
    const char *why;
  } answers[] = {{{}, "gives no region"},
                 {{region, region}, "gives no region"},
                 {{region, region, region}, "gives no region"},
                 {{unsealed}, "size is not sealed"},
                 {{null}, "size is not sealed"}};
  const int before = dup(0);
  close(before);
  for (const auto &answer : answers) {
    AnswerWith(file.path(), answer.descriptors);
    EXPECT_EQ(RAWHAL_UNSUPPORTED, TryOpen(file.Config(), &error)) << answer.why;
    EXPECT_NE(nullptr, strstr(error.message, answer.why)) << error.message;
    EXPECT_EQ(-1, waitpid(-1, nullptr, WNOHANG) < -1 ? 0 : -1);
    while (waitpid(-1, nullptr, 0) > 0)
      ;
  }
  const int after = dup(0);
  EXPECT_EQ(before, after) << "no descriptor is left open";
  close(after);
  AnswerWith(file.path(), {region});
  EXPECT_EQ(RAWHAL_OK, TryOpen(file.Config(), &error)) << error.message;
  while (waitpid(-1, nullptr, 0) > 0)
    ;
  ASSERT_EQ(0, unlink(file.path().c_str()));
  ASSERT_EQ(0, mkfifo(file.path().c_str(), 0600));
  EXPECT_EQ(RAWHAL_UNSUPPORTED, TryOpen(file.Config(), &error)) << "neither file nor socket";
  for (int fd : {unsealed, null, region})
    close(fd);
}

TEST(Broker, SocketsOfOthersAreRefused)
{
  if (geteuid())
    GTEST_SKIP() << "no right to give files to others";
  RegionFile file;
  Broker broker(file.path());
  const uid_t other = 1000, nobody = 65534;
  rawhal_error_t error = {};
  for (const uid_t owner : {other, nobody}) {
    ASSERT_EQ(0, chown(file.path().c_str(), owner, owner));
    EXPECT_EQ(RAWHAL_UNSUPPORTED, TryOpen(file.Config(), &error));
    EXPECT_NE(nullptr, strstr(error.message, "belongs to user")) << error.message;
  }
  const int status = in_child([&] {
    if (unshare(CLONE_NEWNS) || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr))
      return +NO_NAMESPACES;
    const char *folder = file.folder().c_str();
    if (mount(folder, folder, nullptr, MS_BIND, nullptr) ||
        mount("none", folder, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr))
      return +NO_NAMESPACES;
    const rawhal_status_t nobodys = TryOpen(file.Config(), &error);
    return nobodys == RAWHAL_OK ? 0 : 1; // as root's is in a container
  });
  unlink((file.path() + ".region").c_str());
  ASSERT_TRUE(WIFEXITED(status)) << status;
  if (WEXITSTATUS(status) == NO_NAMESPACES)
    GTEST_SKIP() << "no right to mount";
  EXPECT_EQ(0, WEXITSTATUS(status));
}

// As containers without /proc/sys are: a file may be of another boot, which sealed memory is not.
// Before, such a process took the file for one of another boot and wiped it under those in it.
TEST(Broker, NeedsNoNumberOfTheBoot)
{
  RegionFile plain, handed;
  Broker broker(handed.path());
  rawhal_limiter_t *limiter = plain.Open();
  ASSERT_TRUE(limiter);
  rawhal_limiter_close(limiter);
  const int status = in_child([&] {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) || mount("none", "/proc/sys", "tmpfs", 0, nullptr))
      return +NO_NAMESPACES;
    rawhal_error_t error = {};
    if (TryOpen(plain.Config(), &error) != RAWHAL_UNSUPPORTED || !strstr(error.message, "boot_id"))
      return 1;
    rawhal_limit_control_t *control = nullptr;
    if (rawhal_limit_control_open(plain.path().c_str(), &control, &error) != RAWHAL_UNSUPPORTED)
      return 2;
    return TryOpen(handed.Config(), &error) == RAWHAL_OK ? 0 : 3;
  });
  unlink((handed.path() + ".region").c_str());
  ASSERT_TRUE(WIFEXITED(status)) << status;
  if (WEXITSTATUS(status) == NO_NAMESPACES)
    GTEST_SKIP() << "no right to mount";
  EXPECT_EQ(0, WEXITSTATUS(status));
  EXPECT_EQ(2u, Rows(plain.path())) << "its device and tenant are still there";
}

TEST(BrokerCommand, RefusesWhatItCannotServe)
{
  Scratch scratch;
  spit(scratch / "file", "x", 1);
  expect_refusal(run({tool, "broker"}), 2, "expected 1 to 64 SOCKETs, got 0");
  expect_refusal(run({tool, "broker", scratch / "file"}), 3, "exists and is not a socket");
  expect_refusal(run({tool, "broker", scratch / "no/such/folder"}), 3, "No such file");
  expect_refusal(run({tool, "broker", scratch / std::string(120, 'x')}), 3, "at most");
  expect_refusal(run({tool, "broker", "--old", scratch / "s"}), 2, "--old");
}

} // namespace
