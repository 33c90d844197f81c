/* A program whose functions have the names of those that the library calls in other libraries: with another JSON library
 * linked in, or a bundled zlib or zstd. None of them is to be called for the library. */
#include <rawhal/rawhal.h>
#include <stdio.h>
#include <string.h>

static const char *taken;

/* The declarations' types are the program's own affair. */
#define MINE(name)                                                                                 \
  void *name(void);                                                                                \
  void *name(void)                                                                                 \
  {                                                                                                \
    taken = #name;                                                                                 \
    return NULL;                                                                                   \
  }
MINE(json_loadb)
MINE(json_delete)
MINE(json_object_get) /* json-c has this one, and the next */
MINE(json_object_array_get)
MINE(json_array_get)
MINE(json_array_size)
MINE(json_string_value)
MINE(json_string_length)
MINE(json_integer_value)
MINE(json_decref)
MINE(msgpack_unpack_next)
MINE(msgpack_unpacker_init)
MINE(XXH3_128bits)
#ifdef BUNDLED /* what the archive has inside, and a shared library takes from others */
MINE(ZSTD_createDCtx)
MINE(ZSTD_freeDCtx)
MINE(ZSTD_decompressDCtx)
MINE(ZSTD_findFrameCompressedSize)
MINE(ZSTD_getFrameContentSize)
MINE(ZSTD_isError)
MINE(ZSTD_getErrorCode)
MINE(inflateInit_)
MINE(inflate)
MINE(inflateEnd)
#endif

static int fail(const char *what, const rawhal_error_t *error)
{
  fprintf(stderr, "%s: %s\n", what, error->message);
  return 1;
}

/* foreign JSON CONTAINER... */
int main(int argc, char **argv)
{
  rawhal_error_t error = {.message = "no argument"};
  rawhal_triton_t *triton = NULL;
  if (argc < 3 || rawhal_triton_open_file(argv[1], NULL, &triton, &error) != RAWHAL_OK)
    return fail("triton", &error);
  size_t kernels = rawhal_triton_kernel_count(triton), objects = 0;
  rawhal_triton_close(triton);
  for (int i = 2; i < argc; ++i) {
    rawhal_container_t *container = NULL;
    if (rawhal_container_open_file(argv[i], NULL, &container, &error) != RAWHAL_OK)
      return fail(argv[i], &error);
    objects += rawhal_container_count(container);
    rawhal_container_close(container);
  }
  if (taken) {
    fprintf(stderr, "the library called the program's %s()\n", taken);
    return 1;
  }
  printf("%zu kernel, %zu objects\n", kernels, objects);
  return 0;
}
