/* rawhal/hsaco.h: one AMDGPU code object (HSACO): bytes in, immutable facts out.
 *
 * Needs no device and no runtime. Nothing outside the caller's bytes is ever read, no size in them
 * is trusted before it is checked, and every cap fails with CAP_EXCEEDED. Objects with harmless
 * oddities open, with diagnostics; a kernel that cannot be used is listed with the reason, and the
 * others stay usable.
 *
 * Facts: AMDGPUUsage ("Code Object", "Code Object Metadata", "Kernel Descriptor"); code object
 * versions 3 to 6.
 *
 * Ownership: everything reachable from a rawhal_hsaco_t lives until rawhal_hsaco_close(); strings
 * and byte ranges of the file point into the caller's bytes (or into the private copy).
 * Thread-safety: immutable after open, so any number of threads may read one. */
#ifndef RAWHAL_HSACO_H
#define RAWHAL_HSACO_H

#include <rawhal/allocator.h>
#include <rawhal/status.h>
#include <rawhal/target.h>

RAWHAL_BEGIN

/* An open code object. */
typedef struct rawhal_hsaco rawhal_hsaco_t;

/* ---- Opening ---- */

/* Flags of rawhal_hsaco_options_t. */
typedef enum rawhal_hsaco_flags {
  RAWHAL_HSACO_COPY = 1u << 0, /* keep a private copy of the bytes */
  RAWHAL_HSACO_DESCRIPTOR_KERNELS =
      1u << 1, /* kernels without metadata may be used (they are always listed) */
} rawhal_hsaco_flags_t;

/* Zero-initialise, then set what should differ; 0 means the default. */
typedef struct rawhal_hsaco_options {
  size_t size; /* sizeof(rawhal_hsaco_options_t), or 0: see types.h */
  uint32_t flags;
  uint32_t max_kernels;        /* default 1,000,000 */
  uint32_t max_arguments;      /* of one kernel; default 65,536 */
  uint32_t max_nesting;        /* of metadata containers; at most 128. Unset, 32 is the format's own
                                  bound (it needs 6) and deeper nesting is MALFORMED */
  uint32_t max_diagnostics;    /* recorded; later ones are only counted; default 1,000 */
  uint64_t max_metadata_bytes; /* of all notes together; default 1 GiB */
  const rawhal_allocator_t *allocator; /* of the object and its kernels' layouts; NULL: malloc() */
} rawhal_hsaco_options_t;

/* Opens one ELF code object that occupies exactly `size` bytes. The caller keeps the bytes alive
 * and unchanged until close unless RAWHAL_HSACO_COPY is given. `options` may be NULL. MALFORMED
 * (offset says where), UNSUPPORTED (not AMDGPU HSA, V2, unknown version), CAP_EXCEEDED (an option,
 * or memory and work, which both grow with the bytes alone), OUT_OF_MEMORY. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_hsaco_open(const void *bytes, size_t size,
                                                            const rawhal_hsaco_options_t *options,
                                                            rawhal_hsaco_t **hsaco,
                                                            rawhal_error_t *error);

/* The same for a file that is one code object; rawhal_container_open_file() finds those in bundles
 * and libraries. The file is mapped: later writes to it are seen, and reading past the end of a
 * file that was truncated meanwhile is fatal (SIGBUS). RAWHAL_HSACO_COPY copies a file to which
 * others may write. Also NOT_FOUND, and INVALID_ARGUMENT when it cannot be opened or is not a
 * regular file.
 */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_hsaco_open_file(const char *path, const rawhal_hsaco_options_t *options,
                       rawhal_hsaco_t **hsaco, rawhal_error_t *error);

/* Frees the object and all that is reachable from it. NULL is allowed. */
RAWHAL_API void rawhal_hsaco_close(rawhal_hsaco_t *hsaco);

/* ---- The object as a whole ---- */

