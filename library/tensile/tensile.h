/* rawhal/tensile.h: what a solution library of Tensile contains: rocBLAS's and hipBLASLt's *.dat,
 * and *.dat.zlib, which are unpacked first.
 *
 * Tensile writes, next to its code objects, what chooses among their kernels: a list of solutions,
 * each a kernel with the problems that it is for and the sizes that it works with, and a tree that
 * leads from a problem to a solution. This reads the solutions, and the names of the other
 * libraries that the tree refers to ("lazy loading": a file for each type of problem). It chooses
 * nothing: the predicates and tables of the tree are passed over. With a rawhal_library_t of the
 * folder, which is as lazy, a solution leads to its kernel.
 *
 * Facts, all from public sources: the tables are msgpack, their keys as in Tensile's and
 * hipBLASLt's (tensilelite) Serialization/SolutionLibrary.hpp, ContractionSolution.hpp and
 * PlaceholderLibrary.hpp; PlaceholderLibrary.hpp, getCodeObjectFileName(), and
 * HipSolutionAdapter.cpp say where a kernel's code object is.
 *
 * Ownership: everything returned lives until the library is closed. Thread-safety: once opened it
 * does not change. Cost: one pass, of 20 ns per byte if each is a value of its own; memory is
 * bounded by the file's size, or what it unpacks to, 1 GiB at most. */
#ifndef RAWHAL_TENSILE_H
#define RAWHAL_TENSILE_H

#include <rawhal/library.h>

RAWHAL_BEGIN

/* An open solution library. */
typedef struct rawhal_tensile rawhal_tensile_t;

/* Zero-initialise, then set what should differ. Read during the call only. */
typedef struct rawhal_tensile_options {
  size_t size; /* sizeof(rawhal_tensile_options_t), or 0: see types.h */
  /* What the code objects of this library are named after: its own file's name without ".dat" or
   * ".dat.zlib", as Tensile names them. For a file it is taken from the path unless it is set; for
   * one that shares its code objects (TensileLibrary.dat, TensileLibrary_gfx*.dat,
   * TensileLibrary_lazy_*.dat) there is none. Empty: no solution says where its code object is. */
  rawhal_string_t prefix;
  /* The device's, "gfx90a" or with qualifiers, which are dropped: the code objects of source
   * kernels in a library that is a fallback have it in their name. Empty: those solutions have no
   * code object. */
  rawhal_string_t target;
  const rawhal_allocator_t *allocator; /* NULL: malloc() */
} rawhal_tensile_options_t;

/* What the kernel takes besides the problem's own arguments (hipBLASLt only: `internalArgsSupport`
 * in tensilelite's ContractionSolution.hpp). */
typedef struct rawhal_tensile_arguments {
  bool known;                                        /* the library says it */
  int64_t version;                                   /* of the protocol */
  bool global_split_u, workgroup_mapping, stagger_u; /* are arguments instead of constants */
  bool universal; /* the arguments are the same for one product and for many (grouped) */
} rawhal_tensile_arguments_t;

/* Sizes as the solution's `sizeMapping` has them, which may be negative if Tensile says so.
 * Dimensions that are not stated are 0: threadTile has two of them in files of both writers. */
typedef struct rawhal_tensile_sizes {
  int64_t workgroup[3], thread_tile[3], macro_tile[3]; /* in work-items; elements; elements */
  int64_t depth_u;                                     /* of the sum, at once */
  int64_t global_split_u;                              /* work-groups that share a sum */
  int64_t stagger_u, stagger_stride_shift, workgroup_mapping;
  /* hipBLASLt only: staggerUMapping, workGroupMappingXCC and -XCCGroup, globalSplitUCoalesced and
   * -WorkGroupMappingRoundRobin. */
  int64_t stagger_mapping, xcc, xcc_group, split_coalesced, split_round_robin;
  int64_t global_accumulation;  /* 0: no second kernel adds up the shares */
  int64_t workspace_per_c;      /* bytes for each element of C */
  int64_t stream_k, persistent; /* 0 if not stated */
} rawhal_tensile_sizes_t;

