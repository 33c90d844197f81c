// Random schedules over 8 queues and 4 host threads, against a sequential model.
//
// The model makes a list of operations, each of a queue or of a host thread: wait for values that earlier ones signal, work,
// signal. So the list is an order in which all of it may run, and the model computes by it what each leaves in memory, which
// of them fail, and which value each semaphore has in the end. Four threads carry it out, each with two queues and its own
// operations, in an order that keeps no more than that of each queue: most waits come before their signals. Work reads what
// the operations that were waited for have written: one that begins too early leaves another number.
#include "timeline_test.h"

#include "tests/extended.h"

#include <sys/eventfd.h>

#include <poll.h>

#include <climits>
#include <random>
#include <thread>

namespace {

constexpr int queue_count = 8, thread_count = 4, semaphore_count = 5, most_waits = 3;

struct Wait {
  int semaphore;
  uint64_t value;
  int operation; // that signals it or the first larger value
};

struct Signal {
  int semaphore;
  uint64_t value, before; // what the semaphore has had until then
};

struct Operation {
  int number, stream;               // a queue, or behind those a thread
  enum { WORK, BREAK } kind = WORK; // BREAK: the kernel faults, or the host fails the semaphores
  bool overlap = false;
  std::vector<Wait> waits;
  std::vector<int> reads; // operations whose number is in memory
  std::vector<Signal> signals;
  // By the model; `may_fail`: according to what is known when something breaks.
  bool fails = false, may_fail = false;
  float depth = 0;
  // Of the run:
  rawhal_ticket_t ticket = 0;
  bool refused = false;

  bool is_host() const { return stream >= queue_count; }
};

struct Schedule {
  std::vector<Operation> operations;
  uint64_t values[semaphore_count] = {};
  bool failed[semaphore_count] = {}, may_fail[semaphore_count] = {};
};

class Maker {
public:
  explicit Maker(uint64_t seed) : random(seed) {}

  Schedule make()
  {
    const int count = 8 + int(random() % 32);
    const bool breaks = random() % 4 == 0;
    for (int i = 0; i < count; ++i)
      schedule.operations.push_back(operation(i, breaks && random() % 12 == 0));
    spread();
    return schedule;
  }

private:
  struct Last {
    uint64_t value = 0;
    int operation = -1;
  };

  void wait_for(Operation &made, const Wait &wait)
  {
    made.waits.push_back(wait);
    made.reads.push_back(wait.operation);
  }

  // A value that has been signalled in the list: by all means the last, else any, or one that is passed over.
  void wait_somewhere(Operation &made)
  {
    if (signalled.empty())
      return;
    const auto &[operation, signal] = signalled[random() % signalled.size()];
    const uint64_t over = random() % 3 ? 0 : random() % (signal.value - signal.before);
    wait_for(made, {signal.semaphore, signal.value - over, operation});
  }

  void signal_somewhere(Operation &made)
  {
    const int of = int(random() % semaphore_count);
    for (const Signal &each : made.signals)
      if (each.semaphore == of)
        return;
    Last &before = last[of];
    const bool known = before.operation >= 0 &&
                       schedule.operations[size_t(before.operation)].stream == made.stream;
    if (before.operation >= 0 && !known) {
      if (made.waits.size() >= most_waits)
        return;
      wait_for(made, {of, before.value, before.operation}); // signals come in ascending order
    }
    const uint64_t value = before.value + 1 + random() % 3;
    made.signals.push_back({of, value, before.value});
  }

  Operation operation(int number, bool breaks)
  {
    Operation made;
    made.number = number;
    made.stream = int(random() % (queue_count + thread_count));
    made.kind = breaks ? Operation::BREAK : Operation::WORK;
    made.overlap = random() % 2;
    for (uint64_t waits = random() % most_waits; waits-- > 0;)
      wait_somewhere(made);
    for (uint64_t signals = random() % 3; signals-- > 0;)
      signal_somewhere(made);
    for (const Signal &signal : made.signals) {
      last[signal.semaphore] = {signal.value, number};
      signalled.push_back({number, signal});
    }
    const int before = streams[made.stream];
    if (before >= 0 && !made.is_host())
      made.reads.push_back(before);
    streams[made.stream] = number;
    judge(made, made.is_host() ? -1 : before);
    return made;
  }

