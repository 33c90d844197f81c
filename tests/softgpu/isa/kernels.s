// Kernels of the interpreter's tests. kernels.py assembles this file into kernels.inc.

//# macros all
// Work-group 0 goes on, with n in s6; every other one takes 1 of a semaphore and counts itself.
  .macro take_or_give
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dword s6, s[0:1], 0x8
  s_mov_b32 m0, 0
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 give
  ds_gws_sema_p gds
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s7, 1
  s_atomic_add s7, s[4:5], 0x0
  s_endpgm
give:
  .endm

// A scalar instruction between these two: work-group s2 takes record s2 of the input: a s[16:17], b s[18:19], destination
// s[20:21], scc s22, exec s[24:25]; the same registers are stored to its record of the output.
//# salu_begin gfx90a
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_lshl_b32 s3, s2, 6
  s_waitcnt lgkmcnt(0)
  s_load_dwordx16 s[16:31], s[4:5], s3
  s_waitcnt lgkmcnt(0)
  s_mov_b64 exec, s[24:25]
  s_cmp_lg_u32 s22, 0
//# salu_end gfx90a
  s_cselect_b32 s22, 1, 0
  s_mov_b64 s[24:25], exec
  s_store_dwordx4 s[20:23], s[6:7], s3
  s_store_dwordx2 s[24:25], s[6:7], s3 offset:0x10
  s_endpgm

// A vector memory instruction between these two: lane i takes record i of the input: address v[2:3], data v[6:9],
// destination v[10:13], LDS contents v[14:17]; exec s[8:9]. Destination and LDS are stored to its record of the output.
//# vmem_begin gfx90a
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dwordx2 s[8:9], s[0:1], 0x10
  s_load_dwordx4 s[12:15], s[0:1], 0x20
  s_load_dword s16, s[0:1], 0x18
  s_waitcnt lgkmcnt(0)
  s_mov_b32 m0, s16
  v_lshlrev_b32_e32 v1, 6, v0
  v_lshlrev_b32_e32 v18, 4, v0
  global_load_dwordx4 v[2:5], v1, s[4:5]
  global_load_dwordx4 v[6:9], v1, s[4:5] offset:16
  global_load_dwordx4 v[10:13], v1, s[4:5] offset:32
  global_load_dwordx4 v[14:17], v1, s[4:5] offset:48
  s_waitcnt vmcnt(0)
  ds_write_b128 v18, v[14:17]
  s_mov_b64 exec, s[8:9]
//# vmem_end gfx90a
  s_mov_b64 exec, -1
  s_waitcnt vmcnt(0) lgkmcnt(0)
  ds_read_b128 v[14:17], v18
  s_waitcnt lgkmcnt(0)
  global_store_dwordx4 v1, v[10:13], s[6:7]
  global_store_dwordx4 v1, v[14:17], s[6:7] offset:16
  s_endpgm

// out[group] = 1 + 2 + .. + n
//# loop gfx90a
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dword s6, s[0:1], 0x8
  s_mov_b32 s7, 0
  s_waitcnt lgkmcnt(0)
again:
  s_add_u32 s7, s7, s6
  s_sub_u32 s6, s6, 1
  s_cmp_lg_u32 s6, 0
  s_cbranch_scc1 again
  s_lshl_b32 s2, s2, 2
  s_store_dword s7, s[4:5], s2
  s_endpgm

// out[0] = 10 + 1 (function called through a register) + 2 (by distance) + 4 (in other memory, whose address follows out)
//# calls gfx90a
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_mov_b32 s20, 10
  s_getpc_b64 s[8:9]
base:
  s_add_u32 s8, s8, one-base
  s_addc_u32 s9, s9, 0
  s_swappc_b64 s[10:11], s[8:9]
  s_call_b64 s[10:11], two
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[10:11], s[6:7]
  s_store_dword s20, s[4:5], 0x0
  s_endpgm
one:
  s_add_u32 s20, s20, 1
  s_setpc_b64 s[10:11]
two:
  s_add_u32 s20, s20, 2
  s_setpc_b64 s[10:11]
//# callee gfx90a
  s_add_u32 s20, s20, 4
  s_setpc_b64 s[10:11]

// All waves but the first end before the barrier; out[0] = 1 behind it.
//# lonely_barrier gfx90a
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_readfirstlane_b32 s3, v0
  s_cmp_lg_u32 s3, 0
  s_cbranch_scc1 end
  s_barrier
  s_mov_b32 s7, 1
  s_waitcnt lgkmcnt(0)
  s_store_dword s7, s[4:5], 0x0
end:
  s_endpgm

// Group g waits for flags[g + 1], the last one does not, and sets flags[g].
//# chain gfx90a
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dword s6, s[0:1], 0x8
  v_mov_b32_e32 v1, 1
  s_add_u32 s7, s2, 1
  s_lshl_b32 s8, s7, 2
  v_mov_b32_e32 v2, s8
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s7, s6
  s_cbranch_scc1 last
spin:
  s_sleep 1
  global_load_dword v3, v2, s[4:5] glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s9, v3
  s_cmp_eq_u32 s9, 0
  s_cbranch_scc1 spin
last:
  s_lshl_b32 s8, s2, 2
  v_mov_b32_e32 v2, s8
  global_store_dword v2, v1, s[4:5]
  s_endpgm

// Waves of one group wait for each other: wave 0 spins, without sleeping, until the last wave has stored.
//# wave_spin gfx90a
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_readfirstlane_b32 s3, v0
  v_mov_b32_e32 v1, 1
  v_mov_b32_e32 v2, 0
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s3, 0
  s_cbranch_scc0 store
