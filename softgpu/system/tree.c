/* Writes what the kernel driver would show of softgpu's devices below a directory, for paths.c:
 * /sys/class/kfd, /sys/class/drm, /sys/module/amdgpu, /proc/modules, /dev/kfd and /dev/dri. All
 * facts are the thunk's own. What the devices do not have - sensors, clocks, firmware - has no
 * file. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "softgpu/thunk/thunk.h"

enum { PATH_BYTES = 256 };

static const char *root;

__attribute__((noreturn, format(printf, 1, 2))) static void give_up(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  fputs("softgpu-run: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  exit(2);
}

/* Makes the directories that lead to `path`, an absolute one below the root. */
static void directories_make(char *path)
{
  for (char *slash = strchr(path + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdir(path, 0755) != 0 && errno != EEXIST)
      give_up("%s: %s", path, strerror(errno));
    *slash = '/';
  }
}

static void path_write(char path[PATH_BYTES + 4096], const char *format, va_list arguments)
{
  size_t used = (size_t)snprintf(path, 4096, "%s", root);
  vsnprintf(path + used, PATH_BYTES, format, arguments);
  directories_make(path);
}

__attribute__((format(printf, 1, 2))) static FILE *file_create(const char *format, ...)
{
  char path[PATH_BYTES + 4096];
  va_list arguments;
  va_start(arguments, format);
  path_write(path, format, arguments);
  va_end(arguments);
  FILE *file = fopen(path, "w");
  if (!file)
    give_up("%s: %s", path, strerror(errno));
  return file;
}

static void file_close(FILE *file)
{
  if (ferror(file) | fclose(file))
    give_up("cannot write below %s: %s", root, strerror(errno));
}

/* One line that is all of a file. */
#define FILE_OF(line, ...)                                                                         \
  do {                                                                                             \
    FILE *one_line = file_create(__VA_ARGS__);                                                     \
    fprintf(one_line, "%s\n", line);                                                               \
    file_close(one_line);                                                                          \
  } while (0)

static const char *number(uint64_t value, const char *format)
{
  static char text[32];
  if (strcmp(format, "x") == 0)
    snprintf(text, sizeof(text), "0x%" PRIx64, value);
  else
    snprintf(text, sizeof(text), "%" PRIu64, value);
  return text;
}

/* In the driver's order. */
static void properties_write(FILE *file, const HsaNodeProperties *node)
{
  const HSA_ENGINE_ID engine = node->EngineId;
  const uint32_t major = engine.ui32.Major, minor = engine.ui32.Minor;
  const uint32_t version = major * 10000 + minor * 100 + engine.ui32.Stepping;
  const struct {
    const char *name;
    uint64_t value;
  } lines[] = {
      {"cpu_cores_count", node->NumCPUCores},
      {"simd_count", node->NumFComputeCores},
      {"mem_banks_count", 1},
      {"caches_count", 0},
      {"io_links_count", node->NumIOLinks},
      {"cpu_core_id_base", node->CComputeIdLo},
      {"simd_id_base", node->FComputeIdLo},
      {"max_waves_per_simd", node->MaxWavesPerSIMD},
      {"lds_size_in_kb", node->LDSSizeInKB},
      {"gds_size_in_kb", node->GDSSizeInKB},
      {"num_gws", node->NumGws},
      {"wave_front_size", node->WaveFrontSize},
      {"array_count", node->NumShaderBanks},
      {"simd_arrays_per_engine", node->NumArrays},
      {"cu_per_simd_array", node->NumCUPerArray},
      {"simd_per_cu", node->NumSIMDPerCU},
      {"max_slots_scratch_cu", node->MaxSlotsScratchCU},
      {"gfx_target_version", version},
      {"vendor_id", node->VendorId},
      {"device_id", node->DeviceId},
      {"location_id", node->LocationId},
      {"domain", node->Domain},
      {"drm_render_minor", node->DrmRenderMinor > 0 ? (uint64_t)node->DrmRenderMinor : 0},
      {"hive_id", node->HiveID},
      {"num_sdma_engines", node->NumSdmaEngines},
      {"num_sdma_xgmi_engines", node->NumSdmaXgmiEngines},
      {"num_sdma_queues_per_engine", node->NumSdmaQueuesPerEngine},
      {"num_cp_queues", node->NumCpQueues},
      {"max_engine_clk_fcompute", node->MaxEngineClockMhzFCompute},
      {"local_mem_size", 0}, /* as the driver: it is in mem_banks */
      {"fw_version", engine.ui32.uCode},
      {"capability", node->Capability.Value},
      {"sdma_fw_version", node->uCodeEngineVersions.uCodeSDMA},
      {"unique_id", node->UniqueID},
      {"max_engine_clk_ccompute", node->MaxEngineClockMhzCCompute},
  };
  for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); ++i)
    fprintf(file, "%s %" PRIu64 "\n", lines[i].name, lines[i].value);
}

