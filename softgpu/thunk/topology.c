/* The machine as the runtime sees it: node 0 is the CPU, every further node one GPU. Values and
 * which of them the runtime insists on: see the table "values that matter" of its thunk. */
#include <string.h>
#include <unistd.h>

#include "softgpu/debug/save.h"
#include "softgpu/device/memory.h"
#include "softgpu/device/option.h"
#include "softgpu/exports.h"
#include "softgpu/isa/memory/gws.h"
#include "softgpu/thunk/chip_table.h"
#include "softgpu/thunk/layout.h"
#include "softgpu/thunk/thunk.h"

enum {
  GPU_BANKS = 4,
  GPU_CACHES = 2,
  CPU_CACHES = 3,
  SHADER_BANKS = 8,
  WEIGHT_CPU = 20, /* numa distance */
  WEIGHT_GPU = 15,
  VENDOR = 0x1002,
};

/* Set by softgpu_topology_open(). */
typedef struct gpu {
  const softgpu_chip_facts_t *listed, *executing; /* as what, and whose code it runs */
  uint32_t units;
} gpu_t;
static gpu_t nodes[SOFTGPU_MAX_NODES]; /* from 1 on */
static bool sram_ecc;                  /* of chips that can have it in their target id */
static uint32_t gpus;
static uint64_t vram;

/* What the runtime takes for the HDP flush registers; nothing needs flushing here. */
static _Alignas(SOFTGPU_PAGE) uint32_t mmio_page[SOFTGPU_PAGE / sizeof(uint32_t)];

/* How many the options ask for. */
static uint32_t gpus_asked(void)
{
  const uint64_t chips = softgpu_option(SOFTGPU_OPTION_CHIPS);
  return chips ? softgpu_chips_count(chips) : (uint32_t)softgpu_option(SOFTGPU_OPTION_GPUS);
}

static gpu_t gpu_asked(uint32_t node)
{
  const uint64_t chips = softgpu_option(SOFTGPU_OPTION_CHIPS),
                 names = softgpu_option(SOFTGPU_OPTION_LISTED);
  const softgpu_chip_facts_t *executing =
      chips ? softgpu_chips_at(chips, node - 1)
            : softgpu_chip_find(softgpu_option(SOFTGPU_OPTION_CHIP));
  const softgpu_chip_facts_t *listed =
      softgpu_chips_at(names, softgpu_chips_count(names) == 1 ? 0 : node - 1);
  const uint64_t units = softgpu_option(SOFTGPU_OPTION_COMPUTE_UNITS);
  return (gpu_t){listed ? listed : executing, executing,
                 units && units < executing->compute_units ? (uint32_t)units
                                                           : executing->compute_units};
}

SOFTGPU_EXPORT bool softgpu_device_chip(uint32_t node, uint32_t *chip, uint32_t *listed)
{
  if (node == 0 || node > gpus_asked() || !chip || !listed)
    return false;
  const gpu_t gpu = gpu_asked(node);
  *chip = gpu.executing->name;
  *listed = gpu.listed->name;
  return true;
}

static kfd_device_t debug_device(uint32_t node)
{
  const gpu_t gpu = gpu_asked(node);
  const softgpu_chip_facts_t *chip = gpu.listed, *executing = gpu.executing;
  const bool has_debugger = executing->interpreter < SOFTGPU_GFX9_COUNT;
  const uint64_t lds = (uint64_t)SOFTGPU_LDS_APERTURE_HI << 32;
  const uint64_t scratch = (uint64_t)SOFTGPU_SCRATCH_APERTURE_HI << 32;
  return (kfd_device_t){
      .lds_base = lds,
      .lds_limit = lds + UINT32_MAX,
      .scratch_base = scratch,
      .scratch_limit = scratch + UINT32_MAX,
      .memory_base = SOFTGPU_PAGE,
      .memory_limit = (1ull << 47) - 1,
      .gpu_id = softgpu_gpu_id(node),
      .location = node << 8,
      .vendor = VENDOR,
      .device = chip->device_id,
      .firmware = 0x40,
      .gfx_target_version =
          executing->major * 10000u + executing->minor * 100u + executing->stepping,
      .simds = gpu.units * chip->simds_per_unit,
      .waves_per_simd = chip->waves_per_simd,
      .arrays = SAVE_ENGINES,
      .arrays_per_engine = 1,
      .xccs = 1,
      .capability = has_debugger ? KFD_CAN_WATCH | KFD_CAN_DEBUG | KFD_CAN_BE_PRECISE : 0,
      .debug_prop = KFD_WATCH_BITS | KFD_WATCHES_EXCLUSIVE | KFD_ALWAYS_TTMPS,
  };
}

