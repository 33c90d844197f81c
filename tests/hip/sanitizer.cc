// What Debian's HIP, its compiler support and the HSA runtime keep at exit is theirs.
extern "C" __attribute__((visibility("default"))) const char *__lsan_default_suppressions();

const char *__lsan_default_suppressions()
{
  return "leak:libamdhip64.so\nleak:libamd_comgr.so\nleak:libhsa-runtime64.so\n";
}