/* Facts of the whole object.
 *
 * `loadable` is a promise about ROCr's loader, 5.2.3 and later, which trusts most of what it reads:
 * it neither crashes on these bytes nor reads outside them, accepts them, and finds the usable
 * kernels and the exported variables with the sizes given here. An object may still be refused for
 * what its bytes alone do not decide:
 *   hsa_status_t                           because
 *   INCOMPATIBLE_ARGUMENTS                 the device is another target: rawhal_target_match()
 *   INVALID_ISA_NAME, INVALID_CODE_OBJECT  the same, and the runtime does not know the processor
 *   INVALID_CODE_OBJECT                    the runtime is older than ROCr 6.2 and the object is V6
 *                                          (rawhal_executable_load() relabels it), or has a
 *                                          relocation R_AMDGPU_ABS32 (type 6)
 *   INVALID_CODE_OBJECT                    the runtime is older than ROCr 6.2, and the object has
 *                                          relocations that were kept for a linker (--emit-relocs):
 *                                          it may apply them where they do not belong.
 *                                          rawhal_executable_load() gives it a copy without them
 *   VARIABLE_UNDEFINED                     a relocation needs a variable that the object does not
 *                                          define (an absolute number without a type is none) and
 *                                          that was not supplied before
 *   OUT_OF_RESOURCES                       no memory for the span of the segments (up to 1 GiB)
 * The verdict is stricter than the loader where the loader accepts objects that are not sound:
 * symbol tables and string tables that do not fit together, sections outside the file, reserved
 * bindings, relocations that it silently skips or gets wrong (such as one with an addend to a
 * symbol that is not supplied) or that change a kernel's descriptor. The loader does not check
 * where a kernel starts: one whose entry is not code is unusable, and the object can be loaded for
 * the others. */
typedef struct rawhal_hsaco_info {
  rawhal_bytes_t bytes;         /* the object itself */
  uint32_t code_object_version; /* 3..6 */
  uint16_t elf_type;            /* ET_DYN 3 (loadable), ET_REL 1 (inspectable only) */
  uint16_t elf_machine;         /* 224 */
  uint32_t elf_flags;
  uint8_t elf_osabi;               /* 64 */
  uint8_t elf_abi_version;         /* 1..4 */
  rawhal_target_t target;          /* from e_flags, which decide */
  bool has_metadata;               /* at least one metadata note */
  uint32_t note_count;             /* metadata notes merged */
  uint32_t metadata_version[2];    /* of the first note; 0,0 when absent */
  rawhal_string_t metadata_target; /* amdhsa.target of the first note that has one; may be empty */
  size_t kernel_count, printf_count, diagnostic_count, segment_count, symbol_count,
      relocation_count;
  bool loadable; /* the HSA loader can be given it: see above; if not, a diagnostic says why, too */
  rawhal_string_t not_loadable_reason; /* empty when loadable; the rule and its two numbers; owned
                                          by the object */
} rawhal_hsaco_info_t;

/* Owned by the object. NULL for NULL. */
RAWHAL_API const rawhal_hsaco_info_t *rawhal_hsaco_info(const rawhal_hsaco_t *hsaco);

/* A format string of device printf, "ID:N:S0:...:format" as in the metadata. Empty when index >=
 * printf_count. */
RAWHAL_API rawhal_string_t rawhal_hsaco_printf(const rawhal_hsaco_t *hsaco, size_t index);

/* ---- Content ---- */

/* The hash of a code object's bytes: XXH3, 128 bits, as xxh128sum prints it, the high half first.
 * It tells objects apart; it does not protect against collisions made on purpose. */
typedef struct rawhal_content_hash {
  uint64_t high, low;
} rawhal_content_hash_t;
RAWHAL_API rawhal_content_hash_t rawhal_content_hash(const void *bytes, size_t size);

/* ---- Kernel descriptor ---- */

/* The 64 bytes named NAME.kd, decoded (AMDGPUUsage, "Kernel Descriptor"). */
typedef struct rawhal_descriptor {
  uint64_t address; /* st_value of NAME.kd */
  uint64_t entry;   /* address + entry byte offset: virtual address of the first instruction */
  uint32_t group_segment_size;   /* bytes of static LDS */
  uint32_t private_segment_size; /* bytes of scratch per work-item */
  uint32_t kernarg_size;         /* bytes; 0 = unspecified */
  uint32_t pgm_rsrc1, pgm_rsrc2, pgm_rsrc3;
  uint16_t code_properties;
  uint8_t preload_length;  /* dwords of kernarg preloaded into SGPRs */
  uint16_t preload_offset; /* dwords */
  uint32_t vgpr_count;     /* allocated, from the granules of this processor */
  uint32_t sgpr_count;     /* allocated; 0 where the field means nothing (GFX10+) */
  uint32_t accum_offset;   /* first AGPR on gfx90a and later CDNA, else 0 */
  bool wave32;
  bool uses_dynamic_stack;
} rawhal_descriptor_t;

