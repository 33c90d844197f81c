#include "softgpu/cp/report.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "softgpu/cp/kernel_name.h"
#include "softgpu/cp/signal.h"
#include "softgpu/device/event.h"
#include "softgpu/device/memory.h"
#include "softgpu/device/opened.h"
#include "softgpu/device/option.h"
#include "softgpu/device/thread.h"
#include "softgpu/exports.h"

static char report_file[4096]; /* written by the constructor only */

__attribute__((constructor)) static void report_file_load(void)
{
  const char *name = secure_getenv("SOFTGPU_REPORT");
  if (name && strlen(name) < sizeof(report_file))
    memcpy(report_file, name, strlen(name) + 1);
}

static int report_file_open(void)
{
  return open(report_file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
}

void softgpu_report_line(const char *text)
{
  if (report_file[0] == '\0')
    return;
  SOFTGPU_WITHOUT_CANCELLATION();
  char *end;
  long descriptor = strtol(report_file, &end, 10);
  int file = *end == '\0' && descriptor >= 0 && descriptor <= INT_MAX ? dup((int)descriptor)
                                                                      : report_file_open();
  if (file < 0)
    return;
  char line[1024];
  (void)snprintf(line, sizeof(line) - 1, "softgpu: %s", text);
  size_t length = strlen(line);
  for (size_t i = 0; i < length; ++i) /* names are whatever a file says */
    if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
      line[i] = '?';
  line[length++] = '\n';
  /* In one piece, as others may write too. If it fails it cannot be reported. */
  ssize_t written = write(file, line, length);
  (void)written;
  close(file);
}

uint32_t softgpu_report_code(softgpu_fault_kind_t kind)
{
  switch (kind) {
  case SOFTGPU_FAULT_ILLEGAL_INSTRUCTION:
  case SOFTGPU_FAULT_IMAGE:
    return SOFTGPU_QUEUE_INSTRUCTION;
  case SOFTGPU_FAULT_DISPATCH:
    return SOFTGPU_QUEUE_BAD_CODE;
  case SOFTGPU_FAULT_REGISTERS:
    return SOFTGPU_QUEUE_NO_REGISTERS;
  case SOFTGPU_FAULT_TIMEOUT:
  case SOFTGPU_FAULT_TRAP:
  case SOFTGPU_FAULT_MOMENT:
    return SOFTGPU_QUEUE_EXCEPTION;
  default:
    return SOFTGPU_QUEUE_MEMORY;
  }
}

/* Whether the fault is about an address that allocations can be near to. */
static bool fault_has_address(softgpu_fault_kind_t kind)
{
  return kind == SOFTGPU_FAULT_FETCH || kind == SOFTGPU_FAULT_MEMORY ||
         kind == SOFTGPU_FAULT_READ_ONLY || kind == SOFTGPU_FAULT_KERNARG ||
         kind == SOFTGPU_FAULT_MEMORY_UNWRITTEN || kind == SOFTGPU_FAULT_KERNARG_MISSING ||
         kind == SOFTGPU_FAULT_FOREIGN;
}

static void nearest_note(softgpu_fault_info_t *info)
{
  softgpu_allocation_t nearest;
  if (!fault_has_address((softgpu_fault_kind_t)info->kind) ||
      !softgpu_memory_nearest(info->address, &nearest))
    return;
  info->nearest_base = nearest.base;
  info->nearest_size = nearest.size;
  info->nearest_node = nearest.node;
}

/* A caller of softgpu_queue_fault() knows the kernel by what the loader says; a reader of lines
 * does not. */
static void line_write(uint64_t kernel_object, const char *text)
{
  char name[200], line[sizeof(name) + 800];
  if (report_file[0] == '\0' || kernel_object == 0 ||
      !softgpu_kernel_name(kernel_object, name, sizeof(name))) {
    softgpu_report_line(text);
    return;
  }
  snprintf(line, sizeof(line), "kernel %s, %s", name, text);
  softgpu_report_line(line);
}

void softgpu_report_note(softgpu_queue_t *queue, uint32_t code, uint64_t kernel_object,
                         const softgpu_fault_t *fault, const char *text)
{
  pthread_mutex_lock(&queue->lock);
  softgpu_fault_info_t *info = &queue->fault;
  *info = (softgpu_fault_info_t){
      .queue_code = code, .packet_index = queue->next, .kernel_object = kernel_object};
  if (fault) {
    info->kind = fault->kind;
    info->pc = fault->pc;
    info->pc_offset = fault->pc_offset;
    info->address = fault->address;
    info->access_bytes = fault->access_bytes;
    memcpy(info->instruction, fault->instruction, sizeof(info->instruction));
    memcpy(info->instruction_text, fault->instruction_text, sizeof(info->instruction_text));
    memcpy(info->workgroup, fault->workgroup, sizeof(info->workgroup));
    info->wave = fault->wave;
    info->lane = fault->lane;
    info->access = fault->access;
    info->lanes_known = fault->lanes_known;
    info->lanes = fault->lanes;
    text = fault->text;
  }
  int used = snprintf(queue->fault_text, sizeof(queue->fault_text), "packet %" PRIu64, queue->next);
  if (kernel_object != 0)
    used += snprintf(queue->fault_text + used, sizeof(queue->fault_text) - (size_t)used,
                     ", kernel object 0x%" PRIx64, kernel_object);
  snprintf(queue->fault_text + used, sizeof(queue->fault_text) - (size_t)used, ": %s", text);
  nearest_note(info);
  line_write(kernel_object, queue->fault_text);
  atomic_store(&queue->failed, true);
  pthread_mutex_unlock(&queue->lock);
  softgpu_total_add(&softgpu_totals.queue_errors, 1);
}

static bool as_hardware(void)
{
  return softgpu_option(SOFTGPU_OPTION_HARDWARE_FAULTS) != 0;
}

/* A queue in which memory has failed has no error of its own on hardware. */
static softgpu_step_t report_page(const softgpu_queue_t *queue, const softgpu_fault_t *fault)
{
  enum { PAGE = 4096 };
  softgpu_event_memory_fault(queue->setup.node, fault->address / PAGE * PAGE,
                             fault->kind == SOFTGPU_FAULT_READ_ONLY);
  return SOFTGPU_STEP_STOPPED;
}

softgpu_step_t softgpu_report(softgpu_queue_t *queue, uint32_t code, uint64_t kernel_object,
                              const softgpu_fault_t *fault, const char *text)
{
  softgpu_report_note(queue, code, kernel_object, fault, text);
  if (as_hardware() && fault && fault_has_address(fault->kind))
    return report_page(queue, fault);
  const uint64_t signal = softgpu_aql_own_signal(queue);
  if (!softgpu_signal_store(queue->setup.node, signal, (int64_t)(uint64_t)code))
    softgpu_event_memory_fault(queue->setup.node, signal, false);
  return SOFTGPU_STEP_STOPPED;
}

/* Locked. NULL: nothing is told of it. */
static softgpu_queue_t *known(const void *hsa_queue)
{
  return softgpu_forked() || as_hardware() ? NULL : softgpu_queue_lock(hsa_queue);
}

SOFTGPU_EXPORT size_t softgpu_queue_fault(const void *hsa_queue, char *text, size_t size)
{
  if (text && size > 0)
    text[0] = '\0';
  softgpu_queue_t *queue = known(hsa_queue);
  if (!queue)
    return 0;
  size_t length = strlen(queue->fault_text);
  if (text && size > 0)
    snprintf(text, size, "%s", queue->fault_text);
  softgpu_queue_unlock(queue);
  return length;
}

SOFTGPU_EXPORT bool softgpu_queue_fault_info(const void *hsa_queue, softgpu_fault_info_t *info,
                                             size_t size)
{
  softgpu_queue_t *queue = known(hsa_queue);
  if (!queue)
    return false;
  bool failed = atomic_load(&queue->failed);
  if (failed && info)
    memcpy(info, &queue->fault, size < sizeof(*info) ? size : sizeof(*info));
  softgpu_queue_unlock(queue);
  return failed;
}

SOFTGPU_EXPORT void softgpu_counters(softgpu_counters_t *counters, size_t size)
{
  const softgpu_totals_t *totals = &softgpu_totals;
  softgpu_counters_t now = {
      .dispatches = atomic_load(&totals->dispatches),
      .wave_instructions = softgpu_instruction_count(),
      .barriers = atomic_load(&totals->barriers),
      .copies = atomic_load(&totals->copies),
      .copied_bytes = atomic_load(&totals->copied_bytes),
      .queue_errors = atomic_load(&totals->queue_errors),
      .doorbell_wakeups = atomic_load(&totals->doorbell_wakeups),
      .injected = atomic_load(&totals->injected),
  };
  if (counters)
    memcpy(counters, &now, size < sizeof(now) ? size : sizeof(now));
}