#define NODE "/sys/class/kfd/kfd/topology/nodes/%" PRIu32

static void links_write(uint32_t id, uint32_t count)
{
  HsaIoLinkProperties *links = calloc(count, sizeof(*links));
  if (!links || hsaKmtGetNodeIoLinkProperties(id, count, links) != HSAKMT_STATUS_SUCCESS)
    give_up("cannot read the links of node %" PRIu32, id);
  for (uint32_t i = 0; i < count; ++i) {
    FILE *file = file_create(NODE "/io_links/%" PRIu32 "/properties", id, i);
    fprintf(file, "type %d\nversion_major 0\nversion_minor 0\n", (int)links[i].IoLinkType);
    fprintf(file, "node_from %" PRIu32 "\nnode_to %" PRIu32 "\nweight %" PRIu32 "\n",
            links[i].NodeFrom, links[i].NodeTo, links[i].Weight);
    fprintf(file, "min_latency 0\nmax_latency 0\nmin_bandwidth 0\nmax_bandwidth 0\n"
                  "recommended_transfer_size 0\nflags 1\n");
    file_close(file);
  }
  free(links);
}

static void bank_write(uint32_t id)
{
  HsaMemoryProperties bank;
  if (hsaKmtGetNodeMemoryProperties(id, 1, &bank) != HSAKMT_STATUS_SUCCESS)
    give_up("cannot read the memory properties of node %" PRIu32, id);
  FILE *file = file_create(NODE "/mem_banks/0/properties", id);
  fprintf(file,
          "heap_type %d\nsize_in_bytes %" PRIu64 "\nflags 0\nwidth %" PRIu32
          "\nmem_clk_max %" PRIu32 "\n",
          (int)bank.HeapType, bank.SizeInBytes, bank.Width, bank.MemoryClockMax);
  file_close(file);
}

static void node_write(uint32_t id, const HsaNodeProperties *node)
{
  FILE *file = file_create(NODE "/properties", id);
  properties_write(file, node);
  file_close(file);
  FILE_OF(number(softgpu_gpu_id(id), "u"), NODE "/gpu_id", id);
  FILE_OF(id == 0 ? "" : (const char *)node->AMDName, NODE "/name", id);
  links_write(id, node->NumIOLinks);
  bank_write(id);
}