/* ---- Kernels ---- */

/* What an argument is, by its `.value_kind`. */
typedef enum rawhal_value_kind {
  RAWHAL_VALUE_UNKNOWN =
      0, /* see detail->value_kind_text; treated as hidden when it starts with "hidden_" */
  RAWHAL_VALUE_BY_VALUE = 1,
  RAWHAL_VALUE_GLOBAL_BUFFER = 2,
  RAWHAL_VALUE_DYNAMIC_SHARED_POINTER = 3,
  RAWHAL_VALUE_SAMPLER = 4,
  RAWHAL_VALUE_IMAGE = 5,
  RAWHAL_VALUE_PIPE = 6,
  RAWHAL_VALUE_QUEUE = 7,

  /* From here on: hidden arguments, which the launcher writes, not the caller. */
  RAWHAL_VALUE_HIDDEN_FIRST = 0x80,
  RAWHAL_VALUE_HIDDEN_NONE = 0x80,
  RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_X = 0x81,
  RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_Y = 0x82,
  RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_Z = 0x83,
  RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X = 0x84,
  RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_Y = 0x85,
  RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_Z = 0x86,
  RAWHAL_VALUE_HIDDEN_GROUP_SIZE_X = 0x87,
  RAWHAL_VALUE_HIDDEN_GROUP_SIZE_Y = 0x88,
  RAWHAL_VALUE_HIDDEN_GROUP_SIZE_Z = 0x89,
  RAWHAL_VALUE_HIDDEN_REMAINDER_X = 0x8a,
  RAWHAL_VALUE_HIDDEN_REMAINDER_Y = 0x8b,
  RAWHAL_VALUE_HIDDEN_REMAINDER_Z = 0x8c,
  RAWHAL_VALUE_HIDDEN_GRID_DIMS = 0x8d,
  RAWHAL_VALUE_HIDDEN_PRINTF_BUFFER = 0x8e,
  RAWHAL_VALUE_HIDDEN_HOSTCALL_BUFFER = 0x8f,
  RAWHAL_VALUE_HIDDEN_MULTIGRID_SYNC_ARG = 0x90,
  RAWHAL_VALUE_HIDDEN_HEAP_V1 = 0x91,
  RAWHAL_VALUE_HIDDEN_DEFAULT_QUEUE = 0x92,
  RAWHAL_VALUE_HIDDEN_COMPLETION_ACTION = 0x93,
  RAWHAL_VALUE_HIDDEN_DYNAMIC_LDS_SIZE = 0x94,
  RAWHAL_VALUE_HIDDEN_PRIVATE_BASE = 0x95,
  RAWHAL_VALUE_HIDDEN_SHARED_BASE = 0x96,
  RAWHAL_VALUE_HIDDEN_QUEUE_PTR = 0x97,
  RAWHAL_VALUE_HIDDEN_UNKNOWN = 0xff, /* starts with "hidden_", kind not known here: zero-filled */
} rawhal_value_kind_t;

/* `.address_space` of an argument. */
typedef enum rawhal_address_space {
  RAWHAL_ADDRESS_SPACE_NONE = 0, /* not given */
  RAWHAL_ADDRESS_SPACE_PRIVATE = 1,
  RAWHAL_ADDRESS_SPACE_GLOBAL = 2,
  RAWHAL_ADDRESS_SPACE_CONSTANT = 3,
  RAWHAL_ADDRESS_SPACE_LOCAL = 4,
  RAWHAL_ADDRESS_SPACE_GENERIC = 5,
  RAWHAL_ADDRESS_SPACE_REGION = 6,
} rawhal_address_space_t;

/* `.access` and `.actual_access` of an argument. */
typedef enum rawhal_access {
  RAWHAL_ACCESS_NONE = 0, /* not given */
  RAWHAL_ACCESS_READ_ONLY = 1,
  RAWHAL_ACCESS_WRITE_ONLY = 2,
  RAWHAL_ACCESS_READ_WRITE = 3,
} rawhal_access_t;

