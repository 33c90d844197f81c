/* usage: 1_code_object FILE */
#include "tutorial.h"

int main(int argc, char **argv)
{
  rawhal_hsaco_t *hsaco;
  if (argc != 2)
    return 2;
  check(rawhal_hsaco_open_file(argv[1], NULL, &hsaco, &error));
  const rawhal_hsaco_info_t *info = rawhal_hsaco_info(hsaco);
  char target[128];
  rawhal_target_format(&info->target, target, sizeof(target));
  printf("%s, code object version %u, kernels: %zu\n", target, info->code_object_version,
         info->kernel_count);
  for (size_t i = 0; i < info->kernel_count; ++i) {
    const rawhal_kernel_t *kernel = rawhal_hsaco_kernel(hsaco, i);
    printf("%.*s: %u VGPRs, %u SGPRs, %u bytes of arguments\n", (int)kernel->name.size,
           kernel->name.data, kernel->vgpr_count, kernel->sgpr_count, kernel->kernarg_segment_size);
  }
  rawhal_hsaco_close(hsaco);
  return 0;
}
