#include "debug/agent.h"

#include <hsa/hsa_ext_amd.h>
#include <stdio.h>
#include <string.h>

/* Of later headers; older runtimes refuse it. */
enum { AGENT_INFO_NUM_XCC = 0xA111 };

typedef struct asked {
  hsa_status_t (*info)(hsa_agent_t, hsa_agent_info_t, void *);
  hsa_agent_t agent;
} asked_t;

static uint32_t ask(const asked_t *asked, uint32_t attribute, uint32_t otherwise)
{
  uint32_t value = 0;
  const hsa_status_t result = asked->info(asked->agent, (hsa_agent_info_t)attribute, &value);
  return result == HSA_STATUS_SUCCESS && value ? value : otherwise;
}

/* "gfx90a" as 90010: the last two digits are hexadecimal. */
static uint32_t version_of(const char *processor)
{
  unsigned major, minor, stepping;
  const size_t length = strlen(processor);
  if (length < 6 || length > 7 ||
      sscanf(processor + length - 2, "%1x%1x", &minor, &stepping) != 2 ||
      sscanf(processor, length == 6 ? "gfx%1u" : "gfx%2u", &major) != 1)
    return 0;
  return major * 10000 + minor * 100 + stepping;
}

core_agent_t debug_agent(hsa_status_t (*info)(hsa_agent_t, hsa_agent_info_t, void *),
                         hsa_agent_t agent, uint32_t number, const char *processor)
{
  enum { AMD = 0x1002, SIMDS = 4, WAVES = 8 };
  const asked_t asked = {info, agent};
  const uint32_t engines = ask(&asked, HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES, 1),
                 arrays = ask(&asked, HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE, 1),
                 simds = ask(&asked, HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU, SIMDS),
                 waves = ask(&asked, HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU, WAVES * simds);
  return (core_agent_t){
      .gfx_target_version = version_of(processor),
      .gpu_id = number + 1,
      .location = ask(&asked, HSA_AMD_AGENT_INFO_BDFID, 0),
      .vendor = AMD,
      .device = ask(&asked, HSA_AMD_AGENT_INFO_CHIP_ID, 0),
      .subsystem_vendor = AMD,
      .simds = ask(&asked, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, 1) * simds,
      .waves_per_simd = waves / simds ? waves / simds : 1,
      .arrays = engines * arrays,
      .arrays_per_engine = arrays,
      .xccs = ask(&asked, AGENT_INFO_NUM_XCC, 1),
      .memory_base = 4096,
      .memory_limit = UINT64_C(0x7fffffffffff),
  };
}
