// Any bytes as a certificate of a kernel's copy. What is taken says what it is about, and is about that.
#include <cstring>

#include "probe/certificate.h"

static void check(bool holds)
{
  if (!holds)
    __builtin_trap();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  certificate_t certificate;
  rawhal_error_t error = {};
  if (certificate_read(data, size, &certificate, &error) != RAWHAL_OK) {
    check(*error.message && !certificate.root && !certificate.dispatches);
    return 0;
  }
  certificate_subject_t about = certificate.subject;
  check(certificate.dispatches && about.kinds && about.kernel.size &&
        strlen(about.kernel.data) == about.kernel.size && *about.target &&
        strlen(about.target) < CERTIFICATE_TARGET);
  check(certificate.has_waves || !certificate.waves);
  check(certificate.has_instructions || !certificate.instructions);
  char name[CERTIFICATE_FILE];
  certificate_file(&about, name);
  check(strlen(name) == 37);
  check(certificate_check(&certificate, &about, &error) == RAWHAL_OK);
  ++about.copy.low;
  check(certificate_check(&certificate, &about, &error) == RAWHAL_TARGET_MISMATCH);
  certificate_close(&certificate);
  return 0;
}
