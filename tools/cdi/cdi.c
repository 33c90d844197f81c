/* rawhal cdi: parts of GPUs as devices that container engines hand out. */
#include "tools/cdi/cdi.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawhal/limit.h>

#include "tools/shared/tool.h"

enum { MOST_TENANTS = 64, WHOLE_PPM = 1000000 };

/* softgpu's own default, unless SOFTGPU_VRAM_MIB says otherwise there. */
#define SOFTGPU_BYTES ((uint64_t)8 << 30)

typedef struct cdi_request {
  const char *check, *kind, *region_folder, *install_folder;
  uint32_t tenants, gpu; /* a number above the GPU's; 0: all */
  uint64_t share_ppm, memory_bytes;
  bool softgpu;
} cdi_request_t;

static option_read_fn read_share, read_memory, read_gpu;

static const tool_option_t options[] = {
    {TOOL_OPTION("tenants", NUMBER, cdi_request_t, tenants), .least = 1, .most = MOST_TENANTS,
     .wrong = "--tenants: expected 1 to 64, got '%s'"},
    {TOOL_OPTION("region-dir", TEXT, cdi_request_t, region_folder)},
    {TOOL_OPTION("gpu-share", READ, cdi_request_t, share_ppm), .read = read_share},
    {TOOL_OPTION("memory", READ, cdi_request_t, memory_bytes), .read = read_memory},
    {TOOL_OPTION("gpu", READ, cdi_request_t, gpu), .read = read_gpu,
     .wrong = "--gpu: '%s' is not a number"},
    {TOOL_OPTION("install-dir", TEXT, cdi_request_t, install_folder)},
    {TOOL_OPTION("kind", TEXT, cdi_request_t, kind)},
    {TOOL_OPTION("softgpu", FLAG, cdi_request_t, softgpu)},
    {TOOL_OPTION("check", TEXT, cdi_request_t, check)},
    {0},
};

/* ---- Options ---- */

static bool read_limit(const char *command, const char *name, rawhal_limit_t limit,
                       const char *text, void *place)
{
  rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET};
  uint64_t value;
  if (rawhal_limit_parse(limit, text, NULL, &value, &error) == RAWHAL_OK &&
      value != RAWHAL_UNLIMITED && value) {
    memcpy(place, &value, sizeof(value));
    return true;
  }
  (void)tool_usage(command, "--%s: %s", name,
                   *error.message ? error.message : "expected a limit above 0");
  return false;
}

static bool read_share(const char *command, const tool_option_t *option, const char *text,
                       void *place)
{
  return read_limit(command, option->name, RAWHAL_LIMIT_GPU_SHARE, text, place);
}

static bool read_memory(const char *command, const tool_option_t *option, const char *text,
                        void *place)
{
  return read_limit(command, option->name, RAWHAL_LIMIT_MEMORY, text, place);
}

/* 0 is a GPU, too: kept as the number above. */
static bool read_gpu(const char *command, const tool_option_t *option, const char *text,
                     void *place)
{
  uint64_t number;
  (void)command, (void)option;
  if (!tool_parse_number(text, CDI_MOST_GPUS - 1, &number))
    return false;
  const uint32_t above = (uint32_t)number + 1;
  memcpy(place, &above, sizeof(above));
  return true;
}

/* ---- Planning ---- */

/* What would be promised twice is not. */
static bool check_plan(const cdi_plan_t *plan, rawhal_error_t *error)
{
  if (plan->tenants * plan->gpu_count > MOST_TENANTS)
    return tool_refuse(error, RAWHAL_CAP_EXCEEDED,
                       "a region has room for %d tenants, not %u of each of %zu GPUs: --gpu N "
                       "makes a specification of one, with a --region-dir of its own",
                       MOST_TENANTS, plan->tenants, plan->gpu_count);
  if (plan->share_ppm * plan->tenants > WHOLE_PPM)
    return tool_refuse(error, RAWHAL_OUT_OF_RANGE,
                       "%u slices of %" PRIu64 ".%04" PRIu64 " %% are more than the device",
                       plan->tenants, plan->share_ppm / 10000, plan->share_ppm % 10000);
  for (size_t i = 0; i < plan->gpu_count; ++i) {
    const uint64_t bytes = plan->gpus[i].memory_bytes, slice = plan->memory_bytes;
    if (!bytes && !slice)
      return tool_refuse(error, RAWHAL_UNSUPPORTED,
                         "the driver does not tell how much memory GPU %u has: --memory",
                         plan->gpus[i].index);
    if (bytes && slice > bytes / plan->tenants)
      return tool_refuse(error, RAWHAL_OUT_OF_RANGE,
                         "%u slices of %" PRIu64 " bytes are more than the %" PRIu64 " of GPU %u",
                         plan->tenants, slice, bytes, plan->gpus[i].index);
  }
  return true;
}

