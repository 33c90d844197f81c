#include "tests/softgpu/programs/host.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <ucontext.h>

namespace {

constexpr size_t STACK = 64 << 10, LOCAL = 32 << 10;

enum class State { RUNS, AT_BARRIER, IN_WAVE, ENDED };

// As side.h has it.
struct Item {
  uint32_t local[3], group[3], size[3];
  uint32_t lane, wave, is_rdna;
};

struct Fiber {
  Item item = {};
  State state = State::RUNS;
  uint64_t members = 0;                               // of the wave, whom it waits for
  uint32_t value = 0, to = 0;                         // what it tells them, and to whom
  std::array<uint32_t, 64> values = {}, targets = {}; // what they told
  size_t local_used = 0;
  ucontext_t context = {};
};

struct Group {
  HostProgram *program;
  const void *in;
  void *out;
  uint32_t n;
  std::vector<Fiber> fibers;
  std::unique_ptr<char[]> stacks;
  alignas(16) char local[LOCAL];
  ucontext_t scheduler = {};
  size_t running = 0;
};

Group *group; // the one that runs

Fiber &me()
{
  return group->fibers[group->running];
}

void wait(State state)
{
  Fiber &fiber = me();
  fiber.state = state;
  swapcontext(&fiber.context, &group->scheduler);
}

uint64_t all_of_wave()
{
  const Item &item = me().item;
  const size_t first = group->running - item.lane;
  const size_t lanes = std::min<size_t>(item.wave, group->fibers.size() - first);
  return lanes == 64 ? ~UINT64_C(0) : (UINT64_C(1) << lanes) - 1;
}

void tell(uint32_t value, uint32_t to, uint64_t members)
{
  Fiber &fiber = me();
  fiber.members = members & all_of_wave();
  fiber.value = value;
  fiber.to = to;
  wait(State::IN_WAVE);
}

void begin()
{
  group->program(group->in, group->out, group->n);
  wait(State::ENDED);
}

// Whether all whom it waits for wait for the same.
bool have_come(const Fiber *wave, uint64_t members)
{
  for (uint32_t lane = 0; lane < 64; ++lane) {
    if ((members >> lane & 1) &&
        (wave[lane].state != State::IN_WAVE || wave[lane].members != members))
      return false;
  }
  return true;
}

void release(Fiber *wave, uint64_t members)
{
  std::array<uint32_t, 64> values = {}, targets = {};
  for (uint32_t lane = 0; lane < 64; ++lane) {
    if (members >> lane & 1) {
      values[lane] = wave[lane].value;
      targets[lane] = wave[lane].to;
    }
  }
  for (uint32_t lane = 0; lane < 64; ++lane) {
    if (members >> lane & 1) {
      wave[lane].values = values;
      wave[lane].targets = targets;
      wave[lane].state = State::RUNS;
    }
  }
}

// False when nobody may go on.
bool release_those_who_may()
{
  bool released = false, all_at_barrier = true;
  for (Fiber &fiber : group->fibers) {
    Fiber *const wave = &fiber - fiber.item.lane;
    all_at_barrier &= fiber.state == State::AT_BARRIER || fiber.state == State::ENDED;
    if (fiber.state == State::IN_WAVE && have_come(wave, fiber.members)) {
      release(wave, fiber.members);
      released = true;
    }
  }
  for (Fiber &fiber : group->fibers) {
    if (all_at_barrier && fiber.state == State::AT_BARRIER) {
      fiber.state = State::RUNS;
      released = true;
    }
  }
  return released;
}

} // namespace

