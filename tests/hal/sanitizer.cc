// ThreadSanitizer does not see into the HSA runtime, which is not built with it: what one thread
// hands to another through the runtime's queues, copies and signals looks unordered to it. Only
// such places are listed.
extern "C" __attribute__((visibility("default"))) const char *__tsan_default_suppressions();

const char *__tsan_default_suppressions()
{
  return "called_from_lib:libhsa-runtime64.so.1\n"
         "race:decode_slot\n"; // code that another queue's blit wrote and the runtime waited for
}
