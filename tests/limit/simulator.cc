#include "tests/limit/simulator.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

namespace sim {

namespace {
constexpr Ns kRestart =
    100 * kUs; // of a queue or a process, after it has ended: a greedy one loses no time
constexpr Ns kSlice = 2 * kMs, kBucket = 100 * kMs, kWakeUp = 30 * kUs, kPoll = 5 * kMs;
// The device's clock is another than the host's.
constexpr uint64_t kDeviceClock = 7000000000000ull;
// Virtual time begins late enough for the limiter's subtractions.
constexpr uint64_t kEpoch = 1000000000000ull;
constexpr double kDone = 1e-3;
} // namespace

const char *Name(Model model)
{
  return model == Model::kSharing      ? "sharing"
         : model == Model::kRoundRobin ? "round robin"
                                       : "turns";
}

std::string TestName(const std::string &words)
{
  std::string name;
  for (char letter : words)
    if (isalnum(static_cast<unsigned char>(letter)))
      name += letter;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  return name;
}

void Service::Add(double served, Ns from, Ns to)
{
  double rate = to > from ? served / static_cast<double>(to - from) : 0;
  while (from < to) {
    size_t bucket = static_cast<size_t>(from / kBucket);
    Ns end = std::min<Ns>(to, static_cast<Ns>(bucket + 1) * kBucket);
    if (ns.size() <= bucket)
      ns.resize(bucket + 1);
    ns[bucket] += rate * static_cast<double>(end - from);
    from = end;
  }
}

double Service::Share(Ns from, Ns to) const
{
  double sum = 0;
  for (Ns at = from; at < to; at += kBucket)
    if (static_cast<size_t>(at / kBucket) < ns.size())
      sum += ns[static_cast<size_t>(at / kBucket)];
  return 100.0 * sum / static_cast<double>(to - from);
}

double Service::Deviation(Ns window, Ns step, Ns from, Ns to) const
{
  double sum = 0, squares = 0;
  int count = 0;
  for (Ns at = from; at + window <= to; at += step, ++count) {
    double share = Share(at, at + window);
    sum += share;
    squares += share * share;
  }
  double mean = sum / count;
  return std::sqrt(std::max(0.0, squares / count - mean * mean));
}

Simulator::Simulator(Options options) : options_(options)
{
  region_ = memfd_create("region", MFD_CLOEXEC);
}

Simulator::~Simulator()
{
  for (auto &process : processes_)
    shim_lease_destroy(process->lease);
  for (auto &process : processes_)
    if (!process->owner)
      rawhal_limiter_close(process->limiter);
  close(region_);
}

Process &Simulator::Add(const Workload &workload,
                        const std::vector<std::pair<rawhal_limit_t, uint64_t>> &limits,
                        const std::string &tenant)
{
  auto process = std::make_unique<Process>();
  process->simulator = this;
  process->workload = workload;
  process->random.seed(options_.seed * 1000003u + static_cast<uint32_t>(processes_.size()));
  process->limits = limits;
  process->tenant = tenant;
  if (!limits.empty()) {
    OpenLimiter(*process);
    OpenLease(*process);
  }
  return Start(std::move(process));
}

Process &Simulator::AddQueue(Process &owner, const Workload &workload)
{
  auto process = std::make_unique<Process>();
  process->simulator = this;
  process->workload = workload;
  process->random.seed(options_.seed * 1000003u + static_cast<uint32_t>(processes_.size()));
  process->owner = &owner;
  process->limiter = owner.limiter;
  OpenLease(*process);
  return Start(std::move(process));
}

Process &Simulator::Start(std::unique_ptr<Process> process)
{
  arriving_.emplace_back();
  ended_.emplace_back();
  processes_.push_back(std::move(process));
  PickKernel(*processes_.back());
  Push(now_, What::kAttempt, processes_.size() - 1);
  return *processes_.back();
}

void Simulator::OpenLimiter(Process &process)
{
  rawhal_error_t error = {};
  rawhal_limit_config_t config = {};
  config.has_region_fd = true;
  config.region_fd = region_;
  snprintf(config.tenant.text, sizeof(config.tenant.text), "%s", process.tenant.c_str());
  for (const auto &[limit, value] : process.limits)
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_config_set(&config, limit, value, &error)) << error.message;
  EXPECT_EQ(RAWHAL_OK, shim_open(&config, &Simulator::Now, this, &process.limiter, &error))
      << error.message;
}

