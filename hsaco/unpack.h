/* Decoding one msgpack value of the metadata, streaming. Internal.
 *
 * msgpack-c's template parser calls back for each token; nothing is allocated for what the bytes
 * merely claim, and no tree is built. The caller walks the root map and hands over each value, so
 * that one kernel is one call and its exact extent is known. */
#ifndef RAWHAL_HSACO_UNPACK_H
#define RAWHAL_HSACO_UNPACK_H

#include "hsaco/arena.h"
#include "hsaco/key_table.h"

enum { UNPACK_MOST_NESTING = 128 };

typedef enum unpack_shape {            /* what a container is decoded as */
                            SHAPE_ANY, /* skipped */
                            SHAPE_KERNEL,
                            SHAPE_ARGUMENTS,
                            SHAPE_ARGUMENT,
                            SHAPE_NUMBERS,
} unpack_shape_t;

typedef enum unpack_type {
  VALUE_NIL,
  VALUE_BOOL,
  VALUE_UINT,
  VALUE_NEGATIVE,
  VALUE_STRING,
  VALUE_OTHER, /* float, bin, ext */
  VALUE_CONTAINER,
} unpack_type_t;

typedef struct unpack_value {
  union {
    const char *text;
    uint64_t number;
  };
  uint32_t size; /* of text */
  uint8_t type;  /* unpack_type_t */
  uint8_t shape; /* of containers: unpack_shape_t */
} unpack_value_t;

typedef enum unpack_problem_kind {
  PROBLEM_TYPE,
  PROBLEM_RANGE,
  PROBLEM_TWICE,
  PROBLEM_MISSING,
  PROBLEM_NOT_A_MAP,
} unpack_problem_kind_t;

enum { PROBLEM_OF_KERNEL = UINT32_MAX };

/* Something wrong with one key of a kernel or of its argument number `argument`. */
typedef struct unpack_problem {
  const metadata_key_t *key; /* NULL for PROBLEM_NOT_A_MAP */
  uint32_t argument;
  uint8_t kind;
} unpack_problem_t;

enum { /* seen in the arguments of a kernel, bits */
       ODD_UNNAMED = 1,
       ODD_POINTER_UNALIGNED = 2,
       ODD_UNORDERED = 4,
       ODD_UNKNOWN_KIND = 8,
       ODD_UNKNOWN_ARGUMENT_KEY = 16,
       ODD_UNKNOWN_KERNEL_KEY = 32,
};

enum { UNPACK_MOST_PROBLEMS = 8, UNPACK_GUESSES = 16 };

typedef struct unpacker {
  arena_t *arena;
  const char *bytes; /* of the note */
  size_t size;
  uint32_t max_arguments, max_nesting;
  rawhal_status_t nesting_failure; /* of what nests deeper */

  /* For one value; see unpack_value() and unpack_kernel(). */
  uint32_t depth; /* of containers around it */
  uint8_t shape;
  uint32_t numbers[3], number_count;
  bool numbers_fit;
  rawhal_kernel_t *kernel;
  uint64_t seen;          /* keys of the kernel, by their bits */
  uint32_t argument_seen; /* of the argument being read */
  rawhal_argument_t *argument;
  rawhal_argument_detail_t detail; /* of it, if it has one of its own */
  bool has_detail;
  rawhal_argument_t *arguments;
  uint32_t argument_count;
  uint64_t arguments_end;                        /* the furthest */
  uint32_t furthest;                             /* argument */
  const metadata_key_t *guesses[UNPACK_GUESSES]; /* of quick.c: an argument's next key */
  uint32_t odd;                                  /* ODD_* */
  unpack_problem_t problems[UNPACK_MOST_PROBLEMS];
  uint32_t problem_count;

  rawhal_status_t failure; /* what a callback stopped for */
  const char *why;
  void *stack; /* of the parser */
} unpacker_t;

/* Decodes the value at *offset and moves past it. On failure *offset is the place, and `failure`
 * and `why` are set. A value whose root is an array of numbers (shape SHAPE_NUMBERS) leaves them in
 * `numbers`. */
bool unpack_value(unpacker_t *unpacker, unpack_shape_t shape, uint32_t depth, size_t *offset,
                  unpack_value_t *value);

/* The same for a kernel's map. What the arena gave for a kernel that fails stays taken. */
bool unpack_kernel(unpacker_t *unpacker, uint32_t depth, size_t *offset, rawhal_kernel_t *kernel);

/* The header of a container only: how many items follow. */
typedef enum unpack_header { HEADER_OTHER, HEADER_ARRAY, HEADER_MAP, HEADER_CUT } unpack_header_t;
unpack_header_t unpack_header(const unpacker_t *unpacker, size_t *offset, uint32_t *count);

#endif
