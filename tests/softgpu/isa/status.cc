#include "tests/softgpu/isa/status.h"

#include <cstring>

extern "C" {
#include "softgpu/isa/inst.h"
}

namespace status {

namespace {

// By the beginning of the mnemonic; the first that fits.
const struct {
  const char *prefix, *reason;
} reasons[] = {
    {"v_screen_partition_4se_b32", "its table is not published"},
    {"v_cvt_pkaccum_u8_f32", "its rounding is not published, and no compiler emits it"},
    {"v_mqsad_u32_u8", "a 128-bit result that no compiler emits"},
    {"v_smfmac", "sparse matrices: how the index selects is not published for all shapes"},
    {"s_rfe", "returns from a trap handler, and there is none"},
    {"s_cbranch_join", "needs the fork stack, which compilers have not used since GFX6"},
    {"s_cbranch_g_fork", "needs the fork stack, which compilers have not used since GFX6"},
    {"s_cbranch_i_fork", "needs the fork stack, which compilers have not used since GFX6"},
    {"s_endpgm_ordered_ps_done", "ends pixel shaders"},
    {"s_scratch", "scalar access to swizzled memory"},
    {"s_atc_probe", "asks the address translation"},
    {"s_dcache_discard", "may lose what is in the cache"},
    {"ds_gws", "global wave sync is a resource of the driver"},
    {"ds_write_addtid", "todo"},
    {"ds_read_addtid", "todo"},
    {"ds_wrap", "todo"},
    {"ds_condxchg", "todo"},
    {"ds_append", "todo"},
    {"ds_consume", "todo"},
    {"buffer_load_format", "todo"},
    {"buffer_store_format", "todo"},
    {"tbuffer", "todo"},
};

} // namespace

const char *unsupported_reason(unsigned op)
{
  for (const auto &entry : reasons)
    if (!strncmp(isa_op_name(op), entry.prefix, strlen(entry.prefix)))
      return entry.reason;
  return nullptr;
}

} // namespace status