wait:
  global_load_dword v3, v2, s[4:5] glc
  v_readfirstlane_b32 s9, v3
  s_cmp_eq_u32 s9, 0
  s_cbranch_scc1 wait
  s_endpgm
store:
  global_store_dword v2, v1, s[4:5]
  s_endpgm

// The first wave stores 1, counts to 500 and stores 2; the second one keeps in out[1] what it finds.
//# side_by_side gfx90a
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_readfirstlane_b32 s3, v0
  v_mov_b32_e32 v1, 1
  v_mov_b32_e32 v2, 0
  s_mov_b32 s6, 500
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s3, 0
  s_cbranch_scc0 second
  global_store_dword v2, v1, s[4:5]
count:
  s_sub_u32 s6, s6, 1
  s_cmp_lg_u32 s6, 0
  s_cbranch_scc1 count
  v_mov_b32_e32 v1, 2
  global_store_dword v2, v1, s[4:5]
  s_endpgm
second:
  global_load_dword v3, v2, s[4:5] glc
  s_waitcnt vmcnt(0)
  global_store_dword v2, v3, s[4:5] offset:4
  s_endpgm

// Waves of one group keep pace, whatever the lengths of their blocks: wave 0 runs 4800 instructions, in blocks of
// 48, then stores 1. Meanwhile wave 1 counts its rounds of 32 and then stores how many they were.
//# pace gfx90a
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_readfirstlane_b32 s3, v0
  v_mov_b32_e32 v1, 1
  v_mov_b32_e32 v2, 0
  s_mov_b32 s6, 0
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s3, 0
  s_cbranch_scc0 rounds
blocks:
  s_add_u32 s6, s6, 1
  .rept 45
  s_mov_b32 s7, s6
  .endr
  s_cmp_lg_u32 s6, 100
  s_cbranch_scc1 blocks
  global_store_dword v2, v1, s[4:5]
  s_endpgm
rounds:
  s_add_u32 s6, s6, 1
  .rept 26
  s_mov_b32 s7, s6
  .endr
  global_load_dword v3, v2, s[4:5] glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 rounds
  v_mov_b32_e32 v1, s6
  global_store_dword v2, v1, s[4:5] offset:4
  s_endpgm

// Four waves that end up each in a state of its own: wave 0 ends, wave 1 waits at a barrier, wave 2 sleeps, wave 3 counts
// for longer than a slice, then stores its work-items' v1 to the argument, at a dword each. Before, v1 and a3 are 256 times
// the wave and the work-item, as is the work-item's dword of LDS; s8 is the wave.
//# waves_stand gfx90a
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_readfirstlane_b32 s3, v0
  s_lshr_b32 s8, s3, 6
  s_lshl_b32 s9, s8, 8
  v_add_u32_e32 v1, s9, v0
  v_lshlrev_b32_e32 v2, 2, v0
  v_accvgpr_write_b32 a3, v1
  ds_write_b32 v2, v1
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 end
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc1 meet
  s_cmp_eq_u32 s8, 2
  s_cbranch_scc1 asleep
  s_movk_i32 s10, 0x2710
count:
  s_sub_u32 s10, s10, 1
  s_cmp_lg_u32 s10, 0
  s_cbranch_scc1 count
  global_store_dword v2, v1, s[4:5]
asleep:
  s_sleep 1
  s_branch asleep
meet:
  s_barrier
end:
  s_endpgm

// A barrier that wave 2 does not come to before the argument's first dword is not 0. Behind it, each work-item adds 1 to the
// second.
//# barrier_skipped gfx90a
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_readfirstlane_b32 s3, v0
  s_lshr_b32 s8, s3, 6
  v_mov_b32_e32 v1, 1
  v_mov_b32_e32 v2, 0
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s8, 2
  s_cbranch_scc0 meet
spin:
  global_load_dword v3, v2, s[4:5] glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s9, v3
  s_cmp_eq_u32 s9, 0
  s_cbranch_scc1 spin
meet:
  s_barrier
  global_atomic_add v2, v1, s[4:5] offset:4
  s_endpgm

// Group 0 sleeps, at the end of a block longer than a turn, until group 1 has stored.
//# sleep_after_block gfx90a
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32_e32 v1, 1
  v_mov_b32_e32 v2, 0
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 awake
asleep:
  .rept 38
  s_mov_b32 s6, s2
  .endr
  s_sleep 1
  global_load_dword v3, v2, s[4:5] glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 asleep
awake:
  global_store_dword v2, v1, s[4:5]
  s_endpgm

// Loads a dword by its address, and once more as FLAT by an instruction that remembers the same range (256 later).
//# load_twice gfx90a
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, s4
  v_mov_b32_e32 v3, s5
  v_mov_b32_e32 v6, 0
  global_load_dword v4, v[2:3], off
  .rept 255
  s_mov_b32 s8, s4
  .endr
  flat_load_dword v5, v[2:3]
  s_waitcnt vmcnt(0) lgkmcnt(0)
  global_store_dword v6, v4, s[6:7]
  global_store_dword v6, v5, s[6:7] offset:4
  s_endpgm

