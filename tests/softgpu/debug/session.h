// A program and a debugger of ours at it: what its waves do, from launch to end.
#pragma once

#include "client.h"

enum { kBreakpoint = (int)0xbf920001 }; // s_trap 1
constexpr uint64_t kWaveTrap = KFD_EXCEPTION(KFD_WAVE_TRAP);

struct Session {
  explicit Session(const std::string &chips) : target(chips), is_begun(target.begin()), gdb(target)
  {
    EXPECT_TRUE(is_begun);
    EXPECT_GE(gdb.connection, 0);
  }
  // The last device's queue comes second.
  kfd_queue_t queue(unsigned number = 0)
  {
    for (const kfd_queue_t &queue : gdb.queues())
      if (queue.id == number + 1)
        return queue;
    ADD_FAILURE() << "no queue " << number;
    return {};
  }
  uint64_t code(uint32_t offset) { return target.places.code + offset; }
  void launch_halted(bool halted)
  {
    EXPECT_EQ(gdb.ask(KFD_SET_WAVE_LAUNCH_MODE,
                      [&](auto &d) { d.launch.mode = halted ? KFD_LAUNCH_HALT : 0; }),
              0);
  }
  // Puts a dispatch whose waves are halted where they begin, and waits until they are there.
  std::vector<Wave> begin_halted(const std::string &dispatch, size_t count)
  {
    launch_halted(true);
    EXPECT_EQ(target.say("run " + dispatch), "put");
    const kfd_queue_t of = queue();
    std::vector<Wave> waves;
    for (int i = 0; i < 10000 && waves.size() < count; ++i) {
      gdb.suspend({of.id});
      waves = gdb.waves(of);
      if (waves.size() < count)
        gdb.resume({of.id});
    }
    launch_halted(false);
    EXPECT_EQ(waves.size(), count);
    return waves; // and the queue is suspended
  }
  // The queue is resumed; stands still when a wave has stopped for `exceptions`.
  std::vector<Wave> until_stopped(uint64_t exceptions, uint32_t id = 1)
  {
    kfd_debug_t event;
    EXPECT_EQ(gdb.resume({id}), std::vector<uint32_t>{id});
    EXPECT_TRUE(gdb.event(&event));
    EXPECT_EQ(event.send.queue_id, id);
    EXPECT_EQ(event.send.exceptions & 0x3f, exceptions);
    EXPECT_EQ(gdb.suspend({id}), std::vector<uint32_t>{id});
    return gdb.waves(queue(id - 1));
  }
  // What stops at a trap that was put over an instruction: ahead of it there, as of this r_version.
  void finish(const std::vector<Wave> &waves, uint32_t id = 1)
  {
    for (const Wave &wave : waves)
      gdb.go_on(wave);
    gdb.resume({id});
  }

  // One dispatch, up to where its only wave stops.
  Wave stop(const std::string &dispatch, uint64_t exceptions)
  {
    EXPECT_EQ(gdb.suspend({1}), std::vector<uint32_t>{1});
    EXPECT_EQ(target.say("run " + dispatch), "put");
    const std::vector<Wave> waves = until_stopped(exceptions);
    EXPECT_EQ(waves.size(), 1u);
    return waves.empty() ? Wave{} : waves[0];
  }

  // The program by itself, of which no debugger hears.
  void end()
  {
    gdb.ask(KFD_DISABLE);
    EXPECT_EQ(target.end(), 0);
  }

  Target target;
  bool is_begun;
  Debugger gdb;
};
