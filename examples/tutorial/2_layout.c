/* usage: 2_layout FILE */
#include "tutorial.h"

int main(int argc, char **argv)
{
  rawhal_hsaco_t *hsaco;
  rawhal_kernarg_layout_t *layout;
  if (argc != 2)
    return 2;
  check(rawhal_hsaco_open_file(argv[1], NULL, &hsaco, &error));
  check(rawhal_kernarg_layout_create(rawhal_hsaco_kernel(hsaco, 0), 0, &layout, &error));
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout);
  printf("a segment of %u bytes; a blob has at least %u\n", info->effective_size,
         info->explicit_end);
  const rawhal_kernarg_argument_t *argument;
  for (size_t i = 0; (argument = rawhal_kernarg_layout_argument(layout, i)); ++i)
    if (!argument->hidden || argument->offset < 60)
      printf("%3u: %u bytes, %.*s %.*s\n", argument->offset, argument->size,
             (int)argument->value_kind_text.size, argument->value_kind_text.data,
             (int)argument->name.size, argument->name.data);
  rawhal_kernarg_layout_destroy(layout);
  rawhal_hsaco_close(hsaco);
  return 0;
}
