/* Kernels as every compiler writes them, in a fraction of the time. Internal.
 *
 * With msgpack-c's parser alone, two thirds of opening a large object go by between its callbacks.
 * This one takes the common tokens only, in the places they belong to. Whatever else it meets,
 * sound or not, it leaves to unpack_kernel() and unpack_value(), which start over and alone decide
 * what is wrong. */
#ifndef RAWHAL_HSACO_QUICK_H
#define RAWHAL_HSACO_QUICK_H

#include "hsaco/unpack.h"

/* Does what unpack_value() does for numbers, texts, booleans and, with SHAPE_NUMBERS, lists of
 * them, or returns false and leaves *offset as it was. */
bool quick_value(unpacker_t *unpacker, unpack_shape_t shape, uint32_t depth, size_t *offset,
                 unpack_value_t *value);

/* Does what unpack_kernel() does, to the same record, or returns false and leaves *offset and the
 * arena as they were. Reads nothing outside of the note. */
bool quick_kernel(unpacker_t *unpacker, uint32_t depth, size_t *offset, rawhal_kernel_t *kernel);

#endif
