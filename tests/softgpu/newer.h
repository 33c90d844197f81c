// What differs on runtimes newer than Debian 12's 5.2.3.
#pragma once

// Those with virtual memory, 5.7 and later.
bool runtime_knows_gfx942();

// Runtimes that came by libdtif.so use no interrupts: they wait busily, know no events, and hear of
// no fault that has no queue to report it.
bool runtime_has_no_interrupts();

#define SKIP_WITHOUT_INTERRUPTS()                                                                  \
  if (runtime_has_no_interrupts())                                                                 \
  GTEST_SKIP() << "this runtime uses no interrupts on libdtif.so"

// A packet that wants more registers than there are: OUT_OF_REGISTERS (45) on newer runtimes.
inline int as_of_5_2(int status)
{
  return status == 45 ? 0x100f /* INVALID_ISA */ : status;
}
