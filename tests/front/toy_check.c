#include "tests/front/toy_check.h"

#include "front/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t accessible = TOY_CHECK_AGENT, code_agent;

void toy_check_loaded_for(uint64_t agent)
{
  code_agent = agent;
}

static toy_check_memory_t known;

void toy_check_knows(const toy_check_memory_t *memory)
{
  known = *memory;
}

void toy_check_reaches(bool reaches)
{
  front.reaches_host = reaches;
}

void toy_check_access(uint64_t agent)
{
  accessible = agent;
}

/* It knows of one, and of each who reaches it. */
static hsa_status_t pointer_info(const void *pointer, hsa_amd_pointer_info_t *info,
                                 void *(*allocate)(size_t), uint32_t *count, hsa_agent_t **agents)
{
  const uint64_t address = (uint64_t)(uintptr_t)pointer;
  const bool knows = address - known.device < known.size || address - known.host < known.size;
  *info = (hsa_amd_pointer_info_t){.size = info->size,
                                   .type = allocate ? HSA_EXT_POINTER_TYPE_HSA
                                                    : HSA_EXT_POINTER_TYPE_UNKNOWN};
  if (knows)
    *info = (hsa_amd_pointer_info_t){.size = info->size,
                                     .type = (hsa_amd_pointer_type_t)known.type,
                                     .agentBaseAddress = (void *)(uintptr_t)known.device,
                                     .hostBaseAddress = (void *)(uintptr_t)known.host,
                                     .sizeInBytes = known.size,
                                     .agentOwner = {known.owner}};
  if (!allocate)
    return HSA_STATUS_SUCCESS;
  *count = 1;
  *agents = allocate(sizeof(**agents));
  if (!*agents)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  **agents = (hsa_agent_t){accessible};
  return HSA_STATUS_SUCCESS;
}

typedef struct said {
  char *text;
  size_t room;
} said_t;

static void on_mistake(void *context, const check_subject_t *subject, uint32_t about,
                       const char *message)
{
  said_t *said = context;
  size_t used = strlen(said->text);
  (void)subject, (void)about;
  (void)snprintf(said->text + used, said->room - used, "%s\n", message);
}

size_t toy_check(const rawhal_kernel_t *facts, const hsa_kernel_dispatch_packet_t *packet,
                 char *text, size_t room)
{
  front_kernel_t kernel = {.facts = facts};
  front_device_t *device = &front.devices[0];
  const check_subject_t subject = {&kernel, packet, device, 1, {code_agent}};
  said_t said = {text, room};
  *text = '\0';
  front.hsa.pointer_info = pointer_info;
  *device = (front_device_t){
      .agent = {TOY_CHECK_AGENT}, .group_bytes = 65536, .chip = occupancy_chip("gfx90a")};
  front.device_count = 1;
  if (rawhal_kernarg_layout_create(facts, 0, &kernel.layout, NULL) != RAWHAL_OK)
    return SIZE_MAX;
  bool unread = false;
  size_t mistakes = check_dispatch(&subject, on_mistake, &said, &unread);
  rawhal_kernarg_layout_destroy(kernel.layout);
  front.device_count = 0;
  if (unread)
    (void)snprintf(text, room, "unread\n");
  return unread ? 1 : mistakes;
}