SOFTGPU_EXPORT uint32_t softgpu_debug_devices(kfd_device_t *devices, uint32_t room)
{
  const uint32_t count = gpus_asked();
  for (uint32_t i = 0; i < count && i < room; ++i)
    devices[i] = debug_device(i + 1);
  return count;
}

void softgpu_topology_open(void)
{
  gpus = gpus_asked();
  for (uint32_t node = 1; node <= gpus; ++node)
    nodes[node] = gpu_asked(node);
  sram_ecc = softgpu_option(SOFTGPU_OPTION_SRAMECC);
  vram = softgpu_option(SOFTGPU_OPTION_VRAM_MIB) << 20;
}

uint32_t softgpu_gpu_count(void)
{
  return gpus;
}

uint32_t softgpu_nodes_of_all(void)
{
  return (2u << gpus) - 2;
}

uint64_t softgpu_vram_bytes(void)
{
  return vram;
}

uint32_t softgpu_compute_units(uint32_t node)
{
  return nodes[node].units;
}

softgpu_chip_t softgpu_chip(uint32_t node)
{
  return nodes[node].executing->interpreter;
}

softgpu_chip_t softgpu_listed_chip(uint32_t node)
{
  const softgpu_chip_t listed = nodes[node].listed->interpreter;
  return listed < SOFTGPU_CHIP_OTHER ? listed : softgpu_chip(node);
}

uint32_t softgpu_gws_count(uint32_t node)
{
  return nodes[node].executing->gws ? ISA_GWS_RESOURCES : 0;
}

bool softgpu_sram_ecc(uint32_t node)
{
  return sram_ecc && nodes[node].listed->sram_ecc;
}

uint32_t softgpu_family(uint32_t node)
{
  static const uint8_t families[] = {[9] = 141, [10] = 143, [11] = 145}; /* amdgpu_drm.h */
  const uint8_t major = nodes[node].listed->major;
  return major < sizeof(families) ? families[major] : 0;
}

