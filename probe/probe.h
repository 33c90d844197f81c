/* rawhal/probe.h: kernels with probes in them, made from their code alone.
 *
 * A plan says where a kernel's code is to be probed, and what that takes; or why it cannot be. It
 * is applied to give a code object of one kernel, of the same name, whose code is the original's
 * with probes between its instructions. The kernel takes one argument more, behind all of the
 * original's (rawhal_probe_argument_t), and needs none of the original's object but its variables:
 * it uses those of the original, where that is loaded. Original and probed kernel can be loaded
 * side by side, and each dispatch chooses.
 *
 * Nothing of the original's source, compiler or assembler is needed, and nothing is disassembled:
 * what is free follows from the instructions that the kernel can reach. Code for gfx90a, gfx942 and
 * gfx950. This has not met hardware: results were compared on softgpu, bit for bit.
 *
 * What a probe leaves alone: each register that the kernel's code names, VCC, EXEC, SCC where that
 * may be read, and all memory but that of its argument. Where no VGPR is left, it uses one of the
 * kernel's between two instructions, and gives it its value again. What it changes: times, how many
 * registers a wave takes, and with that how many waves run at a time; where no register is left,
 * scratch memory, which a kernel without any then has; and PC, which differs from the original's in
 * traps and for s_getpc_b64, which gives what it gives in the original.
 *
 * Thread-safety: a plan is immutable, and any number of threads may apply and read it. */
#ifndef RAWHAL_PROBE_H
#define RAWHAL_PROBE_H

#include <rawhal/hsaco.h>
#include <rawhal/probe_records.h>

RAWHAL_BEGIN

/* The name of one kind: "waves". NULL: it is none, or several. From RAWHAL_PROBE_WAVES on, each bit
 * has one up to the first that has none. */
RAWHAL_API const char *rawhal_probe_kind_name(rawhal_probe_kind_t kind);
/* Kinds from their names, with + between: "waves+blocks". INVALID_ARGUMENT: one is no name. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_probe_kinds_parse(rawhal_string_t text,
                                                                   uint32_t *kinds,
                                                                   rawhal_error_t *error);

/* A planned kernel. */
typedef struct rawhal_probe_plan rawhal_probe_plan_t;

/* A register that is to be recorded (RAWHAL_PROBE_VALUES). */
typedef struct rawhal_probe_value {
  uint32_t offset; /* of the instruction before which, bytes from the kernel's first */
  uint32_t number; /* of the register */
  bool is_vector;  /* a VGPR; else an SGPR */
} rawhal_probe_value_t;

/* One from REGISTER@OFFSET: "v3@0x40" or "s12@64"; hexadecimal digits, and their "0X", may be
 * capitals, as disassemblers write them. INVALID_ARGUMENT: it is none, and *value is
 * zeros. Whether the kernel has an instruction there is the plan's to say. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_probe_value_parse(rawhal_string_t text,
                                                                   rawhal_probe_value_t *value,
                                                                   rawhal_error_t *error);

/* Flags of rawhal_probe_spec_t. */
typedef enum rawhal_probe_flags {
  RAWHAL_PROBE_KEEP_IN_LANES = 1u << 0,   /* what is kept goes to lanes of a VGPR, also where there
                                             are SGPRs for it: for tests */
  RAWHAL_PROBE_KEEP_IN_SCRATCH = 1u << 1, /* likewise, to scratch memory: only of waves */
  RAWHAL_PROBE_POINTS_ONLY = 1u << 2,     /* no registers are needed: somebody else records at the
                                             points, as softgpu does, and the plan is not applied */
  RAWHAL_PROBE_LEND_TO_AGPR = 1u << 3,    /* where lanes are recorded, a VGPR is lent, also where
                                             there is a free one, and its value is in an AGPR
                                             meanwhile: for tests */
  RAWHAL_PROBE_LEND_TO_SCRATCH = 1u << 4, /* likewise, in scratch memory; with both there, if waves
                                             have any, else in an AGPR */
} rawhal_probe_flags_t;

/* What is wanted. Zero-initialise, then set what should differ. */
typedef struct rawhal_probe_spec {
  size_t size;                        /* sizeof(rawhal_probe_spec_t): see types.h */
  uint32_t kinds;                     /* rawhal_probe_kind_t, at least one */
  uint32_t flags;                     /* rawhal_probe_flags_t */
  const rawhal_probe_value_t *values; /* for RAWHAL_PROBE_VALUES, at most 64 */
  size_t value_count;
} rawhal_probe_spec_t;

