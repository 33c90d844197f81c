// The real code of the ledger under a scheduler that tries everything: whichever process takes the next step, and
// whichever is killed before it, in every order. States that were seen before are not tried again.
#include <gtest/gtest.h>
#include <setjmp.h>
#include <ucontext.h>

#include <array>
#include <cstring>
#include <memory>
#include <unordered_set>
#include <vector>

#include "tests/extended.h"

extern "C" {
#include "tests/limit/ledger_model.h"
#include "tests/limit/shim.h"
}

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
constexpr bool kOwnStacks = false;
#else
constexpr bool kOwnStacks = true;
#endif

namespace {

enum class What {
  kReserve, // may be refused
  kRelease, // what the process has reserved
  kReclaim, // if the slot's holder is dead and nobody reclaims it
  kJoin,    // takes the slot, once it is free, for a tenant
  kLeave
};

struct Op {
  What what;
  uint64_t units;
  uint32_t slot, tenant;
};

struct Process {
  uint32_t slot;
  std::vector<Op> script;
};

constexpr size_t kMaxProcesses = 4, kStack = 16384, kSaved = 4096;
enum : uint8_t { kFree, kHeld, kDead };

// What the checker must put back to try something else.
struct State {
  ledger_model_words_t words;
  struct Each {
    ucontext_t context;
    alignas(16) unsigned char stack[kSaved];
    uint64_t held, live_bytes;
    uint8_t op, alive, running; // running: in the middle of script[op]
  } processes[kMaxProcesses];
  uint8_t slots[LEDGER_MODEL_MEMBERS];     // kFree...
  int8_t reclaiming[LEDGER_MODEL_MEMBERS]; // by which process; -1
  int kills;
};

class Checker {
public:
  Checker(std::vector<Process> processes, int max_kills, uint64_t limit)
      : processes_(std::move(processes)), max_kills_(max_kills), model_(ledger_model_new(limit))
  {
    EXPECT_LE(processes_.size(), kMaxProcesses);
    current = this;
  }
  ~Checker() { ledger_model_delete(model_); }

  void Run()
  {
    std::memset(static_cast<void *>(&now_), 0, sizeof(now_));
    for (size_t i = 0; i < LEDGER_MODEL_MEMBERS; ++i)
      now_.reclaiming[i] = -1;
    for (size_t i = 0; i < processes_.size(); ++i) {
      now_.processes[i].alive = 1;
      if (processes_[i].script[0].what != What::kJoin) {
        now_.slots[processes_[i].slot] = kHeld;
        ledger_model_join(model_, processes_[i].slot, 0);
      }
    }
    shim_on_step(Pause);
    Explore();
    shim_on_step(nullptr);
  }
  size_t states() const { return seen_.size(); }
  size_t ends() const { return ends_; }
  size_t deaths() const { return deaths_; }
  int wrong() const { return wrong_; }

private:
  static Checker *current;

  // The step hook: what is live on the stack and in registers is the process's state. Then the scheduler's turn.
  static void Pause(int)
  {
    jmp_buf registers;
    std::memset(&registers, 0, sizeof(registers));
    (void)_setjmp(registers);
    Checker *self = current;
    unsigned char *live = reinterpret_cast<unsigned char *>(&registers);
    State::Each &each = self->now_.processes[self->active_];
    each.live_bytes = static_cast<uint64_t>(self->Top(self->active_) - live);
    swapcontext(&each.context, &self->scheduler_);
  }

  unsigned char *Top(size_t process) { return stacks_[process] + kStack; }

  static void Begin()
  {
    Checker *self = current;
    self->Perform(self->active_);
    self->now_.processes[self->active_].running = 0;
    setcontext(&self->scheduler_);
  }

  void Perform(size_t index)
  {
    const Process &process = processes_[index];
    const Op &op = process.script[now_.processes[index].op];
    switch (op.what) {
    case What::kReserve:
      if (ledger_model_reserve(model_, process.slot, op.units))
        now_.processes[index].held += op.units;
      break;
    case What::kRelease:
      ledger_model_release(model_, process.slot, now_.processes[index].held);
      now_.processes[index].held = 0;
      break;
    case What::kReclaim:
      ledger_model_drain(model_, op.slot);
      now_.slots[op.slot] = kFree;
      now_.reclaiming[op.slot] = -1;
      break;
    case What::kJoin:
      ledger_model_join(model_, process.slot, op.tenant);
      break;
    case What::kLeave:
      ledger_model_drain(model_, process.slot);
      now_.processes[index].held = 0;
      now_.processes[index].alive = 0;
      now_.slots[process.slot] = kFree;
      break;
    }
  }

  // Lets a process go on to its next step, or to the end of its operation.
  void Step(size_t index)
  {
    State::Each &each = now_.processes[index];
    const Op &op = processes_[index].script[each.op];
    active_ = index;
    if (!each.running) {
      each.running = 1;
      if (op.what == What::kReclaim)
        now_.reclaiming[op.slot] = static_cast<int8_t>(index);
      if (op.what == What::kJoin)
        now_.slots[processes_[index].slot] = kHeld;
      std::memset(stacks_[index], 0, kStack);
      getcontext(&each.context);
      each.context.uc_stack.ss_sp = stacks_[index];
      each.context.uc_stack.ss_size = kStack;
      each.context.uc_link = nullptr;
      makecontext(&each.context, Begin, 0);
    }
    swapcontext(&scheduler_, &each.context);
    if (!each.running) {
      ++each.op;
      each.live_bytes = 0;
    }
    ASSERT_LE(each.live_bytes, kSaved);
  }