// Loads into LDS land when their wave waits for them. Arguments: dwords for 64 lanes three times over,
// and what was in LDS before anything was awaited, after the first and after the second load, alike.
//# lds_load_order gfx90a
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v5, 7
  ds_write_b32 v1, v5
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s8, s4
  s_mov_b32 s9, s5
  s_movk_i32 s10, 0x300
  s_mov_b32 s11, 0
  s_mov_b32 m0, 0
  buffer_load_dword v1, s[8:11], 0 offen lds
  s_movk_i32 s12, 0x100
  buffer_load_dword v1, s[8:11], s12 offen lds
  global_load_dword v9, v1, s[4:5]
  ds_read_b32 v6, v1
  s_waitcnt vmcnt(2) lgkmcnt(0)
  ds_read_b32 v7, v1
  s_waitcnt vmcnt(1) lgkmcnt(0)
  ds_read_b32 v8, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v6, s[6:7]
  global_store_dword v1, v7, s[6:7] offset:256
  global_store_dword v1, v8, s[6:7] offset:512
  s_endpgm

// Two waves store to the same LDS, 16 bytes a lane, wave 1 its data plus a number in the first register and another one in
// the others; with the third argument, by an instruction of its own. The fourth stays.
//# same_store_{b8|b8_hi|b16|b16_hi|b32|b64|b96|b128|pair|flat|flat_hi} gfx90a
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_readfirstlane_b32 s3, v0
  v_and_b32_e32 v4, 63, v0
  v_lshlrev_b32_e32 v1, 4, v4
  v_lshrrev_b32_e32 v5, 6, v0
  v_mov_b32_e32 v10, v1
  v_mov_b32_e32 v11, 0x10000
  s_waitcnt lgkmcnt(0)
  v_mul_lo_u32 v6, v5, s4
  v_mul_lo_u32 v7, v5, s5
  v_add_u32_e32 v6, v4, v6
  v_add_u32_e32 v7, v4, v7
  v_mov_b32_e32 v8, v7
  v_mov_b32_e32 v9, v7
  s_cmp_eq_u32 s6, 0
  s_cbranch_scc1 store
  s_cmp_eq_u32 s3, 0
  s_cbranch_scc1 store
  {ds_write_b8 v1, v6|ds_write_b8_d16_hi v1, v6|ds_write_b16 v1, v6|ds_write_b16_d16_hi v1, v6|ds_write_b32 v1, v6|ds_write_b64 v1, v[6:7]|ds_write_b96 v1, v[6:8]|ds_write_b128 v1, v[6:9]|ds_write2_b32 v1, v6, v7 offset1:1|flat_store_dword v[10:11], v6|flat_store_short_d16_hi v[10:11], v6}
  s_endpgm
store:
  {ds_write_b8 v1, v6|ds_write_b8_d16_hi v1, v6|ds_write_b16 v1, v6|ds_write_b16_d16_hi v1, v6|ds_write_b32 v1, v6|ds_write_b64 v1, v[6:7]|ds_write_b96 v1, v[6:8]|ds_write_b128 v1, v[6:9]|ds_write2_b32 v1, v6, v7 offset1:1|flat_store_dword v[10:11], v6|flat_store_short_d16_hi v[10:11], v6}
  s_endpgm

// Two waves load dwords into the same LDS, wave 1 those that lie so many bytes on. Arguments: the dwords, nothing, a number.
//# same_load gfx90a
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dword s12, s[0:1], 0x10
  v_lshrrev_b32_e32 v1, 6, v0
  v_and_b32_e32 v2, 63, v0
  v_lshlrev_b32_e32 v2, 2, v2
  s_mov_b32 m0, 0
  s_waitcnt lgkmcnt(0)
  v_mul_lo_u32 v1, v1, s12
  v_add_u32_e32 v1, v1, v2
  s_mov_b32 s8, s4
  s_mov_b32 s9, s5
  s_movk_i32 s10, 0x300
  s_mov_b32 s11, 0
  buffer_load_dword v1, s[8:11], 0 offen lds
  s_waitcnt vmcnt(0)
  s_endpgm

// Wave 0 loads 64 dwords into LDS over those that wave 1 reads, and wave 1 reads them again: old
// ones and new ones. Arguments: the dwords, where wave 1 puts both, and whether there is a barrier
// before the load (bit 0) and a wait before the barrier behind it (bit 1).
//# lds_load_shared gfx90a
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dword s12, s[0:1], 0x10
  v_readfirstlane_b32 s3, v0
  v_and_b32_e32 v1, 63, v0
  v_lshlrev_b32_e32 v1, 2, v1
  v_mov_b32_e32 v5, 7
  s_mov_b32 m0, 0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s8, s4
  s_mov_b32 s9, s5
  s_movk_i32 s10, 0x100
  s_mov_b32 s11, 0
  s_cmp_eq_u32 s3, 0
  s_cbranch_scc0 second
  ds_write_b32 v1, v5
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_bitcmp1_b32 s12, 0
  s_cbranch_scc0 load
  s_barrier
load:
  buffer_load_dword v1, s[8:11], 0 offen lds
  s_bitcmp1_b32 s12, 1
  s_cbranch_scc0 loaded
  s_waitcnt vmcnt(0)
loaded:
  s_barrier
  s_waitcnt vmcnt(0)
  s_endpgm
second:
  s_barrier
  ds_read_b32 v6, v1
  s_waitcnt lgkmcnt(0)
  s_bitcmp1_b32 s12, 0
  s_cbranch_scc0 again
  s_barrier
again:
  s_barrier
  ds_read_b32 v7, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v6, s[6:7]
  global_store_dword v1, v7, s[6:7] offset:256
  s_endpgm

// Loads into LDS without a wait, so many times: what is the first's there before, and when it is.
//# lds_load_unawaited gfx90a
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dword s12, s[0:1], 0x10
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v5, 7
  ds_write_b32 v1, v5
  s_mov_b32 m0, 0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s8, s4
  s_mov_b32 s9, s5
  s_movk_i32 s10, 0x100
  s_mov_b32 s11, 0
