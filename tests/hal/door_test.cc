// What a program that uses librawhal shows of itself, and answers: this process observes itself.
#include "device_test.h"
#include "tests/observing.h"

#include <fcntl.h>
#include <hsa/hsa.h>
#include <sys/mman.h>

#include <map>
#include <random>
#include <set>

#include "tests/child.h"
#include "tests/extended.h"

extern "C" {
#include "debug/core/file.h"
#include "debug/core/walk.h"
#include "debug/door/observe_internal.h"
}

namespace {

struct Event {
  rawhal_event_t of;
  std::string text;
};

class HalDoor : public DeviceTest {
protected:
  void SetUp() override
  {
    setenv("RAWHAL_DOOR", "poke", 1);
    DeviceTest::SetUp();
    unsetenv("RAWHAL_DOOR");
    for (size_t i = 0; observer_open(getpid(), i, &observer, &error) == RAWHAL_OK; ++i) {
      if (observer_kind(observer) == DOOR_OF_LIBRARY)
        break; // the other one is a front's
      observer_close(observer);
    }
    ASSERT_NE(observer, nullptr) << error.message;
    while (observer_next(observer, &last, &lost))
      continue;
    lost = 0;
    observer_want(observer, RAWHAL_EVENTS_ALL);
    before = listed();
  }
  void TearDown() override
  {
    DeviceTest::TearDown();
    EXPECT_EQ(listed().size(), before.size()); // all that came has gone
    observer_close(observer);
  }

  using Listed = std::multimap<rawhal_event_type_t, Event>;
  Listed listed()
  {
    Listed found;
    observer_list(
        observer,
        [](void *context, const rawhal_event_t *event) {
          std::string text(event->text.data, event->text.size);
          static_cast<Listed *>(context)->insert({event->type, {*event, text}});
          return true;
        },
        &found, &unlisted);
    return found;
  }
  std::vector<Event> read()
  {
    std::vector<Event> events;
    while (observer_next(observer, &last, &lost))
      events.push_back({last, std::string(last.text.data, last.text.size)});
    return events;
  }
  rawhal_status_t ask(door_ask_t what, uint64_t address = 0, uint64_t bytes = 0,
                      const void *poked = nullptr)
  {
    return ask_process(observer, what, address, bytes, poked, &answered);
  }
  rawhal_dispatch_t fill(Blob &blob, uint32_t items)
  {
    blob.add(rawhal_buffer_address(buffer(4096))).add(0x5eed5eedu);
    return dispatch_of(kernel("mistakes-gfx90a-v5.co", "fill"), items, 256, blob);
  }