  void judge(Operation &made, int before)
  {
    made.fails =
        made.kind == Operation::BREAK || (before >= 0 && schedule.operations[size_t(before)].fails);
    for (const Wait &wait : made.waits)
      made.fails |= schedule.operations[size_t(wait.operation)].fails;
    made.depth = 1 + (made.reads.empty() ? 0 : schedule.operations[size_t(made.reads[0])].depth);
    for (const Signal &signal : made.signals) {
      if (made.fails)
        schedule.failed[signal.semaphore] = true;
      else
        schedule.values[signal.semaphore] = signal.value;
    }
  }

  // A semaphore that fails at a value no longer reaches smaller ones that nobody has been asked to signal by then.
  void spread()
  {
    for (bool more = true; more;) {
      more = false;
      int before[queue_count + thread_count];
      std::fill_n(before, queue_count + thread_count, -1);
      for (Operation &each : schedule.operations) {
        bool may = each.fails;
        for (const Wait &wait : each.waits)
          may |= schedule.may_fail[wait.semaphore] ||
                 schedule.operations[size_t(wait.operation)].may_fail;
        for (const Signal &signal : each.signals)
          may |= schedule.may_fail[signal.semaphore];
        int &last_of = before[each.stream];
        may |= !each.is_host() && last_of >= 0 && schedule.operations[size_t(last_of)].may_fail;
        last_of = each.number;
        for (const Signal &signal : each.signals) {
          more |= may && !schedule.may_fail[signal.semaphore];
          schedule.may_fail[signal.semaphore] |= may;
        }
        more |= may && !each.may_fail;
        each.may_fail = may;
      }
    }
  }

  std::mt19937_64 random;
  Schedule schedule;
  Last last[semaphore_count];
  std::vector<std::pair<int, Signal>> signalled;
  int streams[queue_count + thread_count] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
};

class TimelineModel : public TimelineTest {
protected:
  static constexpr size_t cells_of_one = most_waits + 3; // of which the first counts

  void SetUp() override
  {
    TimelineTest::SetUp();
    add = kernel("vector_add-gfx90a-v5.co", "vector_add");
    faults = kernel("fault-gfx90a-v5.co", "fault_store");
    memory = buffer(64 << 10, RAWHAL_MEMORY_HOST);
    cells = static_cast<float *>(rawhal_buffer_host(memory));
    on.resize(queue_count);
  }

  float *cell(const Operation &of, size_t i = 0)
  {
    return cells + 16 + size_t(of.number) * cells_of_one + i;
  }
  // Atomic: what orders it is the semaphore, by the HSA runtime, into which ThreadSanitizer does not see.
  static float load(const float *from)
  {
    float is;
    __atomic_load(from, &is, __ATOMIC_RELAXED);
    return is;
  }
  static void store(float *to, float value) { __atomic_store(to, &value, __ATOMIC_RELAXED); }

  uint64_t address(const float *at)
  {
    return rawhal_buffer_address(memory) + uint64_t(at - cells) * sizeof(float);
  }

