// A closed loop in virtual time around the real limiter: applications that submit kernels, a device that runs
// them, and what each of them really got.
#ifndef TESTS_LIMIT_SIMULATOR_H
#define TESTS_LIMIT_SIMULATOR_H

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

extern "C" {
#include "tests/limit/shim.h"
}

namespace sim {

using Ns = int64_t;
constexpr Ns kUs = 1000, kMs = 1000 * kUs, kSecond = 1000 * kMs;

enum class Model {
  kSharing,    // all processes run at once, each at 1/n of the speed
  kRoundRobin, // 2 ms each, in the middle of kernels if need be
  kTakingTurns // 2 ms each, but kernels run to their end
};
const char *Name(Model model);

// Of words that say what is simulated, the name of a test: "1 / 30 ms" is 1_30_ms.
std::string TestName(const std::string &words);

struct Kind {
  uint64_t kernel;
  Ns duration; // +- Options::jitter
};

// How a submission ends, other than by its signal.
enum class End {
  kDone,
  kFault,   // its queue dies with all that is in it, when it would have ended
  kDestroy, // the program destroys the queue, when it would have ended
  kDeath    // the process is killed, when it would have ended
};

// A submission of somebody who wants more than is due.
struct Move {
  Ns duration;
  uint64_t kernel = 1;
  End end = End::kDone;
  Ns pause = 0; // before the next
};

struct Workload {
  std::vector<Kind> kinds = {};
  bool sync_each = false; // waits for each kernel before it submits the next
  Ns pause = 0;           // between two submissions
  Ns late = 0;            // polls so much later than it was told to
  // Instead of `kinds`: the n-th submission, asked for at `now`.
  std::function<Move(uint64_t n, Ns now)> moves = nullptr;
};

struct Options {
  Model model = Model::kSharing;
  Ns seen_after = 20 * kUs; // from a kernel's end until its application can see it
  Ns slack = 60 * kUs;      // by which timers are late
  Ns host_cost = 4 * kUs;   // of a submission
  int depth = 1024;         // submissions in flight
  double jitter = 0.05;
  uint32_t seed = 1;
};

class Simulator;

// When the device worked for somebody.
struct Service {
  std::vector<double> ns; // by 100 ms
  void Add(double ns, Ns from, Ns to);
  double Share(Ns from, Ns to) const; // percent
  // Of the shares of windows that begin at `from` and every `step` after it.
  double Deviation(Ns window, Ns step, Ns from, Ns to) const;
};

struct Running {
  shim_grant_t grant;
  End ending;
  Ns duration, start, end;
  double left;
};

struct Process {
  Simulator *simulator;
  Workload workload;
  rawhal_limiter_t *limiter = nullptr; // none: unlimited
  limit_lease_t *lease = nullptr;
  std::vector<std::pair<rawhal_limit_t, uint64_t>> limits;
  std::string tenant;
  Process *owner = nullptr; // whose limiter this queue uses, if another's
  uint64_t generation = 0;  // of the queue
  End next_end = End::kDone;
  Ns next_pause = 0;
  std::mt19937 random;
  std::deque<Running> device;   // in the device's FIFO
  std::deque<Running> finished; // seen, not reaped
  int in_flight = 0;            // submitted and not reaped
  enum { kReady, kBlocked, kSync, kFull } state = kReady;
  uint64_t wake = 0; // the number of the wake-up that counts
  bool woken = false;
  uint32_t events[2] = {};
  Kind next{};
  Ns next_duration = 0, antithetic = 0;
  size_t kind = 0;
  uint64_t launches = 0;
  Service service;
  double fair_ns = 0; // 1/n of the time in which n processes had begun a kernel and not ended it
  double Share(Ns from, Ns to) const { return service.Share(from, to); }
};

class Simulator {
public:
  explicit Simulator(Options options);
  ~Simulator();
  Simulator(const Simulator &) = delete;
  Simulator &operator=(const Simulator &) = delete;

  // `limits` empty: without a limiter. Processes of one tenant name share its limits.
  Process &Add(const Workload &workload,
               const std::vector<std::pair<rawhal_limit_t, uint64_t>> &limits,
               const std::string &tenant = "default");
  // Another queue of a process, with work of its own.
  Process &AddQueue(Process &owner, const Workload &workload);
  void Run(Ns until);
  // Ends what a process has in flight, as if the one in front had ended so. It goes on with a new queue, or as a new
  // process.
  void Stop(Process &process, End end);
  Ns now() const { return now_; }
  // Called with (process, ns of device time, time of admission) for each admitted kernel.
  std::function<void(const Process &, Ns, Ns)> on_admit;
  // Called with (process, ns of device time, from, to) for each time in which the device worked for it.
  std::function<void(const Process &, double, Ns, Ns)> on_serve;

private:
  enum class What { kAttempt, kArrive, kSeen };
  struct Event {
    Ns at;
    uint64_t order;
    What what;
    size_t process;
    uint64_t wake;
    bool operator<(const Event &other) const
    {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  void Push(Ns at, What what, size_t process, uint64_t wake = 0);
  void Attempt(size_t index);
  void Submitted(size_t index, const shim_grant_t &grant);
  void Blocked(size_t index);
  void Reap(Process &process);
  void NotifyWaiters();
  void Advance(Ns to);
  Ns DeviceEvent() const;
  void Serve(Process &process, double ns, Ns from, Ns to);
  void DivideFairly(Ns from, Ns to);
  void Finish(size_t index);
  void OpenLimiter(Process &process);
  void OpenLease(Process &process);
  void Drop(size_t index);
  void Stop(size_t index, End end);
  void DoStops();
  Process &Start(std::unique_ptr<Process> process);
  void Rotate();
  void PickKernel(Process &process);
  static uint64_t Now(void *context);
  static void ReapCallback(void *context);

  Options options_;
  int region_;
  Ns now_ = 0;
  uint64_t order_ = 0;
  std::priority_queue<Event> events_;
  std::vector<std::unique_ptr<Process>> processes_;
  // The device.
  Ns device_now_ = 0;
  size_t current_ = 0;
  double slice_left_ = 2.0 * kMs;
  std::vector<std::deque<Running>> arriving_;
  std::vector<std::deque<Running>> ended_;    // finished on the device, not seen yet
  std::vector<std::pair<size_t, End>> stops_; // to be done when the device has been served
};

} // namespace sim

#endif
