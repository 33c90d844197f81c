// A member that writes into the region whatever it likes, and what the others get all the same.
#include <sys/wait.h>

#include <random>

#include "tests/extended.h"
#include "tests/limit/admission.h"

namespace {

constexpr uint64_t kKernel = 5 * kMs, kPpm = 1000000;

struct Runner {
  rawhal_limiter_t *limiter = nullptr;
  limit_lease_t *lease = nullptr;
  shim_grant_t grant = {};
  uint64_t runs_until = 0, asks_at = 0, used = 0;
};

// Two tenants of 30 % each on one device: a job of two processes, one of which has nothing to do, and another of one.
class Scene : public Admission {
protected:
  enum { JOB, IDLE_MATE, OTHER, MEMBERS };

  void SetUp() override
  {
    static const char *const tenants[] = {"job", "job", "other"};
    for (int i = 0; i < MEMBERS; ++i) {
      members_[i].limiter = Open({{RAWHAL_LIMIT_GPU_SHARE, 300000},
                                  {RAWHAL_LIMIT_MEMORY, 1 << 30},
                                  {RAWHAL_LIMIT_CHARGING, RAWHAL_CHARGING_WALL}},
                                 tenants[i], true);
      members_[i].lease = Lease(members_[i].limiter);
      ASSERT_EQ(RAWHAL_OK, shim_reserve(members_[i].limiter, 0, 64 << 20, &error_));
      shim_watch_damage(
          members_[i].limiter,
          [](void *context, const char *text) { static_cast<Scene *>(context)->told_ = text; },
          this);
    }
    bytes_ = static_cast<unsigned char *>(
        mmap(nullptr, shim_region_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, region(), 0));
    ASSERT_NE(MAP_FAILED, static_cast<void *>(bytes_));
  }
  void TearDown() override
  {
    munmap(bytes_, shim_region_bytes());
    Admission::TearDown();
  }

  uint64_t *word(size_t offset) { return reinterpret_cast<uint64_t *>(bytes_ + offset); }

  static size_t part(shim_part_t which, uint32_t index, size_t *size)
  {
    size_t from;
    shim_region_part(which, index, &from, size);
    return from;
  }

  // Kernels one after the other of those who have some, on a device that runs them beside each other. They ask as the
  // front does: again when they were told to, and after a second at most.
  void Work(uint64_t ns)
  {
    const uint64_t end = now_ + ns;
    for (Runner &runner : members_)
      runner.used = 0;
    while (now_ < end) {
      uint64_t next = end;
      for (int i : {+JOB, +OTHER}) {
        Runner &runner = members_[i];
        if (runner.runs_until && runner.runs_until <= now_) {
          shim_complete(runner.lease, &runner.grant, runner.runs_until - kKernel,
                        runner.runs_until);
          runner.used += kKernel;
          runner.runs_until = 0;
          runner.asks_at = now_;
        }
        if (!runner.runs_until && runner.asks_at <= now_) {
          if (Admit(runner.lease, 1, &runner.grant) == RAWHAL_OK)
            runner.runs_until = now_ + kKernel;
          else
            runner.asks_at =
                std::min(now_ + kSecond, std::max(now_ + 100000, shim_retry_at(runner.lease)));
        }
        next = std::min(next, runner.runs_until ? runner.runs_until : runner.asks_at);
      }
      now_ = std::max(now_ + 1000, next);
    }
  }

  double Share(int member, uint64_t ns) const
  {
    return 100 * static_cast<double>(members_[member].used) / static_cast<double>(ns);
  }

  // What is wrong after that word became another; "": nothing. The job's process has at least what is its part alone,
  // half of its tenant's; the other has all of its own. None has much more than its tenant's, nor does anything crash.
  std::string After(size_t offset, uint64_t value)
  {
    Work(200 * kMs);
    *word(offset) = value;
    Work(2500 * kMs); // it is found, and what was done meanwhile is paid for
    Work(2 * kSecond);
    const double job = Share(JOB, 2 * kSecond), other = Share(OTHER, 2 * kSecond);
    const bool right = job >= 14 && job <= 32 && other >= 28 && other <= 32;
    uint64_t total = 0, used = 0;
    for (const Runner &runner : members_)
      rawhal_limiter_memory(runner.limiter, &total, &used);
    char text[200];
    snprintf(text, sizeof(text), "word at %zu = %#llx: %.2f and %.2f %%%s", offset,
             static_cast<unsigned long long>(value), job, other, told_.c_str());
    return right ? "" : text;
  }

