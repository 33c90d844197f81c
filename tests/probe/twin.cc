#include "tests/probe/twin.h"

#include "tests/assert_ok.h"
#include "tests/probe/twin_kernargs.h"
#include "tests/probe/twin_plan.h"
#include "tests/probe/twin_records.h"

#include <dlfcn.h>

#include <cinttypes>
#include <cstring>
#include <regex>

extern "C" {
#include "softgpu/softgpu.h"
}

namespace {

constexpr uint32_t all_kinds = RAWHAL_PROBE_WAVES | RAWHAL_PROBE_BLOCKS | RAWHAL_PROBE_EDGES |
                               RAWHAL_PROBE_EXEC | RAWHAL_PROBE_MEMORY | RAWHAL_PROBE_BARRIERS;
constexpr uint64_t most_event_bytes = uint64_t{384} << 20;
constexpr size_t page = 4096; // behind the records, of
constexpr char untouched = 0x5a;
constexpr uint64_t times_longer = 30; // copies may take

template <typename Function> Function *softgpu(const char *name)
{
  return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}

std::string name_of(const rawhal_dispatch_t &dispatch)
{
  const rawhal_string_t name = rawhal_device_kernel_info(dispatch.kernel)->kernel->name;
  return {name.data, name.size};
}

} // namespace

const Twins::Kind Twins::kinds[] = {
    {"waves", RAWHAL_PROBE_WAVES, 0},
    {"blocks", RAWHAL_PROBE_BLOCKS, 0},
    {"memory", RAWHAL_PROBE_MEMORY, 0},
    {"all kinds in lanes", all_kinds, RAWHAL_PROBE_KEEP_IN_LANES},
    {"all kinds with a VGPR that is lent", all_kinds,
     RAWHAL_PROBE_LEND_TO_AGPR | RAWHAL_PROBE_LEND_TO_SCRATCH},
};

// Memory for records, of the host.
struct Twins::Room {
  Room(rawhal_device_t *device, const TwinPlan &plan, uint32_t waves, uint32_t events) : plan(plan)
  {
    const rawhal_probe_plan_info_t *info = plan.info();
    rawhal_error_t error = {};
    argument.wave_capacity = waves;
    argument.event_capacity = info->event_bytes ? events : 0;
    head = rawhal_probe_buffer_bytes(plan.plan, waves);
    end = head + uint64_t{argument.event_capacity} * info->event_bytes;
    EXPECT_OK(rawhal_buffer_allocate(device, RAWHAL_MEMORY_HOST, end + page, &buffer, &error));
    at = static_cast<char *>(rawhal_buffer_host(buffer));
    if (!at)
      return;
    rawhal_probe_header_t header = {};
    header.wave_capacity = argument.wave_capacity;
    header.event_capacity = argument.event_capacity;
    memset(at, 0, end);
    memset(at + end, untouched, page);
    memcpy(at, &header, sizeof header);
    argument.buffer = rawhal_buffer_address(buffer);
    argument.events = info->event_bytes ? argument.buffer + head : 0;
  }
  Room(const Room &) = delete;
  ~Room() { rawhal_buffer_free(buffer); }

  void take(TwinRun *run) const
  {
    const rawhal_probe_plan_info_t *info = plan.info();
    if (!at)
      return;
    EXPECT_EQ(static_cast<uint64_t>(std::count(at + end, at + end + page, untouched)), page)
        << "written beyond the records";
    run->event_bytes = info->event_bytes;
    memcpy(&run->header, at, sizeof run->header);
    run->counters.resize(info->counters);
    memcpy(run->counters.data(), at + sizeof run->header, info->counters * sizeof(uint64_t));
    run->waves.resize(std::min(run->header.waves, argument.wave_capacity));
    memcpy(run->waves.data(), at + head - argument.wave_capacity * sizeof(rawhal_probe_wave_t),
           run->waves.size() * sizeof(rawhal_probe_wave_t));
    run->events.assign(at + head, at + head +
                                      std::min(run->header.events, argument.event_capacity) *
                                          uint64_t{info->event_bytes});
  }

  const TwinPlan &plan;
  rawhal_probe_argument_t argument = {};
  rawhal_buffer_t *buffer = nullptr;
  char *at = nullptr;
  uint64_t head = 0, end = 0; // of the waves, of the events
};

Twins &Twins::all()
{
  static Twins twins;
  return twins;
}

