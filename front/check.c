#include "front/check.h"

#include "front/devices.h"

#include "front/host_view.h"
#include "front/kernargs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of what a mistake is; arguments count from 0. */
enum {
  ABOUT_KERNARGS = 1u << 31,
  ABOUT_GRID,
  ABOUT_PRIVATE,
  ABOUT_GROUP,
  ABOUT_DEVICE,
  ABOUT_CODE,
  ABOUT_REGISTERS
};

typedef struct check {
  const check_subject_t *subject;
  check_report_fn *report;
  void *context;
  size_t mistakes;
  rawhal_bytes_t image; /* of its kernargs, as far as there are */
  bool unread;          /* the host cannot read them */
} check_t;

static void tell(check_t *check, uint32_t about, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void tell(check_t *check, uint32_t about, const char *format, ...)
{
  char text[CHECK_TEXT];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  ++check->mistakes;
  check->report(check->context, check->subject, about, text);
}

/* ---- Memory ---- */

typedef struct place_text {
  char text[200];
} place_text_t;

static const char *of_whom(const range_t *range)
{
  return range->owner ? "device" : "host";
}

/* Is it memory of the process at all? */
static bool is_mapped(uint64_t address)
{
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  unsigned char present;
  return mincore((void *)(uintptr_t)(address & ~(page - 1)), 1, &present) == 0;
}

/* Memory that was locked, by the address that only the host has. */
static void describe_host(uint64_t address, place_text_t *said)
{
  hsa_amd_pointer_info_t info;
  if (devices_pointer((const void *)(uintptr_t)address, &info) &&
      info.type == HSA_EXT_POINTER_TYPE_LOCKED && info.hostBaseAddress)
    (void)snprintf(said->text, sizeof(said->text),
                   "in host memory, which the device maps at 0x%llx",
                   (unsigned long long)(address - (uint64_t)(uintptr_t)info.hostBaseAddress +
                                        (uint64_t)(uintptr_t)info.agentBaseAddress));
  else
    (void)snprintf(said->text, sizeof(said->text), "%s",
                   is_mapped(address) ? "in host memory that the device cannot access"
                                      : "in no memory");
}

/* What a pointer that leads nowhere looks like. */
static place_text_t describe(uint64_t address)
{
  place_text_t said;
  range_t range = {0};
  range_state_t state = ranges_find(address, &range);
  unsigned long long size = range.size, number = range.number;
  if (state == RANGE_FREED)
    (void)snprintf(said.text, sizeof(said.text),
                   "in memory that was freed (allocation %llu, %llu bytes of %s memory, at +%llu)",
                   number, size, of_whom(&range), (unsigned long long)(address - range.base));
  else if (ranges_ending(address, &range))
    (void)snprintf(
        said.text, sizeof(said.text), "at the end of allocation %llu, of %llu bytes of %s memory",
        (unsigned long long)range.number, (unsigned long long)range.size, of_whom(&range));
  else
    describe_host(address, &said);
  return said;
}

/* By the runtime; what it does not know of, such as managed memory, is not ours to doubt. */
static bool may_access(hsa_agent_t agent, uint64_t address)
{
  hsa_amd_pointer_info_t info = {.size = sizeof(info)};
  uint32_t count = 0;
  hsa_agent_t *agents = NULL;
  /* malloc() is asked for by the runtime only when there are agents. */
  if (front.hsa.pointer_info((const void *)(uintptr_t)address, &info, malloc, &count, &agents) !=
      HSA_STATUS_SUCCESS)
    return true;
  bool may = !agents || info.type == HSA_EXT_POINTER_TYPE_UNKNOWN;
  for (uint32_t i = 0; agents && i < count; ++i)
    may |= agents[i].handle == agent.handle;
  free(agents);
  return may;
}

/* Was the memory given to the device? */
bool check_given(const front_device_t *device, const range_t *range, uint64_t address)
{
  const uint64_t bit = UINT64_C(1) << (device - front.devices);
  if (range->owner == device->agent.handle || range->given & bit ||
      (!range->owner && front.reaches_host))
    return true;
  const bool may = may_access(device->agent, address);
  if (may && range->number)
    ranges_give(address, bit, false);
  return may;
}

static const char *not_given(const range_t *range)
{
  return range->owner ? "in another device's memory that this one was not given"
                      : "in host memory that the device cannot access";
}

/* ---- Arguments ---- */

typedef struct argument_text {
  char text[160];
} argument_text_t;

static argument_text_t name_of(const rawhal_kernarg_argument_t *argument, uint32_t index)
{
  argument_text_t said;
  (void)snprintf(said.text, sizeof(said.text), "argument %u%s%.*s%s", index,
                 argument->name.size ? " '" : "",
                 (int)(argument->name.size < 80 ? argument->name.size : 80), argument->name.data,
                 argument->name.size ? "'" : "");
  return said;
}

static uint64_t value_of(const rawhal_kernarg_argument_t *argument, const unsigned char *image)
{
  uint64_t value = 0;
  memcpy(&value, image + argument->offset,
         argument->size < sizeof(value) ? argument->size : sizeof(value));
  return value;
}

/* By what the policy says of it. */
static void check_contract(check_t *check, const rawhal_kernarg_argument_t *argument,
                           uint32_t index, uint64_t left)
{
  const hsa_kernel_dispatch_packet_t *packet = check->subject->packet;
  const front_kernel_t *kernel = check->subject->kernel;
  const contract_facts_t facts = {
      .layout = kernel->layout,
      .image = check->image,
      .work_items = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z},
      .workgroup = {packet->workgroup_size_x, packet->workgroup_size_y, packet->workgroup_size_z}};
  for (size_t i = 0; kernel->policy && i < kernel->policy->argument_count; ++i) {
    uint64_t wanted;
    rawhal_error_t error;
    if (kernel->policy->arguments[i].index != index)
      continue;
    if (contract_evaluate(kernel->policy->arguments[i].bytes, &facts, &wanted, &error) != RAWHAL_OK)
      tell(check, index, "%s: %s", name_of(argument, index).text, error.message);
    else if (wanted > left)
      tell(check, index, "%s leads to %llu bytes; it takes %llu", name_of(argument, index).text,
           (unsigned long long)left, (unsigned long long)wanted);
  }
}

