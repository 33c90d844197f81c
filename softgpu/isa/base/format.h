/* Elements of typed buffers and texels: data and number formats. Internal to softgpu.
 *
 * Names of data formats give the components from the highest bits down: of 2_10_10_10, x is in bits
 * 0 to 9 and w in 30 and 31. MI200 ISA document, "Buffer resource"; LLVM's SIDefines.h has the
 * numbers, ROCr's resource_kv.h those that only images have. */
#ifndef SOFTGPU_ISA_BASE_FORMAT_H
#define SOFTGPU_ISA_BASE_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

enum {
  ISA_NUMBER_UNORM,
  ISA_NUMBER_SNORM,
  ISA_NUMBER_USCALED,
  ISA_NUMBER_SSCALED,
  ISA_NUMBER_UINT,
  ISA_NUMBER_SINT,
  ISA_NUMBER_RESERVED,
  ISA_NUMBER_FLOAT,
  ISA_NUMBER_SRGB = 9 /* of images; the fourth component is UNORM */
};

typedef struct isa_format {
  uint8_t bytes, components; /* 0 and 0 of data format 0, which is a buffer that is not there */
  uint8_t bits[4];
  uint8_t number; /* ISA_NUMBER_* */
} isa_format_t;

/* False for a combination that there is not. Data formats from 16 on are those of images. */
bool isa_format_find(unsigned data, unsigned number, isa_format_t *format);

/* The same of GFX10, where one number says both, or, of fewer ones, GFX11. */
bool isa_format_find_unified(unsigned number, bool has_fewer, isa_format_t *format);

/* A component of an element as it goes into a register, as 32 bits or, `is_half`, as 16. */
uint32_t isa_format_load(const isa_format_t *format, unsigned component, const uint32_t element[4],
                         bool is_half);

/* 1 in a register. */
uint32_t isa_format_one(const isa_format_t *format, bool is_half);

/* Puts a register's value into an element that had 0 there. */
void isa_format_store(const isa_format_t *format, unsigned component, uint32_t value, bool is_half,
                      uint32_t element[4]);

#endif