extern "C" {
Item host_item;

void *host_local(uint64_t bytes)
{
  Fiber &fiber = me();
  void *const at = group->local + fiber.local_used;
  fiber.local_used += (bytes + 15) / 16 * 16;
  return fiber.local_used <= LOCAL ? at : nullptr;
}

void host_barrier()
{
  wait(State::AT_BARRIER);
}

uint64_t host_ballot(bool bit, uint64_t members)
{
  tell(bit, 0, members);
  uint64_t bits = 0;
  for (uint32_t lane = 0; lane < 64; ++lane)
    bits |= static_cast<uint64_t>(me().values[lane]) << lane;
  return bits;
}

uint32_t host_read(uint32_t value, uint32_t lane, uint64_t members)
{
  tell(value, 0, members);
  return me().values[lane];
}

uint32_t host_push(uint32_t value, uint32_t lane)
{
  tell(value, lane, ~UINT64_C(0));
  uint32_t got = 0;
  for (uint32_t from = 0; from < me().item.wave; ++from) {
    if (me().targets[from] == me().item.lane)
      got = me().values[from];
  }
  return got;
}

// data parallel primitives: GFX9's and RDNA's, of a wave whose lanes are all active.
uint32_t host_dpp(uint32_t old, uint32_t value, uint32_t control, uint32_t rows, uint32_t banks,
                  bool zeros)
{
  tell(value, 0, ~UINT64_C(0));
  const uint32_t lane = me().item.lane, in_row = lane % 16, by = control & 15;
  uint32_t from = in_row;
  bool is_there = true;
  switch (control >> 4) {
  case 0x10:
    from = in_row + by, is_there = from < 16;
    break; // row_shl
  case 0x11:
    from = in_row - by, is_there = in_row >= by;
    break; // row_shr
  case 0x12:
    from = (in_row - by) & 15;
    break; // row_ror
  case 0x14:
    from = by == 0 ? 15 - in_row : (in_row & 8) | (7 - in_row % 8);
    break; // row_mirror, row_half_mirror
  case 0x15:
    from = by;
    break; // row_share
  case 0x16:
    from = in_row ^ by;
    break; // row_xmask
  default:
    from = (in_row & 12) | (control >> in_row % 4 * 2 & 3);
    break; // quad_perm
  }
  if (!(rows >> lane / 16 & 1) || !(banks >> in_row / 4 & 1))
    return old;
  return is_there ? me().values[lane - in_row + from] : zeros ? 0 : old;
}
}

static void prepare(Fiber &fiber, size_t index, const Extents &extents, const uint32_t at[3],
                    uint32_t wave, bool is_rdna)
{
  const auto &size = extents.items;
  fiber = {};
  Item &item = fiber.item;
  for (size_t d = 0; d < 3; ++d) {
    item.group[d] = at[d];
    item.size[d] = size[d];
  }
  const auto i = static_cast<uint32_t>(index);
  item.local[0] = i % size[0];
  item.local[1] = i / size[0] % size[1];
  item.local[2] = i / size[0] / size[1];
  item.wave = wave;
  item.lane = i % wave;
  item.is_rdna = is_rdna;
  getcontext(&fiber.context);
  fiber.context.uc_stack = {&group->stacks[index * STACK], 0, STACK};
  makecontext(&fiber.context, begin, 0);
}

// Until all have ended.
static bool run_group()
{
  for (bool all_ended = false; !all_ended;) {
    all_ended = true;
    for (size_t i = 0; i < group->fibers.size(); ++i) {
      Fiber &fiber = group->fibers[i];
      if (fiber.state == State::RUNS) {
        group->running = i;
        host_item = fiber.item;
        swapcontext(&group->scheduler, &fiber.context);
      }
      all_ended &= fiber.state == State::ENDED;
    }
    if (!all_ended && !release_those_who_may())
      return false;
  }
  return true;
}

bool run_on_host(HostProgram *program, const Extents &extents, uint32_t wave, bool is_rdna,
                 const void *in, void *out, uint32_t n)
{
  const auto &[groups, items] = extents;
  auto made = std::make_unique<Group>();
  group = made.get();
  group->program = program;
  group->in = in;
  group->out = out;
  group->n = n;
  group->fibers.resize(items[0] * items[1] * items[2]);
  group->stacks = std::make_unique<char[]>(group->fibers.size() * STACK);
  for (uint32_t i = 0; i < groups[0] * groups[1] * groups[2]; ++i) {
    const uint32_t at[3] = {i % groups[0], i / groups[0] % groups[1], i / groups[0] / groups[1]};
    for (size_t f = 0; f < group->fibers.size(); ++f)
      prepare(group->fibers[f], f, extents, at, wave, is_rdna);
    if (!run_group())
      return false;
  }
  return true;
}
