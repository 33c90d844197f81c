/* Dispatches in an order that can be had again. Internal to softgpu.
 *
 * One thread at a time executes; which wave it is that goes on, and for how long, follows from a
 * seed and from what the waves do, so that a dispatch that finds the same runs the same, on either
 * engine. Waves read a clock that counts their turns. */
#ifndef SOFTGPU_ORDER_ORDER_H
#define SOFTGPU_ORDER_ORDER_H

#include <stdint.h>

/* From the next dispatch on, while there are none. 1 is the usual order of turns on one thread, any
 * other number one of its own; 0: there is none. */
void order_begin(uint64_t seed);
uint64_t order_seed(void);

#endif