HSAKMT_STATUS hsaKmtAcquireSystemProperties(HsaSystemProperties *properties)
{
  SOFTGPU_NEED_OPEN();
  SOFTGPU_NEED(properties, INVALID_PARAMETER);
  *properties = (HsaSystemProperties){.NumNodes = gpus + 1};
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtReleaseSystemProperties(void)
{
  return HSAKMT_STATUS_SUCCESS;
}

/* Appends; what does not fit is dropped. */
static void name_node(HsaNodeProperties *node, const char *name)
{
  size_t at = 0;
  while (node->MarketingName[at])
    ++at;
  for (; at < HSA_PUBLIC_NAME_SIZE - 1 && *name; ++at, ++name)
    node->MarketingName[at] = (uint8_t)*name;
}

static void cpu_properties(HsaNodeProperties *node)
{
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  node->NumCPUCores = cores > 0 ? (uint32_t)cores : 1;
  node->NumMemoryBanks = 1;
  node->NumCaches = softgpu_layout_caches(CPU_CACHES);
  node->NumIOLinks = gpus;
  node->DrmRenderMinor = -1;
  name_node(node, "Host CPU");
}

static void gpu_properties(uint32_t id, HsaNodeProperties *node)
{
  const softgpu_chip_facts_t *chip = nodes[id].listed, *executing = nodes[id].executing;
  node->NumFComputeCores = nodes[id].units * chip->simds_per_unit;
  node->NumMemoryBanks = GPU_BANKS;
  node->NumCaches = softgpu_layout_caches(GPU_CACHES);
  node->NumIOLinks = gpus; /* the CPU and the other GPUs */
  node->FComputeIdLo = 0x80000000u + (id << 16);
  node->Capability.ui32.QueueSizePowerOfTwo = 1;
  node->Capability.ui32.DoorbellType = 2;
  node->Capability.ui32.SRAM_EDCSupport = softgpu_sram_ecc(id);
  node->Capability.ui32.SVMAPISupported = 1;
  node->MaxWavesPerSIMD = chip->waves_per_simd;
  node->LDSSizeInKB = softgpu_lds_bytes(executing->interpreter) >> 10;
  node->WaveFrontSize = chip->wave_size;
  node->NumShaderBanks = SHADER_BANKS;
  node->NumArrays = 1;
  node->NumCUPerArray = (nodes[id].units + SHADER_BANKS - 1) / SHADER_BANKS;
  node->NumSIMDPerCU = chip->simds_per_unit;
  node->MaxSlotsScratchCU = 32;
  node->EngineId.ui32.uCode = 0x40;
  node->EngineId.ui32.Major = chip->major & 0x3fu;
  node->EngineId.ui32.Minor = chip->minor;
  node->EngineId.ui32.Stepping = chip->stepping;
  node->VendorId = VENDOR;
  node->DeviceId = chip->device_id;
  node->LocationId = id << 8;
  node->LocalMemSize = vram;
  node->MaxEngineClockMhzFCompute = SOFTGPU_ENGINE_MHZ;
  node->MaxEngineClockMhzCCompute = 2600;
  node->DrmRenderMinor = softgpu_render_minor(id);
  name_node(node, executing->product);
  name_node(node, " (softgpu)");
  memcpy(node->AMDName, "softgpu", sizeof("softgpu"));
  node->uCodeEngineVersions.uCodeSDMA = 0x1f0;
  node->NumSdmaEngines = 2;
  node->NumSdmaQueuesPerEngine = 8;
  node->NumCpQueues = 24;
  node->NumGws = (uint8_t)softgpu_gws_count(id);
  node->UniqueID = 0x736f667467707500u + id; /* "softgpu", node */
  node->VGPRSizePerCU = 512 << 10;
  node->SGPRSizePerCU = 12800;
}

HSAKMT_STATUS hsaKmtGetNodeProperties(HSAuint32 id, HsaNodeProperties *node)
{
  SOFTGPU_NEED_OPEN();
  SOFTGPU_NEED(node, INVALID_PARAMETER);
  SOFTGPU_NEED(id <= gpus, INVALID_NODE_UNIT);
  HsaNodeProperties facts = {0};
  softgpu_node_tail_t tail = {0};
  if (id == 0) {
    cpu_properties(&facts);
  } else {
    gpu_properties(id, &facts);
    tail = (softgpu_node_tail_t){
        .xccs = 1, .gpu_id = softgpu_gpu_id(id), .family = softgpu_family(id)};
  }
  softgpu_layout_node(node, &facts, &tail);
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetNodeMemoryProperties(HSAuint32 id, HSAuint32 count,
                                            HsaMemoryProperties *banks)
{
  SOFTGPU_NEED_OPEN();
  SOFTGPU_NEED(banks, INVALID_PARAMETER);
  SOFTGPU_NEED(id <= gpus, INVALID_NODE_UNIT);
  uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  const HsaMemoryProperties cpu_bank = {.HeapType = HSA_HEAPTYPE_SYSTEM,
                                        .SizeInBytes = ram,
                                        .Width = 64,
                                        .MemoryClockMax = SOFTGPU_MEMORY_MHZ};
  const uint32_t lds = id == 0 ? 0 : softgpu_lds_bytes(nodes[id].executing->interpreter);
  const HsaMemoryProperties gpu_banks[GPU_BANKS] = {
      {.HeapType = HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC,
       .SizeInBytes = vram,
       .Width = 4096,
       .MemoryClockMax = SOFTGPU_MEMORY_MHZ},
      {.HeapType = HSA_HEAPTYPE_GPU_LDS,
       .SizeInBytes = lds,
       .VirtualBaseAddress = (uint64_t)SOFTGPU_LDS_APERTURE_HI << 32},
      {.HeapType = HSA_HEAPTYPE_GPU_SCRATCH,
       .SizeInBytes = 4ull << 30,
       .VirtualBaseAddress = (uint64_t)SOFTGPU_SCRATCH_APERTURE_HI << 32},
      {.HeapType = HSA_HEAPTYPE_MMIO_REMAP,
       .SizeInBytes = SOFTGPU_PAGE,
       .VirtualBaseAddress = (uintptr_t)mmio_page},
  };
  uint32_t total = id == 0 ? 1 : GPU_BANKS;
  memcpy(banks, id == 0 ? &cpu_bank : gpu_banks,
         (count < total ? count : total) * sizeof(banks[0]));
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetNodeCacheProperties(HSAuint32 id, HSAuint32 processor, HSAuint32 count,
                                           HsaCacheProperties *caches)
{
  SOFTGPU_NEED_OPEN();
  SOFTGPU_NEED(caches, INVALID_PARAMETER);
  SOFTGPU_NEED(id <= gpus, INVALID_NODE_UNIT);
  static const uint32_t cpu_kib[CPU_CACHES] = {32, 1024, 16384}, gpu_kib[GPU_CACHES] = {16, 8192};
  uint32_t total = id == 0 ? CPU_CACHES : GPU_CACHES, shown = softgpu_layout_caches(total);
  for (uint32_t i = 0; i < count && i < shown; ++i) {
    uint32_t level = total - shown + i; /* the largest of them */
    memset(&caches[i], 0, sizeof(caches[i]));
    caches[i].ProcessorIdLow = processor;
    caches[i].CacheLevel = level + 1;
    caches[i].CacheSize = id == 0 ? cpu_kib[level] : gpu_kib[level]; /* KiB, as the kernel says */
    caches[i].CacheLineSize = 64;
    caches[i].CacheType.ui32.Data = 1;
    caches[i].CacheType.ui32.CPU = id == 0;
    caches[i].CacheType.ui32.HSACU = id != 0;
  }
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetNodeIoLinkProperties(HSAuint32 id, HSAuint32 count,
                                            HsaIoLinkProperties *links)
{
  SOFTGPU_NEED_OPEN();
  SOFTGPU_NEED(links, INVALID_PARAMETER);
  SOFTGPU_NEED(id <= gpus, INVALID_NODE_UNIT);
  uint32_t at = 0;
  for (uint32_t to = 0; to <= gpus && at < count; ++to) {
    if (to == id)
      continue;
    bool to_cpu = to == 0 || id == 0;
    HsaIoLinkProperties link = {
        .IoLinkType = to_cpu ? HSA_IOLINKTYPE_PCIEXPRESS : HSA_IOLINK_TYPE_XGMI,
        .NodeFrom = id,
        .NodeTo = to,
        .Weight = to_cpu ? WEIGHT_CPU : WEIGHT_GPU,
    };
    softgpu_layout_link(links, at++, &link);
  }
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetTileConfig(HSAuint32 id, HsaGpuTileConfig *config)
{
  SOFTGPU_NEED_OPEN();
  SOFTGPU_NEED(config, INVALID_PARAMETER);
  SOFTGPU_NEED(id > 0 && id <= gpus, INVALID_NODE_UNIT);
  config->NumTileConfigs = config->NumMacroTileConfigs = 0;
  config->GbAddrConfig = SOFTGPU_GB_ADDR_CONFIG;
  return HSAKMT_STATUS_SUCCESS;
}