  // cells[1] is 1. Each of the operation's cells gets what an operation before has, and one more.
  rawhal_status_t work(const Operation &operation, rawhal_error_t *failure)
  {
    struct {
      uint64_t c, a, b;
      uint32_t n;
    } blobs[cells_of_one];
    std::vector<rawhal_dispatch_t> dispatches;
    for (size_t i = 0; i < std::max<size_t>(operation.reads.size(), 1); ++i) {
      const float *from =
          operation.reads.empty() ? cells : cell(schedule.operations[size_t(operation.reads[i])]);
      blobs[i] = {address(cell(operation, i)), address(from), address(cells + 1), 1};
      rawhal_dispatch_t dispatch = dispatch_of(add, 1, 1, none);
      dispatch.blob = &blobs[i];
      dispatch.blob_size = 28;
      dispatch.flags = operation.overlap ? RAWHAL_DISPATCH_OVERLAP : 0;
      dispatches.push_back(dispatch);
    }
    Blob wild;
    wild.add(uint64_t{0}).add(int64_t{1} << 40).add(1u);
    if (operation.kind == Operation::BREAK)
      dispatches = {dispatch_of(faults, 1, 1, wild)};
    return rawhal_queue_submit(on[size_t(operation.stream)], dispatches.data(), dispatches.size(),
                               RAWHAL_FOREVER, nullptr, failure);
  }

  struct Stream {
    std::vector<Operation *> operations;
    size_t next = 0;
    bool broken = false; // a queue's operation was refused: so are all behind it
  };

  struct Thread {
    std::mt19937_64 random;
    Stream streams[3];
    std::vector<std::pair<Operation *, rawhal_error_t>> to_fail;
  };

  rawhal_status_t submit_all(Operation &operation, uint64_t how, rawhal_error_t *failure)
  {
    points_t waits, signals;
    rawhal_queue_t *queue = on[size_t(operation.stream)];
    for (const Wait &wait : operation.waits)
      waits.push_back({of[wait.semaphore], wait.value});
    for (const Signal &signal : operation.signals)
      signals.push_back({of[signal.semaphore], signal.value});
    rawhal_status_t status = RAWHAL_OK;
    if (!waits.empty() || how % 2)
      status = rawhal_queue_timeline(queue, waits.data(), waits.size(), nullptr, 0, RAWHAL_FOREVER,
                                     nullptr, failure);
    if (status == RAWHAL_OK)
      status = work(operation, failure);
    if (status == RAWHAL_OK)
      status = rawhal_queue_timeline(queue, nullptr, 0, signals.data(), signals.size(),
                                     RAWHAL_FOREVER, &operation.ticket, failure);
    return status;
  }

  void run_queue(Thread &thread, Stream &stream, Operation &operation)
  {
    rawhal_error_t failure = {};
    rawhal_status_t status = RAWHAL_DEVICE_LOST;
    if (!stream.broken)
      status = submit_all(operation, thread.random(), &failure);
    if (status == RAWHAL_OK)
      return;
    EXPECT_TRUE(operation.may_fail) << operation.number << ": " << failure.message;
    stream.broken = operation.refused = true;
    thread.to_fail.push_back({&operation, failure});
  }

  static void expect(const Operation &operation, rawhal_status_t status,
                     const rawhal_error_t &failure)
  {
    const bool free = operation.may_fail && !operation.fails;
    EXPECT_TRUE(free || (status != RAWHAL_OK) == operation.fails)
        << operation.number << ": " << status << " " << failure.message;
    EXPECT_NE(status, RAWHAL_TIMED_OUT);
  }

  // Of one that has succeeded: what it waited for had.
  void expect_reads(const Operation &operation)
  {
    for (size_t i = 0; i < operation.reads.size(); ++i) {
      const Operation &read = schedule.operations[size_t(operation.reads[i])];
      EXPECT_EQ(operation.is_host() ? load(cell(read)) : load(cell(operation, i)) - 1, read.depth)
          << operation.number << " reads of " << read.number;
    }
  }

  rawhal_status_t signal_all(const Operation &operation, rawhal_error_t *failure)
  {
    rawhal_status_t status = RAWHAL_OK;
    for (const Signal &signal : operation.signals)
      if (status == RAWHAL_OK)
        status = rawhal_semaphore_signal(of[signal.semaphore], signal.value, failure);
    return status;
  }

