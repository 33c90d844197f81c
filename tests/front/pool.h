// front/probe/memory.h, whose structures C++ cannot read.
#ifndef RAWHAL_TESTS_FRONT_POOL_H
#define RAWHAL_TESTS_FRONT_POOL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void *pool_make(uint64_t each);
void pool_end(void *pool);
void *pool_take(void *pool, uint64_t bytes, uint64_t *size); // NULL: none
void pool_give_back(void *pool, void *memory);

#ifdef __cplusplus
}
#endif

#endif
