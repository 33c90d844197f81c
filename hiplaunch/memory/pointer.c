#include "hiplaunch/hip/generation.h"
#include "hiplaunch/memory/memory.h"

#include <string.h>

/* What the program asks of a pointer. Host memory that devices reach has one address for all. */

static bool on_host(const allocation_t *allocation)
{
  return allocation->kind != ALLOCATION_DEVICE && allocation->kind != ALLOCATION_VARIABLE;
}

static int memory_type(const allocation_t *allocation)
{
  if (allocation->kind == ALLOCATION_MANAGED)
    return generation.memory.managed;
  return on_host(allocation) ? generation.memory.host : generation.memory.device;
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t *attributes, const void *pointer)
{
  allocation_t allocation;
  if (!attributes || !pointer)
    return fail(hipErrorInvalidValue, "%s is NULL", attributes ? "pointer" : "attributes");
  if (!memory_find((uintptr_t)pointer, &allocation)) {
    *attributes = (hipPointerAttribute_t){.memoryType = HIP6_MEMORY_UNREGISTERED, .device = -2};
    return generation.knows_unregistered
               ? hipSuccess
               : fail(hipErrorInvalidValue, "%p is in no live allocation of the program's",
                      pointer);
  }
  void *same = (void *)(uintptr_t)pointer;
  *attributes = (hipPointerAttribute_t){
      .memoryType = memory_type(&allocation),
      .device = allocation.device->ordinal,
      .devicePointer = same,
      .hostPointer = on_host(&allocation) ? same : NULL,
      .isManaged = allocation.kind == ALLOCATION_MANAGED,
      .allocationFlags = allocation.flags,
  };
  return hipSuccess;
}

/* As wide as HIP's documentation has each: pointers and sizes, 32 bits, or one byte. */
typedef struct answer {
  uint64_t value;
  size_t size;
  bool known;
} answer_t;

static answer_t answer_of(hipPointer_attribute attribute, const allocation_t *allocation,
                          hipDeviceptr_t pointer)
{
  const uint64_t address = (uintptr_t)pointer;
  switch (attribute) {
  case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
    return (answer_t){(uint64_t)memory_type(allocation), 4, true};
  case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER:
    return (answer_t){address, 8, true};
  case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
    return (answer_t){on_host(allocation) ? address : 0, 8, on_host(allocation)};
  case HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    return (answer_t){0, 1, true};
  case HIP_POINTER_ATTRIBUTE_BUFFER_ID:
    return (answer_t){allocation->id, 4, true};
  case HIP_POINTER_ATTRIBUTE_IS_MANAGED:
    return (answer_t){allocation->kind == ALLOCATION_MANAGED, 1, true};
  case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    return (answer_t){(uint64_t)allocation->device->ordinal, 4, true};
  case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    return (answer_t){allocation->address, 8, true};
  case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
    return (answer_t){allocation->size, 4, true};
  case HIP_POINTER_ATTRIBUTE_MAPPED:
    return (answer_t){1, 1, true};
  default:
    return (answer_t){0};
  }
}

hipError_t hipPointerGetAttribute(void *value, hipPointer_attribute attribute,
                                  hipDeviceptr_t pointer)
{
  allocation_t allocation;
  if (!value || !pointer)
    return fail(hipErrorInvalidValue, "%s is NULL", value ? "pointer" : "value");
  if (!memory_find((uintptr_t)pointer, &allocation))
    return fail(hipErrorInvalidValue, "%p is in no live allocation of the program's", pointer);
  const answer_t answer = answer_of(attribute, &allocation, pointer);
  if (!answer.size)
    return fail(hipErrorNotSupported, "pointer attribute %d", (int)attribute);
  memcpy(value, &answer.value, answer.size); /* little-endian, as all that ROCm runs on */
  return answer.known ? hipSuccess : fail(hipErrorInvalidValue, "%p is not the host's", pointer);
}

/* Of several at once, without failing: what is not known is 0, and the device -2. */
hipError_t hipDrvPointerGetAttributes(unsigned count, hipPointer_attribute *attributes,
                                      void **values, hipDeviceptr_t pointer)
{
  static device_t none = {.ordinal = -2};
  allocation_t allocation = {.device = &none, .kind = ALLOCATION_DEVICE};
  if (!count || !attributes || !values || !pointer)
    return fail(hipErrorInvalidValue, "no %s",
                !pointer  ? "pointer"
                : !values ? "values"
                          : "attributes");
  bool found = memory_find((uintptr_t)pointer, &allocation);
  for (unsigned i = 0; i < count; ++i) {
    answer_t answer = answer_of(attributes[i], &allocation, pointer);
    if (!found && attributes[i] != HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
      answer.value = 0;
    if (values[i])
      memcpy(values[i], &answer.value, answer.size);
  }
  return hipSuccess;
}

static hipError_t range_of(const void *pointer, hipError_t error, allocation_t *allocation)
{
  return memory_find((uintptr_t)pointer, allocation)
             ? hipSuccess
             : fail(error, "%p is in no live allocation of the program's", pointer);
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t *start, size_t *size, hipDeviceptr_t pointer)
{
  allocation_t allocation;
  hipError_t status = range_of(pointer, hipErrorNotFound, &allocation);
  if (status == hipSuccess && start)
    *start = (void *)(uintptr_t)allocation.address;
  if (status == hipSuccess && size)
    *size = allocation.size;
  return status;
}

hipError_t hipMemPtrGetInfo(void *pointer, size_t *size)
{
  allocation_t allocation;
  if (!size)
    return fail(hipErrorInvalidValue, "size is NULL");
  *size = 0;
  if (!pointer)
    return hipSuccess;
  hipError_t status = range_of(pointer, hipErrorInvalidValue, &allocation);
  if (status == hipSuccess)
    *size = allocation.size;
  return status;
}