load:
  buffer_load_dword v1, s[8:11], 0 offen lds
  s_add_u32 m0, m0, 0x100
  s_sub_u32 s12, s12, 1
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 load
  ds_read_b32 v6, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v6, s[6:7]
again:
  ds_read_b32 v7, v1
  s_waitcnt lgkmcnt(0)
  v_cmp_eq_u32_e32 vcc, v7, v5
  s_cbranch_vccnz again
  global_store_dword v1, v7, s[6:7] offset:256
  s_endpgm

//# forever gfx90a
  s_nop 0
self:
  s_branch self

//# halt gfx90a
  s_sethalt 1
  s_endpgm

//# abort gfx90a
  s_nop 0
  s_trap 2

// One atomic add a work-item; out[1] += its lane's value through LDS
//# count gfx90a
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32_e32 v1, 1
  v_mov_b32_e32 v2, 0
  s_waitcnt lgkmcnt(0)
  global_atomic_add v2, v1, s[4:5]
  global_atomic_add v2, v0, s[4:5] offset:4
  s_endpgm

// registers of a group: 64 dwords from s0, and v0 and v1 of each lane behind them
//# registers gfx90a
  s_mov_b32 m0, s2
  s_load_dwordx2 s[60:61], s[8:9], 0x0
  s_waitcnt lgkmcnt(0)
  s_store_dwordx4 s[0:3], s[60:61], 0x0
  s_store_dwordx4 s[4:7], s[60:61], 0x10
  s_store_dwordx4 s[8:11], s[60:61], 0x20
  s_store_dwordx4 s[12:15], s[60:61], 0x30
  s_store_dwordx4 s[16:19], s[60:61], 0x40
  s_store_dwordx4 s[20:23], s[60:61], 0x50
  s_mov_b64 s[24:25], exec
  s_store_dwordx2 s[24:25], s[60:61], 0x60
  s_mov_b64 exec, -1
  v_mbcnt_lo_u32_b32 v2, -1, 0
  v_mbcnt_hi_u32_b32 v2, -1, v2
  v_lshlrev_b32_e32 v2, 3, v2
  global_store_dwordx2 v2, v[0:1], s[60:61] offset:256
  s_endpgm

// out[0..1] = the two preloaded dwords; entered 256 bytes on
//# preload gfx942
  s_trap 2
  .fill 63, 4, 0xbf800000
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v0, s2
  v_mov_b32_e32 v1, s3
  v_mov_b32_e32 v2, 0
  global_store_dwordx2 v2, v[0:1], s[4:5]
  s_endpgm

// --- one way to fault each; lane 5 is the one, where lanes matter ---

//# store_lane gfx90a
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 0
  s_mov_b64 exec, 0x20
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v1, s6
  v_mov_b32_e32 v2, s7
  s_mov_b64 exec, 0x7f
  global_store_dword v1, v0, s[4:5]
  s_endpgm
//# flat_load_pair gfx90a
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b64 exec, 0x20
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, s4
  v_mov_b32_e32 v3, s5
  flat_load_dwordx2 v[4:5], v[2:3]
  s_endpgm
//# flat_add gfx90a
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b64 exec, 0x20
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, s4
  v_mov_b32_e32 v3, s5
  flat_atomic_add v[2:3], v0
  s_endpgm
//# scalar_load gfx90a
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_load_dwordx4 s[8:11], s[4:5], 0x0
  s_endpgm
//# lds_write gfx90a
  s_mov_b64 exec, 0x20
  v_mov_b32_e32 v1, 100
  ds_write_b32 v1, v0 offset:0
  ds_write_b64 v1, v[0:1] offset:24
  s_endpgm
//# lds_add gfx90a
  s_mov_b64 exec, 0x20
  v_mov_b32_e32 v1, 2
  ds_add_u32 v1, v0
  s_endpgm
//# jump gfx90a
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_setpc_b64 s[4:5]
//# fall_off gfx90a
  s_nop 0
  s_nop 0
//# cut_off gfx90a
  s_nop 0
  .long 0xd28f0000
//# unknown gfx90a
  s_nop 0
  .long 0xffffffff
  .long 0x12345678
//# registers_beyond gfx90a
  v_mov_b32_e32 v200, 0
  s_endpgm

// lane 5 stores a dword at its private byte s6, through the segment buffer and through flat addresses
//# private_buffer gfx90a
  s_load_dword s6, s[4:5], 0x0
  s_add_u32 s0, s0, s7
  s_addc_u32 s1, s1, 0
  s_mov_b64 exec, 0x20
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v1, s6
  buffer_store_dword v0, v1, s[0:3], 0 offen
  buffer_load_dword v2, v1, s[0:3], 0 offen
  s_endpgm
//# private_scratch gfx942
  s_load_dword s6, s[0:1], 0x0
  s_mov_b64 exec, 0x20
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v1, s6
  scratch_store_dword v1, v0, off
  s_endpgm

// Flat addresses into LDS and scratch: out[lane] = what was stored there, 100 + lane and 200 + lane
//# generic gfx942
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b64 s[8:9], src_shared_base
  s_mov_b64 s[10:11], src_private_base
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v3, s9
  v_add_u32_e32 v4, 0x64, v0
  flat_store_dword v[2:3], v4
  ds_read_b32 v5, v2
  v_mov_b32_e32 v6, 8
  v_mov_b32_e32 v7, s11
  v_add_u32_e32 v8, 0xc8, v0
  flat_store_dword v[6:7], v8
  scratch_load_dword v9, off, off offset:8
  v_mov_b32_e32 v6, 7
  flat_load_dword v10, v[6:7]
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32_e32 v1, 4, v0
  v_mov_b32_e32 v6, v9
  v_mov_b32_e32 v7, v10
  v_mov_b32_e32 v4, v5
  v_mov_b32_e32 v5, v6
  v_mov_b32_e32 v6, v7
  global_store_dwordx3 v1, v[4:6], s[4:5]
  s_endpgm

