// Kernels that run: the runtime's own and the fixtures.
#include "runtime.h"

namespace {

class Kernels : public Runtime {};

} // namespace