/* Flags of an argument: `.is_const`, `.is_restrict`, `.is_volatile` and `.is_pipe` in its metadata.
 */
typedef enum rawhal_argument_flags {
  RAWHAL_ARGUMENT_CONST = 1u << 0,
  RAWHAL_ARGUMENT_RESTRICT = 1u << 1,
  RAWHAL_ARGUMENT_VOLATILE = 1u << 2,
  RAWHAL_ARGUMENT_PIPE = 1u << 3,
} rawhal_argument_flags_t;

/* What few arguments have and few readers want. Arguments of one kind with nothing but that kind
 * share one. */
typedef struct rawhal_argument_detail {
  rawhal_string_t value_kind_text;       /* `.value_kind` as it is spelled */
  rawhal_string_t type_name, value_type; /* empty when absent */
  uint32_t pointee_align;                /* bytes, 0 when absent */
} rawhal_argument_detail_t;

/* One argument of a kernel, as its metadata describes it. */
typedef struct rawhal_argument {
  rawhal_string_t name;                   /* empty when absent */
  const rawhal_argument_detail_t *detail; /* never NULL */
  uint32_t offset, size;                  /* bytes; from the start of the kernarg segment */
  uint8_t value_kind;                     /* rawhal_value_kind_t */
  uint8_t address_space;                  /* rawhal_address_space_t */
  uint8_t access, actual_access;          /* rawhal_access_t */
  uint8_t flags;                          /* RAWHAL_ARGUMENT_* */
} rawhal_argument_t;

/* Whether the launcher writes it, not the caller. */
RAWHAL_API bool rawhal_argument_is_hidden(const rawhal_argument_t *argument);

/* One kernel: what its metadata, its symbol and its descriptor say. Owned by the object. */
typedef struct rawhal_kernel {
  rawhal_string_t name;                  /* source name: what callers look up */
  rawhal_string_t symbol;                /* "NAME.kd": what the loader looks up */
  bool has_metadata;                     /* false: known by its ELF symbols and descriptor only */
  bool usable;                           /* may be dispatched */
  rawhal_string_t unusable_reason;       /* empty when usable; owned by the object */
  const rawhal_descriptor_t *descriptor; /* NULL when the file has none that can be read */

  /* Metadata; zeros when absent. Sizes in bytes. */
  bool has_arguments; /* `.args` present, even if empty: the layout is known */
  const rawhal_argument_t *arguments;
  uint32_t argument_count;
  uint32_t kernarg_segment_size, kernarg_segment_align;
  uint32_t group_segment_fixed_size, private_segment_fixed_size;
  uint32_t wavefront_size;
  uint32_t sgpr_count, vgpr_count, agpr_count, sgpr_spill_count, vgpr_spill_count;
  uint32_t max_flat_workgroup_size;
  uint32_t reqd_workgroup_size[3], workgroup_size_hint[3], cluster_dims[3]; /* 0,0,0 when absent */
  uint32_t max_num_workgroups[3];
  uint32_t language_version[2];
  rawhal_string_t language, vec_type_hint, device_enqueue_symbol, kind;
  bool uses_dynamic_stack, workgroup_processor_mode, uniform_work_group_size;
  rawhal_bytes_t metadata; /* the kernel's own msgpack map, for readers that want it verbatim */
  const rawhal_hsaco_t *object; /* that contains it; NULL for a kernel that the caller made up */
} rawhal_kernel_t;

/* NULL when index >= kernel_count. Kernels with metadata come first, in file order. */
RAWHAL_API const rawhal_kernel_t *rawhal_hsaco_kernel(const rawhal_hsaco_t *hsaco, size_t index);

/* Finds a kernel by `.name` or by symbol ("NAME.kd"); NULL when there is none. O(1). */
RAWHAL_API const rawhal_kernel_t *rawhal_hsaco_find_kernel(const rawhal_hsaco_t *hsaco,
                                                           rawhal_string_t name);

/* ---- Verbatim metadata ---- */

/* Writes all metadata of the object as one JSON value: AMDGPUUsage's keys without the leading dot
 * (and without "amdhsa." at the root: version, target, printf, kernels; the last two always lists),
 * in file order, unknown keys included, notes merged. Bytes of a string that are not UTF-8 become
 * U+0080..U+00FF; a map or an array used as a key becomes "?". Kernels come first; each of them
 * begins a line, and so does each key after them, and nothing else does. `write` gets the text in
 * pieces, in order, and returns false to stop (INVALID_ARGUMENT). */