void Simulator::OpenLease(Process &process)
{
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, shim_lease(process.limiter, &Simulator::ReapCallback, &process,
                                  RAWHAL_UNLIMITED, &process.lease, &error))
      << error.message;
}

// ---- Ends ----

void Simulator::Stop(Process &process, End end)
{
  for (size_t i = 0; i < processes_.size(); ++i)
    if (processes_[i].get() == &process)
      Stop(i, end);
}

// The device forgets all of the queue.
void Simulator::Drop(size_t index)
{
  Process &process = *processes_[index];
  process.device.clear();
  arriving_[index].clear();
  ended_[index].clear();
  process.in_flight = 0;
  ++process.generation;
}

void Simulator::Stop(size_t index, End end)
{
  Process &process = *processes_[index];
  ASSERT_TRUE(process.lease);
  if (end == End::kDeath) {
    ASSERT_FALSE(process.owner) << "a queue dies with its process";
    for (size_t i = 0; i < processes_.size(); ++i)
      if (i == index || processes_[i]->owner == &process) {
        Drop(i);
        processes_[i]->finished.clear();
        processes_[i]->lease = nullptr;
      }
    shim_kill(process.limiter);
    OpenLimiter(process);
    for (auto &other : processes_)
      if (other.get() == &process || other->owner == &process) {
        other->limiter = process.limiter;
        OpenLease(*other);
      }
    for (size_t i = 0; i < processes_.size(); ++i)
      if (i == index || processes_[i]->owner == &process)
        Push(now_ + kRestart, What::kAttempt, i, ++processes_[i]->wake);
    return;
  }
  std::deque<Running> lost = process.device;
  for (const Running &kernel : arriving_[index])
    lost.push_back(kernel);
  process.finished.insert(process.finished.end(), ended_[index].begin(), ended_[index].end());
  Drop(index);
  process.in_flight = static_cast<int>(process.finished.size());
  Reap(process);
  if (end == End::kFault)
    for (const Running &kernel : lost)
      shim_end(process.lease, &kernel.grant, Now(this));
  shim_lease_destroy(process.lease);
  OpenLease(process);
  Push(now_ + kRestart, What::kAttempt, index, ++process.wake);
}

void Simulator::Push(Ns at, What what, size_t process, uint64_t wake)
{
  events_.push({at, order_++, what, process, wake});
}

// Around the kind's duration, in pairs whose mean is the duration itself: over many kernels the load does
// not wander off.
void Simulator::PickKernel(Process &process)
{
  if (process.workload.moves) {
    Move move = process.workload.moves(process.kind++, now_);
    process.next = {move.kernel, move.duration};
    process.next_duration = move.duration;
    process.next_end = move.end;
    process.next_pause = move.pause;
    return;
  }
  process.next = process.workload.kinds[process.kind++ % process.workload.kinds.size()];
  bool paired = process.workload.kinds.size() == 1 && process.antithetic;
  Ns jitter = paired
                  ? -process.antithetic
                  : static_cast<Ns>((static_cast<double>(process.random() % 20001) / 10000.0 - 1) *
                                    options_.jitter * static_cast<double>(process.next.duration));
  process.antithetic = paired ? 0 : jitter;
  process.next_duration = process.next.duration + jitter;
}

uint64_t Simulator::Now(void *context)
{
  return kEpoch + static_cast<uint64_t>(static_cast<Simulator *>(context)->now_);
}

void Simulator::ReapCallback(void *context)
{
  Process &process = *static_cast<Process *>(context);
  process.simulator->Reap(process);
}

