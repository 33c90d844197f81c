/* Philox4x32-10 on the CPU: the reference the demo holds the device's numbers against.
 *
 * Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC11. A counter-based
 * generator: ten rounds of multiplication and xor turn a 128-bit counter and a 64-bit key into four
 * 32-bit numbers; consecutive counters give the stream. */
#ifndef TOOLS_DEMO_PHILOX_H
#define TOOLS_DEMO_PHILOX_H

#include <stddef.h>
#include <stdint.h>

void philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t result[4]);

/* Numbers `offset` .. `offset + count - 1` of the stream with this seed: number i is word i % 4 of
 * counter i / 4, and the seed is the key, low word first. */
void philox_stream(uint64_t seed, uint64_t offset, uint32_t *numbers, size_t count);

#endif