typedef bool rawhal_write_fn(void *context, const char *text, size_t size);
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_hsaco_metadata_json(const rawhal_hsaco_t *hsaco,
                                                                     rawhal_write_fn *write,
                                                                     void *context,
                                                                     rawhal_error_t *error);

/* The same for one msgpack value, such as rawhal_kernel_t.metadata. MALFORMED when it is not one.
 */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_metadata_to_json(rawhal_bytes_t value,
                                                                  rawhal_write_fn *write,
                                                                  void *context,
                                                                  rawhal_error_t *error);

/* ---- Segments, symbols, relocations ---- */

/* A program header. */
typedef struct rawhal_segment {
  uint32_t type, flags;                       /* PT_* and PF_* */
  uint64_t offset;                            /* in the object, bytes */
  uint64_t address;                           /* virtual */
  uint64_t file_size, memory_size, alignment; /* bytes */
} rawhal_segment_t;
/* In the order of the program headers. NULL when index >= segment_count. */
RAWHAL_API const rawhal_segment_t *rawhal_hsaco_segment(const rawhal_hsaco_t *hsaco, size_t index);

/* What a symbol names. */
typedef enum rawhal_symbol_kind {
  RAWHAL_SYMBOL_KERNEL = 0, /* NAME.kd */
  RAWHAL_SYMBOL_FUNCTION = 1,
  RAWHAL_SYMBOL_VARIABLE = 2, /* exported data; unless `defined`, to be supplied before loading */
  RAWHAL_SYMBOL_OTHER = 3,
} rawhal_symbol_kind_t;

/* A global or weak symbol that has a name, from .symtab or, if there is none, from .dynsym. */
typedef struct rawhal_symbol {
  rawhal_string_t name;
  uint64_t address, size; /* st_value; bytes */
  rawhal_symbol_kind_t kind;
  bool defined; /* in this object */
} rawhal_symbol_t;
/* In the order of the table. NULL when index >= symbol_count. */
RAWHAL_API const rawhal_symbol_t *rawhal_hsaco_symbol(const rawhal_hsaco_t *hsaco, size_t index);

/* An entry of a SHT_RELA section (AMDGPUUsage, "Relocation Records"), except those of a linked
 * object that were kept for a linker (--emit-relocs). */
typedef struct rawhal_relocation {
  uint64_t address; /* of the field; in a relocatable object, offset in the section it is for */
  int64_t addend;
  rawhal_string_t symbol; /* empty: none, or a section's */
  uint32_t type;          /* R_AMDGPU_*: 3 is ABS64, 13 RELATIVE64 */
  bool external; /* the symbol is a variable that is not in this object: it must be supplied
                    before loading, see rawhal_executable_load_with() */
} rawhal_relocation_t;
/* In the order of the section headers. NULL when index >= relocation_count. */
RAWHAL_API const rawhal_relocation_t *rawhal_hsaco_relocation(const rawhal_hsaco_t *hsaco,
                                                              size_t index);

/* ---- Diagnostics ---- */

/* How bad it is. */
typedef enum rawhal_severity {
  RAWHAL_SEVERITY_NOTE = 0,    /* an oddity without consequence */
  RAWHAL_SEVERITY_WARNING = 1, /* handled by a rule the message names */
  RAWHAL_SEVERITY_ERROR = 2,   /* something here cannot be used: a kernel, or loading the object */
} rawhal_severity_t;

/* Something odd about an object that opened all the same. What many kernels share is reported once,
 * with their number. */
typedef struct rawhal_diagnostic {
  rawhal_severity_t severity;
  rawhal_string_t kernel;  /* the first it is about; empty when it is about the object */
  uint64_t offset;         /* in the object, or RAWHAL_NO_OFFSET */
  rawhal_string_t message; /* one line */
} rawhal_diagnostic_t;
/* In the order in which they were found. NULL when index >= diagnostic_count, which is at most
 * max_diagnostics; where there were more, the last says how many. */
RAWHAL_API const rawhal_diagnostic_t *rawhal_hsaco_diagnostic(const rawhal_hsaco_t *hsaco,
                                                              size_t index);

RAWHAL_END

#endif