void Simulator::Reap(Process &process)
{
  while (!process.finished.empty()) {
    Running kernel = process.finished.front();
    process.finished.pop_front();
    --process.in_flight;
    if (process.lease)
      shim_complete(process.lease, &kernel.grant,
                    kDeviceClock + static_cast<uint64_t>(kernel.start),
                    kDeviceClock + static_cast<uint64_t>(kernel.end));
  }
}

void Simulator::Submitted(size_t index, const shim_grant_t &grant)
{
  Process &process = *processes_[index];
  Running kernel = {grant,
                    process.next_end,
                    process.next_duration,
                    0,
                    0,
                    static_cast<double>(process.next_duration)};
  Ns pause = process.workload.pause + process.next_pause;
  if (on_admit)
    on_admit(process, process.next_duration, now_);
  PickKernel(process);
  ++process.launches;
  ++process.in_flight;
  arriving_[index].push_back(kernel);
  Push(now_ + options_.host_cost, What::kArrive, index, process.generation);
  if (process.workload.sync_each) {
    process.state = Process::kSync;
    return;
  }
  Push(now_ + options_.host_cost + pause, What::kAttempt, index, process.wake);
}

void Simulator::Blocked(size_t index)
{
  Process &process = *processes_[index];
  process.state = Process::kBlocked;
  process.woken = false;
  Ns retry = static_cast<Ns>(shim_retry_at(process.lease) - kEpoch);
  Ns until = retry > now_ ? retry : now_ + kPoll;
  Push(until + options_.slack + process.workload.late, What::kAttempt, index, ++process.wake);
}

void Simulator::Attempt(size_t index)
{
  Process &process = *processes_[index];
  process.state = Process::kReady;
  if (process.in_flight >= options_.depth)
    Reap(process);
  if (process.in_flight >= options_.depth) {
    process.state = Process::kFull;
    return;
  }
  shim_grant_t grant = {};
  if (!process.lease) {
    Reap(process);
    Submitted(index, grant);
    return;
  }
  shim_events(process.limiter, process.events);
  shim_cost_t cost = {process.next.kernel, 64, 256, 1};
  rawhal_error_t error = {};
  rawhal_status_t status = shim_admit(process.lease, &cost, 0, &grant, &error);
  if (status == RAWHAL_OK) {
    Submitted(index, grant);
  } else {
    ASSERT_EQ(RAWHAL_WOULD_BLOCK, status) << error.message;
    Blocked(index);
  }
}

// Those who would sleep on a futex of the region.
void Simulator::NotifyWaiters()
{
  for (size_t i = 0; i < processes_.size(); ++i) {
    Process &process = *processes_[i];
    if (process.state != Process::kBlocked || process.woken || process.in_flight ||
        process.workload.late)
      continue;
    uint32_t events[2];
    shim_events(process.limiter, events);
    if (!memcmp(events, process.events, sizeof(events)))
      continue;
    process.woken = true;
    Push(now_ + kWakeUp, What::kAttempt, i, ++process.wake);
  }
}

// ---- The device ----

void Simulator::Serve(Process &process, double ns, Ns from, Ns to)
{
  Running &kernel = process.device.front();
  if (kernel.start == 0)
    kernel.start = from;
  kernel.left -= ns;
  process.service.Add(ns, from, to);
  if (on_serve)
    on_serve(process, ns, from, to);
}

void Simulator::DivideFairly(Ns from, Ns to)
{
  auto began = [](const std::unique_ptr<Process> &process) {
    return !process->device.empty() && process->device.front().start != 0;
  };
  auto count = std::count_if(processes_.begin(), processes_.end(), began);
  for (auto &process : processes_)
    if (began(process))
      process->fair_ns += static_cast<double>(to - from) / static_cast<double>(count);
}

void Simulator::Finish(size_t index)
{
  Process &process = *processes_[index];
  Running kernel = process.device.front();
  process.device.pop_front();
  kernel.end = device_now_;
  if (kernel.ending != End::kDone) {
    process.device.push_front(kernel);
    stops_.push_back({index, kernel.ending});
    return;
  }
  ended_[index].push_back(kernel);
  Push(device_now_ + options_.seen_after, What::kSeen, index, process.generation);
  if (!process.device.empty() && options_.model == Model::kSharing)
    process.device.front().start = device_now_;
}

