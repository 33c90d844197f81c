/* HIP's headers first; that our declarations come after them is a test that they agree. */
#include <hip/hip_runtime_api.h>

#define RAWHAL_HIPLAUNCH_OTHER_TYPES
#include "hiplaunch/hip/hip_calls.h"
#include "tests/hiplaunch/abi_list.h"

const abi_fact_t theirs[] = {ABI_FACTS};
const hipDeviceArch_t their_flags[] = {ABI_FLAGS};