// Buffers of bytes: the offset is v2, s17 is 12.
//# raw_{store_byte|store_short|store_short_d16_hi|store_dword} gfx90a
  s_mov_b32 s17, 12
  buffer_{store_byte v6|store_short v6|store_short_d16_hi v6|store_dword v6}, v2, s[12:15], s17 offen
//# raw_{store_dwordx2|store_dwordx3|store_dwordx4|load_ubyte} gfx90a
  s_mov_b32 s17, 12
  buffer_{store_dwordx2 v[6:7]|store_dwordx3 v[6:8]|store_dwordx4 v[6:9]|load_ubyte v10}, v2, s[12:15], s17 offen
//# raw_{load_sshort|load_short_d16|load_short_d16_hi|load_dword} gfx90a
  s_mov_b32 s17, 12
  buffer_{load_sshort v10|load_short_d16 v10|load_short_d16_hi v10|load_dword v10}, v2, s[12:15], s17 offen
//# raw_{load_dwordx2|load_dwordx3|load_dwordx4} gfx90a
  s_mov_b32 s17, 12
  buffer_{load_dwordx2 v[10:11]|load_dwordx3 v[10:12]|load_dwordx4 v[10:13]}, v2, s[12:15], s17 offen
//# raw_{atomic_add|atomic_add_x2} gfx90a
  s_mov_b32 s17, 12
  buffer_{atomic_add v10|atomic_add_x2 v[10:11]}, v2, s[12:15], s17 offen glc
//# raw_load_lds gfx90a
  s_mov_b32 s17, 12
  s_mov_b32 m0, 0
  buffer_load_dword v2, s[12:15], s17 offen lds
// The register's and the instruction's offset make one of 32 bits.
//# raw_store_dwordx4_20 gfx90a
  s_mov_b32 s17, 12
  buffer_store_dwordx4 v[6:9], v2, s[12:15], s17 offen offset:20
// Records: the index is v2, the offset v3.
//# record_load_dwordx4 gfx90a
  buffer_load_dwordx4 v[10:13], v[2:3], s[12:15], 0 idxen offen
//# record_store_dwordx4 gfx90a
  buffer_store_dwordx4 v[6:9], v[2:3], s[12:15], 0 idxen offen
// The offset is m0.
//# scalar_buffer gfx90a
  s_mov_b32 s17, m0
  s_buffer_load_dwordx4 s[20:23], s[12:15], s17
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v10, s20
  v_mov_b32_e32 v11, s21
  v_mov_b32_e32 v12, s22
  v_mov_b32_e32 v13, s23
// The same into the descriptor's own registers.
//# scalar_buffer_over gfx90a
  s_mov_b32 s17, m0
  s_buffer_load_dwordx4 s[12:15], s[12:15], s17
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v10, s12
  v_mov_b32_e32 v11, s13
  v_mov_b32_e32 v12, s14
  v_mov_b32_e32 v13, s15

// Functions whose denormal sources are flushed.
//# flushing gfx90a
  v_sqrt_f32_e32 v10, v6
  v_rsq_f32_e32 v11, v7
  v_log_f32_e32 v12, v8
  v_exp_f32_e32 v13, v9

// out: timestamp, engine clock, timestamp
//# clocks gfx90a
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_memrealtime s[8:9]
  s_waitcnt lgkmcnt(0)
  s_memtime s[10:11]
  s_waitcnt lgkmcnt(0)
  s_memrealtime s[12:13]
  s_waitcnt lgkmcnt(0)
  s_store_dwordx4 s[8:11], s[4:5], 0x0
  s_store_dwordx2 s[12:13], s[4:5], 0x10
  s_dcache_wb
  s_endpgm

// Every wave stores HW_ID, XCC_ID and the number of its work-group, at a place of its own, and waits until `n` have.
// out; counter; n
//# where_am_i gfx90a
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dword s8, s[0:1], 0x10
  s_mov_b32 s10, 1
  s_getreg_b32 s16, hwreg(HW_REG_HW_ID)
  s_getreg_b32 s17, hwreg(20)
  s_mov_b32 s18, s2
  s_waitcnt lgkmcnt(0)
  s_atomic_add s10, s[6:7], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_lshl_b32 s10, s10, 4
  s_store_dwordx4 s[16:19], s[4:5], s10
  s_dcache_wb
arrived:
  s_sleep 1
  s_load_dword s11, s[6:7], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_cmp_lt_u32 s11, s8
  s_cbranch_scc1 arrived
  s_endpgm

// n rounds in each of which a group of two waves takes what its neighbour made in the one before, adds 1, and waits for
// all groups as HIP's grid.sync() does, at resource 5. out[2][groups]; n; groups
//# grid_rounds gfx90a
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_readfirstlane_b32 s3, v0
  s_mov_b32 s8, 0
  s_mov_b32 m0, 0
  s_waitcnt lgkmcnt(0)
  s_sub_u32 s9, s7, 1
  s_add_u32 s10, s2, 1
  s_cmp_eq_u32 s10, s7
  s_cselect_b32 s10, 0, s10