void Simulator::Rotate()
{
  slice_left_ = static_cast<double>(kSlice);
  for (size_t i = 1; i <= processes_.size(); ++i) {
    size_t next = (current_ + i) % processes_.size();
    if (processes_[next]->device.empty())
      continue;
    current_ = next;
    return;
  }
}

// The next time at which the device does something by itself.
Ns Simulator::DeviceEvent() const
{
  double least = -1;
  if (options_.model == Model::kSharing) {
    size_t active = 0;
    for (const auto &process : processes_) {
      if (process->device.empty())
        continue;
      ++active;
      if (least < 0 || process->device.front().left < least)
        least = process->device.front().left;
    }
    if (active)
      least *= static_cast<double>(active);
  } else if (!processes_[current_]->device.empty()) {
    least = processes_[current_]->device.front().left;
    if (options_.model == Model::kRoundRobin)
      least = std::min(least, slice_left_);
  }
  return least < 0 ? INT64_MAX : device_now_ + static_cast<Ns>(std::ceil(std::max(least, 0.0)));
}

void Simulator::Advance(Ns to)
{
  if (options_.model == Model::kSharing) {
    size_t active = 0;
    for (const auto &process : processes_)
      active += !process->device.empty();
    Ns from = device_now_;
    device_now_ = to;
    DivideFairly(from, to);
    for (size_t i = 0; i < processes_.size(); ++i) {
      Process &process = *processes_[i];
      if (process.device.empty())
        continue;
      double part = static_cast<double>(to - from) / static_cast<double>(active);
      Serve(process, std::min(part, process.device.front().left), from, to);
      if (process.device.front().left < kDone)
        Finish(i);
    }
    return;
  }
  Ns from = device_now_;
  device_now_ = to;
  Process &process = *processes_[current_];
  if (process.device.empty()) {
    Rotate();
    return;
  }
  double part = static_cast<double>(to - from);
  Serve(process, std::min(part, process.device.front().left), from, to);
  DivideFairly(from, to);
  slice_left_ -= part;
  bool ended = process.device.front().left < kDone;
  if (ended)
    Finish(current_);
  bool may_switch = options_.model == Model::kRoundRobin || ended;
  if (process.device.empty() || (slice_left_ < kDone && may_switch))
    Rotate();
}

void Simulator::DoStops()
{
  while (!stops_.empty()) {
    auto [index, end] = stops_.back();
    stops_.pop_back();
    Stop(index, end);
    NotifyWaiters();
  }
}

void Simulator::Run(Ns until)
{
  while (now_ < until) {
    Ns device = DeviceEvent();
    Ns next = events_.empty() ? INT64_MAX : events_.top().at;
    if (std::min(device, next) >= until)
      break;
    if (device <= next) {
      now_ = device;
      Advance(device);
      DoStops();
      continue;
    }
    Event event = events_.top();
    events_.pop();
    now_ = event.at;
    Advance(now_);
    DoStops();
    Process &process = *processes_[event.process];
    if (event.what != What::kAttempt && event.wake != process.generation)
      continue;
    switch (event.what) {
    case What::kArrive:
      process.device.push_back(arriving_[event.process].front());
      arriving_[event.process].pop_front();
      if (process.device.size() == 1 && options_.model == Model::kSharing)
        process.device.front().start = now_;
      if (processes_[current_]->device.empty())
        Rotate();
      break;
    case What::kSeen:
      process.finished.push_back(ended_[event.process].front());
      ended_[event.process].pop_front();
      if (process.state == Process::kReady)
        break;
      if (process.state == Process::kSync)
        Reap(process);
      Push(now_ + (process.state == Process::kSync ? process.workload.pause : 0), What::kAttempt,
           event.process, ++process.wake);
      process.state = Process::kReady;
      break;
    case What::kAttempt:
      if (event.wake == process.wake)
        Attempt(event.process);
      break;
    }
    NotifyWaiters();
  }
  now_ = until;
  Advance(until);
}

} // namespace sim
