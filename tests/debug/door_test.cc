// What a process shows of itself to others, and what they can do to it: this process is both.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/child.h"
#include "tests/observing.h"

extern "C" {
#include "debug/core/records.h"
#include "debug/door/door.h"
#include "debug/door/memory.h"
#include "debug/door/observe_internal.h"
#include "debug/door/ticket.h"
}

namespace {

std::string Text(const rawhal_event_t &event)
{
  return event.text.size ? std::string(event.text.data, event.text.size) : "";
}

// ---- What answers ----

unsigned char host_memory[4096];
std::mutex host_lock;
std::atomic<size_t> written{0};
constexpr uint64_t kPlace = 0x10000;

bool InMemory(uint64_t address, size_t size)
{
  return address >= kPlace && size <= sizeof(host_memory) &&
         address - kPlace <= sizeof(host_memory) - size;
}

const door_host_t kHost = {
    [](char *text, size_t size) { snprintf(text, size, "nothing hangs"); },
    [](uint64_t address, void *to, size_t size) {
      if (!InMemory(address, size))
        return false;
      std::lock_guard<std::mutex> guard(host_lock);
      memcpy(to, host_memory + (address - kPlace), size);
      return true;
    },
    [](uint64_t address, const void *from, size_t size) {
      if (!InMemory(address, size))
        return false;
      std::lock_guard<std::mutex> guard(host_lock);
      memcpy(host_memory + (address - kPlace), from, size);
      return true;
    },
    [](uint64_t, size_t size) {
      written += size;
      door_close(); // as a log's hook may
    },
    [](int descriptor, rawhal_error_t *) {
      return write(descriptor, "a core", 6) == 6 ? RAWHAL_OK : RAWHAL_RUNTIME;
    },
};

class Door : public ::testing::Test {
protected:
  void SetUp() override
  {
    Open("poke");
    rawhal_error_t error = {};
    ASSERT_EQ(observer_open(getpid(), 0, &observer_, &error), RAWHAL_OK) << error.message;
  }

  void TearDown() override
  {
    observer_close(observer_);
    door_close();
    Memory()->head.types = 0;
  }

  static void Open(const char *mode)
  {
    rawhal_error_t error = {};
    setenv("RAWHAL_DOOR", mode, 1);
    ASSERT_EQ(door_open(DOOR_OF_LIBRARY, &kHost, &error), RAWHAL_OK) << error.message;
    unsetenv("RAWHAL_DOOR");
  }

  static door_memory_t *Memory() { return door_memory(); }

  std::vector<rawhal_event_t> Read()
  {
    std::vector<rawhal_event_t> events;
    rawhal_event_t event;
    texts_.clear();
    while (observer_next(observer_, &event, &lost_)) {
      texts_.push_back(Text(event));
      events.push_back(event);
    }
    return events;
  }

  std::map<uint64_t, std::string> Listed()
  {
    std::map<uint64_t, std::string> listed;
    observer_list(
        observer_,
        [](void *context, const rawhal_event_t *event) {
          (*static_cast<std::map<uint64_t, std::string> *>(context))[event->id] = Text(*event);
          return true;
        },
        &listed, &unlisted_);
    return listed;
  }

  rawhal_status_t Ask(door_ask_t what, uint64_t address = 0, uint64_t bytes = 0,
                      const void *poked = nullptr)
  {
    return ask_process(observer_, what, address, bytes, poked, &answered_);
  }