  // False: it would block.
  bool run_host(Thread &thread, Operation &operation, bool patient)
  {
    rawhal_error_t failure = {};
    rawhal_status_t status = await(thread, operation, patient, &failure);
    if (status == RAWHAL_WOULD_BLOCK)
      return false;
    if (status == RAWHAL_OK)
      expect_reads(operation);
    if (status == RAWHAL_OK && operation.kind == Operation::BREAK) {
      failure.status = status = RAWHAL_DEVICE_LOST;
      strcpy(failure.message, "the model breaks it");
    }
    store(cell(operation), operation.depth);
    if (status == RAWHAL_OK)
      status = signal_all(operation, &failure);
    expect(operation, status, failure);
    if (status != RAWHAL_OK)
      thread.to_fail.push_back({&operation, failure});
    return true;
  }

  rawhal_status_t await(Thread &thread, const Operation &operation, bool patient,
                        rawhal_error_t *failure)
  {
    std::vector<rawhal_wait_t> waits;
    for (const Wait &wait : operation.waits)
      waits.push_back({of[wait.semaphore], wait.value, nullptr, 0});
    size_t which = 0;
    if (patient && !waits.empty() && thread.random() % 4 == 0)
      by_descriptor(waits);
    if (patient && !waits.empty() && thread.random() % 2) { // until any, and then for all
      const rawhal_status_t any =
          rawhal_wait_any(waits.data(), waits.size(), soon(), &which, failure);
      EXPECT_LT(which, waits.size());
      if (any != RAWHAL_OK)
        return any;
    }
    return rawhal_wait_all(waits.data(), waits.size(), patient ? soon() : 0, &which, failure);
  }

  static uint64_t soon() { return rawhal_deadline_after(60000 * millisecond); }

  static void by_descriptor(const std::vector<rawhal_wait_t> &waits)
  {
    rawhal_error_t error = {};
    const int fd = eventfd(0, EFD_CLOEXEC);
    for (const rawhal_wait_t &wait : waits)
      EXPECT_OK(rawhal_semaphore_notify(wait.semaphore, wait.value, fd, &error));
    for (uint64_t count = 0, more = 0; count < waits.size(); count += more) {
      pollfd one = {fd, POLLIN, 0};
      ASSERT_EQ(poll(&one, 1, 60000), 1);
      ASSERT_EQ(read(fd, &more, sizeof(more)), ssize_t(sizeof(more)));
    }
    close(fd);
  }

  // What a program does whose submission was refused, when what comes before is over. False: it is not yet.
  bool fail_one(const Operation &operation, const rawhal_error_t &cause, bool patient)
  {
    rawhal_error_t failure = {};
    for (const Signal &signal : operation.signals) {
      const rawhal_status_t status = rawhal_semaphore_wait(of[signal.semaphore], signal.before,
                                                           patient ? soon() : 0, &failure);
      EXPECT_NE(status, RAWHAL_TIMED_OUT);
      if (status == RAWHAL_WOULD_BLOCK)
        return false;
    }
    for (const Signal &signal : operation.signals)
      EXPECT_EQ(rawhal_semaphore_fail(of[signal.semaphore], &cause, &failure), RAWHAL_OK);
    return true;
  }

  // As far as that goes at once, or the first before `number`.
  void fail_some(Thread &thread, int number)
  {
    std::sort(thread.to_fail.begin(), thread.to_fail.end(),
              [](const auto &a, const auto &b) { return a.first->number < b.first->number; });
    std::vector<std::pair<Operation *, rawhal_error_t>> left;
    for (auto &[operation, cause] : thread.to_fail)
      if (!fail_one(*operation, cause, left.empty() && operation->number < number))
        left.push_back({operation, cause});
    thread.to_fail = left;
  }

