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

/* Where a kernel's arguments lie in its kernarg segment. */
typedef struct rawhal_kernarg_layout rawhal_kernarg_layout_t;

/* ---- Layout ---- */

/* How much a kernel's facts say about its segment. */
typedef enum rawhal_kernarg_knowledge {
  RAWHAL_KERNARG_ARGUMENTS = 0, /* `.args` known: every argument has its place */
  RAWHAL_KERNARG_SIZE =
      1, /* only the segment size is known (metadata without `.args`, descriptor, or
                          caller) */
} rawhal_kernarg_knowledge_t;

/* The layout as a whole. */
typedef struct rawhal_kernarg_info {
  rawhal_kernarg_knowledge_t knowledge;
  /* Declared, in bytes: the first of these that is not 0: the metadata's, the descriptor's, the end
   * of the last argument, the caller's. */
  uint32_t segment_size;
  /* max(declared, descriptor, end of the last argument): what an image occupies. */
  uint32_t effective_size;
  uint32_t alignment; /* of the segment; at least 16, a power of two */
  /* End of the last visible argument inside the declared segment: the least length of a blob. */
  uint32_t explicit_end;
  uint32_t visible_count, hidden_count;
  uint32_t block_count;    /* 64-byte blocks an image occupies */
  uint64_t signature;      /* of everything above and of every argument; see "Signatures" */
  uint64_t blob_signature; /* of what a caller's blob depends on; see "Signatures" */
} rawhal_kernarg_info_t;

/* Signatures: 64-bit FNV-1a over a canonical byte string, equal in every process, on every machine
 * and in every version of rawhal that has the same prefix. A caller that stores one when it is
 * built learns at load whether the kernel's ABI is still the one it was written for.
 *
 *   signature       "rawhal-kernarg-1", then as little-endian u32: knowledge, segment_size,
 *                   effective_size, alignment, explicit_end, visible_count, hidden_count; then for
 *                   each argument in metadata order: u32 offset, u32 size, its `.value_kind` as
 *                   text, a zero byte
 *   blob_signature  "rawhal-blob-1", then u32: knowledge, explicit_end, segment_size (0 when the
 *                   arguments are known: hidden ones may come and go), visible_count; then the
 *                   visible arguments in the same form
 *
 * Names are not part of either: renaming an argument changes no byte of a segment. */

/* Compiles the layout of `kernel`. `stated_size` is the segment size that the caller states for a
 * kernel whose facts give none (descriptor says 0 and no metadata); pass 0 otherwise. The layout
 * copies what it needs, except names, which point into the kernel's object and live as long as it
 * does; it also uses that object's allocator.
 *
 * INVALID_ARGUMENT: nothing known and stated_size 0, or stated_size contradicts what is known.
 * MALFORMED: arguments overlap or wrap, the alignment is not a power of two, or a hidden pointer
 * has fewer than 8 bytes. OUT_OF_MEMORY. O(n log n) in the number of arguments. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_kernarg_layout_create(const rawhal_kernel_t *kernel, uint32_t stated_size,
                             rawhal_kernarg_layout_t **layout, rawhal_error_t *error);

/* NULL is allowed. */
RAWHAL_API void rawhal_kernarg_layout_destroy(rawhal_kernarg_layout_t *layout);

/* Owned by the layout, which must not be NULL. */
RAWHAL_API const rawhal_kernarg_info_t *
rawhal_kernarg_layout_info(const rawhal_kernarg_layout_t *layout);

/* One argument, visible or hidden. */
typedef struct rawhal_kernarg_argument {
  rawhal_string_t name, type_name;
  rawhal_string_t value_kind_text; /* `.value_kind` as it is spelled */
  uint32_t offset, size;
  uint8_t value_kind;    /* rawhal_value_kind_t */
  uint8_t address_space; /* rawhal_address_space_t */
  bool hidden;
  bool optional; /* ends past the declared segment: a blob may end before it */
} rawhal_kernarg_argument_t;

/* In metadata order. Owned by the layout. NULL when index >= visible_count + hidden_count. */
RAWHAL_API const rawhal_kernarg_argument_t *
rawhal_kernarg_layout_argument(const rawhal_kernarg_layout_t *layout, size_t index);

/* Finds a visible argument by name: its index in metadata order. NOT_FOUND; INVALID_ARGUMENT when
 * several arguments have that name ("pad"): use indices. O(log n). */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_kernarg_layout_find(const rawhal_kernarg_layout_t *layout, rawhal_string_t name,
                           size_t *index, rawhal_error_t *error);

/* ---- Launch facts ---- */

