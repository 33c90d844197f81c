/* A tools library of the HSA runtime (HSA_TOOLS_LIB) by which no image is small enough: for chips
 * without image instructions, which are all of those here but gfx90a.
 *
 * The runtime computes the limits of images from the chip and asks no device whether it has any.
 * To say that there are none at all (HSA_DISABLE_IMAGE) would be more than is true: HIP 5.2 then
 * refuses pitched memory as well, which has nothing of an image. */
#include <hsa/hsa_ext_image.h>
#include <string.h>

#include "softgpu/system/tools.h"

static tools_agent_info_fn *agent_get_info;

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

bool OnLoad(tools_table_t *table, uint64_t runtime_version, uint64_t failed_count,
            const char *const *failed)
{
  (void)runtime_version;
  (void)failed_count;
  (void)failed;
  tools_core_t *core = tools_core(table);
  if (core) {
    agent_get_info = core->agent_get_info;
    core->agent_get_info = without_images;
  }
  return true;
}

void OnUnload(void) {}
