/* All programs as one object. */
#include "side.h"

#include "control.cl"
#include "floats.cl"
#include "groups.cl"
#include "halves.cl"
#include "integers.cl"
#include "lanes.cl"
#include "matrices.cl"
#include "memory.cl"