/* One solution. Strings and bytes are the library's. */
typedef struct rawhal_tensile_solution {
  int64_t index;          /* what the tree calls it */
  rawhal_string_t name;   /* of the solution */
  rawhal_string_t kernel; /* its kernel's `.name`: for Tensile the same, for hipBLASLt its own */
  rawhal_string_t
      code_object;    /* file name, in the library's folder; empty: not known, see the options */
  bool source_kernel; /* compiled, not assembled */
  rawhal_tensile_sizes_t sizes;
  rawhal_tensile_arguments_t arguments;
  rawhal_string_t operation;                 /* "Contraction_l_Alik_Bjlk_Cijk_Dijk" */
  rawhal_bytes_t size_mapping, problem_type; /* all that it says of these, msgpack */
} rawhal_tensile_solution_t;

/* What hipBLASLt's host code tells the solution's kernel about sharing out one product, as words of
 * 32 bits, up to RAWHAL_TENSILE_SPLIT_ARGUMENTS: the first of its arguments if `universal`, else
 * those after beta. To use another split or mapping than the solution's, change a copy of it.
 * Numbers that do not fit are truncated as hipBLASLt does it. `workgroups`: of the grid, which for
 * versions from 1 has one dimension, except on gfx12; `compute_units`: the device's.
 * docs/tensile.md has each bit, the other arguments and the sources. UNSUPPORTED: a solution of
 * Tensile's, which has none, or a version above 2; INVALID_ARGUMENT: NULL, or compute_units is
 * needed and 0. */
enum { RAWHAL_TENSILE_SPLIT_ARGUMENTS = 4 };
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_tensile_split_arguments(
    const rawhal_tensile_solution_t *solution, uint32_t workgroups, uint32_t compute_units,
    uint32_t words[RAWHAL_TENSILE_SPLIT_ARGUMENTS], uint32_t *count, rawhal_error_t *error);

/* Whether these bytes start as a solution library does: a map whose first key is one of a
 * library's, or a zlib stream of one, for which the first 1,024 bytes are enough. */
RAWHAL_API bool rawhal_tensile_recognise(const void *bytes, size_t size);

/* Reads a solution library. The bytes must stay unchanged until it is closed. MALFORMED: not a
 * solution library, or damaged, at the offset, which counts in the unpacked bytes once they are
 * unpacked; CAP_EXCEEDED: its tables nest too deep, it unpacks to more than 1 GiB, or its
 * compressed blocks hold next to nothing; OUT_OF_MEMORY. `options` may be NULL. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_tensile_open(const void *bytes, size_t size, const rawhal_tensile_options_t *options,
                    rawhal_tensile_t **tensile, rawhal_error_t *error);
/* The same for a file, which is read first. Also NOT_FOUND, and INVALID_ARGUMENT when it cannot be
 * opened. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_tensile_open_file(const char *path, const rawhal_tensile_options_t *options,
                         rawhal_tensile_t **tensile, rawhal_error_t *error);
/* Frees it with everything that it returned. NULL is allowed. */
RAWHAL_API void rawhal_tensile_close(rawhal_tensile_t *tensile);

/* The version of the Tensile that wrote it; empty if not stated. */
RAWHAL_API rawhal_string_t rawhal_tensile_version(const rawhal_tensile_t *tensile);

/* How many solutions there are. */
RAWHAL_API size_t rawhal_tensile_count(const rawhal_tensile_t *tensile);
/* In the order of the file. NULL when number >= their count. */
RAWHAL_API const rawhal_tensile_solution_t *rawhal_tensile_solution(const rawhal_tensile_t *tensile,
                                                                    size_t number);

/* How many references to other libraries its tree has. */
RAWHAL_API size_t rawhal_tensile_library_count(const rawhal_tensile_t *tensile);
/* A library that the tree refers to, in the order of the file, as often as it is referred to: its
 * file name without ".dat". Empty when number >= their count. */
RAWHAL_API rawhal_string_t rawhal_tensile_library(const rawhal_tensile_t *tensile, size_t number);

/* Loads the kernel of a solution, as rawhal_library_kernel() does: to be given back by
 * rawhal_library_release(). Only those of the library's files count that are named like the
 * solution's code object or, if that has none for the device, have that name with "-xnack-", then
 * "-xnack+" before its ending, and are in the folder of the file that the solution was read from,
 * if it was read from one; for a solution without a code object's name, all files count. NOT_FOUND
 * names the solution; OUT_OF_RANGE: number >= their count; otherwise as rawhal_library_kernel(). */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_tensile_kernel(const rawhal_tensile_t *tensile, size_t number, rawhal_library_t *library,
                      const rawhal_device_kernel_t **kernel, rawhal_error_t *error);

RAWHAL_END

#endif