/* What LLVM's runtime for OpenMP passes for a launch environment that its kernel has no use for. */
static const uint64_t nowhere = UINT64_MAX;

static void check_pointer(check_t *check, const rawhal_kernarg_argument_t *argument, uint32_t index,
                          const unsigned char *image)
{
  uint64_t address = value_of(argument, image);
  range_t range;
  if (!address || address == nowhere) {
    check_contract(check, argument, index, 0);
    return;
  }
  if (front.reaches_host) {
    if (ranges_find(address, &range) == RANGE_LIVE)
      check_contract(check, argument, index, range.size - (address - range.base));
    return;
  }
  if (!host_view_find(address, &range)) {
    tell(check, index, "%s is 0x%llx, %s", name_of(argument, index).text,
         (unsigned long long)address, describe(address).text);
    return;
  }
  check_contract(check, argument, index, range.size - (address - range.base));
  if (!check_given(check->subject->device, &range, address))
    tell(check, index, "%s is 0x%llx, %s", name_of(argument, index).text,
         (unsigned long long)address, not_given(&range));
}

/* What a hidden argument must be, as far as the packet decides; `most`: it may be less. */
typedef struct expected {
  uint64_t least, most;
} expected_t;

static bool expect_hidden(const hsa_kernel_dispatch_packet_t *packet, uint32_t group_static,
                          uint8_t kind, expected_t *expected)
{
  const uint32_t grid[] = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z};
  const uint16_t group[] = {packet->workgroup_size_x, packet->workgroup_size_y,
                            packet->workgroup_size_z};
  uint64_t value;
  uint32_t axis = kind - RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X;
  if (axis < 3)
    value = grid[axis] / group[axis];
  else if (axis < 6)
    value = group[axis - 3];
  else if (axis < 9)
    value = grid[axis - 6] % group[axis - 6];
  else if (kind == RAWHAL_VALUE_HIDDEN_DYNAMIC_LDS_SIZE)
    value = packet->group_segment_size - group_static;
  else if (kind != RAWHAL_VALUE_HIDDEN_GRID_DIMS)
    return false;
  else
    value = packet->setup & 3;
  *expected = (expected_t){value, kind == RAWHAL_VALUE_HIDDEN_GRID_DIMS ? 3 : value};
  return true;
}

