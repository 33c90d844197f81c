/* Checks of the parts of pools, which C++ cannot include: NULL, or what is wrong. */
#ifndef RAWHAL_TESTS_POOL_HEAP_PARTS_H
#define RAWHAL_TESTS_POOL_HEAP_PARTS_H

#ifdef __cplusplus
extern "C" {
#endif

const char *heap_check_classes(void);
const char *heap_check_index(void);
const char *heap_check_blocks(void);

#ifdef __cplusplus
}
#endif

#endif
