/* A program whose names are those of things inside the library, or of libraries that have such names. */
#include <jansson.h>
#include <rawhal/rawhal.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned calls;

void *arena_alloc(size_t size);
void *arena_alloc(size_t size)
{
  ++calls;
  return malloc(size);
}

int take(const char *text);
int take(const char *text)
{
  return ++calls && *text;
}

int main(int argc, char **argv)
{
  rawhal_hsaco_t *hsaco = NULL;
  rawhal_error_t error;
  if (argc < 2 || rawhal_hsaco_open_file(argv[1], NULL, &hsaco, &error) != RAWHAL_OK)
    return 1;
  const rawhal_hsaco_info_t *info = rawhal_hsaco_info(hsaco);
  json_t *object = json_object();
  json_object_set_new(object, "processor", json_string(info->target.processor));
  json_object_set_new(object, "kernels", json_integer((json_int_t)info->kernel_count));
  char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
  unsigned before = calls;
  void *mine = arena_alloc((size_t)take("text"));
  printf("%s %u %u\n", text, before, calls);
  free(mine);
  free(text);
  json_decref(object);
  rawhal_hsaco_close(hsaco);
  return 0;
}