round:
  s_cmp_ge_u32 s8, s6
  s_cbranch_scc1 done
  s_and_b32 s11, s8, 1
  s_mul_i32 s12, s11, s7
  s_add_u32 s12, s12, s10
  s_lshl_b32 s12, s12, 2
  s_load_dword s13, s[4:5], s12 glc
  s_add_u32 s8, s8, 1
  s_and_b32 s11, s8, 1
  s_mul_i32 s12, s11, s7
  s_add_u32 s12, s12, s2
  s_lshl_b32 s12, s12, 2
  s_waitcnt lgkmcnt(0)
  s_add_u32 s13, s13, 1
  s_store_dword s13, s[4:5], s12 glc
  s_dcache_wb
  s_barrier
  s_cmp_lg_u32 s3, 0
  s_cbranch_scc1 wait
  v_mov_b32_e32 v2, s9
  ds_gws_barrier v2 offset:5 gds
  s_waitcnt lgkmcnt(0)
wait:
  s_barrier
  s_branch round
done:
  s_endpgm

//# gws_init gfx90a
  s_mov_b32 m0, 0x3c0000
  v_add_u32_e32 v2, 0x64, v0
  s_mov_b64 exec, 0xf8
  ds_gws_init v2 offset:7 gds
  s_waitcnt lgkmcnt(0)
  s_endpgm

// Work-group 0 gives a semaphore n, in one of three ways; every other one takes 1 and counts itself. out; n
//# gws_semaphore_v gfx90a
  take_or_give
  ds_gws_sema_v gds
  s_waitcnt lgkmcnt(0)
  s_sub_u32 s6, s6, 1
  s_cmp_lg_u32 s6, 0
  s_cbranch_scc1 give
  s_endpgm

//# gws_semaphore_br gfx90a
  take_or_give
  v_mov_b32_e32 v2, s6
  ds_gws_sema_br v2 gds
  s_waitcnt lgkmcnt(0)
  s_endpgm

//# gws_release_all gfx90a
  take_or_give
  s_sleep 1
  ds_gws_sema_release_all gds
  s_waitcnt lgkmcnt(0)
  s_load_dword s8, s[4:5], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_cmp_lt_u32 s8, s6
  s_cbranch_scc1 give
  s_endpgm

//# gws_take gfx90a
  s_mov_b32 m0, 0
  ds_gws_sema_p gds
  s_waitcnt lgkmcnt(0)
  s_endpgm

// Typed buffers with the format of the descriptor, each between vmem_begin and vmem_end.
//# {load_format_x|load_format_xyzw} gfx90a
  buffer_{load_format_x v10|load_format_xyzw v[10:13]}, v2, s[12:15], 0 offen
//# {load_format_d16_xyz|load_format_d16_hi_x} gfx90a
  buffer_{load_format_d16_xyz v[10:11]|load_format_d16_hi_x v10}, v2, s[12:15], 0 offen
//# {store_format_x|store_format_xyzw} gfx90a
  buffer_{store_format_x v6|store_format_xyzw v[6:9]}, v2, s[12:15], 0 offen
//# {store_format_d16_xyzw|store_format_d16_hi_x} gfx90a
  buffer_{store_format_d16_xyzw v[6:7]|store_format_d16_hi_x v6}, v2, s[12:15], 0 offen

