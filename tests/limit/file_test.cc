// The region's file: whose it may be, that its room is reserved, and that nobody cuts it short.
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>

#include "tests/child.h"
#include "tests/limit/region_file.h"
#include "tests/values.h"

namespace {

rawhal_status_t Try(const rawhal_limit_config_t &config, std::string *message = nullptr)
{
  rawhal_limiter_t *limiter = nullptr;
  rawhal_error_t error = {};
  rawhal_status_t status = rawhal_limiter_open(&config, "device", &limiter, &error);
  EXPECT_EQ(status == RAWHAL_OK, limiter != nullptr);
  rawhal_limiter_close(limiter);
  if (message)
    *message = error.message;
  return status;
}

rawhal_limit_config_t Descriptor(int fd)
{
  rawhal_limit_config_t config = {};
  config.has_region_fd = true;
  config.region_fd = fd;
  return config;
}

bool Has(const std::string &text, const char *part)
{
  return text.find(part) != std::string::npos;
}

TEST(File, OfAPathMayNotBeWritableByAll)
{
  RegionFile file;
  std::string message;
  ASSERT_EQ(RAWHAL_OK, Try(file.Config()));
  for (mode_t mode : {0602u, 0666u, 0777u}) {
    ASSERT_EQ(0, chmod(file.path().c_str(), mode));
    EXPECT_EQ(RAWHAL_UNSUPPORTED, Try(file.Config(), &message));
    EXPECT_TRUE(Has(message, "everybody") && Has(message, file.path().c_str())) << message;
  }
  for (mode_t mode : {0600u, 0660u, 0644u, 0664u}) {
    ASSERT_EQ(0, chmod(file.path().c_str(), mode));
    EXPECT_EQ(RAWHAL_OK, Try(file.Config(), &message)) << message;
  }
}

TEST(File, OfAPathHasOneName)
{
  RegionFile file;
  std::string message, other = file.folder() + "/other";
  ASSERT_EQ(RAWHAL_OK, Try(file.Config()));
  ASSERT_EQ(0, link(file.path().c_str(), other.c_str()));
  EXPECT_EQ(RAWHAL_UNSUPPORTED, Try(file.Config(), &message));
  EXPECT_TRUE(Has(message, "2 hard links")) << message;
  unlink(other.c_str());
  EXPECT_EQ(RAWHAL_OK, Try(file.Config(), &message)) << message;
}

TEST(File, OfAPathIsOursOrRoots)
{
  if (geteuid() != 0)
    GTEST_SKIP() << "only root gives files away";
  RegionFile file;
  std::string message;
  ASSERT_EQ(RAWHAL_OK, Try(file.Config()));
  ASSERT_EQ(0, chown(file.path().c_str(), 12345, 12345));
  EXPECT_EQ(RAWHAL_UNSUPPORTED, Try(file.Config(), &message));
  EXPECT_TRUE(Has(message, "user 12345")) << message;
  int fd = open(file.path().c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_EQ(RAWHAL_OK, Try(Descriptor(fd), &message)) << message; // who passes it vouches for it
  close(fd);
  // Root's, for somebody of the group.
  ASSERT_EQ(0, chown(file.path().c_str(), 0, 12345));
  ASSERT_EQ(0, chmod(file.path().c_str(), 0660));
  ASSERT_EQ(0, chmod(file.folder().c_str(), 0755));
  pid_t child = fork_child();
  if (child == 0) {
    if (setgid(12345) || setuid(12345))
      _exit(2);
    _exit(Try(file.Config(), &message) == RAWHAL_OK ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(0, status);
}

TEST(File, OfAPathIsNoPipeAndOpeningOneDoesNotHang)
{
  RegionFile file;
  std::string message;
  ASSERT_EQ(0, mkfifo(file.path().c_str(), 0600));
  EXPECT_EQ(RAWHAL_UNSUPPORTED, Try(file.Config(), &message));
  EXPECT_TRUE(Has(message, "not a regular file")) << message;
}

TEST(File, HasAllOfItsRoom)
{
  RegionFile file;
  rawhal_limiter_t *limiter = file.Open();
  struct stat facts;
  ASSERT_EQ(0, stat(file.path().c_str(), &facts));
  EXPECT_GE(static_cast<size_t>(facts.st_blocks) * 512, shim_region_bytes());
  rawhal_limiter_close(limiter);
}

// A file system of 64 KiB: opening fails, and no store into the file ends the process.
TEST(File, WithoutRoomIsRefused)
{
  RegionFile file;
  std::string folder = file.folder() + "/small", path = folder + "/region", message;
  ASSERT_EQ(0, mkdir(folder.c_str(), 0700));
  if (mount("none", folder.c_str(), "tmpfs", 0, "size=64k")) {
    rmdir(folder.c_str());
    GTEST_SKIP() << "no right to mount: " << strerror(errno);
  }
  rawhal_limit_config_t config = file.Config();
  snprintf(config.region.text, sizeof(config.region.text), "%s", path.c_str());
  EXPECT_EQ(RAWHAL_OUT_OF_MEMORY, Try(config, &message));
  EXPECT_TRUE(Has(message, "no room") && Has(message, path.c_str())) << message;
  struct stat facts;
  ASSERT_EQ(0, stat(path.c_str(), &facts));
  EXPECT_EQ(0, facts.st_size); // as it was
  EXPECT_EQ(0, facts.st_blocks);
  // One that somebody made with its size and without its room.
  int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(0, ftruncate(fd, static_cast<off_t>(shim_region_bytes())));
  EXPECT_EQ(RAWHAL_OUT_OF_MEMORY, Try(config, &message));
  close(fd);
  ASSERT_EQ(0, mount("none", folder.c_str(), "tmpfs", MS_REMOUNT, "size=64m"));
  EXPECT_EQ(RAWHAL_OK, Try(config, &message)) << message;
  EXPECT_EQ(0, umount(folder.c_str()));
  rmdir(folder.c_str());
}

TEST(File, InMemoryCannotBeCutShort)
{
  int fd = -1;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_limit_region_create(nullptr, &error));
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_region_create(&fd, &error)) << error.message;
  EXPECT_EQ(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, fcntl(fd, F_GET_SEALS) & 7);
  EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
  struct stat facts;
  ASSERT_EQ(0, fstat(fd, &facts));
  EXPECT_EQ(static_cast<off_t>(shim_region_bytes()), facts.st_size);
  EXPECT_GE(static_cast<size_t>(facts.st_blocks) * 512, shim_region_bytes());
  rawhal_limit_config_t config = Descriptor(fd);
  rawhal_limiter_t *limiter = nullptr;
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_open(&config, "device", &limiter, &error)) << error.message;
  EXPECT_NE(0, ftruncate(fd, 0));
  EXPECT_NE(0, ftruncate(fd, 1 << 30));
  EXPECT_NE(0, fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, 4096));
  EXPECT_EQ(RAWHAL_OK, shim_reserve(limiter, 0, 4096, nullptr));
  // Another process, to which it is passed.
  pid_t child = fork_child();
  if (child == 0) {
    rawhal_limiter_t *mine = nullptr;
    bool fine = rawhal_limiter_open(&config, "device", &mine, nullptr) == RAWHAL_OK &&
                limiter_memory(mine).used == 4096;
    rawhal_limiter_close(mine);
    _exit(fine ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(0, status);
  rawhal_limiter_close(limiter);
  close(fd);
}

TEST(File, InMemoryIsSealedWhenItCanBe)
{
  std::string message;
  int can = memfd_create("can", MFD_CLOEXEC | MFD_ALLOW_SEALING),
      cannot = memfd_create("cannot", MFD_CLOEXEC);
  EXPECT_EQ(RAWHAL_OK, Try(Descriptor(can), &message)) << message;
  EXPECT_EQ(F_SEAL_SHRINK | F_SEAL_GROW, fcntl(can, F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_GROW));
  EXPECT_NE(0, ftruncate(can, 0));
  EXPECT_EQ(RAWHAL_OK, Try(Descriptor(cannot), &message)) << message;
  EXPECT_EQ(F_SEAL_SEAL, fcntl(cannot, F_GET_SEALS) & 7);
  int written = memfd_create("written", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(0, fcntl(written, F_ADD_SEALS, F_SEAL_WRITE));
  EXPECT_EQ(RAWHAL_UNSUPPORTED, Try(Descriptor(written), &message));
  EXPECT_TRUE(Has(message, "sealed against")) << message;
  for (int fd : {can, cannot, written})
    close(fd);
}

} // namespace
