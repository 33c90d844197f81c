/* rawhal/kernarg.h: the exact native layout of a kernel's kernarg segment, and the one rule for
 * blobs.
 *
 * A layout is compiled from a kernel's facts alone: no device, no runtime. It knows where every
 * visible argument and every hidden argument lies. An image is the finished kernarg segment, ready
 * for the device: blob or packed arguments first, zeros wherever nothing is written, then each
 * hidden argument at its own offset.
 *
 * Facts: AMDGPUUsage, "Kernel Argument Metadata" and "Kernel Dispatch"; the blob rule is section
 * "Blobs" below. Thread-safety: a layout is immutable after creation; all other functions are pure.
 */
#ifndef RAWHAL_KERNARG_H
#define RAWHAL_KERNARG_H

#include <rawhal/hsaco.h>

RAWHAL_BEGIN

typedef struct rawhal_kernarg_layout rawhal_kernarg_layout_t;

/* ---- Layout ---- */

typedef enum rawhal_kernarg_knowledge {
  RAWHAL_KERNARG_ARGUMENTS, /* `.args` known: every argument has its place */
  RAWHAL_KERNARG_SIZE, /* only the segment size is known (metadata without `.args`, descriptor, or
                          caller) */
} rawhal_kernarg_knowledge_t;

typedef struct rawhal_kernarg_info {
  rawhal_kernarg_knowledge_t knowledge;
  uint32_t segment_size; /* declared: metadata's, else the descriptor's, else the caller's; bytes */
  uint32_t effective_size; /* max(declared, descriptor, end of the last argument): what an image
                              occupies */
  uint32_t alignment;      /* of the segment; at least 16, a power of two */
  uint32_t explicit_end; /* end of the last visible argument inside the declared segment; the least
                            a blob may have */
  uint32_t visible_count, hidden_count;
  uint32_t block_count; /* 64-byte blocks an image occupies */
  uint64_t signature;   /* hash of everything above and of each argument's place, size and kind */
} rawhal_kernarg_info_t;

/* Compiles the layout of `kernel`. `stated_size` is the caller's word for the segment size of a
 * kernel whose facts do not tell (descriptor says 0 and no metadata); pass 0 otherwise. The layout
 * copies what it needs, except names, which point into the kernel's object. INVALID_ARGUMENT:
 * nothing known and stated_size 0. MALFORMED: arguments overlap or wrap. OUT_OF_MEMORY. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_kernarg_layout_create(const rawhal_kernel_t *kernel, uint32_t stated_size,
                             rawhal_kernarg_layout_t **layout, rawhal_error_t *error);

RAWHAL_API void
rawhal_kernarg_layout_destroy(rawhal_kernarg_layout_t *layout); /* NULL is allowed */

RAWHAL_API const rawhal_kernarg_info_t *
rawhal_kernarg_layout_info(const rawhal_kernarg_layout_t *layout);

/* One argument, visible or hidden, in metadata order. */
typedef struct rawhal_kernarg_argument {
  rawhal_string_t name, type_name;
  uint32_t offset, size;
  uint8_t value_kind;    /* rawhal_value_kind_t */
  uint8_t address_space; /* rawhal_address_space_t */
  bool hidden;
  bool optional; /* past the declared segment: a blob may end before it */
} rawhal_kernarg_argument_t;

/* NULL when index >= visible_count + hidden_count. */
RAWHAL_API const rawhal_kernarg_argument_t *
rawhal_kernarg_layout_argument(const rawhal_kernarg_layout_t *layout, size_t index);

/* ---- Launch facts ---- */

/* What hidden arguments are computed from. Grid and work-group sizes are in WORK-ITEMS, 1 for
 * unused dimensions. */
typedef struct rawhal_launch {
  uint32_t grid[3];
  uint16_t workgroup[3];
  uint16_t dimensions;  /* 1..3; 0 means 3, as HIP always writes */
  uint32_t dynamic_lds; /* bytes of dynamic group segment */
  uint64_t global_offset[3];
  uint64_t queue_ptr; /* address of the HSA queue; 0 = none */
  uint64_t printf_buffer, hostcall_buffer, heap, default_queue, completion_action, multigrid_sync;
  uint32_t private_base_hi, shared_base_hi; /* upper halves of the apertures */
} rawhal_launch_t;

