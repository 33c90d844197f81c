/* Names of kernels, for reports. */
#ifndef SOFTGPU_CP_KERNEL_NAME_H
#define SOFTGPU_CP_KERNEL_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The name of the kernel whose descriptor is at `kernel_object`, from the symbols of the code
 * object around it in the device's memory, where the loader left them. False, and `text` empty,
 * when there are none. Longer names are cut off. */
bool softgpu_kernel_name(uint64_t kernel_object, char *text, size_t size);

#endif