/* Plans a kernel, which must stay open as long as the plan, and has its object's allocator.
 * UNSUPPORTED: it cannot be probed, with the reason, and as the error's offset where in the object;
 * MALFORMED: its code leaves the object, or is none; INVALID_ARGUMENT: no kinds, or a value's place
 * is not an instruction; CAP_EXCEEDED: there is more of it than a probe can name. Time and memory
 * are proportional to the code. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_probe_plan(const rawhal_kernel_t *kernel,
                                                            const rawhal_probe_spec_t *spec,
                                                            rawhal_probe_plan_t **plan,
                                                            rawhal_error_t *error);
/* NULL is allowed. */
RAWHAL_API void rawhal_probe_plan_destroy(rawhal_probe_plan_t *plan);

/* What a plan found, and what it takes. Owned by the plan. */
typedef struct rawhal_probe_plan_info {
  const rawhal_kernel_t *kernel;
  uint32_t kinds;                /* with those that others include */
  uint32_t instructions, blocks; /* that the kernel can reach */
  uint32_t code_bytes;           /* from its first byte to the end of the last of them */
  uint32_t named_sgprs, named_vgprs, named_agprs; /* one more than the highest; 0: none */
  uint32_t kept_sgprs, first_kept_sgpr; /* registers of the probe's own, through the kernel */
  uint32_t kept_vgprs, first_kept_vgpr;
  uint32_t argument_offset; /* of rawhal_probe_argument_t in the kernargs */
  uint32_t kernarg_size;    /* bytes, with that */
  uint32_t counters;
  uint32_t event_bytes; /* of one, with lanes where there are any; 0: no events */
  bool reads_pc;        /* rawhal_probe_apply() has to know where the original is loaded */
  const rawhal_probe_point_t *points;
  size_t point_count;
  uint32_t scratch_bytes; /* of scratch memory for each work-item, for what else would be in kept
                             registers, or for a VGPR's value while that is lent: so many dispatches
                             need. 0 where the original has any */
  uint32_t lent_vgprs;    /* of the kernel's, each in use between two of its instructions: 0 or 1 */
} rawhal_probe_plan_info_t;
RAWHAL_API const rawhal_probe_plan_info_t *rawhal_probe_plan_info(const rawhal_probe_plan_t *plan);

/* Bytes of the memory for a dispatch's header, counters and waves: a multiple of 64. Events take
 * event_bytes each, elsewhere or behind it. UINT64_MAX: it is more than can be said. */
RAWHAL_API uint64_t rawhal_probe_buffer_bytes(const rawhal_probe_plan_t *plan,
                                              uint32_t wave_capacity);

/* The original's address on the device is not known, or does not matter: see reads_pc. */
#define RAWHAL_PROBE_NOWHERE UINT64_MAX

/* Makes the code object with the probed kernel. `load_delta`: what is to be added to the original
 * object's own addresses to get those where it is loaded. The bytes are freed by
 * rawhal_probe_free(). INVALID_ARGUMENT: the delta is needed, or the plan only has points;
 * CAP_EXCEEDED: with probes between, branches cannot be made to reach, or the object has more than
 * 1 GiB; OUT_OF_MEMORY. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_probe_apply(const rawhal_probe_plan_t *plan,
                                                             uint64_t load_delta,
                                                             rawhal_bytes_t *bytes,
                                                             rawhal_error_t *error);
RAWHAL_API void rawhal_probe_free(const rawhal_probe_plan_t *plan, rawhal_bytes_t *bytes);

/* Where in the original an instruction of the probed kernel comes from: bytes from the first
 * instruction of the one, of any of its bytes, and of the other, as in points. Of a probe's own,
 * which `*is_probe` says, the instruction that it is at. NOT_FOUND: no instruction is there;
 * INVALID_ARGUMENT; OUT_OF_MEMORY. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_probe_origin(const rawhal_probe_plan_t *plan,
                                                              uint64_t offset, uint32_t *original,
                                                              bool *is_probe,
                                                              rawhal_error_t *error);

/* Holds a code object against the original, by what is in both alone and by other code than that
 * which made it: each instruction of the original is there once and in its order, branches lead to
 * the same ones, and what is between is of few opcodes, leaves the registers that the original
 * names as they are, and SCC where that may be read, waits for what it loads, and stores only into
 * the argument's memory: there within counters, and records that there is room for; and puts into
 * scratch memory only what it takes from there at the end. What records say is not held against
 * anything. MALFORMED, with the offset in `bytes`, and what is wrong there, or it would take too
 * long to tell; INVALID_ARGUMENT: no kernel, or the delta is needed; OUT_OF_MEMORY; and what
 * rawhal_hsaco_open() and rawhal_probe_plan() say of the code in either. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_probe_verify(const rawhal_kernel_t *original,
                                                              const void *bytes, size_t size,
                                                              uint64_t load_delta,
                                                              rawhal_error_t *error);

RAWHAL_END

#endif
