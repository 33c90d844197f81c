#include "queue/kernel.h"

#include "base/error.h"
#include "kernarg/layout.h"

enum { BLOCK_BYTES = 64, PAGE_BYTES = 4096 };

rawhal_status_t device_kernel_init(rawhal_device_kernel_t *kernel, rawhal_error_t *error)
{
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(kernel->info.layout);
  if (info->alignment > PAGE_BYTES)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "the kernarg segment asks for an alignment of %u bytes, at most %u can be "
                       "given",
                       info->alignment, PAGE_BYTES);
  kernel->block_count = info->block_count;
  kernel->alignment = info->alignment > BLOCK_BYTES ? info->alignment / BLOCK_BYTES : 1;
  kernel->spare_blocks = kernel->alignment - 1;
  kernel->rehearse = kernel->info.layout->hidden.narrow;
  return RAWHAL_OK;
}

const rawhal_device_kernel_info_t *rawhal_device_kernel_info(const rawhal_device_kernel_t *kernel)
{
  return &kernel->info;
}
