// Random instruction words and random kernel descriptors on the interpreter of softgpu. Whatever a
// kernel is made of, its dispatch ends: in order, with a described fault, or, as here after some
// thousand instructions, because it was told to stop. It writes to memory it may write to alone.
//
// An input decides about a descriptor, a packet and 64 words of code, and runs them: from the first
// word on, then from behind whatever stopped it, so that every word gets its turn. Some inputs run
// on the reference engine, too, which must come to the same end.
#include "budget.h"
#include "fuzz/softgpu_scene.h"

// Of all starts of an input together, on both engines: 64 starts, each of some 4,000 instructions until the engine
// looks whether it has to stop, and up to 2,000 steps of the reference for an instruction of 64 lanes.
enum { MOST_STEPS = 1 << 29, WORDS = 64 };

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  Budget budget(budget_begin(MOST_STEPS, 512 << 20)); // scratch is as large as descriptors say
  softgpu_engine_threads(1);
  Choices choices(data, size);
  const unsigned chip = choices.below(SOFTGPU_CHIP_OTHER);
  Scene scene(choices, chip, WORDS, choices.once_in(16));
  scene.run();
  softgpu_invalidate_code();
  return 0;
}