static void check_hidden(check_t *check, const rawhal_kernarg_argument_t *argument, uint32_t index,
                         const unsigned char *image)
{
  const hsa_kernel_dispatch_packet_t *packet = check->subject->packet;
  const rawhal_descriptor_t *descriptor = check->subject->kernel->facts->descriptor;
  expected_t expected;
  if (!expect_hidden(packet, descriptor->group_segment_size, argument->value_kind, &expected))
    return;
  uint64_t value = value_of(argument, image);
  if (value < expected.least || value > expected.most)
    tell(check, index, "%.*s is %llu, by the dispatch %llu", (int)argument->value_kind_text.size,
         argument->value_kind_text.data, (unsigned long long)value,
         (unsigned long long)expected.least);
}

static void check_arguments(check_t *check, const unsigned char *image, uint64_t size)
{
  const rawhal_kernarg_layout_t *layout = check->subject->kernel->layout;
  const rawhal_kernarg_argument_t *argument;
  check->image = (rawhal_bytes_t){image, size};
  for (uint32_t i = 0; (argument = rawhal_kernarg_layout_argument(layout, i)); ++i) {
    if ((uint64_t)argument->offset + argument->size > size)
      continue;
    if (argument->hidden)
      check_hidden(check, argument, i, image);
    else if (argument->value_kind == RAWHAL_VALUE_GLOBAL_BUFFER && argument->size == 8)
      check_pointer(check, argument, i, image);
  }
}

/* ---- The segment ---- */

/* How many bytes there are from the beginning of the kernargs on; 0: none. */
static uint64_t find_kernargs(check_t *check, uint64_t address, range_t *range)
{
  if (!host_view_find(address, range)) {
    *range = (range_t){0};
    if (front.reaches_host)
      return UINT64_MAX - address;
    tell(check, ABOUT_KERNARGS, "kernargs at 0x%llx are %s", (unsigned long long)address,
         describe(address).text);
    return 0;
  }
  if (!check_given(check->subject->device, range, address))
    tell(check, ABOUT_KERNARGS, "kernargs at 0x%llx are %s", (unsigned long long)address,
         not_given(range));
  return range->size - (address - range->base);
}

/* What the host cannot read of a device's memory is not known; of its own it is not there. */
static void read_kernargs(check_t *check, const range_t *range, uint64_t size)
{
  const hsa_kernel_dispatch_packet_t *packet = check->subject->packet;
  kernargs_t kernargs;
  kernargs_copy(&kernargs, packet, (size_t)size);
  if (!kernargs.unread)
    check_arguments(check, kernargs.bytes.data, size);
  else if (range->owner)
    check->unread = true;
  else
    tell(check, ABOUT_KERNARGS, "kernargs at 0x%llx, of %llu bytes, were unmapped",
         (unsigned long long)(uintptr_t)packet->kernarg_address, (unsigned long long)size);
  kernargs_give_back(&kernargs);
}