  Runner members_[MEMBERS];
  unsigned char *bytes_ = nullptr;
  std::string told_;
};

class Damage : public Scene {};

TEST_F(Damage, NoneIsFoundWhereThereIsNone)
{
  Work(10 * kSecond);
  EXPECT_NEAR(30, Share(JOB, 10 * kSecond), 0.2);
  EXPECT_NEAR(30, Share(OTHER, 10 * kSecond), 0.2);
  for (const Runner &runner : members_)
    EXPECT_FALSE(shim_has_left(runner.limiter)) << told_;
}

// Who finds it says so, with who can have done it, and none joins what is damaged.
TEST_F(Damage, IsToldAndNoneJoinsIt)
{
  size_t size;
  const size_t device = part(SHIM_DEVICE, 0, &size);
  Work(kSecond);
  memset(bytes_ + device + 8, 'x', 64); // its name
  Work(kSecond);
  EXPECT_TRUE(shim_has_left(members_[JOB].limiter));
  EXPECT_TRUE(shim_has_left(members_[OTHER].limiter));
  EXPECT_FALSE(shim_has_left(members_[IDLE_MATE].limiter)) << "it has not looked yet";
  EXPECT_NE(std::string::npos, told_.find("the region of shared limits is damaged")) << told_;
  EXPECT_NE(std::string::npos, told_.find("process " + std::to_string(getpid()))) << told_;
  rawhal_limit_config_t config = {};
  config.has_region_fd = true;
  config.region_fd = region();
  rawhal_limiter_t *limiter = nullptr;
  EXPECT_EQ(RAWHAL_MALFORMED, shim_open(&config, Now, this, &limiter, &error_));
  EXPECT_NE(nullptr, strstr(error_.message, "damaged by one of those who are in it"))
      << error_.message;
  EXPECT_EQ(nullptr, limiter);
}

// Each has its part of what is its tenant's, and what it holds: together no more than before.
TEST_F(Damage, EachKeepsToItsPart)
{
  Work(kSecond);
  *word(shim_region_bytes_before(2)) ^= 0xff00; // the generation of a slot
  size_t size;
  const size_t tenants = part(SHIM_TENANT, 0, &size);
  memset(bytes_ + tenants, 0x55, 2 * size);
  Work(kSecond);
  ASSERT_EQ(RAWHAL_OK, shim_reserve(members_[IDLE_MATE].limiter, 0, 4096, &error_) == RAWHAL_OK
                           ? RAWHAL_OK
                           : shim_reserve(members_[IDLE_MATE].limiter, 0, 4096, &error_))
      << error_.message;
  now_ += kSecond;
  (void)shim_reserve(members_[IDLE_MATE].limiter, 0, 4096, &error_);
  uint64_t limit = 0;
  for (const Runner &runner : members_)
    ASSERT_TRUE(shim_has_left(runner.limiter));
  EXPECT_EQ(150000u, rawhal_limiter_get(members_[JOB].limiter, RAWHAL_LIMIT_GPU_SHARE));
  EXPECT_EQ(300000u, rawhal_limiter_get(members_[OTHER].limiter, RAWHAL_LIMIT_GPU_SHARE));
  for (int i : {+JOB, +IDLE_MATE})
    limit += rawhal_limiter_get(members_[i].limiter, RAWHAL_LIMIT_MEMORY);
  EXPECT_LE(limit, 1u << 30);
  EXPECT_GE(limit, (1u << 30) - 8192);
  EXPECT_EQ(1u << 30, rawhal_limiter_get(members_[OTHER].limiter, RAWHAL_LIMIT_MEMORY));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED,
            rawhal_limiter_set(members_[JOB].limiter, RAWHAL_LIMIT_GPU_SHARE, 300000, &error_));
  uint64_t total = 0, used = 0;
  rawhal_limiter_memory(members_[JOB].limiter, &total, &used);
  EXPECT_EQ(64u << 20, used);
  shim_release(members_[JOB].limiter, 0, 64 << 20);
  rawhal_limiter_memory(members_[JOB].limiter, &total, &used);
  EXPECT_EQ(0u, used);
  Work(4 * kSecond);
  EXPECT_NEAR(15, Share(JOB, 4 * kSecond), 0.5);
  EXPECT_NEAR(30, Share(OTHER, 4 * kSecond), 0.5);
}

