/* rawhal/target.h: which processor a code object is for, and whether a device can run it.
 *
 * Facts: AMDGPUUsage, "Target ID", "Processors" and "ELF header e_flags". All functions are pure.
 */
#ifndef RAWHAL_TARGET_H
#define RAWHAL_TARGET_H

#include <rawhal/status.h>

RAWHAL_BEGIN

/* A target's setting of XNACK or SRAMECC. */
typedef enum rawhal_feature {
  RAWHAL_FEATURE_UNSUPPORTED = 0, /* the processor has no such setting */
  RAWHAL_FEATURE_ANY = 1,         /* runs with either setting */
  RAWHAL_FEATURE_OFF = 2,
  RAWHAL_FEATURE_ON = 3,
} rawhal_feature_t;

/* A processor and its feature settings, of a code object or a device. */
typedef struct rawhal_target {
  uint32_t machine;         /* EF_AMDGPU_MACH value; unknown numbers are kept */
  uint32_t generic_version; /* 1..255 for generic targets (code object V6), else 0 */
  rawhal_feature_t xnack;
  rawhal_feature_t sramecc;
  char processor[24]; /* "gfx90a", "gfx9-4-generic"; "" when `machine` is unknown */
} rawhal_target_t;

/* Bits of rawhal_target_match(): why a device cannot run an object; 0 = it can. */
typedef enum rawhal_mismatch {
  RAWHAL_MISMATCH_PROCESSOR = 1u << 0,       /* another processor, or unknown */
  RAWHAL_MISMATCH_GENERIC_FAMILY = 1u << 1,  /* a generic target of another family */
  RAWHAL_MISMATCH_GENERIC_VERSION = 1u << 2, /* older than the version that introduced the device */
  RAWHAL_MISMATCH_XNACK = 1u << 3,
  RAWHAL_MISMATCH_SRAMECC = 1u << 4,
} rawhal_mismatch_t;

/* Reads a target id: "gfx90a:sramecc+:xnack-", with or without an "amdgcn-amd-amdhsa--" style
 * prefix; or a triple that names the processor as LLVM has done since 2026-07: "amdgpu9.0a",
 * "amdgpu9.0a-amd-amdhsa:xnack-", "amdgpu9.4-amd-amdhsa--gfx942". Features that are not named are
 * ANY where the processor has them. Fails with INVALID_ARGUMENT (syntax, a feature given twice or
 * one that the processor does not have) or NOT_FOUND (no such processor). */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_target_parse(rawhal_string_t text,
                                                              rawhal_target_t *target,
                                                              rawhal_error_t *error);

/* Decodes the e_flags of a code object with this EI_ABIVERSION (1 = V3 .. 4 = V6). Unknown machine
 * numbers are kept with an empty processor name. */
RAWHAL_API void rawhal_target_from_flags(uint32_t e_flags, uint32_t abi_version,
                                         rawhal_target_t *target);

/* Writes the canonical id without prefix ("gfx90a:sramecc+:xnack-", "mach-0xfe" when unknown) like
 * snprintf: never beyond `size`, always terminated when size > 0; returns the length of the whole
 * text. */
RAWHAL_API size_t rawhal_target_format(const rawhal_target_t *target, char *buffer, size_t size);

/* Can `device` (a concrete processor with ON/OFF settings) run `object`? Returns RAWHAL_MISMATCH_*
 * bits, 0 = it can. */
RAWHAL_API uint32_t rawhal_target_match(const rawhal_target_t *object,
                                        const rawhal_target_t *device);

/* One line that says what `mismatch` means for this pair ("xnack: object on, device off"); like
 * snprintf. */
RAWHAL_API size_t rawhal_target_explain(uint32_t mismatch, const rawhal_target_t *object,
                                        const rawhal_target_t *device, char *buffer, size_t size);

RAWHAL_END

#endif
