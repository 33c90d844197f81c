#include "tools/shared/kernel_json.h"

#include <stdio.h>

#include <rawhal/kernarg.h>

#include "tools/shared/demangle.h"

static void put_descriptor(json_writer_t *out, const rawhal_descriptor_t *d)
{
  if (!d) {
    json_put_null(out, "descriptor");
    return;
  }
  json_begin_object(out, "descriptor");
  json_put_unsigned(out, "address", d->address);
  json_put_unsigned(out, "entry", d->entry);
  json_put_unsigned(out, "group_segment_size", d->group_segment_size);
  json_put_unsigned(out, "private_segment_size", d->private_segment_size);
  json_put_unsigned(out, "kernarg_size", d->kernarg_size);
  json_put_unsigned(out, "compute_pgm_rsrc1", d->pgm_rsrc1);
  json_put_unsigned(out, "compute_pgm_rsrc2", d->pgm_rsrc2);
  json_put_unsigned(out, "compute_pgm_rsrc3", d->pgm_rsrc3);
  json_put_unsigned(out, "kernel_code_properties", d->code_properties);
  json_put_unsigned(out, "kernarg_preload_length", d->preload_length);
  json_put_unsigned(out, "kernarg_preload_offset", d->preload_offset);
  json_put_unsigned(out, "vgpr_count", d->vgpr_count);
  json_put_unsigned(out, "sgpr_count", d->sgpr_count);
  json_put_unsigned(out, "accum_offset", d->accum_offset);
  json_put_bool(out, "wave32", d->wave32);
  json_put_bool(out, "uses_dynamic_stack", d->uses_dynamic_stack);
  json_end(out);
}

static void put_argument(json_writer_t *out, const rawhal_kernel_t *kernel, uint32_t index,
                         const rawhal_kernarg_argument_t *argument, bool page)
{
  rawhal_string_t kind = {"", 0};
  if (index < kernel->argument_count)
    kind = kernel->arguments[index].detail->value_kind_text;
  json_begin_object(out, NULL);
  json_put_string_or_null(out, "name", argument->name);
  json_put_unsigned(out, "offset", argument->offset);
  json_put_unsigned(out, "size", argument->size);
  json_put_string(out, "value_kind", kind);
  json_put_bool(out, "hidden", argument->hidden);
  json_put_bool(out, "optional", argument->optional);
  if (page)
    json_put_string_or_null(out, "type_name", argument->type_name);
  json_end(out);
}

static void put_layout(json_writer_t *out, const rawhal_kernel_t *kernel, bool page)
{
  rawhal_kernarg_layout_t *layout = NULL;
  rawhal_error_t error;
  json_begin_object(out, "kernarg");
  if (rawhal_kernarg_layout_create(kernel, 0, &layout, &error)) {
    json_put_text(out, "status", rawhal_status_name(error.status));
    json_put_text(out, "message", error.message);
    json_end(out);
    return;
  }
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout);
  char signature[17];
  snprintf(signature, sizeof(signature), "%016llx", (unsigned long long)info->signature);
  json_put_text(out, "knowledge",
                info->knowledge == RAWHAL_KERNARG_ARGUMENTS ? "arguments" : "size");
  json_put_unsigned(out, "segment_size", info->segment_size);
  json_put_unsigned(out, "effective_size", info->effective_size);
  json_put_unsigned(out, "alignment", info->alignment);
  json_put_unsigned(out, "explicit_end", info->explicit_end);
  json_put_unsigned(out, "block_count", info->block_count);
  json_put_text(out, "signature", signature);
  json_begin_array(out, "arguments");
  for (uint32_t i = 0; i < info->visible_count + info->hidden_count; ++i)
    put_argument(out, kernel, i, rawhal_kernarg_layout_argument(layout, i), page);
  json_end(out);
  rawhal_kernarg_layout_destroy(layout);
  json_end(out);
}

/* ---- For pages ---- */

/* In the metadata's words. Without metadata the descriptor tells what memory is needed; its
 * registers are what is allocated, in steps, not what is used. */
static void put_resources(json_writer_t *out, const rawhal_kernel_t *kernel)
{
  const rawhal_descriptor_t *descriptor = kernel->descriptor;
  const bool told = kernel->has_metadata;
  const struct {
    const char *key;
    uint32_t value;
  } rows[] = {
      {"wavefront_size", kernel->wavefront_size},
      {"max_flat_workgroup_size", kernel->max_flat_workgroup_size},
      {"vgpr_count", kernel->vgpr_count},
      {"agpr_count", kernel->agpr_count},
      {"sgpr_count", kernel->sgpr_count},
      {"vgpr_spill_count", kernel->vgpr_spill_count},
      {"sgpr_spill_count", kernel->sgpr_spill_count},
  };
  json_begin_object(out, "resources");
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i)
    json_put_known(out, rows[i].key, told, rows[i].value);
  json_put_known(out, "group_segment_fixed_size", told || descriptor,
                 told         ? kernel->group_segment_fixed_size
                 : descriptor ? descriptor->group_segment_size
                              : 0);
  json_put_known(out, "private_segment_fixed_size", told || descriptor,
                 told         ? kernel->private_segment_fixed_size
                 : descriptor ? descriptor->private_segment_size
                              : 0);
  json_end(out);
}

void json_put_demangled(json_writer_t *out, rawhal_string_t name, bool wanted)
{
  rawhal_string_t demangled = demangle_if(wanted, name);
  if (demangled.data != name.data)
    json_put_string(out, "demangled", demangled);
  else
    json_put_null(out, "demangled");
}

void json_put_kernel(json_writer_t *out, const rawhal_kernel_t *kernel, bool page)
{
  const uint32_t *group = kernel->reqd_workgroup_size, *cluster = kernel->cluster_dims;
  json_put_bool(out, "has_metadata", kernel->has_metadata);
  json_put_bool(out, "usable", kernel->usable);
  json_put_string_or_null(out, "unusable_reason", kernel->unusable_reason);
  json_put_three(out, "reqd_workgroup_size", group[0], group[1], group[2]);
  json_put_three(out, "cluster_dims", cluster[0], cluster[1], cluster[2]);
  put_descriptor(out, kernel->descriptor);
  put_layout(out, kernel, page);
  if (page)
    put_resources(out, kernel);
}