/* What hidden arguments are computed from. `work_items` is the size of the grid and `workgroup`
 * that of a work-group, both in work-items, 1 for unused dimensions.
 *
 *   hidden_block_count    work_items / workgroup, rounded down: full work-groups only
 *   hidden_group_size     workgroup
 *   hidden_remainder      work_items % workgroup
 *   hidden_grid_dims      dimensions
 *   hidden_global_offset, hidden_dynamic_lds_size, hidden_queue_ptr, hidden_printf_buffer,
 *   hidden_hostcall_buffer, hidden_heap_v1, hidden_default_queue, hidden_completion_action,
 *   hidden_multigrid_sync_arg, hidden_private_base, hidden_shared_base
 *                         as given here, 0 if the caller has none
 *   hidden_none, and kinds unknown to this version
 *                         zeros */
typedef struct rawhal_launch {
  size_t size; /* sizeof(rawhal_launch_t), or 0: see types.h */
  uint32_t work_items[3];
  uint16_t workgroup[3];
  uint16_t dimensions;  /* 1..3; 0 means 3, as HIP always writes */
  uint32_t dynamic_lds; /* bytes of dynamic group segment */
  uint64_t global_offset[3];
  uint64_t queue_ptr; /* address of the HSA queue; 0 = none */
  uint64_t printf_buffer, hostcall_buffer, heap, default_queue, completion_action, multigrid_sync;
  uint32_t private_base_hi, shared_base_hi; /* upper halves of the apertures */
} rawhal_launch_t;

/* Checks a geometry against the kernel. INVALID_ARGUMENT: a zero size, dimensions above 3, an
 * unused dimension that is not 1, a work-group other than `.reqd_workgroup_size`, partial
 * work-groups where `.uniform_work_group_size` is set. OUT_OF_RANGE: more work-items in a
 * work-group (64 bits) than `.max_flat_workgroup_size`, more work-groups than
 * `.max_num_workgroups_*`. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_launch_check(const rawhal_kernel_t *kernel,
                                                              const rawhal_launch_t *launch,
                                                              rawhal_error_t *error);

/* ---- Blobs ----
 *
 * A blob is the caller's own prepacked copy of the segment's beginning. The rule, in full:
 *
 *   arguments known     length >= explicit_end: padding may be missing at the end, argument bytes
 *                       may not
 *   only size known     align_up(length, 8) >= segment_size
 *   too long            more than the effective size rounded up to 16 is OUT_OF_RANGE, unless
 *                       RAWHAL_KERNARG_CLAMP is given
 *   NULL                with length > 0: INVALID_ARGUMENT
 *   length 0            where bytes are needed: OUT_OF_RANGE
 *
 * The message names the argument with the lowest offset that does not fit, by its index in metadata
 * order: "blob ends at 33, argument 3 'n' (by_value) occupies 32..36"; the record's offset is the
 * length. */
typedef enum rawhal_kernarg_flags {
  /* Ignore what a blob has beyond the effective size rounded up to 16. */
  RAWHAL_KERNARG_CLAMP = 1u << 0,
  /* Where the blob covers a hidden argument completely, its bytes win. */
  RAWHAL_KERNARG_KEEP_HIDDEN = 1u << 1,
} rawhal_kernarg_flags_t;

/* Checks a blob against the rule, and writes nothing. `flags`: RAWHAL_KERNARG_*; others are
 * INVALID_ARGUMENT. INVALID_ARGUMENT and OUT_OF_RANGE as above. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_kernarg_check(const rawhal_kernarg_layout_t *layout, const void *blob, size_t length,
                     uint32_t flags, rawhal_error_t *error);

/* How many 64-byte blocks `bytes` take (at least 1). OUT_OF_RANGE: more than UINT32_MAX or than
 * `capacity` blocks. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_kernarg_block_count(uint64_t bytes,
                                                                     uint32_t capacity,
                                                                     uint32_t *blocks,
                                                                     rawhal_error_t *error);

/* ---- Images ---- */

/* Writes the whole image, block_count * 64 bytes, to `image`, which is aligned to 16 and has `size`
 * bytes: checked blob bytes, zeros, hidden arguments from `launch`, each at its own offset with its
 * own size. `launch` may be NULL when the layout has no hidden arguments. On failure nothing is
 * written. Fails as rawhal_kernarg_check(); INVALID_ARGUMENT: a work-group size of 0; OUT_OF_RANGE:
 * `size` is too small, or a hidden value does not fit a field that is declared narrower than its
 * kind. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_kernarg_write_blob(
    const rawhal_kernarg_layout_t *layout, const void *blob, size_t length, uint32_t flags,
    const rawhal_launch_t *launch, void *image, size_t size, rawhal_error_t *error);

/* The same from one pointer for each visible argument, in metadata order (`void *args[]` of
 * hipModuleLaunchKernel); each points to the argument's `size` bytes (a dynamic_shared_pointer's
 * are its LDS offset). Needs RAWHAL_KERNARG_ARGUMENTS. `count` must be visible_count; a pointer may
 * be NULL only where the argument is optional or has no bytes, and leaves zeros. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_kernarg_write_pointers(
    const rawhal_kernarg_layout_t *layout, const void *const *arguments, size_t count,
    const rawhal_launch_t *launch, void *image, size_t size, rawhal_error_t *error);

/* ---- Single arguments ---- */