//# instructions gfx90a
s_{add_u32|sub_u32|add_i32|sub_i32|addc_u32|subb_u32|min_i32|min_u32|max_i32|max_u32|cselect_b32} s20, s16, s18
s_{and_b32|or_b32|xor_b32|andn2_b32|orn2_b32|nand_b32|nor_b32|xnor_b32|lshl_b32|lshr_b32|ashr_i32} s20, s16, s18
s_{bfm_b32|mul_i32|mul_hi_u32|mul_hi_i32|bfe_u32|bfe_i32|absdiff_i32|lshl1_add_u32|lshl2_add_u32} s20, s16, s18
s_{lshl3_add_u32|lshl4_add_u32|pack_ll_b32_b16|pack_lh_b32_b16|pack_hh_b32_b16} s20, s16, s18
s_{cselect|and|or|xor|andn2|orn2|nand|nor|xnor}_b64 s[20:21], s[16:17], s[18:19]
s_{lshl_b64|lshr_b64|ashr_i64|bfe_u64|bfe_i64} s[20:21], s[16:17], s18
s_bfm_b64 s[20:21], s16, s18
s_{mov_b32|cmov_b32|not_b32|wqm_b32|brev_b32|bcnt0_i32_b32|bcnt1_i32_b32|ff0_i32_b32|ff1_i32_b32} s20, s16
s_{flbit_i32_b32|flbit_i32|sext_i32_i8|sext_i32_i16|bitset0_b32|bitset1_b32|quadmask_b32|abs_i32} s20, s16
s_{mov|cmov|not|wqm|brev|quadmask}_b64 s[20:21], s[16:17]
s_{bcnt0_i32_b64|bcnt1_i32_b64|ff0_i32_b64|ff1_i32_b64|flbit_i32_b64|flbit_i32_i64} s20, s[16:17]
s_{bitset0_b64|bitset1_b64|bitreplicate_b64_b32} s[20:21], s16
s_{and|or|xor|andn2|orn2|nand|nor|xnor|andn1|orn1}_saveexec_b64 s[20:21], s[16:17]
s_{andn1|andn2}_wrexec_b64 s[20:21], s[16:17]
s_cmp_{eq|lg|gt|ge|lt|le}_{i32|u32} s16, s18
s_cmp_{eq|lg}_u64 s[16:17], s[18:19]
s_bitcmp{0_b32 s16|1_b32 s16|0_b64 s[16:17]|1_b64 s[16:17]}, s18
s_cmpk_{eq|lg|gt|ge|lt|le}_{i32|u32} s20, 0x8001
s_{mov|cmov|add|mul}k_i32 s20, 0x8001
// operands other than SGPRs
s_mov_b32 s20, {0x12345678|-16|64|0.5|0.15915494}
s_mov_b64 s[20:21], {-1|1.0}
s_and_b64 s[20:21], s[16:17], 0x80000000
s_ashr_i64 s[20:21], 0x80000000, 4
s_mov_b32 s20, src_{scc|execz|vccz}
s_mov_b64 s[20:21], src_{shared_base|private_limit}
s_getreg_b32 s20, hwreg(HW_REG_MODE, 4, 4)
s_getreg_b32 s20, hwreg(HW_REG_SH_MEM_BASES, 16, 16)
global_load_{ubyte|sbyte|ushort|sshort|ubyte_d16|ubyte_d16_hi|sbyte_d16|sbyte_d16_hi} v10, v[2:3], off offset:-8
global_load_{short_d16|short_d16_hi|dword} v10, v[2:3], off offset:-8
global_load_{dwordx2 v[10:11]|dwordx3 v[10:12]|dwordx4 v[10:13]}, v[2:3], off offset:-8
global_store_{byte|byte_d16_hi|short|short_d16_hi|dword} v[2:3], v6, off offset:-8
global_store_{dwordx2 v[2:3], v[6:7]|dwordx3 v[2:3], v[6:8]|dwordx4 v[2:3], v[6:9]}, off offset:-8
flat_load_{ubyte|sbyte|ushort|sshort|ubyte_d16|ubyte_d16_hi|sbyte_d16|sbyte_d16_hi|short_d16} v10, v[2:3] offset:8
flat_load_{short_d16_hi|dword} v10, v[2:3] offset:8
flat_load_{dwordx2 v[10:11]|dwordx3 v[10:12]|dwordx4 v[10:13]}, v[2:3] offset:8
flat_store_{byte|byte_d16_hi|short|short_d16_hi|dword} v[2:3], v6 offset:8
flat_store_{dwordx2 v[2:3], v[6:7]|dwordx3 v[2:3], v[6:8]|dwordx4 v[2:3], v[6:9]} offset:8
buffer_load_{ubyte|sbyte|ushort|sshort|ubyte_d16|ubyte_d16_hi|sbyte_d16} v10, v2, s[12:15], 0 offen offset:4
buffer_load_{sbyte_d16_hi|short_d16|short_d16_hi|dword} v10, v2, s[12:15], 0 offen offset:4
buffer_load_{dwordx2 v[10:11]|dwordx3 v[10:12]|dwordx4 v[10:13]}, v2, s[12:15], 0 offen offset:4
buffer_load_{ubyte|sbyte|ushort|sshort|dword} v2, s[12:15], 0 offen offset:4 lds
buffer_store_{byte|byte_d16_hi|short|short_d16_hi|dword} v6, v2, s[12:15], 0 offen offset:4
buffer_store_{dwordx2 v[6:7]|dwordx3 v[6:8]|dwordx4 v[6:9]}, v2, s[12:15], 0 offen offset:4
global_atomic_{swap v10, v[2:3], v6|swap_x2 v[10:11], v[2:3], v[6:7]}, off glc
global_atomic_{cmpswap v10, v[2:3], v[6:7]|cmpswap_x2 v[10:11], v[2:3], v[6:9]}, off glc
global_atomic_{add|sub|smin|umin|smax|umax|and|or|xor|inc|dec}{ v10, v[2:3], v6|_x2 v[10:11], v[2:3], v[6:7]}, off glc
flat_atomic_{swap v10, v[2:3], v6|swap_x2 v[10:11], v[2:3], v[6:7]} glc
flat_atomic_{cmpswap v10, v[2:3], v[6:7]|cmpswap_x2 v[10:11], v[2:3], v[6:9]} glc
flat_atomic_{add|sub|smin|umin|smax|umax|and|or|xor|inc|dec}{ v10, v[2:3], v6|_x2 v[10:11], v[2:3], v[6:7]} glc
buffer_atomic_{swap v10|swap_x2 v[10:11]|cmpswap v[10:11]|cmpswap_x2 v[10:13]}, v2, s[12:15], 0 offen glc
buffer_atomic_{add|sub|smin|umin|smax|umax|and|or|xor|inc|dec}{ v10, v2|_x2 v[10:11], v2}, s[12:15], 0 offen glc
global_atomic_{add|add_f32|pk_add_f16} v[2:3], v6, off
global_atomic_{add_f64|min_f64|max_f64} v[10:11], v[2:3], v[6:7], off glc
global_load_dword v10, v2, s[12:13] offset:4
global_store_dword v2, v6, s[12:13] offset:4
ds_read_{u8|i8|u16|i16|u8_d16|u8_d16_hi|i8_d16|i8_d16_hi|u16_d16|u16_d16_hi|b32} v10, v2 offset:4
ds_read_{b64 v[10:11]|b96 v[10:12]|b128 v[10:13]}, v2 offset:4
ds_write_{b8|b8_d16_hi|b16|b16_d16_hi|b32} v2, v6 offset:4
ds_write_b{64 v2, v[6:7]|96 v2, v[6:8]|128 v2, v[6:9]} offset:4
ds_read2_b32 v[10:11], v2 offset0:1 offset1:3
ds_write2_b32 v2, v6, v8 offset0:1 offset1:3
ds_read2st64_b32 v[10:11], v2 offset0:0 offset1:1
ds_write2st64_b32 v2, v6, v8 offset0:1 offset1:0
ds_wrxchg_rtn_b32 v10, v2, v6
ds_wrxchg2_rtn_b32 v[10:11], v2, v6, v8 offset0:0 offset1:1
ds_mskor_rtn_b32 v10, v2, v6, v8
ds_cmpst_rtn_b32 v10, v2, v6, v8
ds_cmpst_b32 v2, v6, v8
ds_read2_b64 v[10:13], v2 offset0:1 offset1:3
ds_write2_b64 v2, v[6:7], v[8:9] offset0:1 offset1:3
ds_read2st64_b64 v[10:13], v2 offset0:0 offset1:1
ds_write2st64_b64 v2, v[6:7], v[8:9] offset0:1 offset1:0
ds_wrxchg_rtn_b64 v[10:11], v2, v[6:7]
ds_wrxchg2_rtn_b64 v[10:13], v2, v[6:7], v[8:9] offset0:0 offset1:1
ds_mskor_rtn_b64 v[10:11], v2, v[6:7], v[8:9]
ds_cmpst_rtn_b64 v[10:11], v2, v[6:7], v[8:9]
ds_cmpst_b64 v2, v[6:7], v[8:9]
ds_{add|sub|rsub|inc|dec|min|max}{_rtn_u32 v10, v2, v6|_u32 v2, v6|_rtn_u64 v[10:11], v2, v[6:7]|_u64 v2, v[6:7]}
ds_{min|max}{_rtn_i32 v10, v2, v6|_rtn_i64 v[10:11], v2, v[6:7]}
ds_{and|or|xor}{_rtn_b32 v10, v2, v6|_b32 v2, v6|_rtn_b64 v[10:11], v2, v[6:7]|_b64 v2, v[6:7]}
ds_{add_rtn_f32|min_rtn_f32|max_rtn_f32} v10, v2, v6
ds_add_f32 v2, v6
ds_cmpst_rtn_f32 v10, v2, v6, v8
ds_{add_rtn_f64|min_rtn_f64|max_rtn_f64} v[10:11], v2, v[6:7]
ds_add_f64 v2, v[6:7]
ds_cmpst_rtn_f64 v[10:11], v2, v[6:7], v[8:9]
ds_{bpermute|permute}_b32 v10, v2, v6
ds_swizzle_b32 v10, v6 offset:swizzle({QUAD_PERM,3,2,1,0|REVERSE,8|BROADCAST,4,2|SWAP,16})
tbuffer_load_format_xyzw v[10:13], v2, s[12:15], 0 format:[BUF_DATA_FORMAT_2_10_10_10,BUF_NUM_FORMAT_SNORM] offen
tbuffer_load_format_xy v[10:11], v2, s[12:15], 0 format:[BUF_NUM_FORMAT_FLOAT] offen
tbuffer_load_format_x v10, v2, s[12:15], 0 offen offset:4
tbuffer_store_format_xyz v[6:8], v2, s[12:15], 0 format:[BUF_DATA_FORMAT_16_16_16_16,BUF_NUM_FORMAT_FLOAT] offen
tbuffer_load_format_d16_xy v10, v2, s[12:15], 0 format:[BUF_DATA_FORMAT_32_32_32_32,BUF_NUM_FORMAT_SINT] offen

