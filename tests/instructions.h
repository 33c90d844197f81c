// How many instructions a call takes on the thread that makes it, by the processor's single step: how many there are does
// not depend on the machine, nor on what else runs there. Only for x86-64, and not beside a sanitizer, which adds its own.
#ifndef RAWHAL_TESTS_INSTRUCTIONS_H
#define RAWHAL_TESTS_INSTRUCTIONS_H

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define RAWHAL_COUNTS_INSTRUCTIONS 1

#include <csignal>
#include <cstddef>
#include <ucontext.h>

namespace instructions {

constexpr unsigned long long trap_flag = 0x100; // of EFLAGS
inline volatile size_t taken;
inline volatile sig_atomic_t over;

inline void step(int, siginfo_t *, void *context)
{
  taken = taken + 1;
  if (over)
    static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_EFL] &=
        ~static_cast<greg_t>(trap_flag);
}

// Of a call with what is around it here, some twenty, which are the same each time.
template <typename Call> size_t count(Call call)
{
  struct sigaction action = {}, before;
  action.sa_sigaction = step;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, &before);
  taken = 0;
  over = 0;
  __asm__ volatile("pushfq\n orq %0, (%%rsp)\n popfq" ::"i"(trap_flag) : "memory", "cc");
  call();
  over = 1;
  __asm__ volatile("nop" ::: "memory"); // the step that sees it
  sigaction(SIGTRAP, &before, nullptr);
  return taken;
}

} // namespace instructions
#endif

#endif