void Twins::compare(rawhal_device_t *device, const rawhal_dispatch_t &dispatch)
{
  const std::string name = name_of(dispatch);
  const size_t number = seen_.size();
  const auto [kernel, is_new] = seen_.insert({name, number % each ? most : 0});
  if (kernel->second++ >= most)
    return;
  figures_.kernels += is_new;
  SCOPED_TRACE(name);
  busy_ = true;
  device_ = device;
  before_ = save();
  compare_all(dispatch);
  restore(before_);
  busy_ = false;
}

void Twins::compare_all(const rawhal_dispatch_t &dispatch)
{
  // softgpu records at all points, whatever registers that would take. First how much there is.
  const TwinPlan engine(dispatch, all_kinds, RAWHAL_PROBE_POINTS_ONLY);
  if (!engine.plan) {
    refused("softgpu", engine.error);
    return;
  }
  ++figures_.dispatches;
  const TwinRun first = run_original(dispatch, engine, 0);
  if (first.status != RAWHAL_OK && first.fault.kind == RAWHAL_FAULT_TIME_LIMIT) {
    ++figures_.endless;
    return;
  }
  const uint32_t capacity = static_cast<uint32_t>(std::min<uint64_t>(
      first.header.events, most_event_bytes / std::max(engine.info()->event_bytes, 1u)));
  restore(before_);
  const TwinRun expected = run_original(dispatch, engine, capacity);
  if (first.status != expected.status || first.instructions != expected.instructions ||
      first.memory != expected.memory || first.counters != expected.counters) {
    ++figures_.changing; // as where waves wait for each other
    return;
  }
  if (expected.status == RAWHAL_OK) {
    EXPECT_EQ(expected.header.waves, waves_of(dispatch));
    EXPECT_EQ(counted(engine.info(), expected), expected.instructions) << "by softgpu";
    figures_.waves += expected.header.waves;
    figures_.instructions += expected.instructions;
    figures_.events += capacity;
    figures_.unseen += expected.header.events - capacity;
  } else {
    ++figures_.faults;
  }
  uint64_t limit = 0;
  const auto get = softgpu<softgpu_option_get_fn>("softgpu_option_get");
  get("timeout_ms", &limit);
  get("reference", &is_reference_);
  const auto set = softgpu<softgpu_option_set_fn>("softgpu_option_set");
  set("timeout_ms", std::min<uint64_t>(limit * times_longer, UINT32_MAX));
  for (const Kind &kind : kinds)
    compare_kind(kind, engine, expected, dispatch);
  set("timeout_ms", limit);
}

void Twins::compare_kind(const Kind &kind, const TwinPlan &engine, const TwinRun &expected,
                         const rawhal_dispatch_t &dispatch)
{
  SCOPED_TRACE(kind.name);
  TwinPlan plan(dispatch, kind.kinds, kind.flags);
  if (!plan.plan) {
    refused(kind.name, plan.error);
    return;
  }
  plan.load(device_);
  if (!plan.copy)
    return;
  restore(before_);
  ++figures_.clones;
  const TwinRun got = run_copy(dispatch, plan, expected.header.event_capacity, nullptr);
  if (expected.status != RAWHAL_OK) {
    compare_fault(got, expected, plan);
    return;
  }
  EXPECT_EQ(got.status, RAWHAL_OK) << got.fault.device_text;
  if (got.status != RAWHAL_OK)
    return;
  compare_memory(got, expected, engine, dispatch);
  if (plan.info()->kinds & RAWHAL_PROBE_WAVES) {
    EXPECT_EQ(got.header.waves, waves_of(dispatch));
  }
  const bool counts = !(plan.info()->kinds & RAWHAL_PROBE_BLOCKS) ||
                      counted(plan.info(), got) == expected.instructions;
  const std::string difference = differ(engine.info(), expected, plan.info(), got);
  if (counts && difference.empty())
    return;
  // Waves that wait for each other, or try again where another was faster, do so as often as it takes; what is recorded of
  // one and the same run is the same.
  TwinRun watched;
  restore(before_);
  const TwinRun again = run_copy(dispatch, plan, expected.header.event_capacity * 2, &watched);
  EXPECT_EQ(again.status, RAWHAL_OK) << again.fault.device_text;
  EXPECT_EQ(differ(plan.info(), again, plan.info(), watched), "");
  depending_.insert(name_of(dispatch));
}