// Limits that were lifted, or made strict, are put right where what was asked for is still known.
TEST_F(Damage, LimitsThatWereChangedArePutRight)
{
  Work(kSecond);
  size_t size;
  const size_t tenant = part(SHIM_TENANT, 0, &size);
  const uint64_t share = (uint64_t{300000} << 32) / kPpm;
  size_t at = 0;
  while (at < size && *word(tenant + at) != share)
    at += 8;
  ASSERT_LT(at, size);
  for (uint64_t value : {uint64_t{1} << 32, UINT64_MAX, share / 2}) {
    *word(tenant + at) = value;
    Work(kSecond);
    EXPECT_EQ(share, *word(tenant + at)) << value;
    EXPECT_FALSE(shim_has_left(members_[JOB].limiter)) << told_;
  }
  Work(2 * kSecond);
  EXPECT_NEAR(30, Share(JOB, 2 * kSecond), 0.5);
}

} // namespace

// Of all words, a sample; all of them with RAWHAL_TEST_EXTENDED=all, which takes an hour.
class EveryWord : public Scene, public testing::WithParamInterface<int> {
public:
  void TestBody() override {}
  static std::string Try(size_t offset, uint64_t value)
  {
    EveryWord scene;
    scene.SetUp();
    const std::string wrong = scene.After(offset, value);
    scene.TearDown();
    return wrong;
  }
  static size_t Part(shim_part_t which, uint32_t index, size_t *size)
  {
    return part(which, index, size);
  }
};

static void TryPart(shim_part_t which, uint32_t index, size_t step)
{
  size_t size;
  const size_t from = EveryWord::Part(which, index, &size);
  std::mt19937_64 random(which * 100 + index);
  size_t tried = 0, wrong = 0;
  for (size_t at = 0; at < size; at += 8) {
    const uint64_t values[] = {0, UINT64_MAX, random(), 3600 * kSecond + 1000 * kSecond,
                               random() >> 32};
    for (uint64_t value : values) {
      if (tried++ % step)
        continue;
      const std::string what = EveryWord::Try(from + at, value);
      EXPECT_EQ("", what) << "byte " << at << " of part " << which << " " << index;
      wrong += !what.empty();
    }
    if (wrong > 20)
      break;
  }
  EXPECT_GT(tried, 10u);
}

TEST(DamageAtEveryWord, OfTheHeader)
{
  TryPart(SHIM_HEADER, 0, 1);
}
TEST(DamageAtEveryWord, OfTheDevice)
{
  TryPart(SHIM_DEVICE, 0, by_length(13, 3, 1));
}
TEST(DamageAtEveryWord, OfTheTenants)
{
  for (uint32_t i = 0; i < 3; ++i)
    TryPart(SHIM_TENANT, i, by_length(13, 3, 1));
}
TEST(DamageAtEveryWord, OfTheMembers)
{
  for (uint32_t i = 0; i < 4; ++i)
    TryPart(SHIM_MEMBER, i, by_length(101, 17, 1));
}
// It would hold for the slot's tenant, whose share would be lifted.
TEST(DamageAtEveryWord, OfBurstsThatNobodyCanAskFor)
{
  for (uint32_t slot = 0; slot < 3; ++slot)
    for (uint64_t ask : {UINT64_MAX, uint64_t{1}})
      EXPECT_EQ("", EveryWord::Try(shim_region_burst_asked(slot), ask)) << "slot " << slot;
}
