// Threads on processors of their own: two that share one would take turns of milliseconds.
#ifndef RAWHAL_BENCH_PROCESSORS_H
#define RAWHAL_BENCH_PROCESSORS_H

#include <sched.h>

// Those the calling thread may use; it gets them back in the end.
class Processors {
public:
  Processors() { sched_getaffinity(0, sizeof(all), &all); }
  ~Processors() { sched_setaffinity(0, sizeof(all), &all); }
  Processors(const Processors &) = delete;
  Processors &operator=(const Processors &) = delete;

  unsigned count() const { return static_cast<unsigned>(CPU_COUNT(&all)); }

  // The calling thread stays on the nth.
  void pin(unsigned nth) const
  {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &all) && nth-- == 0)
        CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
  }

private:
  cpu_set_t all;
};

#endif
