/* Makes a queue, says so, and keeps it until a line of standard input, or its end. With the
 * argument + it then becomes itself, with an environment that does not name the front; with 0 it
 * leaves the runtime no descriptor. */
#include <fcntl.h>
#include <hsa/hsa.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static hsa_status_t visit_agent(hsa_agent_t agent, void *data)
{
  hsa_device_type_t type;
  if (hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) == HSA_STATUS_SUCCESS &&
      type == HSA_DEVICE_TYPE_GPU)
    *(hsa_agent_t *)data = agent;
  return HSA_STATUS_SUCCESS;
}

/* As large as it was: so the stack begins where it did, unless that is drawn by lot. */
static int become(const char *self)
{
  char none[] = "-";
  for (char **each = environ; *each; ++each)
    if (strncmp(*each, "HSA_TOOLS_LIB=", 14) == 0)
      **each = 'X';
  return execl(self, self, none, (char *)NULL);
}

int main(int count, char **arguments)
{
  hsa_agent_t gpu = {0};
  hsa_queue_t *queue;
  char byte;
  while (count > 1 && *arguments[1] == '0' && open("/dev/null", O_RDONLY) >= 0)
    continue;
  if (hsa_init() != HSA_STATUS_SUCCESS ||
      hsa_iterate_agents(visit_agent, &gpu) != HSA_STATUS_SUCCESS || !gpu.handle ||
      hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, NULL, NULL, 0, 0, &queue) !=
          HSA_STATUS_SUCCESS)
    return 3;
  puts("queue");
  fflush(stdout);
  while (read(STDIN_FILENO, &byte, 1) > 0 && byte != '\n')
    continue;
  if (count > 1 && *arguments[1] == '+')
    return become(arguments[0]);
  return hsa_queue_destroy(queue) != HSA_STATUS_SUCCESS || hsa_shut_down() != HSA_STATUS_SUCCESS;
}
