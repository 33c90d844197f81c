/* Jumps further than s_branch reaches, as Tensile's kernels have them. Internal to this folder.
 *
 *     s_getpc_b64 s[d:d+1]              s_getpc_b64 s[d:d+1]
 *     s_add_i32 s[t], LITERAL, 4        s_add_i32 s[t], LITERAL, 4
 *     s_add_u32 s[d], s[d], s[t]        s_abs_i32 s[t], s[t]
 *     s_addc_u32 s[d+1], s[d+1], 0      s_sub_u32 s[d], s[d], s[t]
 *     s_setpc_b64 s[d:d+1]              s_subb_u32 s[d+1], s[d+1], 0
 *                                       s_setpc_b64 s[d:d+1]
 *
 * Whoever has come to s_setpc_b64 by the instructions before it goes to one place. */
#ifndef RAWHAL_PROBE_JUMP_H
#define RAWHAL_PROBE_JUMP_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the instruction `at` dwords from `code`, with all before it, ends such a jump; then the
 * place of its s_getpc_b64, and where it leads, in dwords, which may be before the code or behind
 * it. */
bool jump_is_far(const unsigned char *code, uint64_t at, uint64_t *first, int64_t *target);

#endif
