/* A specification, as JSON. */
#include "tools/cdi/cdi.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rawhal/limit.h>

#include "tools/shared/json.h"

/* Where containers have it. */
#define INSIDE         "/opt/rawhal"
#define INSIDE_SOFTGPU INSIDE "/softgpu"
#define INSIDE_REGION  "/run/rawhal"

enum { VALUE_BYTES = 512 };

__attribute__((format(printf, 2, 3))) static void put_variable(json_writer_t *out,
                                                               const char *format, ...)
{
  char text[VALUE_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  json_put_text(out, NULL, text);
}

/* None of what is mounted can be written to, or run with more rights. */
static void put_mount(json_writer_t *out, const char *from, const char *to)
{
  static const char *const options[] = {"ro", "nosuid", "nodev", "rbind"};
  json_begin_object(out, NULL);
  json_put_text(out, "hostPath", from);
  json_put_text(out, "containerPath", to);
  json_begin_array(out, "options");
  for (size_t i = 0; i < sizeof(options) / sizeof(*options); ++i)
    json_put_text(out, NULL, options[i]);
  json_end(out);
  json_end(out);
}

static void put_node(json_writer_t *out, const char *path)
{
  json_begin_object(out, NULL);
  json_put_text(out, "path", path);
  json_put_text(out, "permissions", "rw");
  json_end(out);
}

/* ---- Of all slices ---- */

static void put_common_variables(json_writer_t *out, const cdi_libraries_t *libraries)
{
  const bool softgpu = *libraries->softgpu;
  json_begin_array(out, "env");
  put_variable(out, "HSA_TOOLS_LIB=" INSIDE "/%s%s", libraries->list[0].name,
               libraries->softgpu_waits ? " " INSIDE_SOFTGPU "/libsoftgpu-wait.so" : "");
  put_variable(out, "HSA_TOOLS_ROCPROFILER_V1_TOOLS=1");
  put_variable(out, "RAWHAL_LIMIT_REGION=" INSIDE_REGION "/region.sock");
  put_variable(out, "RAWHAL_LIMITS_PINNED=all");
  if (softgpu) {
    put_variable(out, "RAWHAL_DEVICE=softgpu");
    put_variable(out, "LD_LIBRARY_PATH=" INSIDE_SOFTGPU);
    put_variable(out, "HSA_ENABLE_DTIF=1");
    put_variable(out, "SOFTGPU_REPORT=2");
  }
  json_end(out);
}

static void put_common(json_writer_t *out, const cdi_plan_t *plan)
{
  const cdi_libraries_t *libraries = plan->libraries;
  json_begin_object(out, "containerEdits");
  put_common_variables(out, libraries);
  if (!*libraries->softgpu) {
    json_begin_array(out, "deviceNodes");
    put_node(out, "/dev/kfd");
    json_end(out);
  }
  json_begin_array(out, "mounts");
  put_mount(out, plan->region_folder, INSIDE_REGION);
  for (size_t i = 0; i < libraries->count; ++i) {
    char to[PATH_MAX];
    snprintf(to, sizeof(to), INSIDE "/%s", libraries->list[i].name);
    put_mount(out, libraries->list[i].path, to);
  }
  if (*libraries->softgpu)
    put_mount(out, libraries->softgpu, INSIDE_SOFTGPU);
  json_end(out);
  json_end(out);
}

/* ---- Of one ---- */

static void put_slice(json_writer_t *out, const cdi_plan_t *plan, const cdi_gpu_t *gpu,
                      uint32_t slice)
{
  char name[48], share[32], memory[32], node[48];
  const uint64_t bytes =
      plan->memory_bytes ? plan->memory_bytes : gpu->memory_bytes / plan->tenants;
  snprintf(name, sizeof(name), "gpu%u-slice%u", gpu->index, slice);
  rawhal_limit_format(RAWHAL_LIMIT_GPU_SHARE, plan->share_ppm, share, sizeof(share));
  rawhal_limit_format(RAWHAL_LIMIT_MEMORY, bytes, memory, sizeof(memory));
  json_begin_object(out, NULL);
  json_put_text(out, "name", name);
  json_begin_object(out, "containerEdits");
  json_begin_array(out, "env");
  put_variable(out, "RAWHAL_TENANT=%s", name);
  put_variable(out, "RAWHAL_GPU_SHARE=%s", share);
  put_variable(out, "RAWHAL_MEMORY_LIMIT=%s", memory);
  json_end(out);
  if (!*plan->libraries->softgpu) {
    snprintf(node, sizeof(node), "/dev/dri/renderD%u", gpu->render_minor);
    json_begin_array(out, "deviceNodes");
    put_node(out, node);
    json_end(out);
  }
  json_end(out);
  json_end(out);
}

void cdi_print(const cdi_plan_t *plan)
{
  json_writer_t out = {.out = stdout};
  json_begin_object(&out, NULL);
  json_put_text(&out, "cdiVersion", "0.5.0");
  json_put_text(&out, "kind", plan->kind);
  json_begin_array(&out, "devices");
  for (size_t i = 0; i < plan->gpu_count; ++i)
    for (uint32_t slice = 1; slice <= plan->tenants; ++slice)
      put_slice(&out, plan, &plan->gpus[i], slice);
  json_end(&out);
  put_common(&out, plan);
  json_end(&out);
}
