#include "debug/fault.h"

static const char *const fault_names[] = {
    [RAWHAL_FAULT_UNKNOWN] = "unknown fault",
    [RAWHAL_FAULT_MEMORY] = "memory access fault",
    [RAWHAL_FAULT_READ_ONLY] = "write to read-only memory",
    [RAWHAL_FAULT_NO_ACCESS] = "access to memory that the device was not given",
    [RAWHAL_FAULT_LDS] = "access beyond the work-group's LDS",
    [RAWHAL_FAULT_SCRATCH] = "access beyond the private segment",
    [RAWHAL_FAULT_KERNARG] = "kernarg fault",
    [RAWHAL_FAULT_MISALIGNED] = "misaligned access",
    [RAWHAL_FAULT_INSTRUCTION] = "illegal instruction",
    [RAWHAL_FAULT_FETCH] = "instruction fetch fault",
    [RAWHAL_FAULT_TRAP] = "trap",
    [RAWHAL_FAULT_TIME_LIMIT] = "time limit exceeded",
    [RAWHAL_FAULT_PACKET] = "invalid packet",
    [RAWHAL_FAULT_RESOURCES] = "not enough resources",
    [RAWHAL_FAULT_DEVICE_LOST] = "device lost",
    [RAWHAL_FAULT_DESTROYED] = "queue destroyed",
    [RAWHAL_FAULT_UNWRITTEN] = "read of unwritten memory",
    [RAWHAL_FAULT_LDS_UNWRITTEN] = "read of unwritten LDS",
    [RAWHAL_FAULT_LDS_RACE] = "race in LDS",
    [RAWHAL_FAULT_MOMENT] = "stopped as asked",
};

static const char *const cause_names[] = {
    [RAWHAL_CAUSE_UNKNOWN] = "unknown cause",
    [RAWHAL_CAUSE_OUT_OF_BOUNDS] = "out of bounds",
    [RAWHAL_CAUSE_FREED] = "freed memory",
    [RAWHAL_CAUSE_NO_ACCESS] = "no access",
    [RAWHAL_CAUSE_NULL] = "null pointer",
    [RAWHAL_CAUSE_WILD] = "pointer to no memory",
    [RAWHAL_CAUSE_ARGUMENTS] = "wrong arguments",
    [RAWHAL_CAUSE_SHORT_BLOB] = "arguments not supplied",
    [RAWHAL_CAUSE_GRID] = "grid larger than the buffers",
    [RAWHAL_CAUSE_INDIRECT] = "pointer in memory",
    [RAWHAL_CAUSE_LDS] = "LDS",
    [RAWHAL_CAUSE_SCRATCH] = "private segment",
    [RAWHAL_CAUSE_READ_ONLY] = "read-only memory",
    [RAWHAL_CAUSE_MISALIGNED] = "misaligned argument",
    [RAWHAL_CAUSE_ABORT] = "aborted by the kernel",
    [RAWHAL_CAUSE_ENDLESS] = "never ends",
    [RAWHAL_CAUSE_CODE_UNLOADED] = "no code",
    [RAWHAL_CAUSE_PACKET] = "invalid packet",
    [RAWHAL_CAUSE_RESOURCES] = "not enough resources",
    [RAWHAL_CAUSE_DEVICE_LOST] = "device lost",
    [RAWHAL_CAUSE_DESTROYED] = "queue destroyed",
    [RAWHAL_CAUSE_INSTRUCTION] = "illegal instruction",
    [RAWHAL_CAUSE_DEPENDENCY] = "unmet dependency",
    [RAWHAL_CAUSE_UNWRITTEN] = "unwritten memory",
};

#define NAME(names, value)                                                                         \
  ((size_t)(value) < sizeof(names) / sizeof(*(names)) ? (names)[value] : *(names))

const char *rawhal_fault_kind_name(rawhal_fault_kind_t kind)
{
  return NAME(fault_names, kind);
}

const char *rawhal_cause_kind_name(rawhal_cause_kind_t kind)
{
  return NAME(cause_names, kind);
}
