#include "tools/shared/near.h"

void near_look_at(near_names_t *names, const rawhal_hsaco_t *hsaco)
{
  const rawhal_kernel_t *kernel;
  for (size_t i = 0; (kernel = rawhal_hsaco_kernel(hsaco, i)); ++i)
    near_look(names, kernel->name);
}