static void check_kernargs(check_t *check)
{
  const rawhal_kernarg_layout_t *layout = check->subject->kernel->layout;
  const rawhal_kernarg_info_t *info = layout ? rawhal_kernarg_layout_info(layout) : NULL;
  uint64_t address = (uint64_t)(uintptr_t)check->subject->packet->kernarg_address;
  range_t range;
  if (!info || !info->segment_size)
    return;
  if (!address) {
    tell(check, ABOUT_KERNARGS, "there are no kernargs; it takes %u bytes", info->segment_size);
    return;
  }
  if (address % info->alignment)
    tell(check, ABOUT_KERNARGS, "kernargs at 0x%llx are not aligned to %u",
         (unsigned long long)address, info->alignment);
  const uint64_t left = find_kernargs(check, address, &range);
  if (!left)
    return;
  if (left < info->segment_size)
    tell(check, ABOUT_KERNARGS, "kernargs have %llu bytes to the end of their memory; it takes %u",
         (unsigned long long)left, info->segment_size);
  read_kernargs(check, &range, left < info->segment_size ? left : info->segment_size);
}

static bool check_grid(check_t *check)
{
  const hsa_kernel_dispatch_packet_t *packet = check->subject->packet;
  const rawhal_launch_t launch = {
      .work_items = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z},
      .workgroup = {packet->workgroup_size_x, packet->workgroup_size_y, packet->workgroup_size_z},
      .dimensions = packet->setup & 3};
  rawhal_error_t error;
  if (rawhal_launch_check(check->subject->kernel->facts, &launch, &error) == RAWHAL_OK)
    return true;
  tell(check, ABOUT_GRID, "%s", error.message);
  return packet->workgroup_size_x && packet->workgroup_size_y && packet->workgroup_size_z;
}

static void check_code(check_t *check)
{
  const range_t code = {.owner = check->subject->code_agent.handle};
  if (code.owner &&
      !check_given(check->subject->device, &code, check->subject->packet->kernel_object))
    tell(check, ABOUT_CODE, "its code was loaded for another device");
}

/* All waves of a work-group are on a compute unit at once, or it never runs. */
static void check_registers(check_t *check)
{
  const hsa_kernel_dispatch_packet_t *packet = check->subject->packet;
  const rawhal_kernel_t *facts = check->subject->kernel->facts;
  const uint64_t items =
      (uint64_t)packet->workgroup_size_x * packet->workgroup_size_y * packet->workgroup_size_z;
  const uint32_t most = occupancy_work_items(check->subject->device->chip, facts);
  if (items > most)
    tell(check, ABOUT_REGISTERS,
         "a work-group of %llu work-items that cannot run: with the %u VGPRs and %u SGPRs of each "
         "wave a compute unit has room for %u",
         (unsigned long long)items, facts->descriptor->vgpr_count, facts->descriptor->sgpr_count,
         most);
}

static void check_segments(check_t *check)
{
  const hsa_kernel_dispatch_packet_t *packet = check->subject->packet;
  const rawhal_descriptor_t *descriptor = check->subject->kernel->facts->descriptor;
  if (packet->private_segment_size < descriptor->private_segment_size)
    tell(check, ABOUT_PRIVATE, "%u bytes of scratch for a work-item; it takes %u",
         packet->private_segment_size, descriptor->private_segment_size);
  if (packet->group_segment_size < descriptor->group_segment_size)
    tell(check, ABOUT_GROUP, "%u bytes of group memory; it takes %u", packet->group_segment_size,
         descriptor->group_segment_size);
  if (check->subject->device->group_bytes &&
      packet->group_segment_size > check->subject->device->group_bytes)
    tell(check, ABOUT_DEVICE, "%u bytes of group memory; the device has %u",
         packet->group_segment_size, check->subject->device->group_bytes);
}

size_t check_dispatch(const check_subject_t *subject, check_report_fn *report, void *context,
                      bool *unread)
{
  check_t check = {.subject = subject, .report = report, .context = context};
  check_code(&check);
  check_segments(&check);
  check_registers(&check);
  if (check_grid(&check))
    check_kernargs(&check);
  *unread = check.unread;
  return check.mistakes;
}