  // What may block is done in the order of numbers: so the least of all that are left never does for ever.
  void run_thread(Thread &thread)
  {
    for (;;) {
      std::vector<Stream *> left;
      for (Stream &stream : thread.streams)
        if (stream.next < stream.operations.size())
          left.push_back(&stream);
      if (left.empty())
        break;
      Stream &stream = *left[thread.random() % left.size()];
      Operation &operation = *stream.operations[stream.next];
      const bool patient = operation.is_host() && left.size() == 1;
      fail_some(thread, patient ? operation.number : 0);
      if (!operation.is_host())
        run_queue(thread, stream, operation);
      else if (!run_host(thread, operation, patient))
        continue;
      ++stream.next;
    }
    fail_some(thread, INT_MAX);
  }

  void check()
  {
    for (const Operation &operation : schedule.operations) {
      if (operation.is_host() || operation.refused)
        continue;
      rawhal_queue_t *queue = on[size_t(operation.stream)];
      const rawhal_status_t status = rawhal_queue_wait(queue, operation.ticket, soon(), &error);
      expect(operation, status, error);
      if (status == RAWHAL_OK)
        expect_reads(operation);
    }
    for (int i = 0; i < semaphore_count; ++i) {
      uint64_t value = 0;
      const rawhal_status_t status = rawhal_semaphore_value(of[i], &value, &error);
      EXPECT_TRUE(status == RAWHAL_OK || schedule.may_fail[i]) << i << ": " << error.message;
      EXPECT_TRUE(status != RAWHAL_OK || !schedule.failed[i]) << i;
      if (status == RAWHAL_OK)
        EXPECT_EQ(value, schedule.values[i]) << i;
      else
        EXPECT_LE(value, schedule.values[i]) << i;
    }
  }

  void begin()
  {
    rawhal_queue_options_t sizes = {};
    sizes.submissions = 128;
    for (rawhal_queue_t *&each : on)
      if (!each)
        ASSERT_OK(rawhal_queue_create(device, &sizes, &each, &error));
    for (rawhal_semaphore_t *&each : of)
      ASSERT_OK(rawhal_semaphore_create(device, 0, &each, &error));
    memset(cells, 0, rawhal_buffer_size(memory));
    cells[1] = 1;
  }

  // A queue that an operation has broken is of no use any more.
  void end()
  {
    for (rawhal_semaphore_t *each : of)
      rawhal_semaphore_destroy(each);
    for (const Operation &operation : schedule.operations)
      if (operation.may_fail && !operation.is_host() && on[size_t(operation.stream)]) {
        rawhal_queue_destroy(on[size_t(operation.stream)]);
        on[size_t(operation.stream)] = nullptr;
      }
  }

  void run(uint64_t seed)
  {
    SCOPED_TRACE("seed " + std::to_string(seed));
    schedule = Maker(seed).make();
    begin();
    Thread threads[thread_count];
    for (Operation &operation : schedule.operations) {
      const int t = operation.stream % thread_count;
      const int s = operation.is_host() ? 2 : operation.stream / thread_count;
      threads[t].streams[s].operations.push_back(&operation);
    }
    std::vector<std::thread> running;
    for (int t = 0; t < thread_count; ++t) {
      threads[t].random.seed(seed * thread_count + uint64_t(t));
      running.emplace_back([&, t] { run_thread(threads[t]); });
    }
    for (std::thread &each : running)
      each.join();
    check();
    end();
  }

  void TearDown() override
  {
    for (rawhal_queue_t *each : on)
      rawhal_queue_destroy(each);
    TimelineTest::TearDown();
  }

  const rawhal_device_kernel_t *add = nullptr, *faults = nullptr;
  rawhal_buffer_t *memory = nullptr;
  float *cells = nullptr;
  Schedule schedule;
  std::vector<rawhal_queue_t *> on;
  rawhal_semaphore_t *of[semaphore_count] = {};
};

TEST_F(TimelineModel, RandomSchedules)
{
  const int count = by_length(is_sanitized ? 40 : 200, 400, 10000);
  for (int i = 0; i < count && !HasFailure(); ++i)
    run(uint64_t(i) + 1);
}

} // namespace
