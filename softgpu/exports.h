/* Marks the functions of softgpu.h where they are defined. */
#ifndef SOFTGPU_EXPORTS_H
#define SOFTGPU_EXPORTS_H

#include "softgpu/softgpu.h"

#define SOFTGPU_EXPORT __attribute__((visibility("default")))

#endif
