#include "softgpu/isa/describe/chips.h"

/* LLVM's GCNSubtarget and SIISelLowering; the MI200 and MI300 ISA documents; units: AMD's data
 * sheets. */
const isa_chip_t isa_chips[SOFTGPU_CHIP_OTHER] = {
    [SOFTGPU_GFX90A] = {.number = 0x90a,
                        .cache_bits = {"glc", "slc", "scc"},
                        .lds_base = 0xffff,
                        .units = 104,
                        .dies = 1,
                        .engines = 8,
                        .scratch_sgpr = true,
                        .flushes_products = true,
                        .flushes_atomics = true},
    [SOFTGPU_GFX942] = {.number = 0x942,
                        .cache_bits = {"sc0", "nt", "sc1"},
                        .lds_base = 0xffff,
                        .units = 304,
                        .dies = 8,
                        .engines = 4,
                        .scratch_both = true},
    [SOFTGPU_GFX950] = {.number = 0x950,
                        .cache_bits = {"sc0", "nt", "sc1"},
                        .lds_base = 0x3ffff,
                        .units = 304,
                        .dies = 8,
                        .engines = 4,
                        .scratch_both = true,
                        .ocp_floats = true,
                        .wide_lds_loads = true},
};
