/* usage: 3_blob FILE */
#include "tutorial.h"

int main(int argc, char **argv)
{
  rawhal_hsaco_t *hsaco;
  rawhal_kernarg_layout_t *layout;
  if (argc != 2)
    return 2;
  check(rawhal_hsaco_open_file(argv[1], NULL, &hsaco, &error));
  check(rawhal_kernarg_layout_create(rawhal_hsaco_kernel(hsaco, 0), 0, &layout, &error));

  struct {
    uint64_t c, a, b;
    uint32_t n;
  } blob = {.c = 0x1000, .a = 0x2000, .b = 0x3000};
  uint32_t n = 1000;
  check(rawhal_kernarg_set_named(layout, RAWHAL_STRING("n"), &n, sizeof(n), &blob, 28, &error));
  printf("n is %u\n", blob.n);
  check(rawhal_kernarg_check(layout, &blob, 28, 0, &error));
  if (rawhal_kernarg_check(layout, &blob, 27, 0, &error) != RAWHAL_OK)
    printf("%s: %s\n", rawhal_status_name(error.status), error.message);

  const rawhal_launch_t launch = {.work_items = {1000, 1, 1}, .workgroup = {64, 1, 1}};
  static _Alignas(64) unsigned char image[512];
  check(rawhal_kernarg_write_blob(layout, &blob, 28, 0, &launch, image, sizeof(image), &error));
  const uint32_t *hidden_block_count_x = (const void *)&image[32];
  printf("%u whole work-groups, says the image\n", *hidden_block_count_x);
  rawhal_kernarg_layout_destroy(layout);
  rawhal_hsaco_close(hsaco);
  return 0;
}