/* Packs one visible argument at its place in a blob of at least explicit_end bytes. `size` must be
 * the argument's size (a smaller integer is not widened). By index in metadata order, or by name.
 * INVALID_ARGUMENT: a hidden argument, another size, an ambiguous name. OUT_OF_RANGE: no such
 * index, or the blob is too short. NOT_FOUND: no such name. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_kernarg_set(const rawhal_kernarg_layout_t *layout,
                                                             size_t index, const void *value,
                                                             size_t size, void *blob, size_t length,
                                                             rawhal_error_t *error);
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_kernarg_set_named(
    const rawhal_kernarg_layout_t *layout, rawhal_string_t name, const void *value, size_t size,
    void *blob, size_t length, rawhal_error_t *error);

/* Reads one argument, visible or hidden, back from a blob or an image: `value` becomes the range of
 * its bytes inside `image`. OUT_OF_RANGE: no such index, or the image is too short for it. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_kernarg_get(const rawhal_kernarg_layout_t *layout,
                                                             size_t index, const void *image,
                                                             size_t length, rawhal_bytes_t *value,
                                                             rawhal_error_t *error);
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_kernarg_get_named(
    const rawhal_kernarg_layout_t *layout, rawhal_string_t name, const void *image, size_t length,
    rawhal_bytes_t *value, rawhal_error_t *error);

/* One argument of an image as a line of text, for reports: "3 'n' (by_value) 32..36 = 1024
 * (0x400)"; pointers in hexadecimal, sizes other than 1, 2, 4 and 8 as bytes (the first 32),
 * "missing" where the image ends too early; "" when there is no such index. Control characters of
 * names become '?'. Like snprintf: never beyond `size`, terminated when size > 0; returns the
 * length of the whole text. */
RAWHAL_API size_t rawhal_kernarg_format(const rawhal_kernarg_layout_t *layout, size_t index,
                                        const void *image, size_t length, char *text, size_t size);

/* ---- Bindings ----
 *
 * HAL-style callers see a kernel as bindings (global buffers, in order) and one dense stream of
 * constants (by-value arguments, in order, each at its natural alignment of min(size, 8) rounded
 * down to a power of two). They are a different type from the layout on purpose: neither can be
 * passed where the other belongs. */

/* Made from a native layout; immutable. */
typedef struct rawhal_bindings rawhal_bindings_t;

/* The bindings and constants that a blob is packed from. */
typedef struct rawhal_bindings_info {
  uint32_t binding_count;
  uint32_t constant_bytes; /* length of the constant stream */
  uint32_t constant_count; /* by-value arguments in it */
} rawhal_bindings_info_t;

/* Where one binding or constant comes from and goes to. */
typedef struct rawhal_binding_slot {
  uint32_t argument;      /* index in the native layout, metadata order */
  uint32_t source;        /* binding number, or byte offset in the constant stream */
  uint32_t native_offset; /* in the kernarg segment */
  uint32_t size;          /* bytes */
} rawhal_binding_slot_t;

/* Keeps nothing of `native` but its allocator. UNSUPPORTED when a visible
 * argument is neither a global buffer of 8 bytes nor by value, or the arguments are not known.
 * CAP_EXCEEDED: more than 4 GiB of constants. OUT_OF_MEMORY. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_bindings_create(
    const rawhal_kernarg_layout_t *native, rawhal_bindings_t **layout, rawhal_error_t *error);
/* NULL is allowed. */
RAWHAL_API void rawhal_bindings_destroy(rawhal_bindings_t *layout);
/* Owned by the layout, which must not be NULL. */
RAWHAL_API const rawhal_bindings_info_t *rawhal_bindings_info(const rawhal_bindings_t *layout);

/* In metadata order. Owned by the layout. NULL when index >= binding_count / constant_count. */
RAWHAL_API const rawhal_binding_slot_t *rawhal_bindings_binding(const rawhal_bindings_t *layout,
                                                                size_t index);
RAWHAL_API const rawhal_binding_slot_t *rawhal_bindings_constant(const rawhal_bindings_t *layout,
                                                                 size_t index);

/* Builds the native blob from device addresses and constants: all `length` bytes are written, zeros
 * between the arguments. `length` must be at least the native explicit_end; an optional argument is
 * written if the blob covers it completely. INVALID_ARGUMENT: counts other than the layout's, or
 * NULL. OUT_OF_RANGE: the blob is too short. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_bindings_pack(
    const rawhal_bindings_t *layout, const uint64_t *bindings, size_t binding_count,
    const void *constants, size_t constant_bytes, void *blob, size_t length, rawhal_error_t *error);

RAWHAL_END

#endif