static bool choose_gpus(const cdi_request_t *request, cdi_plan_t *plan, cdi_gpu_t *gpus,
                        rawhal_error_t *error)
{
  plan->gpus = gpus;
  if (request->softgpu) {
    *gpus = (cdi_gpu_t){.memory_bytes = SOFTGPU_BYTES};
    plan->gpu_count = 1;
    return request->gpu <= 1 ||
           tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "--softgpu has GPU 0 only");
  }
  plan->gpu_count = cdi_find_gpus(gpus);
  if (plan->gpu_count == 0)
    return tool_refuse(error, RAWHAL_NOT_FOUND,
                       "the kernel shows no AMD GPU (/sys/class/kfd): --softgpu is for machines "
                       "without");
  if (request->gpu > plan->gpu_count)
    return tool_refuse(error, RAWHAL_NOT_FOUND, "there is no GPU %u, but %zu from 0 on",
                       request->gpu - 1, plan->gpu_count);
  if (request->gpu) {
    plan->gpus = gpus + request->gpu - 1;
    plan->gpu_count = 1;
  }
  return true;
}

static int print(const cdi_request_t *request)
{
  static cdi_libraries_t libraries;
  char folder[PATH_MAX];
  cdi_gpu_t gpus[CDI_MOST_GPUS];
  rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET};
  cdi_plan_t plan = {.kind = request->kind ? request->kind : "rawhal.dev/gpu",
                     .region_folder = folder,
                     .tenants = request->tenants,
                     .share_ppm =
                         request->share_ppm ? request->share_ppm : WHOLE_PPM / request->tenants,
                     .memory_bytes = request->memory_bytes,
                     .libraries = &libraries};
  if (!realpath(request->region_folder, folder)) {
    (void)tool_refuse(&error, RAWHAL_NOT_FOUND, "%.200s: %s", request->region_folder,
                      strerror(errno));
    return tool_fail("cdi", &error);
  }
  if (!choose_gpus(request, &plan, gpus, &error) || !check_plan(&plan, &error) ||
      !cdi_find_libraries(request->softgpu, &libraries, &error) ||
      (request->install_folder &&
       !cdi_install_libraries(request->install_folder, &libraries, &error)))
    return tool_fail("cdi", &error);
  cdi_print(&plan);
  return TOOL_OK;
}

/* ---- */

static int check(const char *path)
{
  rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET};
  size_t mistakes;
  if (!cdi_check(path, &mistakes, &error))
    return tool_fail("cdi", &error);
  return mistakes ? TOOL_NO : TOOL_OK;
}

static int run(int argc, char **argv)
{
  cdi_request_t request = {0};
  if (!option_read_all("cdi", options, false, &argc, &argv, &request))
    return TOOL_USAGE;
  if (argc)
    return tool_usage("cdi", "unexpected argument '%s'", *argv);
  if (request.check && (request.tenants || request.region_folder))
    return tool_usage("cdi", "--check takes a file and no other option");
  if (request.check)
    return check(request.check);
  if (!request.tenants || !request.region_folder)
    return tool_usage("cdi", "expected --tenants N and --region-dir DIR");
  if (request.kind && !cdi_kind_is_valid(request.kind))
    return tool_usage("cdi", "--kind: expected VENDOR/CLASS, such as example.com/gpu, got '%.100s'",
                      request.kind);
  if (request.install_folder && *request.install_folder != '/')
    return tool_usage("cdi", "--install-dir: expected an absolute path, got '%.100s'",
                      request.install_folder);
  return print(&request);
}

const tool_command_t cdi_command = {
    .name = "cdi",
    .summary = "describe parts of GPUs for container engines",
    .help = "usage: rawhal cdi --tenants N --region-dir DIR [OPTIONS]\n"
            "       rawhal cdi --check FILE\n\n"
            "Prints a CDI specification (Container Device Interface, version 0.5.0) that\n"
            "makes N devices of each GPU, named gpu0-slice1, gpu0-slice2 and so on. A\n"
            "container that gets one of them has the GPU's device nodes, the library that\n"
            "enforces limits, and a part of the GPU's time and memory, which it shares with\n"
            "the other containers through the region in DIR. 'rawhal broker DIR/region.sock'\n"
            "must run. Engines read /etc/cdi/*.json and /run/cdi/*.json; what they call a\n"
            "device is its whole name, such as rawhal.dev/gpu=gpu0-slice1.\n\n"
            "options:\n"
            "  --tenants N        how many devices each GPU is, 1 to 64\n"
            "  --region-dir DIR   the folder with region.sock, which containers see as\n"
            "                     /run/rawhal\n"
            "  --gpu-share SHARE  device time of each; default: 100% / N\n"
            "  --memory SIZE      memory of each; default: that of the GPU / N\n"
            "  --gpu N            this GPU only; default: all\n"
            "  --install-dir DIR  copy the libraries to DIR and give containers those: for an\n"
            "                     installer that runs in a container itself\n"
            "  --kind KIND        VENDOR/CLASS of the devices; default: rawhal.dev/gpu\n"
            "  --softgpu          softgpu, of 8 GiB, instead of the machine's GPUs\n"
            "  --check FILE       check a specification, one of another tool, too: a line for\n"
            "                     each mistake, also for files that are not on this machine.\n"
            "                     FILE is JSON\n"
            "  --help             show this text\n\n"
            "exit status:\n"
            "  0   success\n"
            "  1   --check: the specification is wrong\n"
            "  2   the command line is wrong\n"
            "  3   there is no such GPU, library or folder, or FILE cannot be read; standard\n"
            "      error says why\n",
    .run = run,
    .options = options,
};