/* Checks a geometry against the kernel: zero sizes, overflow of the flat work-group (64 bits),
 * `.max_flat_workgroup_size`,
 * `.reqd_workgroup_size`, partial work-groups where the kernel asks for uniform ones.
 * INVALID_ARGUMENT / OUT_OF_RANGE. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_launch_check(const rawhal_kernel_t *kernel,
                                                              const rawhal_launch_t *launch,
                                                              rawhal_error_t *error);

/* ---- Blobs
 * ----
 * *
 *
 * A blob is the caller's own prepacked copy of the segment's beginning. The rule, in full:
 *   arguments known   length >= explicit_end: padding may be missing at the end, argument bytes may
 * not only size known   align_up(length, 8) >= segment_size too long          more than the
 * effective size rounded up to 16 is OUT_OF_RANGE, unless CLAMP is given NULL              with
 * length > 0: INVALID_ARGUMENT; length 0 where bytes are needed: OUT_OF_RANGE The message names the
 * first argument that does not fit: "blob ends at 33, argument 3 'n' (by_value) occupies 32..36".
 */
enum {
  RAWHAL_KERNARG_CLAMP = 1u << 0, /* ignore what a blob has beyond the segment */
  RAWHAL_KERNARG_KEEP_HIDDEN =
      1u << 1, /* where the blob covers a hidden argument completely, its bytes win */
};

RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_kernarg_check(const rawhal_kernarg_layout_t *layout, const void *blob, size_t length,
                     uint32_t flags, rawhal_error_t *error);

/* Number of 64-byte blocks for `bytes` (at least 1). OUT_OF_RANGE above UINT32_MAX blocks or above
 * `capacity`. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_kernarg_block_count(uint64_t bytes,
                                                                     uint32_t capacity,
                                                                     uint32_t *blocks,
                                                                     rawhal_error_t *error);

/* ---- Images ---- */

/* Writes the whole image, block_count * 64 bytes, to `image` (aligned to 16; `size` bytes are
 * there): checked blob bytes, zeros, hidden arguments from `launch`. Nothing is written when it
 * fails. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_kernarg_write_blob(
    const rawhal_kernarg_layout_t *layout, const void *blob, size_t length, uint32_t flags,
    const rawhal_launch_t *launch, void *image, size_t size, rawhal_error_t *error);

/* The same from one pointer for each visible argument, in order (`void *args[]` of
 * hipModuleLaunchKernel); each points to the argument's `size` bytes. Needs
 * RAWHAL_KERNARG_ARGUMENTS. `count` must be visible_count. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_kernarg_write_pointers(
    const rawhal_kernarg_layout_t *layout, const void *const *arguments, size_t count,
    const rawhal_launch_t *launch, void *image, size_t size, rawhal_error_t *error);

/* Packs one visible argument at its place in a blob of at least explicit_end bytes. `size` must be
 * the argument's size (a smaller integer is not widened). By index in metadata order, or by name.
 */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_kernarg_set(const rawhal_kernarg_layout_t *layout,
                                                             size_t index, const void *value,
                                                             size_t size, void *blob, size_t length,
                                                             rawhal_error_t *error);
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_kernarg_set_named(
    const rawhal_kernarg_layout_t *layout, rawhal_string_t name, const void *value, size_t size,
    void *blob, size_t length, rawhal_error_t *error);

/* ---- The HAL projection ----
 *
 * HAL-style callers see a kernel as bindings (global buffers, in order) and one dense stream of
 * constants (by-value arguments, in order, each at its natural alignment of min(size, 8) rounded
 * down to a power of two). It is a different type on purpose: neither projection can be passed
 * where the other belongs. */
typedef struct rawhal_hal_layout rawhal_hal_layout_t;

typedef struct rawhal_hal_layout_info {
  uint32_t binding_count;
  uint32_t constant_bytes; /* length of the constant stream */
} rawhal_hal_layout_info_t;

/* UNSUPPORTED when a visible argument is neither a global buffer of 8 bytes nor by value. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_hal_layout_create(
    const rawhal_kernarg_layout_t *native, rawhal_hal_layout_t **layout, rawhal_error_t *error);
RAWHAL_API void rawhal_hal_layout_destroy(rawhal_hal_layout_t *layout);
RAWHAL_API const rawhal_hal_layout_info_t *
rawhal_hal_layout_info(const rawhal_hal_layout_t *layout);

/* Builds the native blob (explicit_end bytes) from device addresses and constants. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_hal_layout_pack(
    const rawhal_hal_layout_t *layout, const uint64_t *bindings, size_t binding_count,
    const void *constants, size_t constant_bytes, void *blob, size_t length, rawhal_error_t *error);

RAWHAL_END

#endif
