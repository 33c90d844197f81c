/* rawhal inspect: what Triton's JSON says beside a code object. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/inspect/inspect.h"
#include "tools/shared/json.h"
#include "tools/shared/tool.h"
#include "tools/shared/triton.h"

/* The entry of a path that may be one; the reason why it cannot be opened is in `error`. */
static const rawhal_triton_kernel_t *open_entry(const char *path, rawhal_triton_t **triton,
                                                rawhal_error_t *error)
{
  *triton = NULL;
  return rawhal_triton_open_file(path, NULL, triton, error) ? NULL
                                                            : rawhal_triton_kernel(*triton, 0);
}

static const struct number {
  const char *key;
  size_t place;
  bool wide;
} numbers[] = {
#define NUMBER(name, wide)                                                                         \
  {                                                                                                \
#name, offsetof(rawhal_triton_kernel_t, name), wide                                            \
  }
    NUMBER(shared, false),
    NUMBER(num_warps, false),
    NUMBER(warp_size, false),
    NUMBER(workgroup, false),
    NUMBER(num_stages, false),
    NUMBER(num_ctas, false),
    NUMBER(global_scratch_size, true),
    NUMBER(global_scratch_align, true),
    NUMBER(profile_scratch_size, true),
    NUMBER(profile_scratch_align, true),
    NUMBER(scratch_pointers, false),
#undef NUMBER
};

static void put_entry(json_writer_t *out, const rawhal_triton_kernel_t *entry)
{
  json_put_string(out, "json", entry->json_path);
  json_put_string(out, "name", entry->name);
  json_put_string_or_null(out, "backend", entry->backend);
  json_put_string_or_null(out, "arch", entry->arch);
  json_put_string_or_null(out, "hash", entry->hash);
  json_put_string_or_null(out, "triton_version", entry->triton_version);
  for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); ++i) {
    const char *place = (const char *)entry + numbers[i].place;
    json_put_unsigned(out, numbers[i].key,
                      numbers[i].wide ? *(const uint64_t *)place : *(const uint32_t *)place);
  }
  json_put_bool(out, "launch_cooperative_grid", entry->launch_cooperative_grid);
}

void inspect_triton_json(json_writer_t *out, const char *path)
{
  rawhal_triton_t *triton;
  rawhal_error_t error;
  if (!tool_has_triton_json(path)) {
    json_put_null(out, "triton");
    return;
  }
  const rawhal_triton_kernel_t *entry = open_entry(path, &triton, &error);
  json_begin_object(out, "triton");
  json_put_text(out, "status", entry ? "OK" : rawhal_status_name(error.status));
  if (entry)
    put_entry(out, entry);
  else
    json_put_text(out, "message", error.message);
  json_end(out);
  rawhal_triton_close(triton);
}

void inspect_triton_text(const char *path)
{
  rawhal_triton_t *triton;
  rawhal_error_t error;
  if (!tool_has_triton_json(path))
    return;
  const rawhal_triton_kernel_t *entry = open_entry(path, &triton, &error);
  fputs("; Triton: ", stdout);
  if (entry) {
    tool_print_text(entry->name);
    printf(", %" PRIu32 " warp%s of %" PRIu32 ", %" PRIu32 " bytes of dynamic LDS",
           entry->num_warps, entry->num_warps == 1 ? "" : "s", entry->warp_size, entry->shared);
  } else {
    tool_print_string(error.message);
  }
  rawhal_triton_close(triton);
}
