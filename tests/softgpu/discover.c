/* A program that knows nothing of softgpu: lists the agents of the HSA runtime it is linked with.
 * With an argument it ends with that exit code. */
#include <hsa/hsa.h>
#include <stdio.h>
#include <stdlib.h>

static hsa_status_t print_agent(hsa_agent_t agent, void *unused)
{
  char name[64] = "", vendor[64] = "";
  hsa_device_type_t type;
  (void)unused;
  hsa_agent_get_info(agent, HSA_AGENT_INFO_NAME, name);
  hsa_agent_get_info(agent, HSA_AGENT_INFO_VENDOR_NAME, vendor);
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  printf("%s %s %s\n", type == HSA_DEVICE_TYPE_GPU ? "gpu" : "cpu", name, vendor);
  return HSA_STATUS_SUCCESS;
}

int main(int argc, char **argv)
{
  if (hsa_init() != HSA_STATUS_SUCCESS)
    return 99;
  hsa_iterate_agents(print_agent, NULL);
  hsa_shut_down();
  return argc > 1 ? atoi(argv[1]) : 0;
}
