/* Records of buffered printf(), and messages of printf() by hostcall. Internal.
 *
 * A record of OpenCL C: a dword, the number of its format, then the arguments. One of HIP: a dword
 * (bit 0: to stderr, bit 1: a format of the metadata, the rest: bytes of the record, this dword
 * included), the format's hash in eight bytes or the format itself as a string argument, then the
 * arguments. Metadata: "NUMBER:COUNT:SIZE:...:FORMAT", where some characters are escaped, and
 * "0:0:HASH,FORMAT". (LLVM's AMDGPUPrintfRuntimeBinding and AMDGPUEmitPrintf; they differ in the
 * language, so a code object has records of one kind. The LLVM of clang 19 says a size for literal
 * strings of 4, 8, ... characters that is 4 more than it stores: what follows them in the record is
 * misread, as by all other runtimes.) */
#ifndef RAWHAL_HAL_SERVICES_PRINTF_H
#define RAWHAL_HAL_SERVICES_PRINTF_H

#include "hal/services/format.h"

/* A format of the metadata. */
typedef struct printf_entry {
  uint64_t key; /* its number or hash */
  rawhal_string_t sizes, format;
  uint32_t count; /* of arguments */
  bool hashed;
  bool clashes; /* another format has the same key */
} printf_entry_t;

typedef struct printf_table {
  printf_entry_t *entries; /* by key */
  size_t count;
  char *characters; /* of formats that had something escaped */
  bool opencl;
  const allocator_t *allocator;
} printf_table_t;

/* Of the metadata's strings, which must outlive it. Those that make no sense are left out.
 * OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t printf_table_make(printf_table_t *table,
                                                 const rawhal_string_t *formats, size_t count,
                                                 const allocator_t *allocator,
                                                 rawhal_error_t *error);
void printf_table_free(printf_table_t *table);

/* Prints records. MALFORMED: one makes no sense. Offsets in messages are those in `bytes`. */
RAWHAL_CHECKED rawhal_status_t printf_records(const printf_table_t *table,
                                              const unsigned char *bytes, size_t size,
                                              services_output_t *output, rawhal_error_t *error);

/* Prints a format, as a string argument, and its arguments; how many bytes that came to. */
size_t printf_message(const unsigned char *bytes, size_t size, services_output_t *output,
                      rawhal_services_stream_t stream);

#endif