  bool CanStep(size_t index)
  {
    State::Each &each = now_.processes[index];
    if (!each.alive || each.op >= processes_[index].script.size())
      return false;
    if (each.running)
      return true;
    const Op &op = processes_[index].script[each.op];
    if (op.what == What::kJoin)
      return now_.slots[processes_[index].slot] == kFree;
    if (op.what == What::kReclaim)
      return now_.slots[op.slot] == kDead && now_.reclaiming[op.slot] < 0;
    return true;
  }
  // Reclaiming is not called for when nobody is dead.
  bool CanSkip(size_t index)
  {
    State::Each &each = now_.processes[index];
    return each.alive && !each.running && each.op < processes_[index].script.size() &&
           processes_[index].script[each.op].what == What::kReclaim && !CanStep(index);
  }
  bool CanDie(size_t index)
  {
    State::Each &each = now_.processes[index];
    return each.alive && now_.kills < max_kills_ && now_.slots[processes_[index].slot] == kHeld &&
           (each.running || each.op) && Holds(index);
  }
  // A process that waits for a slot to become free does not hold it.
  bool Holds(size_t index)
  {
    State::Each &each = now_.processes[index];
    return each.op > 0 || processes_[index].script[0].what != What::kJoin || each.running;
  }
  void Kill(size_t index)
  {
    now_.processes[index].alive = 0;
    now_.processes[index].held = 0;
    now_.slots[processes_[index].slot] = kDead;
    for (int8_t &by : now_.reclaiming)
      if (by == static_cast<int8_t>(index))
        by = -1;
    ++now_.kills;
    ++deaths_;
  }

  std::unique_ptr<State> Save()
  {
    auto state = std::make_unique<State>();
    ledger_model_save(model_, &now_.words);
    for (size_t i = 0; i < processes_.size(); ++i)
      std::memcpy(now_.processes[i].stack, Top(i) - kSaved, kSaved);
    std::memcpy(static_cast<void *>(state.get()), &now_, sizeof(State));
    return state;
  }
  void Restore(const State &state)
  {
    std::memcpy(static_cast<void *>(&now_), &state, sizeof(State));
    ledger_model_load(model_, &now_.words);
    for (size_t i = 0; i < processes_.size(); ++i)
      std::memcpy(Top(i) - kSaved, now_.processes[i].stack, kSaved);
  }

  static uint64_t Mix(uint64_t hash, const void *bytes, size_t size)
  {
    const unsigned char *at = static_cast<const unsigned char *>(bytes);
    uint64_t word;
    for (; size >= 8; at += 8, size -= 8) {
      std::memcpy(&word, at, 8);
      hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    }
    for (; size; ++at, --size)
      hash = (hash ^ *at) * 0x100000001b3u;
    return hash;
  }
  uint64_t Hash()
  {
    ledger_model_save(model_, &now_.words);
    uint64_t hash = Mix(1, &now_.words, sizeof(now_.words));
    hash = Mix(hash, now_.slots, sizeof(now_.slots));
    hash = Mix(hash, now_.reclaiming, sizeof(now_.reclaiming));
    hash = Mix(hash, &now_.kills, sizeof(now_.kills));
    for (size_t i = 0; i < processes_.size(); ++i) {
      const State::Each &each = now_.processes[i];
      const uint64_t facts[] = {each.held, each.op, each.alive, each.running};
      hash = Mix(hash, facts, sizeof(facts));
      if (each.alive && each.running)
        hash = Mix(hash, Top(i) - each.live_bytes, each.live_bytes);
    }
    return hash;
  }

  // Were all to die now, nothing would be left; and of what is not being changed, totals are sums.
  void CheckHere()
  {
    bool still = true;
    for (size_t i = 0; i < processes_.size(); ++i)
      still &= !now_.processes[i].alive || !now_.processes[i].running;
    shim_on_step(nullptr);
    auto before = Save();
    for (uint32_t slot = 0; slot < LEDGER_MODEL_MEMBERS; ++slot)
      if (now_.slots[slot] == kDead)
        ledger_model_drain(model_, slot);
    bool right = true;
    uint64_t sums[LEDGER_MODEL_TENANTS] = {};
    for (size_t i = 0; still && i < processes_.size(); ++i) {
      uint32_t slot = processes_[i].slot;
      if (!now_.processes[i].alive || !Holds(i) || now_.slots[slot] != kHeld)
        continue;
      right &= ledger_model_used(model_, slot) == now_.processes[i].held;
      sums[now_.words.members[slot][5] & 1] += now_.processes[i].held;
    }
    for (uint32_t tenant = 0; still && tenant < LEDGER_MODEL_TENANTS; ++tenant)
      right &= ledger_model_total(model_, tenant) == sums[tenant];
    for (uint32_t slot = 0; slot < LEDGER_MODEL_MEMBERS; ++slot)
      if (now_.slots[slot] == kHeld)
        ledger_model_drain(model_, slot);
    for (uint32_t tenant = 0; tenant < LEDGER_MODEL_TENANTS; ++tenant)
      right &= ledger_model_total(model_, tenant) == 0;
    Restore(*before);
    shim_on_step(Pause);
    if (!right && wrong_++ == 0)
      ADD_FAILURE() << "a ledger is wrong after " << deaths_ << " deaths";
  }

