#include "hiplaunch/hip/hip_calls.h"
#include "tests/hiplaunch/abi_list.h"

const abi_fact_t ours[] = {ABI_FACTS};
const hipDeviceArch_t our_flags[] = {ABI_FLAGS};