// Bit for bit, but for what several waves have written, or added to, in another order; also in LDS.
void Twins::compare_memory(const TwinRun &got, const TwinRun &expected, const TwinPlan &engine,
                           const rawhal_dispatch_t &dispatch)
{
  if (got.memory == expected.memory)
    return;
  const std::set<uint64_t> dwords = contested(engine.info(), expected);
  std::string differs;
  auto buffer = buffers_.begin();
  for (size_t i = 0; i < got.memory.size(); ++i, ++buffer)
    for (size_t at = 0; at < got.memory[i].size() && differs.empty(); ++at)
      if (got.memory[i][at] != expected.memory[i][at] &&
          !dwords.count((rawhal_buffer_address(*buffer) + at) / 4))
        differs = "byte " + std::to_string(at) + " of buffer " + std::to_string(i) +
                  ", which has " + std::to_string(got.memory[i].size());
  EXPECT_TRUE(differs.empty() || races(engine, dispatch)) << differs;
  reordered_.insert(name_of(dispatch));
}

// Whether waves of the original use the same bytes of LDS with no barrier in between.
bool Twins::races(const TwinPlan &engine, const rawhal_dispatch_t &dispatch)
{
  const auto set = softgpu<softgpu_option_set_fn>("softgpu_option_set");
  set("reference", 0); // which does not look
  set("check_races", 1);
  restore(before_);
  const TwinRun run = run_original(dispatch, engine, 0);
  set("check_races", 0);
  set("reference", is_reference_);
  return run.status != RAWHAL_OK && run.fault.kind == RAWHAL_FAULT_LDS_RACE;
}

// The same instruction fails, and of the same; or that of another wave, which was there first, with what that has.
void Twins::compare_fault(const TwinRun &got, const TwinRun &expected, const TwinPlan &plan)
{
  const rawhal_fault_t &fault = got.fault, &wanted = expected.fault;
  EXPECT_EQ(got.status, expected.status);
  EXPECT_EQ(fault.kind, wanted.kind) << fault.device_text << "\nnot\n" << wanted.device_text;
  if (fault.kind != wanted.kind || !(wanted.known & RAWHAL_FAULT_KNOWS_PC))
    return;
  uint32_t original = 0;
  bool is_probe = true;
  rawhal_error_t error = {};
  EXPECT_OK(rawhal_probe_origin(plan.plan, static_cast<uint64_t>(fault.pc_offset), &original,
                                &is_probe, &error));
  EXPECT_FALSE(is_probe) << fault.device_text;
  if (fault.wave == wanted.wave && !memcmp(fault.group, wanted.group, sizeof fault.group)) {
    EXPECT_EQ(original, wanted.pc_offset) << fault.device_text << "\nnot\n" << wanted.device_text;
    EXPECT_EQ(fault.access, wanted.access);
  }
  figures_.elsewhere += original != wanted.pc_offset;
}

// The original, recorded by the engine.
TwinRun Twins::run_original(const rawhal_dispatch_t &dispatch, const TwinPlan &plan,
                            uint32_t events)
{
  TwinRun made;
  const rawhal_probe_plan_info_t *info = plan.info();
  const Room room(device_, plan, waves_of(dispatch) + 8, events);
  run(dispatch, room.argument, *info, info->points, info->point_count, &made);
  room.take(&made);
  return made;
}

// The copy; and `watched`, unless it is NULL: the engine has recorded that at the same instructions, as it ran.
TwinRun Twins::run_copy(const rawhal_dispatch_t &asked, const TwinPlan &plan, uint32_t events,
                        TwinRun *watched)
{
  TwinRun made;
  const rawhal_probe_plan_info_t *info = plan.info();
  const uint32_t waves = waves_of(asked) + 8;
  const Room room(device_, plan, waves, events), watch(device_, plan, waves, watched ? events : 0);
  std::vector<char> blob(info->kernarg_size, 0);
  rawhal_dispatch_t dispatch = asked;
  memcpy(blob.data(), asked.blob, std::min<size_t>(asked.blob_size, info->argument_offset));
  memcpy(blob.data() + info->argument_offset, &room.argument, sizeof room.argument);
  dispatch.kernel = plan.copy;
  dispatch.blob = blob.data();
  dispatch.blob_size = blob.size();
  std::map<uint32_t, uint32_t> back;
  const std::vector<rawhal_probe_point_t> points =
      watched ? plan.in_copy(&back) : std::vector<rawhal_probe_point_t>();
  run(dispatch, watch.argument, *info, watched ? points.data() : nullptr, points.size(), &made);
  room.take(&made);
  if (!watched)
    return made;
  watch.take(watched);
  for (size_t i = 0; i < watched->events.size(); i += watched->event_bytes) {
    rawhal_probe_event_t head;
    memcpy(&head, &watched->events[i], sizeof head);
    head.offset = back[head.offset];
    memcpy(&watched->events[i], &head, sizeof head);
  }
  for (size_t i = 0; i < info->point_count; ++i) // which it has no place for
    if (info->points[i].action == RAWHAL_PROBE_PASSED)
      watched->counters[info->points[i].counter] = made.counters[info->points[i].counter];
  return made;
}