//# instructions gfx942
global_load_lds_{ubyte|sbyte|ushort|sshort|dword} v[2:3], off offset:4

//# forms gfx90a
// decoded, not executed: one of each encoding and form
v_add_f32 v1, v2, v3
v_add_f32 v1, |v2|, -s3 clamp mul:2
v_mul_f32 v1, 0x40490fdb, v2
v_fmac_f32 v4, v5, v6
v_cndmask_b32 v1, v2, v3, vcc
v_addc_co_u32 v1, vcc, v2, v3, vcc
v_madmk_f32 v1, v2, 0x3f8ccccd, v3
v_mad_u64_u32 v[2:3], s[4:5], v6, v7, v[8:9]
v_cmp_lt_f64 vcc, v[2:3], v[4:5]
v_cmp_lt_f64 s[10:11], v[2:3], v[4:5]
v_mov_b32 v1, v2 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf
v_add_f32 v1, v2, v3 row_shr:1 row_mask:0xa bank_mask:0xf bound_ctrl:1
v_add_u32 v1, v2, sext(v3) dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:BYTE_3
v_cmp_eq_f32 s[2:3], v4, |v5| src0_sel:DWORD src1_sel:WORD_0
v_pk_fma_f32 v[2:3], v[4:5], v[6:7], v[8:9] op_sel_hi:[1,0,1] neg_lo:[0,1,0]
v_fma_mix_f32 v1, -v2, |v3|, v4 op_sel:[1,0,0] op_sel_hi:[1,0,1]
v_mfma_f32_16x16x16f16 a[0:3], v[4:5], a[6:7], a[8:11] cbsz:1
v_accvgpr_read_b32 v1, a2
v_accvgpr_write_b32 a1, 1.0
v_readlane_b32 s4, v5, s6
v_readfirstlane_b32 s4, v5
s_load_dwordx8 s[8:15], s[2:3], s7 offset:0x40
s_buffer_load_dwordx2 s[8:9], s[4:7], 0x20
s_memtime s[2:3]
buffer_load_dword v1, v[2:3], s[4:7], s8 idxen offen offset:16 glc slc
buffer_store_short a1, off, s[4:7], 0 offset:4095
flat_atomic_cmpswap_x2 v[2:3], v[4:5], v[6:9] offset:4095 glc
scratch_load_dwordx2 v[2:3], v4, off offset:-4096
scratch_store_byte off, v3, s5 offset:7
global_load_short_d16_hi a3, v4, s[6:7] offset:4095 scc
ds_write2st64_b64 v1, a[2:3], a[4:5] offset0:1 offset1:255
buffer_wbinvl1_vol
