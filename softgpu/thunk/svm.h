/* Shared virtual memory: the program's own, which devices use at the program's addresses. */
#ifndef SOFTGPU_THUNK_SVM_H
#define SOFTGPU_THUNK_SVM_H

#include <stdint.h>

/* Says that something new is at [base, base + size): what was said about it before is void. The
 * kernel driver is told when memory goes; the thunk sees only that its place is taken. */
void softgpu_svm_forget(uint64_t base, uint64_t size);

void softgpu_svm_close(void);

#endif