static void link_make(const char *target, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void link_make(const char *target, const char *format, ...)
{
  char path[PATH_BYTES + 4096];
  va_list arguments;
  va_start(arguments, format);
  path_write(path, format, arguments);
  va_end(arguments);
  if (symlink(target, path) != 0)
    give_up("%s: %s", path, strerror(errno));
}

/* A GPU as the display subsystem shows it: its PCI device, under the name of its address. */
static void card_write(uint32_t id, const HsaNodeProperties *node)
{
  char address[32], target[128], marketing[HSA_PUBLIC_NAME_SIZE];
  snprintf(address, sizeof(address), "0000:%02x:%02x.%x", node->LocationId >> 8 & 0xff,
           node->LocationId >> 3 & 0x1f, node->LocationId & 7);
  for (size_t i = 0; i < sizeof(marketing); ++i)
    marketing[i] = (char)node->MarketingName[i];
  marketing[sizeof(marketing) - 1] = '\0';
#define DEVICE "/sys/devices/softgpu/%s"
  FILE_OF(number(node->VendorId, "x"), DEVICE "/vendor", address);
  FILE_OF(number(node->DeviceId, "x"), DEVICE "/device", address);
  FILE_OF(number(node->VendorId, "x"), DEVICE "/subsystem_vendor", address);
  FILE_OF(number(node->DeviceId, "x"), DEVICE "/subsystem_device", address);
  FILE_OF("softgpu-none", DEVICE "/vbios_version", address);
  /* rocm-smi ends where it finds no monitor, and no name of a voltage, of which there are none. */
  FILE_OF("amdgpu", DEVICE "/hwmon/hwmon0/name", address);
  FILE_OF("vddgfx", DEVICE "/hwmon/hwmon0/in0_label", address);
  FILE_OF(marketing, DEVICE "/product_name", address);
  FILE_OF(number(node->LocalMemSize, "u"), DEVICE "/mem_info_vram_total", address);
  FILE_OF("0", DEVICE "/mem_info_vram_used", address); /* by the asking process */
  FILE_OF("0", DEVICE "/numa_node", address);
  FILE *file = file_create(DEVICE "/unique_id", address);
  fprintf(file, "%016" PRIx64 "\n", node->UniqueID);
  file_close(file);
  FILE_OF("", DEVICE "/drm/renderD%d/uevent", address, node->DrmRenderMinor);
  snprintf(target, sizeof(target), "../../../%s", address);
  link_make(target, DEVICE "/drm/card%" PRIu32 "/device", address, id - 1);
  snprintf(target, sizeof(target), "../../devices/softgpu/%s/drm/card%" PRIu32, address, id - 1);
  link_make(target, "/sys/class/drm/card%" PRIu32, id - 1);
  file_close(file_create("/dev/dri/renderD%d", node->DrmRenderMinor));
}

/* The modules of the machine and the driver's. */
static void modules_write(void)
{
  FILE *file = file_create("/proc/modules"), *machine = fopen("/proc/modules", "r");
  fputs("amdgpu 0 0 - Live 0x0000000000000000\n", file);
  char line[4096];
  while (machine && fgets(line, sizeof(line), machine)) {
    if (strncmp(line, "amdgpu ", strlen("amdgpu ")) != 0)
      fputs(line, file);
  }
  if (machine)
    fclose(machine);
  file_close(file);
  FILE_OF("live", "/sys/module/amdgpu/initstate");
  FILE_OF("0", "/sys/module/amdgpu/refcnt");
  FILE_OF("0", "/sys/module/amdgpu/coresize");
  FILE_OF("softgpu", "/sys/module/amdgpu/version");
  file_close(file_create("/dev/kfd"));
}

static void directory_create(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void directory_create(const char *format, ...)
{
  char path[PATH_BYTES + 4096];
  va_list arguments;
  va_start(arguments, format);
  path_write(path, format, arguments); /* up to the slash at its end */
  va_end(arguments);
}

int main(int count, char **arguments)
{
  if (count != 2 || strlen(arguments[1]) >= 3000)
    give_up("usage: softgpu-tree DIRECTORY");
  root = arguments[1];
  HsaSystemProperties system;
  if (hsaKmtOpenKFD() != HSAKMT_STATUS_SUCCESS ||
      hsaKmtAcquireSystemProperties(&system) != HSAKMT_STATUS_SUCCESS)
    give_up("the device cannot be opened");
  modules_write();
  FILE_OF("platform_oem 0\nplatform_id 0\nplatform_rev 0",
          "/sys/class/kfd/kfd/topology/system_properties");
  FILE_OF("1", "/sys/class/kfd/kfd/topology/generation_id");
  directory_create("/sys/class/kfd/kfd/proc/"); /* which processes use the devices: not known */
  directory_create("/sys/class/drm/");
  directory_create("/dev/dri/");
  for (uint32_t id = 0; id < system.NumNodes; ++id) {
    HsaNodeProperties node;
    if (hsaKmtGetNodeProperties(id, &node) != HSAKMT_STATUS_SUCCESS)
      give_up("cannot read the properties of node %" PRIu32, id);
    node_write(id, &node);
    if (node.NumFComputeCores > 0)
      card_write(id, &node);
  }
  hsaKmtCloseKFD();
  return 0;
}
