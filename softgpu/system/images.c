/* A tools library of the HSA runtime (HSA_TOOLS_LIB) by which no image is small enough.
 *
 * The runtime computes the limits of images from the chip and asks no device whether it has any.
 * To say that there are none at all (HSA_DISABLE_IMAGE) would be more than is true: HIP 5.2 then
 * refuses pitched memory as well, which has nothing of an image. */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_image.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef hsa_status_t agent_get_info_fn(hsa_agent_t agent, hsa_agent_info_t attribute, void *value);

/* The beginnings of the runtime's tables, whose header is C++. */
typedef struct version {
  uint32_t major, size, step, reserved;
} version_t;

enum { CORE_MAJOR = 1, FUNCTIONS_BEFORE = 6 };

typedef struct core_table {
  version_t version;
  void (*before[FUNCTIONS_BEFORE])(void);
  agent_get_info_fn *agent_get_info;
} core_table_t;

typedef struct api_table {
  version_t version;
  core_table_t *core;
} api_table_t;

static agent_get_info_fn *agent_get_info;

/* Bytes of an answer that is the largest size of a kind of image; else 0. */
static size_t limit_bytes(hsa_agent_info_t attribute)
{
  switch ((int)attribute) {
  case HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS:
  case HSA_EXT_AGENT_INFO_IMAGE_1DA_MAX_ELEMENTS:
  case HSA_EXT_AGENT_INFO_IMAGE_1DB_MAX_ELEMENTS:
  case HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS:
    return sizeof(uint32_t);
  case HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS:
  case HSA_EXT_AGENT_INFO_IMAGE_2DA_MAX_ELEMENTS:
  case HSA_EXT_AGENT_INFO_IMAGE_2DDEPTH_MAX_ELEMENTS:
  case HSA_EXT_AGENT_INFO_IMAGE_2DADEPTH_MAX_ELEMENTS:
    return 2 * sizeof(uint32_t);
  case HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS:
    return 3 * sizeof(uint32_t);
  default:
    return 0;
  }
}

static hsa_status_t without_images(hsa_agent_t agent, hsa_agent_info_t attribute, void *value)
{
  hsa_status_t status = agent_get_info(agent, attribute, value);
  if (status == HSA_STATUS_SUCCESS && limit_bytes(attribute) > 0)
    memset(value, 0, limit_bytes(attribute));
  return status;
}

EXPORT bool OnLoad(api_table_t *table, uint64_t runtime_version, uint64_t failed_count,
                   const char *const *failed);
EXPORT void OnUnload(void);

/* As in wait.c. */
EXPORT bool OnLoad(api_table_t *table, uint64_t runtime_version, uint64_t failed_count,
                   const char *const *failed)
{
  (void)runtime_version;
  (void)failed_count;
  (void)failed;
  core_table_t *core = table->core;
  if (core->version.major != CORE_MAJOR || core->version.size < sizeof(*core))
    return true;
  agent_get_info = core->agent_get_info;
  core->agent_get_info = without_images;
  return true;
}

EXPORT void OnUnload(void) {}