  void Explore()
  {
    if (wrong_ || !seen_.insert(Hash()).second)
      return;
    CheckHere();
    auto here = Save();
    bool any = false;
    for (size_t i = 0; i < processes_.size(); ++i) {
      if (CanSkip(i)) {
        any = true;
        ++now_.processes[i].op;
        Explore();
        Restore(*here);
      }
      if (CanStep(i)) {
        any = true;
        Step(i);
        Explore();
        Restore(*here);
      }
      if (CanDie(i)) {
        Kill(i);
        Explore();
        Restore(*here);
      }
    }
    ends_ += !any;
  }

  std::vector<Process> processes_;
  int max_kills_;
  ledger_model_t *model_;
  State now_;
  ucontext_t scheduler_;
  alignas(16) unsigned char stacks_[kMaxProcesses][kStack];
  size_t active_ = 0, ends_ = 0, deaths_ = 0;
  int wrong_ = 0;
  std::unordered_set<uint64_t> seen_;
};

Checker *Checker::current;

void Check(const std::vector<Process> &processes, int max_kills, uint64_t limit)
{
  if (!kOwnStacks)
    GTEST_SKIP() << "sanitizers do not know stacks that are put back";
  auto checker = std::make_unique<Checker>(processes, max_kills, limit);
  checker->Run();
  EXPECT_EQ(0, checker->wrong());
  EXPECT_GT(checker->ends(), 0u);
  printf("%zu states, %zu deaths, %zu ends\n", checker->states(), checker->deaths(),
         checker->ends());
}

// Those with so many states that nobody waits for them each time.
Op Reserve(uint64_t units)
{
  return {What::kReserve, units, 0, 0};
}
Op Release()
{
  return {What::kRelease, 0, 0, 0};
}
Op Reclaim(uint32_t slot)
{
  return {What::kReclaim, 0, slot, 0};
}
Op Join(uint32_t tenant)
{
  return {What::kJoin, 0, 0, tenant};
}
Op Leave()
{
  return {What::kLeave, 0, 0, 0};
}

TEST(LedgerModel, TwoOfATenantInEveryOrderWithEveryDeath)
{
  Check({{0, {Reserve(3), Release(), Reclaim(1)}}, {1, {Reserve(5), Release(), Reclaim(0)}}}, 2,
        100);
}

TEST(LedgerModel, TwoThatRaceForTheLastUnits)
{
  Check(
      {{0, {Reserve(3), Reclaim(1), Reserve(3), Leave()}}, {1, {Reserve(5), Reclaim(0), Leave()}}},
      2, 6);
}

TEST(LedgerModel, ThreeOfATenantOfWhomTwoBuryTheSame)
{
  std::vector<Op> third = {Reclaim(0)};
  if (is_extended_to_all())
    third.push_back(Reclaim(1));
  Check({{0, {Reserve(3)}}, {1, {Reserve(5), Reclaim(0)}}, {2, third}}, 2, 100);
}

// The slot of one who died goes to another tenant while somebody may still be about to note his last change.
TEST(LedgerModel, ASlotThatChangesTenants)
{
  Check({{0, {Reserve(3), Release()}},
         {1, {Reserve(5), Reclaim(0)}},
         {0, {Join(1), Reserve(7), Release()}}},
        2, 100);
}

// As somebody may have written it into the region. A total counts 2^52 - 1 units at most.
TEST(LedgerModel, ALimitBeyondTheWordLetsNoTotalWrap)
{
  ledger_model_t *model = ledger_model_new(uint64_t{1} << 53);
  const uint64_t most = (uint64_t{1} << 52) - 1;
  ledger_model_join(model, 0, 0);
  EXPECT_FALSE(ledger_model_reserve(model, 0, most + 1));
  EXPECT_TRUE(ledger_model_reserve(model, 0, most));
  EXPECT_FALSE(ledger_model_reserve(model, 0, 1));
  EXPECT_EQ(most, ledger_model_total(model, 0));
  ledger_model_delete(model);
}

TEST(LedgerModel, ASlotThatChangesTenantsBesideAnotherOfTheNewOne)
{
  if (!is_extended_to_all())
    GTEST_SKIP() << "millions of states: RAWHAL_TEST_EXTENDED=all";
  Check({{0, {Reserve(3), Leave()}},
         {1, {Reserve(5)}},
         {0, {Join(1), Reserve(7)}},
         {2, {Join(1), Reserve(9)}}},
        1, 100);
}

} // namespace
