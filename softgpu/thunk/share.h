/* Memory that several processes have, as a file of pages without a name that its handle finds. */
#ifndef SOFTGPU_THUNK_SHARE_H
#define SOFTGPU_THUNK_SHARE_H

#include "softgpu/thunk/thunk.h"

/* What a handle says besides where the pages are. */
typedef struct softgpu_share_facts {
  uint64_t size;
  uint32_t node; /* that owns it in the process it comes from */
  HsaMemFlags flags;
} softgpu_share_facts_t;

/* `file` is 0 while nothing is shared. */
typedef struct softgpu_share {
  int file;
  uint64_t device, inode; /* of the file, which the program may have closed without our knowing */
  uint32_t token[3];
} softgpu_share_t;

/* New pages, all zero. False when the system has none. */
bool softgpu_share_create(softgpu_share_t *share, uint64_t size);
/* Those a handle names, for as long as the caller keeps them. False unless the process that made
 * the handle lives, has the pages still, belongs to the same user, and is visible in /proc. */
bool softgpu_share_open(softgpu_share_t *share, const HsaSharedMemoryHandle *handle,
                        softgpu_share_facts_t *facts);
void softgpu_share_close(softgpu_share_t *share);

/* Maps the pages over [address, address + size), which the caller has. */
bool softgpu_share_map(const softgpu_share_t *share, uint64_t address, uint64_t size);

/* Other processes can open it while this one lives and has not closed the share. */
void softgpu_share_handle(const softgpu_share_t *share, const softgpu_share_facts_t *facts,
                          HsaSharedMemoryHandle *handle);

#endif
