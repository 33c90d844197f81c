/* rawhal doctor: does the runtime start, which devices has it, and do they work? */
#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hsa/hsa.h>

#include "tools/doctor/doctor.h"

enum { TARGET_BYTES = 64 };

static void take_line(void *context, rawhal_severity_t severity, const char *message)
{
  const doctor_t *doctor = context;
  if (severity >= RAWHAL_SEVERITY_WARNING && !strstr(message, "there is no /dev/kfd"))
    doctor_say(doctor, DOCTOR_NOTE, NULL, "%.900s", message); /* that one is another check's */
}

/* What to do about a runtime that does not start. */
static const char *fix_of(const rawhal_error_t *error)
{
  if (error->status == RAWHAL_INVALID_ARGUMENT)
    return "correct or unset the variable";
  if (error->status == RAWHAL_NOT_FOUND)
    return "see the fixes of the other rows";
  return "see the other rows and the kernel log (dmesg); 'HSAKMT_DEBUG_LEVEL=7 rawhal devices' "
         "shows more messages of the runtime; RAWHAL_DEVICE=softgpu needs no driver";
}

/* Its version, once it runs. */
static void say_version(const doctor_t *doctor)
{
  char name[PATH_MAX];
  void *runtime = NULL;
  if (!rawhal_runtime_library(doctor->expected, NULL, name, sizeof(name), NULL))
    runtime = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  void *found = runtime ? dlsym(runtime, "hsa_system_get_info") : NULL;
  hsa_status_t (*ask)(hsa_system_info_t, void *) = NULL;
  uint16_t major = 0, minor = 0;
  memcpy(&ask, &found, sizeof(ask));
  if (ask && !ask(HSA_SYSTEM_INFO_VERSION_MAJOR, &major) &&
      !ask(HSA_SYSTEM_INFO_VERSION_MINOR, &minor))
    doctor_say(doctor, DOCTOR_OK, NULL, "the runtime starts, HSA %u.%u", major, minor);
  else
    doctor_say(doctor, DOCTOR_OK, NULL, "the runtime starts");
}

/* Memory there and back, and a packet that the device has to answer. */
static bool works(rawhal_device_t *device, rawhal_error_t *error)
{
  static const char there[] = "rawhal doctor";
  const rawhal_queue_options_t options = {.packets = 64, .submissions = 1};
  const uint64_t deadline = rawhal_deadline_after(10000000000u);
  char back[sizeof(there)] = "";
  rawhal_buffer_t *buffer = NULL;
  rawhal_queue_t *queue = NULL;
  rawhal_ticket_t ticket;
  bool done =
      !rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, sizeof(there), &buffer, error) &&
      !rawhal_buffer_write(buffer, 0, there, sizeof(there), error) &&
      !rawhal_buffer_read(buffer, 0, back, sizeof(back), error);
  if (done && memcmp(there, back, sizeof(there)) != 0) {
    *error = (rawhal_error_t){.status = RAWHAL_FAULT, .offset = RAWHAL_NO_OFFSET};
    snprintf(error->message, sizeof(error->message), "memory does not read back as written");
    done = false;
  }
  done = done && !rawhal_queue_create(device, &options, &queue, error) &&
         !rawhal_queue_barrier(queue, NULL, 0, deadline, &ticket, error) &&
         !rawhal_queue_wait(queue, ticket, deadline, error);
  rawhal_queue_destroy(queue);
  rawhal_buffer_free(buffer);
  return done;
}

static void say_device(const doctor_t *doctor, const rawhal_instance_t *instance, size_t index)
{
  rawhal_device_t *device = rawhal_instance_device(instance, index);
  const rawhal_device_info_t *info = rawhal_device_info(device);
  rawhal_error_t error;
  char target[TARGET_BYTES];
  rawhal_target_format(&info->target, target, sizeof(target));
  if (works(device, &error))
    doctor_say(doctor, DOCTOR_OK, NULL,
               "device %zu: %s, %" PRIu64 " MiB, copies data and responds; %.200s", index, target,
               info->memory_bytes >> 20, info->description);
  else
    doctor_say(doctor, DOCTOR_PROBLEM, fix_of(&error), "device %zu: %s does not work: %.600s",
               index, target, error.message);
}

void doctor_devices(const doctor_t *doctor)
{
  doctor_t mine = *doctor;
  const rawhal_instance_options_t options = {
      .size = sizeof(options), .backend = doctor->backend, .log = take_line, .log_context = &mine};
  rawhal_error_t error;
  rawhal_instance_t *instance;
  if (rawhal_instance_create(&options, &instance, &error) != RAWHAL_OK) {
    doctor_say(doctor, DOCTOR_PROBLEM, fix_of(&error), "the runtime does not start: %.700s",
               error.message);
    return;
  }
  say_version(doctor);
  const size_t count = rawhal_instance_device_count(instance);
  const char *shown = getenv("ROCR_VISIBLE_DEVICES");
  for (size_t i = 0; i < count; ++i)
    say_device(doctor, instance, i);
  if (!count)
    doctor_say(doctor, DOCTOR_PROBLEM,
               shown ? "unset ROCR_VISIBLE_DEVICES, or set it to devices that exist"
                     : "look for amdgpu in the kernel log (dmesg)",
               "the runtime shows no device%s", shown ? " that ROCR_VISIBLE_DEVICES allows" : "");
  rawhal_instance_destroy(instance);
}