  observer_t *observer = nullptr;
  rawhal_event_t last = {};
  uint64_t lost = 0, unlisted = 0;
  Listed before;
  Answered answered;
};

TEST_F(HalDoor, EachThingThatHappensIsTold)
{
  Blob blob;
  const rawhal_dispatch_t dispatch = fill(blob, 1024);
  rawhal_queue_t *on = queue();
  ASSERT_OK(run(on, dispatch));
  (void)queue_info(on); // which drains: what has finished is then known
  const uint64_t id = static_cast<const hsa_queue_t *>(queue_info(on).hsa_queue)->id;
  const Listed exists = listed();
  EXPECT_EQ(exists.size(), before.size() + 4);
  DeviceTest::TearDown();
  queues.clear(), executables.clear(), buffers.clear(), instance = nullptr;

  const std::vector<Event> events = read();
  std::vector<rawhal_event_type_t> types;
  for (const Event &event : events)
    types.push_back(event.of.type);
  ASSERT_EQ(types, (std::vector<rawhal_event_type_t>{
                       RAWHAL_EVENT_ALLOCATE, RAWHAL_EVENT_MODULE_LOAD, RAWHAL_EVENT_KERNEL,
                       RAWHAL_EVENT_QUEUE_CREATE, RAWHAL_EVENT_SUBMIT, RAWHAL_EVENT_COMPLETE,
                       RAWHAL_EVENT_QUEUE_DESTROY, RAWHAL_EVENT_MODULE_UNLOAD, RAWHAL_EVENT_FREE}));
  const rawhal_event_t &made = events[0].of, &module = events[1].of, &found = events[2].of,
                       &created = events[3].of, &submitted = events[4].of, &done = events[5].of;
  EXPECT_EQ(made.bytes, 4096u);
  EXPECT_NE(made.address, 0u);
  EXPECT_EQ(events[8].of.id, made.id);
  EXPECT_NE(module.bytes, 0u);
  EXPECT_EQ(module.agent, created.agent);
  EXPECT_EQ(events[7].of.id, module.id);
  EXPECT_EQ(found.id, module.id);
  EXPECT_EQ(events[2].text, "fill");
  EXPECT_EQ(created.queue_id, id);
  EXPECT_EQ(created.packets, 1024u);
  EXPECT_EQ(submitted.queue_id, id);
  EXPECT_EQ(submitted.ticket, 1u);
  EXPECT_EQ(submitted.packets, 1u);
  EXPECT_EQ(submitted.kernel_object, found.kernel_object);
  EXPECT_EQ(done.queue_id, id);
  EXPECT_EQ(done.ticket, 1u);
  EXPECT_EQ(events[6].of.queue_id, id);
  EXPECT_EQ(lost, 0u);
}

TEST_F(HalDoor, LabelsAreToldAndListed)
{
  Blob blob;
  rawhal_dispatch_t dispatch = fill(blob, 1024);
  dispatch.label = "layer 3";
  rawhal_queue_t *on = queue();
  const auto label_in = [&](rawhal_event_type_t type) {
    const Listed exists = listed();
    const auto found = exists.find(type);
    return found == exists.end() ? "there is none" : found->second.text;
  };
  const Listed made = listed();
  EXPECT_EQ(label_in(RAWHAL_EVENT_QUEUE_CREATE), "");
  rawhal_queue_label(on, "decode");
  rawhal_buffer_label(buffers[0], "weights \x1b");
  EXPECT_EQ(label_in(RAWHAL_EVENT_QUEUE_CREATE), "decode");
  EXPECT_EQ(label_in(RAWHAL_EVENT_ALLOCATE), "weights \x1b");
  const Listed named = listed();
  for (const rawhal_event_type_t type : {RAWHAL_EVENT_QUEUE_CREATE, RAWHAL_EVENT_ALLOCATE}) {
    const rawhal_event_t &before_it = made.find(type)->second.of,
                         &after = named.find(type)->second.of;
    EXPECT_NEAR(static_cast<double>(before_it.time), static_cast<double>(after.time),
                1e3); // of its making
    EXPECT_EQ(before_it.address, after.address);
    EXPECT_EQ(before_it.bytes, after.bytes);
    EXPECT_EQ(before_it.packets, after.packets);
  }
  ASSERT_OK(run(on, dispatch));
  const std::vector<rawhal_dispatch_t> several(2, dispatch);
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(on, several.data(), 2, RAWHAL_FOREVER, &ticket, &error));
  dispatch.label = nullptr;
  ASSERT_OK(rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
  ASSERT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
  rawhal_queue_label(on, nullptr);
  EXPECT_EQ(label_in(RAWHAL_EVENT_QUEUE_CREATE), "");
  std::vector<std::string> labels, submissions;
  for (const Event &event : read()) {
    if (event.of.type == RAWHAL_EVENT_LABEL)
      labels.push_back((event.of.queue_id  ? "queue "
                        : event.of.address ? "allocation "
                                           : "?") +
                       event.text);
    if (event.of.type == RAWHAL_EVENT_SUBMIT)
      submissions.push_back(std::to_string(event.of.packets) + " " + event.text);
  }
  EXPECT_EQ(labels,
            (std::vector<std::string>{"queue decode", "allocation weights \x1b", "queue "}));
  EXPECT_EQ(submissions, (std::vector<std::string>{"1 layer 3", "2 layer 3", "1 "}));
  EXPECT_EQ(lost, 0u);
}

TEST_F(HalDoor, AFaultIsToldWithItsStructure)
{
  rawhal_fault_t fault = {};
  rawhal_subscription_t *subscription = nullptr;
  ASSERT_OK(rawhal_events_subscribe(
      RAWHAL_EVENT_BIT(RAWHAL_EVENT_FAULT),
      [](void *context, const rawhal_event_t *event) {
        *static_cast<rawhal_fault_t *>(context) = *event->fault;
      },
      &fault, &subscription, &error));
  Blob blob;
  const rawhal_dispatch_t dispatch = fill(blob, 2048);
  EXPECT_EQ(run(queue(), dispatch), RAWHAL_FAULT);
  rawhal_events_unsubscribe(subscription);
  EXPECT_EQ(fault.kind, RAWHAL_FAULT_MEMORY);
  ASSERT_GT(fault.cause_count, 0u);
  EXPECT_EQ(fault.causes[0].kind, RAWHAL_CAUSE_GRID);
  size_t told = 0;
  for (const Event &event : read())
    if (event.of.type == RAWHAL_EVENT_FAULT) {
      ++told;
      EXPECT_EQ(event.of.kind, static_cast<uint32_t>(RAWHAL_FAULT_MEMORY));
      EXPECT_EQ(event.of.address, fault.address);
      EXPECT_EQ(event.of.ticket, 1u);
      EXPECT_EQ(event.text, std::string(error.message).substr(0, event.text.size()));
    }
  EXPECT_EQ(told, 1u);
}

TEST_F(HalDoor, WhatWaitsInAQueueIsSeenFromOutside)
{
  Blob blob;
  const rawhal_dispatch_t dispatch = fill(blob, 256);
  rawhal_queue_t *on = queue();
  softgpu_call("softgpu_pause");
  rawhal_ticket_t ticket = 0;
  for (int i = 0; i < 3; ++i)
    ASSERT_OK(rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
  const Listed exists = listed();
  const auto made = exists.find(RAWHAL_EVENT_QUEUE_CREATE),
             found = exists.find(RAWHAL_EVENT_KERNEL);
  ASSERT_NE(made, exists.end());
  ASSERT_NE(found, exists.end());
  std::vector<uint64_t> objects;
  observer_queue_t state;
  ASSERT_TRUE(observer_queue(
      observer, made->second.of.address, &state,
      [](void *context, uint64_t, const hsa_kernel_dispatch_packet_t *packet) {
        static_cast<std::vector<uint64_t> *>(context)->push_back(packet->kernel_object);
        return true;
      },
      &objects));
  softgpu_call("softgpu_resume");
  EXPECT_EQ(objects, std::vector<uint64_t>(3, found->second.of.kernel_object));
  EXPECT_EQ(state.id, made->second.of.queue_id);
  EXPECT_EQ(state.size, 1024u);
  EXPECT_EQ(state.write - state.read, 3u);
  EXPECT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
}

TEST_F(HalDoor, MemoryIsReadAndWritten)
{
  for (const rawhal_memory_kind_t kind : {RAWHAL_MEMORY_DEVICE, RAWHAL_MEMORY_HOST}) {
    const size_t size = 700000; // several parts
    rawhal_buffer_t *of = buffer(size, kind);
    std::vector<char> bytes(size);
    for (size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<char>(i * 7 + i / 1000);
    ASSERT_OK(rawhal_buffer_write(of, 0, bytes.data(), size, &error));
    const uint64_t address = rawhal_buffer_address(of);
    EXPECT_OK(ask(DOOR_PEEK, address, size));
    EXPECT_EQ(answered.got, std::string(bytes.begin(), bytes.end()));
    EXPECT_EQ(ask(DOOR_PEEK, address, size + 1), RAWHAL_NOT_FOUND);
    EXPECT_EQ(ask(DOOR_PEEK, address - 1, 2), RAWHAL_NOT_FOUND);
    EXPECT_OK(ask(DOOR_POKE, address + size - 3, 3, "abc"));
    EXPECT_EQ(ask(DOOR_POKE, address + size - 2, 3, "xyz"), RAWHAL_NOT_FOUND);
    ASSERT_OK(rawhal_buffer_read(of, 0, bytes.data(), size, &error));
    EXPECT_EQ(std::string(bytes.end() - 4, bytes.end()).substr(1), "abc");
  }
}

// Of a process that lives: its waves, while they run.
TEST_F(HalDoor, ACoreFileOfWhatRuns)
{
  EXPECT_EQ(ask(DOOR_CORE), RAWHAL_NOT_FOUND);
  rawhal_buffer_t *flag = buffer(4096, RAWHAL_MEMORY_HOST);
  auto *word = static_cast<uint32_t *>(rawhal_buffer_host(flag));
  __atomic_store_n(word, 0, __ATOMIC_SEQ_CST);
  Blob blob;
  blob.add(rawhal_buffer_address(flag));
  const rawhal_dispatch_t dispatch =
      dispatch_of(kernel("mistakes-gfx90a-v5.co", "wait_for"), 128, 64, blob);
  queue(); // which has nothing to do
  rawhal_queue_t *on = queue();
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
  size_t waves = 0;
  while (!waves) { // until they have begun
    ASSERT_OK(ask(DOOR_CORE));
    core_file_t file = {};
    ASSERT_OK(core_file_open(&file, {answered.got.data(), answered.got.size()}, &error));
    walk_visitor_t visitor = {};
    visitor.context = &waves;
    visitor.wave = [](void *to, const walk_wave_t *) { return ++*static_cast<size_t *>(to), true; };
    walk_finding_t finding = {};
    EXPECT_TRUE(core_walk(&file.view, &visitor, &finding)) << core_mistake_text(finding.mistake);
    core_file_close(&file);
  }
  EXPECT_LE(waves, 2u);
  EXPECT_OK(ask(DOOR_WHY));
  EXPECT_NE(answered.said.find("nothing is in flight\n"), std::string::npos) << answered.said;
  EXPECT_NE(answered.said.find("ticket 1, kernel wait_for; "), std::string::npos) << answered.said;
  __atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
  EXPECT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error)); // nothing has happened to it
}

// Whoever watches, lists and asks may be killed at any moment of it.
[[noreturn]] void observe_until_killed(std::atomic<uint64_t> *steps)
{
  rawhal_error_t error;
  observer_t *observer;
  char text[DOOR_TEXT_BYTES];
  rawhal_event_t event;
  uint64_t lost = 0, unlisted, bytes;
  int memory;
  const door_request_t request = {0, DOOR_WHY, 0, 0};
  const auto pass = [](void *, const rawhal_event_t *) { return true; };
  if (observer_open(getppid(), 0, &observer, &error) != RAWHAL_OK)
    steps->store(UINT64_MAX), _exit(1);
  for (;; ++*steps) {
    observer_want(observer, RAWHAL_EVENTS_ALL);
    for (int i = 0; i < 100 && observer_next(observer, &event, &lost); ++i)
      ++*steps;
    observer_list(observer, pass, nullptr, &unlisted);
    ++*steps;
    if (observer_ask(observer, &request, nullptr, 1000000, text, &memory, &bytes, &error) ==
        RAWHAL_MALFORMED)
      steps->store(UINT64_MAX), _exit(1);
  }
}

TEST_F(HalDoor, AnObserverMayDieAtAnyMoment)
{
  const int deaths = by_length(60, 1000, 1000);
  auto *steps = static_cast<std::atomic<uint64_t> *>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::mt19937 random(36);
  Blob blob;
  const rawhal_dispatch_t dispatch = fill(blob, 256);
  rawhal_queue_t *on = queue();
  uint64_t runs = 0;
  for (int i = 0; i < deaths; ++i) {
    *steps = 0;
    const uint64_t moment = random() % (1u << random() % 9);
    const pid_t child = fork_child();
    if (child == 0)
      observe_until_killed(steps);
    do {
      ASSERT_OK(run(on, dispatch));
      ++runs;
    } while (*steps < moment);
    EXPECT_TRUE(WIFSIGNALED(end_child(child))) << i;
  }
  munmap(steps, 4096);
  // All that was submitted has run, each once.
  uint64_t ticket = 0;
  ASSERT_OK(run(on, dispatch));
  for (const Event &event : read())
    if (event.of.type == RAWHAL_EVENT_SUBMIT)
      ticket = event.of.ticket;
  EXPECT_EQ(ticket, runs + 1);
  EXPECT_OK(ask(DOOR_WHY)); // the thread that answers is as it was
  // What the dead wanted is forgotten when its time is over.
  door_head_t *head = &observer->memory->head;
  head->until = 1;
  ASSERT_OK(run(on, dispatch));
  EXPECT_EQ(head->types, 0u);
}

} // namespace
