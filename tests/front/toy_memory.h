// Memory of the toy's device: of allocations, handles, loaded code, and what other processes and file
// descriptors have of it. It is there until the last of these lets go, as with the real runtime.
#ifndef RAWHAL_TESTS_FRONT_TOY_MEMORY_H
#define RAWHAL_TESTS_FRONT_TOY_MEMORY_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_loader.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What a queue has of the device: the driver's buffer, and its ring, by what is said of unknown pointers.
enum { toy_queue_bytes = 4096 + 8192 };

#ifdef __cplusplus
extern "C" {
#endif

void toy_memory_fill(unsigned char *core, unsigned char *amd, uint32_t major);
hsa_status_t toy_memory_allocate(size_t size, void **memory);
bool toy_memory_free(void *memory); // false: it is not of the device

size_t toy_live_bytes(void); // of the device
size_t toy_most_bytes(void); // that there ever were since the tables were made
// Of all that is loaded from now on: it fails after it has taken its memory; it takes more than its
// file says; it is changed before it is read.
typedef struct toy_code {
  bool fails;
  size_t more;
} toy_code_t;
extern toy_code_t toy_code;
// A handle as another process sends it, of memory of that size.
hsa_amd_ipc_memory_t toy_foreign(size_t size);

#ifdef __cplusplus
}
#endif

#endif