// `points`, unless they are NULL: what the engine records, and where `argument` says.
void Twins::run(const rawhal_dispatch_t &dispatch, const rawhal_probe_argument_t &argument,
                const rawhal_probe_plan_info_t &info, const rawhal_probe_point_t *points,
                size_t count, TwinRun *run)
{
  rawhal_error_t error = {};
  rawhal_queue_t *queue = nullptr;
  rawhal_queue_options_t options = {};
  options.packets = 64;
  options.submissions = 4;
  EXPECT_OK(rawhal_queue_create(device_, &options, &queue, &error));
  if (!queue)
    return;
  if (points) {
    EXPECT_TRUE(softgpu<softgpu_probe_fn>("softgpu_probe")(twin_kernargs(queue), &argument,
                                                           info.kinds, info.event_bytes,
                                                           info.counters, points, count));
  }
  submit(queue, dispatch, run);
  rawhal_queue_destroy(queue);
  run->memory = save();
}

void Twins::submit(rawhal_queue_t *queue, const rawhal_dispatch_t &dispatch, TwinRun *run)
{
  rawhal_error_t error = {};
  rawhal_ticket_t ticket = 0;
  run->status = rawhal_queue_submit(queue, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error);
  EXPECT_EQ(run->status, RAWHAL_OK) << error.message;
  if (run->status == RAWHAL_OK)
    run->status = rawhal_queue_wait(queue, ticket, RAWHAL_FOREVER, &error);
  run->fault.size = sizeof run->fault;
  if (run->status == RAWHAL_OK)
    EXPECT_OK(rawhal_queue_instructions(queue, ticket, &run->instructions, &error));
  else
    EXPECT_OK(rawhal_queue_fault(queue, &run->fault, &error));
}

std::vector<std::vector<char>> Twins::save() const
{
  std::vector<std::vector<char>> saved;
  rawhal_error_t error = {};
  for (const rawhal_buffer_t *buffer : buffers_) {
    saved.emplace_back(rawhal_buffer_size(buffer));
    EXPECT_OK(rawhal_buffer_read(buffer, 0, saved.back().data(), saved.back().size(), &error));
  }
  return saved;
}

void Twins::restore(const std::vector<std::vector<char>> &saved)
{
  rawhal_error_t error = {};
  auto from = saved.begin();
  for (rawhal_buffer_t *buffer : buffers_) {
    EXPECT_OK(rawhal_buffer_write(buffer, 0, from->data(), from->size(), &error));
    ++from;
  }
}

void Twins::refused(const char *kind, const rawhal_error_t &error)
{
  EXPECT_EQ(error.status, RAWHAL_UNSUPPORTED) << error.message;
  ++refusals_[std::string(kind) + ": " +
              std::regex_replace(error.message, std::regex("0x[0-9a-f]+"), "N")];
}

void Twins::print() const
{
  if (!most)
    return;
  if (seen_.empty()) {
    printf("skipped: nothing was compared, as there is no such library in the build folder\n");
    return;
  }
  printf("twins: %zu dispatches of %zu kernels, of which %zu fault (%zu copies in another wave), "
         "%zu do "
         "not end, and %zu are not the same twice; %" PRIu64 " copies ran; %" PRIu64
         " waves, %" PRIu64 " instructions, %" PRIu64 " events compared, %" PRIu64
         " not for want of room\n",
         figures_.dispatches, figures_.kernels, figures_.faults, figures_.elsewhere,
         figures_.endless, figures_.changing, figures_.clones, figures_.waves,
         figures_.instructions, figures_.events, figures_.unseen);
  if (!depending_.empty())
    printf("twins: waves of %zu kernels depend on each other, as in %s\n", depending_.size(),
           depending_.begin()->c_str());
  for (const std::string &name : reordered_)
    printf("twins: waves write the same memory, in another order: %s\n", name.c_str());
  for (const auto &[reason, dispatches] : refusals_)
    printf("twins: %zu dispatches not probed, %s\n", dispatches, reason.c_str());
}