  observer_t *observer_ = nullptr;
  uint64_t lost_ = 0, unlisted_ = 0;
  std::vector<std::string> texts_;
  Answered answered_;
};

rawhal_event_t Full(rawhal_event_type_t type)
{
  rawhal_event_t event = {};
  event.type = type;
  event.packets = 3;
  event.id = 4;
  event.agent = 5;
  event.queue_id = 6;
  event.ticket = 7;
  event.packet = 8;
  event.kernel_object = 9;
  event.address = 10;
  event.bytes = 11;
  event.delta = -12;
  event.nanoseconds = 13;
  event.kind = 14;
  event.text = rawhal_string("a name");
  return event;
}

// As queues do.
void Ticket(rawhal_event_type_t type, uint64_t queue, uint64_t ticket, uint64_t packet,
            uint32_t packets, uint64_t kernel_object)
{
  if (tell_wants(type))
    tell_ticket(type, queue, ticket, packet, packets, kernel_object);
}

// ---- What happens ----

TEST_F(Door, EachEventComesWithWhatItHas)
{
  struct Row {
    rawhal_event_type_t type;
    std::vector<uint64_t>
        holds; // of: packets id agent queue ticket packet object address bytes delta ns kind text
  };
  const uint64_t delta = static_cast<uint64_t>(-12);
  const Row rows[] = {
      {RAWHAL_EVENT_MODULE_LOAD, {0, 4, 5, 0, 0, 0, 0, 0, 11, 0, 0, 0, 1}},
      {RAWHAL_EVENT_MODULE_UNLOAD, {0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
      {RAWHAL_EVENT_KERNEL, {0, 4, 0, 0, 0, 0, 9, 10, 0, delta, 0, 14, 1}},
      {RAWHAL_EVENT_QUEUE_CREATE, {3, 0, 5, 6, 0, 0, 0, 10, 0, 0, 0, 0, 1}},
      {RAWHAL_EVENT_QUEUE_DESTROY, {0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
      {RAWHAL_EVENT_ALLOCATE, {0, 4, 5, 0, 0, 0, 0, 10, 11, 0, 0, 0, 1}},
      {RAWHAL_EVENT_FREE, {0, 4, 0, 0, 0, 0, 0, 10, 11, 0, 0, 0, 0}},
      {RAWHAL_EVENT_SUBMIT, {3, 0, 0, 6, 7, 8, 9, 0, 0, 0, 0, 0, 1}},
      {RAWHAL_EVENT_COMPLETE, {0, 0, 0, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0}},
      {RAWHAL_EVENT_THROTTLE, {0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 13, 0, 0}},
      {RAWHAL_EVENT_FAULT, {0, 0, 0, 6, 7, 8, 0, 10, 0, 0, 0, 14, 1}},
      {RAWHAL_EVENT_DUMP, {0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
      {RAWHAL_EVENT_LABEL, {0, 4, 0, 6, 0, 0, 0, 10, 0, 0, 0, 0, 1}},
  };
  observer_want(observer_, RAWHAL_EVENTS_ALL);
  for (const Row &row : rows)
    tell_event(Full(row.type));
  const std::vector<rawhal_event_t> events = Read();
  ASSERT_EQ(events.size(), std::size(rows));
  uint64_t before = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    const rawhal_event_t &e = events[i];
    EXPECT_EQ(e.type, rows[i].type);
    EXPECT_EQ(e.size, sizeof(e));
    EXPECT_GE(e.time, before);
    before = e.time;
    EXPECT_EQ(
        (std::vector<uint64_t>{e.packets, e.id, e.agent, e.queue_id, e.ticket, e.packet,
                               e.kernel_object, e.address, e.bytes, static_cast<uint64_t>(e.delta),
                               e.nanoseconds, e.kind, texts_[i] == "a name"}),
        rows[i].holds)
        << rawhal_event_type_name(e.type);
    EXPECT_EQ(e.fault, nullptr);
  }
  EXPECT_EQ(lost_, 0u);
}

TEST_F(Door, TheQuickWayTellsTheSame)
{
  observer_want(observer_, RAWHAL_EVENTS_ALL);
  rawhal_event_t submission = Full(RAWHAL_EVENT_SUBMIT);
  submission.text = {}; // with a label it does not go that way
  Ticket(RAWHAL_EVENT_SUBMIT, 6, 7, 8, 3, 9);
  tell_event(submission);
  Ticket(RAWHAL_EVENT_COMPLETE, 6, 7, 0, 0, 0);
  tell_event(Full(RAWHAL_EVENT_COMPLETE));
  std::vector<rawhal_event_t> events = Read();
  ASSERT_EQ(events.size(), 4u);
  for (rawhal_event_t &event : events) {
    EXPECT_EQ(event.text.size, 0u);
    event.time = 0;
    event.text = {};
  }
  EXPECT_EQ(memcmp(&events[0], &events[1], sizeof(events[0])), 0);
  EXPECT_EQ(memcmp(&events[2], &events[3], sizeof(events[2])), 0);
}

TEST_F(Door, OnlyWhatIsWantedIsWritten)
{
  const uint64_t next = Memory()->head.next;
  tell_event(Full(RAWHAL_EVENT_FREE));
  EXPECT_FALSE(tell_wants(RAWHAL_EVENT_FREE));
  observer_want(observer_, RAWHAL_EVENT_BIT(RAWHAL_EVENT_SUBMIT));
  tell_event(Full(RAWHAL_EVENT_FREE));
  EXPECT_EQ(Memory()->head.next, next);
  tell_event(Full(RAWHAL_EVENT_SUBMIT));
  EXPECT_EQ(Read().size(), 1u);
}

TEST_F(Door, AnObserverThatHasGoneIsForgotten)
{
  observer_want(observer_, RAWHAL_EVENTS_ALL);
  Memory()->head.until = 1; // long ago
  tell_event(Full(RAWHAL_EVENT_FREE));
  EXPECT_EQ(Memory()->head.types, 0u);
  EXPECT_FALSE(tell_wants(RAWHAL_EVENT_FREE));
}

TEST_F(Door, TextsOfAnyLength)
{
  observer_want(observer_, RAWHAL_EVENTS_ALL);
  for (size_t size = 0; size < 1200; ++size) {
    const std::string text(size, static_cast<char>('a' + size % 26));
    rawhal_event_t event = Full(RAWHAL_EVENT_DUMP);
    event.text = {text.data(), text.size()};
    tell_event(event);
    const size_t events = Read().size();
    ASSERT_EQ(events, 1u) << size;
    EXPECT_EQ(texts_[0], text.substr(0, texts_[0].size()));
    EXPECT_GE(texts_[0].size(), std::min<size_t>(size, 900));
  }
  EXPECT_EQ(lost_, 0u);
}

TEST_F(Door, WhatIsNotReadInTimeIsCounted)
{
  observer_want(observer_, RAWHAL_EVENTS_ALL);
  constexpr uint64_t kAll = 3 * DOOR_SLOTS + 17;
  for (uint64_t i = 0; i < kAll; ++i)
    Ticket(RAWHAL_EVENT_SUBMIT, 0, i, 0, 0, 0);
  const std::vector<rawhal_event_t> events = Read();
  EXPECT_EQ(events.size(), static_cast<size_t>(DOOR_SLOTS));
  EXPECT_EQ(lost_, kAll - DOOR_SLOTS);
  EXPECT_EQ(events.front().ticket, kAll - DOOR_SLOTS);
  EXPECT_EQ(events.back().ticket, kAll - 1);
}

// Four threads write, each with a record of another length; what the reader has is whole, in each
// thread's order, and with what it lost it is all.
TEST_F(Door, ThreadsWriteWhileOneReads)
{
  constexpr uint64_t kThreads = 4, kEach = 20000;
  observer_want(observer_, RAWHAL_EVENTS_ALL);
  std::vector<std::thread> threads;
  std::atomic<uint64_t> ended{0};
  for (uint64_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([thread, &ended] {
      for (uint64_t i = 0; i < kEach; ++i) {
        if (thread == 0) {
          Ticket(RAWHAL_EVENT_SUBMIT, thread, i, i * 3, static_cast<uint32_t>(i), i * 7);
          continue;
        }
        const std::string text(thread * 60 + i % 50, static_cast<char>('a' + i % 26));
        rawhal_event_t event = {};
        event.type = RAWHAL_EVENT_FAULT;
        event.queue_id = thread;
        event.ticket = i;
        event.text = {text.data(), text.size()};
        tell_event(event);
      }
      ++ended;
    });
  uint64_t next[kThreads] = {}, read = 0;
  rawhal_event_t event;
  for (bool last = false;;) {
    if (!observer_next(observer_, &event, &lost_)) {
      if (last)
        break;
      last = ended == kThreads;
      continue;
    }
    ++read;
    ASSERT_LT(event.queue_id, kThreads);
    ASSERT_GE(event.ticket, next[event.queue_id]);
    next[event.queue_id] = event.ticket + 1;
    const uint64_t i = event.ticket;
    if (event.queue_id == 0) {
      ASSERT_EQ(event.packet, i * 3);
      ASSERT_EQ(event.kernel_object, i * 7);
    } else {
      ASSERT_EQ(Text(event),
                std::string(event.queue_id * 60 + i % 50, static_cast<char>('a' + i % 26)));
    }
  }
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_GT(read, 0u);
  EXPECT_GE(read + lost_ + Memory()->head.dropped, kThreads * kEach);
}

// ---- What exists ----

TEST_F(Door, WhatExistsIsListed)
{
  observer_want(observer_, RAWHAL_EVENTS_ALL);
  const std::string name(300, 'n');
  rawhal_event_t module = Full(RAWHAL_EVENT_MODULE_LOAD), kernel = Full(RAWHAL_EVENT_KERNEL);
  module.id = 101;
  kernel.id = 102;
  kernel.text = {name.data(), name.size()};
  const tell_entry_t first = tell_came(module), second = tell_came(kernel);
  std::map<uint64_t, std::string> listed = Listed();
  EXPECT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[101], "a name");
  EXPECT_EQ(listed[102], name.substr(0, listed[102].size())); // shortened
  EXPECT_GE(listed[102].size(), 150u);
  tell_unlist(second);
  EXPECT_EQ(Listed().size(), 1u);
  tell_went(first, Full(RAWHAL_EVENT_MODULE_UNLOAD));
  EXPECT_EQ(Listed().size(), 0u);
  EXPECT_EQ(Read().size(), 3u); // two came and one went
  EXPECT_EQ(unlisted_, 0u);
}

TEST_F(Door, WhatIsNamedIsListedByItsLabel)
{
  observer_want(observer_, RAWHAL_EVENTS_ALL);
  rawhal_event_t queue = Full(RAWHAL_EVENT_QUEUE_CREATE), allocation = Full(RAWHAL_EVENT_ALLOCATE);
  queue.id = 0;
  queue.text = allocation.text = {};
  const tell_entry_t first = tell_came(queue), second = tell_came(allocation);
  rawhal_event_t before = {}, after = {};
  const auto find = [this](rawhal_event_t *found) {
    observer_list(
        observer_,
        [](void *context, const rawhal_event_t *event) {
          if (event->type == RAWHAL_EVENT_QUEUE_CREATE)
            *static_cast<rawhal_event_t *>(context) = *event;
          return true;
        },
        found, &unlisted_);
  };
  find(&before);
  tell_named(first, queue, rawhal_string("decode"));
  tell_named(second, allocation, rawhal_string("weights"));
  tell_named(TELL_UNLISTED, queue, rawhal_string("not listed"));
  tell_named(0, queue, rawhal_string("was never told of"));
  std::map<uint64_t, std::string> listed = Listed();
  EXPECT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0], "decode");
  EXPECT_EQ(listed[4], "weights");
  find(&after);
  EXPECT_EQ(std::make_tuple(after.queue_id, after.agent, after.packets, after.address),
            std::make_tuple(before.queue_id, before.agent, before.packets, before.address));
  EXPECT_NEAR(static_cast<double>(after.time), static_cast<double>(before.time),
              1e3); // when it came
  const std::string longer(1000, 'l');
  tell_named(first, queue, {longer.data(), longer.size()});
  EXPECT_EQ(Listed()[0], longer.substr(0, Listed()[0].size()));
  tell_named(first, queue, {});
  EXPECT_EQ(Listed()[0], "");
  const std::vector<rawhal_event_t> events = Read();
  ASSERT_EQ(events.size(), 7u);
  EXPECT_EQ(texts_[2], "decode");
  EXPECT_EQ(std::make_tuple(events[2].type, events[2].queue_id, events[2].id, events[2].address),
            std::make_tuple(RAWHAL_EVENT_LABEL, UINT64_C(6), UINT64_C(0), UINT64_C(0)));
  EXPECT_EQ(texts_[3], "weights");
  EXPECT_EQ(std::make_tuple(events[3].type, events[3].id, events[3].address),
            std::make_tuple(RAWHAL_EVENT_LABEL, UINT64_C(4), UINT64_C(10)));
  EXPECT_EQ(texts_[4], "not listed");
  EXPECT_EQ(texts_[5], longer.substr(0, texts_[5].size()));
  tell_went(first, Full(RAWHAL_EVENT_QUEUE_DESTROY));
  tell_went(second, Full(RAWHAL_EVENT_FREE));
  EXPECT_EQ(Listed().size(), 0u);
}

TEST_F(Door, WhatFindsNoPlaceIsCounted)
{
  std::vector<tell_entry_t> entries;
  for (int i = 0; i < DOOR_ENTRIES + 3; ++i) {
    rawhal_event_t event = Full(RAWHAL_EVENT_ALLOCATE);
    event.id = static_cast<uint64_t>(i) + 1;
    entries.push_back(tell_came(event));
  }
  EXPECT_EQ(Listed().size(), static_cast<size_t>(DOOR_ENTRIES));
  EXPECT_EQ(unlisted_, 3u);
  EXPECT_EQ(entries.back(), TELL_UNLISTED);
  observer_want(observer_, RAWHAL_EVENTS_ALL);
  for (const tell_entry_t entry : entries)
    tell_went(entry, Full(RAWHAL_EVENT_FREE));
  EXPECT_EQ(Read().size(), entries.size()); // also of those that were nowhere
  EXPECT_EQ(Listed().size(), 0u);
  tell_went(0, Full(RAWHAL_EVENT_FREE)); // which never came
  EXPECT_EQ(Read().size(), 0u);
}

// ---- Subscribers ----

struct Heard {
  std::atomic<int> calls{0};
  std::string text;
  const rawhal_fault_t *fault = nullptr;
};

void Hear(void *context, const rawhal_event_t *event)
{
  auto *heard = static_cast<Heard *>(context);
  ++heard->calls;
  heard->text = Text(*event);
  heard->fault = event->fault;
}

TEST_F(Door, SubscribersHearWhatTheyWant)
{
  Heard heard;
  rawhal_error_t error;
  rawhal_subscription_t *subscription = nullptr;
  ASSERT_EQ(rawhal_events_subscribe(RAWHAL_EVENT_BIT(RAWHAL_EVENT_FAULT), Hear, &heard,
                                    &subscription, &error),
            RAWHAL_OK);
  const rawhal_fault_t fault = {};
  rawhal_event_t event = Full(RAWHAL_EVENT_FAULT);
  const std::string text(5000, 'x');
  event.text = {text.data(), text.size()};
  event.fault = &fault;
  tell_event(event);
  tell_event(Full(RAWHAL_EVENT_FREE));
  Ticket(RAWHAL_EVENT_SUBMIT, 1, 2, 3, 4, 5);
  EXPECT_EQ(heard.calls, 1);
  EXPECT_EQ(heard.text, text);
  EXPECT_EQ(heard.fault, &fault);
  rawhal_events_unsubscribe(subscription);
  tell_event(event);
  EXPECT_EQ(heard.calls, 1);
  rawhal_events_unsubscribe(nullptr);
}

// Another thread is being told something when the process forks.
TEST_F(Door, AChildMayUnsubscribe)
{
  struct Held {
    std::atomic<bool> in{false}, out{false};
  } held;
  rawhal_subscription_t *subscription = nullptr;
  rawhal_error_t error;
  rawhal_event_fn *const wait = [](void *context, const rawhal_event_t *) {
    auto *in = static_cast<Held *>(context);
    in->in = true;
    while (!in->out)
      std::this_thread::yield();
  };
  ASSERT_EQ(rawhal_events_subscribe(RAWHAL_EVENTS_ALL, wait, &held, &subscription, &error),
            RAWHAL_OK);
  std::thread told([] { tell_event(Full(RAWHAL_EVENT_FREE)); });
  while (!held.in)
    std::this_thread::yield();
  const int ended = in_child([subscription] {
    rawhal_events_unsubscribe(subscription);
    return 0;
  });
  held.out = true;
  told.join();
  EXPECT_EQ(ended, 0);
  rawhal_events_unsubscribe(subscription);
}

TEST_F(Door, WrongSubscriptionsAreRefused)
{
  rawhal_error_t error;
  rawhal_subscription_t *subscription = nullptr;
  EXPECT_EQ(rawhal_events_subscribe(1, nullptr, nullptr, &subscription, &error),
            RAWHAL_INVALID_ARGUMENT);
  for (const uint64_t types :
       {UINT64_C(0), UINT64_C(1), RAWHAL_EVENT_BIT(RAWHAL_EVENT_TYPES), UINT64_MAX})
    EXPECT_EQ(rawhal_events_subscribe(types, Hear, nullptr, &subscription, &error),
              RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_events_subscribe(2, Hear, nullptr, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
}

TEST_F(Door, SubscribersComeAndGoWhileThreadsTell)
{
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> told{0};
  std::thread teller([&] {
    while (!stop) {
      tell_event(Full(RAWHAL_EVENT_FREE));
      Ticket(RAWHAL_EVENT_SUBMIT, 1, 2, 3, 4, 5);
      ++told;
    }
  });
  for (int i = 0; i < 200; ++i) {
    auto heard = std::make_unique<Heard>();
    rawhal_subscription_t *subscription = nullptr;
    rawhal_error_t error;
    ASSERT_EQ(rawhal_events_subscribe(RAWHAL_EVENTS_ALL, Hear, heard.get(), &subscription, &error),
              RAWHAL_OK);
    while (heard->calls < 2)
      std::this_thread::yield();
    rawhal_events_unsubscribe(subscription);
  }
  stop = true;
  teller.join();
  EXPECT_GT(told, 0u);
}

// ---- Hostile peers ----

// Any word of the memory may be anything at any time: what the process does stays the same, and the
// observer reads nothing that is not there.
TEST_F(Door, GarbageInEverySharedWordChangesNothing)
{
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> rounds{0};
  std::thread liar([&] {
    std::mt19937_64 random(1);
    auto *words = reinterpret_cast<std::atomic<uint64_t> *>(Memory());
    const size_t head = sizeof(door_head_t) / 8, all = sizeof(door_memory_t) / 8;
    while (!stop) {
      for (int i = 0; i < 1000; ++i) {
        const uint64_t kinds[] = {random(), 0, UINT64_MAX, random() % DOOR_SLOTS,
                                  (CORE_RECORD_EVENTS + random() % 13) | (random() % 2000) << 32};
        words[random() % 2 ? random() % head : random() % all].store(kinds[random() % 5],
                                                                     std::memory_order_relaxed);
      }
      ++rounds;
    }
  });
  rawhal_event_t event;
  std::vector<tell_entry_t> entries;
  while (rounds < 300) {
    Ticket(RAWHAL_EVENT_SUBMIT, 1, 2, 3, 4, 5);
    tell_event(Full(RAWHAL_EVENT_FAULT));
    entries.push_back(tell_came(Full(RAWHAL_EVENT_KERNEL)));
    if (entries.size() > 50) {
      tell_went(entries.front(), Full(RAWHAL_EVENT_FREE));
      entries.erase(entries.begin());
    }
    observer_want(observer_, RAWHAL_EVENTS_ALL);
    for (int i = 0; i < 10 && observer_next(observer_, &event, &lost_); ++i)
      (void)Text(event);
    (void)Listed();
  }
  stop = true;
  liar.join();
  for (const tell_entry_t entry : entries)
    tell_went(entry, Full(RAWHAL_EVENT_FREE));
  memcpy(static_cast<void *>(&Memory()->head), &observer_->head,
         sizeof(observer_->head)); // as it was made
}

TEST_F(Door, ThereIsOneForThisProcessAlone)
{
  EXPECT_EQ(in_child([] {
              tell_event(Full(RAWHAL_EVENT_FREE)); // which is nobody's
              return door_memory() == nullptr && !tell_wants(RAWHAL_EVENT_FREE) ? 0 : 1;
            }),
            0);
}

// ---- Requests ----

TEST_F(Door, RequestsAreAnswered)
{
  {
    std::lock_guard<std::mutex> guard(host_lock);
    memset(host_memory, 0x5a, sizeof(host_memory));
  }
  EXPECT_EQ(Ask(DOOR_WHY), RAWHAL_OK);
  EXPECT_EQ(answered_.said, "nothing hangs");
  EXPECT_EQ(Ask(DOOR_PEEK, kPlace + 8, 16), RAWHAL_OK);
  EXPECT_EQ(answered_.got, std::string(16, 0x5a));
  EXPECT_EQ(Ask(DOOR_CORE), RAWHAL_OK);
  EXPECT_EQ(answered_.got, "a core");
  EXPECT_EQ(Ask(DOOR_POKE, kPlace, 3, "abc"), RAWHAL_OK);
  {
    std::lock_guard<std::mutex> guard(host_lock);
    EXPECT_EQ(memcmp(host_memory, "abcZ", 4), 0);
  }
  EXPECT_EQ(written, 3u);
  EXPECT_EQ(Ask(DOOR_WHY), RAWHAL_NOT_FOUND);
}

TEST_F(Door, WrongRequestsAreRefused)
{
  EXPECT_EQ(Ask(DOOR_PEEK, kPlace, sizeof(host_memory) + 1), RAWHAL_NOT_FOUND);
  EXPECT_EQ(Ask(DOOR_PEEK, UINT64_MAX, 1), RAWHAL_NOT_FOUND);
  EXPECT_EQ(Ask(DOOR_PEEK, kPlace, 0), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(Ask(DOOR_PEEK, kPlace, UINT64_MAX), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(Ask(DOOR_POKE, kPlace, 3, nullptr), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(Ask(static_cast<door_ask_t>(0)), RAWHAL_UNSUPPORTED);
  EXPECT_EQ(Ask(static_cast<door_ask_t>(77)), RAWHAL_UNSUPPORTED);
  Open("answers");
  EXPECT_EQ(Ask(DOOR_POKE, kPlace, 3, "abc"), RAWHAL_UNSUPPORTED);
  EXPECT_NE(answered_.said.find("RAWHAL_DOOR=poke"), std::string::npos);
  door_close();
  EXPECT_EQ(Ask(DOOR_WHY), RAWHAL_NOT_FOUND);
}

// What is no request, or has nowhere to go, is passed over; the next one is answered.
TEST_F(Door, MessagesThatAreNoRequests)
{
  const int socket = observer_->head.socket;
  ASSERT_GE(socket, 0);
  const int file = open("/dev/null", O_RDWR);
  const door_request_t whole = {DOOR_REQUEST_MAGIC, DOOR_WHY, 0, 0};
  const std::string large(10000, 'x');
  for (const std::vector<int> &passed : {std::vector<int>{}, std::vector<int>{file}})
    for (const std::string &bytes :
         {std::string(), std::string("x"), large,
          std::string(reinterpret_cast<const char *>(&whole), sizeof(whole))}) {
      EXPECT_GE(send_with(socket, bytes, passed), 0);
    }
  EXPECT_EQ(Ask(DOOR_WHY), RAWHAL_OK);
  close(file);
}

size_t Descriptors()
{
  size_t count = 0;
  for (int fd = 0; fd < 1024; ++fd)
    count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

// Whoever asks may send more of them than one, which are not the process's to keep.
TEST_F(Door, DescriptorsThatComeAlongAreNotKept)
{
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), 0);
  const door_request_t request = {DOOR_REQUEST_MAGIC, DOOR_WHY, 0, 0};
  const std::string bytes(reinterpret_cast<const char *>(&request), sizeof(request));
  EXPECT_EQ(Ask(DOOR_WHY), RAWHAL_OK);
  const size_t before = Descriptors();
  for (int i = 0; i < 8; ++i)
    ASSERT_GT(send_with(observer_->head.socket, bytes, {ends[1], ends[1]}), 0);
  EXPECT_EQ(Ask(DOOR_WHY), RAWHAL_OK);
  EXPECT_LT(Descriptors(), before + 4); // the thread may still have the last
  close(ends[0]);
  close(ends[1]);
}

// RAWHAL_DOOR=events,now: whoever starts a program sees its first event.
TEST_F(Door, WhoeverIsAboutToWatchMissesNothing)
{
  EXPECT_EQ(in_child([] {
              Open("events,now");
              tell_event(Full(RAWHAL_EVENT_FREE));
              rawhal_error_t error;
              observer_t *observer;
              rawhal_event_t event;
              uint64_t lost = 0;
              if (observer_open(getpid(), 0, &observer, &error) != RAWHAL_OK)
                return 1;
              observer_rewind(observer);
              observer_want(observer, RAWHAL_EVENTS_ALL);
              const bool seen = observer_next(observer, &event, &lost);
              observer_close(observer);
              return seen && event.type == RAWHAL_EVENT_FREE && !lost ? 0 : 2;
            }),
            0);
}

TEST_F(Door, OfWhatIsNotThere)
{
  rawhal_error_t error;
  observer_t *other = nullptr;
  EXPECT_EQ(observer_open(getpid(), 1, &other, &error), RAWHAL_NOT_FOUND);
  EXPECT_EQ(observer_open(-1, 0, &other, &error), RAWHAL_NOT_FOUND);
  EXPECT_EQ(observer_open(0, 0, &other, &error), RAWHAL_NOT_FOUND);
  EXPECT_EQ(observer_open(1 << 29, 0, &other, &error), RAWHAL_NOT_FOUND);
  EXPECT_EQ(other, nullptr);
  for (const char *wrong : {"ajar", "events,", "event", "events,nowhere", ",now"}) {
    setenv("RAWHAL_DOOR", wrong, 1);
    EXPECT_EQ(door_open(DOOR_OF_LIBRARY, &kHost, &error), RAWHAL_INVALID_ARGUMENT) << wrong;
  }
  unsetenv("RAWHAL_DOOR");
}

// A file of that name that another could cut, or of another size or version; those that a door is
// while it is made, step by step; and a door.
TEST_F(Door, FilesThatAreNoDoors)
{
  struct Row {
    size_t size;
    int seals;
    uint64_t magic;
    uint32_t version;
    rawhal_status_t status;
  };
  rawhal_error_t error;
  for (const Row &row : std::vector<Row>{
           {0, F_SEAL_SHRINK, 0, 0, RAWHAL_UNSUPPORTED},
           {4096, F_SEAL_SHRINK, DOOR_MAGIC, DOOR_VERSION, RAWHAL_UNSUPPORTED},
           {4096, 0, 0, 0, RAWHAL_UNSUPPORTED},
           {sizeof(door_memory_t), 0, DOOR_MAGIC, DOOR_VERSION, RAWHAL_UNSUPPORTED},
           {sizeof(door_memory_t), F_SEAL_SHRINK, DOOR_MAGIC + 1, DOOR_VERSION, RAWHAL_UNSUPPORTED},
           {sizeof(door_memory_t), F_SEAL_SHRINK, DOOR_MAGIC, DOOR_VERSION + 1, RAWHAL_UNSUPPORTED},
           {0, 0, 0, 0, RAWHAL_WOULD_BLOCK},
           {sizeof(door_memory_t), 0, 0, 0, RAWHAL_WOULD_BLOCK},
           {sizeof(door_memory_t), F_SEAL_SHRINK, 0, DOOR_VERSION, RAWHAL_WOULD_BLOCK},
           {sizeof(door_memory_t), F_SEAL_SHRINK, DOOR_MAGIC, DOOR_VERSION, RAWHAL_OK}}) {
    const int fd = memfd_create(DOOR_NAME, MFD_ALLOW_SEALING | MFD_CLOEXEC);
    door_head_t head = observer_->head;
    head.magic = row.magic;
    head.version = row.version;
    ASSERT_EQ(pwrite(fd, &head, row.size ? sizeof(head) : 0, 0),
              static_cast<ssize_t>(row.size ? sizeof(head) : 0));
    ASSERT_EQ(ftruncate(fd, static_cast<off_t>(row.size)), 0);
    ASSERT_EQ(fcntl(fd, F_ADD_SEALS, row.seals), 0);
    observer_t *other = nullptr;
    EXPECT_EQ(observer_open(getpid(), 1, &other, &error), row.status) << row.size;
    observer_close(other);
    close(fd);
  }
}

} // namespace
