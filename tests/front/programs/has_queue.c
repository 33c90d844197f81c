/* Makes a queue, says so, and keeps it until standard input ends. */
#include <hsa/hsa.h>
#include <stdio.h>
#include <unistd.h>

static hsa_status_t visit_agent(hsa_agent_t agent, void *data)
{
  hsa_device_type_t type;
  if (hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) == HSA_STATUS_SUCCESS &&
      type == HSA_DEVICE_TYPE_GPU)
    *(hsa_agent_t *)data = agent;
  return HSA_STATUS_SUCCESS;
}

int main(void)
{
  hsa_agent_t gpu = {0};
  hsa_queue_t *queue;
  char byte;
  if (hsa_init() != HSA_STATUS_SUCCESS ||
      hsa_iterate_agents(visit_agent, &gpu) != HSA_STATUS_SUCCESS || !gpu.handle ||
      hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, NULL, NULL, 0, 0, &queue) !=
          HSA_STATUS_SUCCESS)
    return 3;
  puts("queue");
  fflush(stdout);
  while (read(STDIN_FILENO, &byte, 1) > 0)
    continue;
  return hsa_queue_destroy(queue) != HSA_STATUS_SUCCESS || hsa_shut_down() != HSA_STATUS_SUCCESS;
}
