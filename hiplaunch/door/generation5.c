#include "hiplaunch/hip/generation.h"

/* Of the headers that hip_types.h is from. Managed memory is the device's there. */
const generation_t generation = {
    .version = 5 * 10000000 + 2 * 100000 + 21153,
    .memory = {.host = 0, .device = 1, .managed = 1},
};
