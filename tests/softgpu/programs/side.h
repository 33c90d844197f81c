/* What a program asks of its surroundings: of clang's builtins on a device, and of host.cc on the host, for which the same
 * source is compiled. WAVE is how many lanes a wave has. A program gets what it reads, what it writes, and how many
 * elements its input has. */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define NOINLINE __attribute__((noinline))
#define ATOMIC(operation, at, value)                                                               \
  __scoped_atomic_##operation(at, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)

#ifdef __AMDGCN__

#define PROGRAM(name, in_type, out_type) PROGRAM_OF(256, name, in_type, out_type)
#define PROGRAM_OF(most, name, in_type, out_type)                                                  \
  __attribute__((amdgpu_flat_work_group_size(1, most))) __kernel void name(                        \
      __global const in_type *restrict in, __global out_type *restrict out, uint n)
#define LOCAL(type, name, count) __local type name[count]
#define LOCAL_ID(d)              ((uint)__builtin_amdgcn_workitem_id_##d())
#define GROUP_ID(d)              ((uint)__builtin_amdgcn_workgroup_id_##d())
#define GROUP_SIZE(d)            ((uint)__builtin_amdgcn_workgroup_size_##d())
#define RDNA                     (__GFX10__ || __GFX11__)
#if WAVE == 64
#define BALLOT(bit, members) __builtin_amdgcn_ballot_w64(bit)
#define LANE()               __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0))
#define BELOW(mask)                                                                                \
  __builtin_amdgcn_mbcnt_hi((uint)((mask) >> 32), __builtin_amdgcn_mbcnt_lo((uint)(mask), 0))
#else
#define BALLOT(bit, members) ((ulong)__builtin_amdgcn_ballot_w32(bit))
#define LANE()               __builtin_amdgcn_mbcnt_lo(~0u, 0)
#define BELOW(mask)          __builtin_amdgcn_mbcnt_lo((uint)(mask), 0)
#endif
#define READ_LANE(value, lane)       ((uint)__builtin_amdgcn_readlane((int)(value), (int)(lane)))
#define READ_FIRST(value, members)   ((uint)__builtin_amdgcn_readfirstlane((int)(value)))
#define WRITE_LANE(value, lane, old) write_lane(value, lane, old)
uint write_lane(uint value, uint lane, uint old)
    __attribute__((const, convergent)) __asm("llvm.amdgcn.writelane.i32");
#define PULL(value, lane)       ((uint)__builtin_amdgcn_ds_bpermute((int)(lane)*4, (int)(value)))
#define PUSH(value, lane)       ((uint)__builtin_amdgcn_ds_permute((int)(lane)*4, (int)(value)))
#define SWIZZLE(value, pattern) ((uint)__builtin_amdgcn_ds_swizzle((int)(value), pattern))
#define DPP(old, value, control, rows, banks, zeros)                                               \
  ((uint)__builtin_amdgcn_update_dpp((int)(old), (int)(value), control, rows, banks, zeros))
#define BARRIER()                                                                                  \
  do {                                                                                             \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");                                         \
    __builtin_amdgcn_s_barrier();                                                                  \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");                                         \
  } while (0)

#else

#define PROGRAM(name, in_type, out_type)                                                           \
  __kernel void name(__global const in_type *restrict in, __global out_type *restrict out, uint n)
#define PROGRAM_OF(most, name, in_type, out_type) PROGRAM(name, in_type, out_type)
#define LOCAL(type, name, count)                                                                   \
  __local type *name = (__local type *)host_local((count) * sizeof(type))
#define LOCAL_ID(d)                host_item.local_##d
#define GROUP_ID(d)                host_item.group_##d
#define GROUP_SIZE(d)              host_item.size_##d
#define RDNA                       host_item.is_rdna
#define WAVE                       host_item.wave
#define LANE()                     host_item.lane
#define BALLOT(bit, members)       host_ballot(bit, members)
#define BELOW(mask)                ((uint)__builtin_popcountl((mask)&host_below()))
#define READ_LANE(value, lane)     host_read(value, lane, ~0ul)
#define READ_FIRST(value, members) host_read(value, (uint)__builtin_ctzl(members), members)
#define WRITE_LANE(value, to, old) (host_item.lane == (to) ? (value) : (old))
#define PULL(value, from)          host_read(value, host_near(from), ~0ul)
#define PUSH(value, to)            host_push(value, host_near(to))
#define SWIZZLE(value, pattern)    host_read(value, host_swizzled(pattern), ~0ul)
#define DPP(old, value, control, rows, banks, zeros)                                               \
  host_dpp(old, value, control, rows, banks, zeros)
#define BARRIER() host_barrier()

typedef struct {
  uint local_x, local_y, local_z, group_x, group_y, group_z, size_x, size_y, size_z;
  uint lane, wave, is_rdna;
} host_item_t;

/* host.cc: of the work-item that runs. Whoever goes through lanes says who of the wave comes with it. */
extern host_item_t host_item;
void *host_local(ulong bytes);
void host_barrier(void);
ulong host_ballot(bool bit, ulong members);
uint host_read(uint value, uint lane, ulong members);
uint host_push(uint value, uint lane);
uint host_dpp(uint old, uint value, uint control, uint rows, uint banks, bool zeros);

static inline ulong host_below(void)
{
  return (1ul << host_item.lane) - 1;
}

/* Lanes that a permutation through LDS reaches: of RDNA's waves of 64 those of the own half. */
static inline uint host_near(uint lane)
{
  return host_item.is_rdna ? (host_item.lane & 32) | (lane & 31) : lane & 63;
}
static inline uint host_swizzled(uint pattern)
{
  const uint lane = host_item.lane & 31;
  if (pattern & 0x8000) /* within four lanes */
    return (host_item.lane & ~3u) | (pattern >> (lane & 3) * 2 & 3);
  return (host_item.lane & 32) |
         (((lane & (pattern & 31)) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
}

#endif

#define GLOBAL_ID() (GROUP_ID(x) * GROUP_SIZE(x) + LOCAL_ID(x))

/* Which NaN an operation makes is nobody's business here. */
static inline uint bits_of(float value)
{
  return value == value ? __builtin_astype(value, uint) : 0x7fc00000;
}
static inline ulong bits_of_double(double value)
{
  return value == value ? __builtin_astype(value, ulong) : 0x7ff8000000000000;
}
static inline ushort bits_of_half(half value)
{
  return value == value ? __builtin_astype(value, ushort) : 0x7e00;
}
/* A number between 1 and 2, and one of either sign and moderate size. */
static inline float one_to_two(uint bits)
{
  return __builtin_astype(0x3f800000 | bits >> 9, float);
}
static inline float moderate(uint bits)
{
  return __builtin_astype((bits & 0x807fffff) | (120 + (bits >> 23 & 15)) << 23, float);
}
