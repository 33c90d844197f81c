/* Memory of all kinds. */

PROGRAM(transpose, float, float)
{
  LOCAL(float, tile, 16 * 17);
  const uint x = LOCAL_ID(x) % 16, y = LOCAL_ID(x) / 16, column = GROUP_ID(x) % 4 * 16,
             row = GROUP_ID(x) / 4 * 16;
  tile[y * 17 + x] = in[(row + y) * 64 + column + x];
  BARRIER();
  out[(column + y) * 64 + row + x] = tile[x * 17 + y];
}

/* In waves of 32 lanes more than those of 64 can have. */
#ifdef __AMDGCN__
#define ROOM (WAVE == 32 ? 45000 : 25000)
#else
#define ROOM 25000
#endif

PROGRAM(much_scratch, uint, uint)
{
  const uint i = GLOBAL_ID();
  volatile uint room[ROOM];
  for (uint k = 0; k < 25; ++k)
    room[k * (ROOM / 25) + i % (ROOM / 25)] = in[(i + k) % n];
  uint sum = 0;
  for (uint k = 0; k < 25; ++k)
    sum = sum * 31 + room[k * (ROOM / 25) + i % (ROOM / 25)];
  out[i] = sum;
}

/* As many registers as the largest work-group can have, or more. */
PROGRAM_OF(1024, full_group, uint, uint)
{
  const uint i = GLOBAL_ID();
  uint words[160];
#pragma unroll
  for (uint k = 0; k < 160; ++k)
    words[k] = *(volatile __global const uint *)&in[(i + k) & 1023];
  uint sum = 0;
#pragma unroll
  for (uint k = 0; k < 160; ++k)
    sum = sum * 31 + words[159 - k];
  out[i] = sum;
}

PROGRAM(scratch, uint, uint)
{
  const uint i = GLOBAL_ID();
  uint words[72];
  uchar bytes[160];
  ulong wide[40];
  for (uint k = 0; k < 72; ++k)
    words[k] = in[(i + k) % n];
  for (uint k = 0; k < 160; ++k)
    bytes[k] = (uchar)(k * 3);
  for (uint k = 0; k < 40; ++k)
    wide[k] = (ulong)k << 33 | i;
  for (uint k = 0; k < 72; ++k) {
    const uint to = words[k] % 72, from = (words[(k + 1) % 72] >> 8) % 72;
    words[to] += words[from] ^ k;
    bytes[words[from] % 160] = (uchar)(bytes[from] + words[to]);
    wide[words[to] % 40] ^= (ulong)words[from] << (k & 31);
  }
  uint sum = 0;
  for (uint k = 0; k < 72; ++k)
    sum = sum * 31 + words[k];
  for (uint k = 0; k < 160; ++k)
    sum = sum * 31 + bytes[k];
  for (uint k = 0; k < 40; ++k)
    sum = sum * 31 + (uint)(wide[k] >> 16);
  out[i] = sum;
}

/* Through pointers that may point to any kind of it. */
static NOINLINE uint through(uint *at, const uint *from, uint k)
{
  at[k] += from[0] + 1;
  ((uchar *)at)[4 * k + 1] ^= 0x5a;
  return at[k] * 3 ^ ((const ushort *)from)[1];
}

PROGRAM(pointers, uint, uint)
{
  LOCAL(uint, shared, 256 * 4);
  const uint i = GLOBAL_ID(), mine = LOCAL_ID(x) * 4;
  uint own[4] = {i, 2, 3, 4};
  for (uint k = 0; k < 4; ++k)
    shared[mine + k] = out[4 * i + k] = i * k;
  uint sum = 0;
  for (uint k = 0; k < 12; ++k) {
    const uint word = in[(i + k) % n];
    uint *at = word % 3 == 0   ? own
               : word % 3 == 1 ? (uint *)(shared + mine)
                               : (uint *)(out + 4 * i);
    const uint *from = word & 8 ? own + (word >> 4 & 3) : (const uint *)(in + (word >> 4) % n);
    sum = sum * 7 + through(at, from, word >> 6 & 3);
  }
  for (uint k = 0; k < 4; ++k)
    out[4 * i + k] += (own[k] ^ shared[mine + k]) + sum;
}

typedef struct __attribute__((packed)) {
  uchar tag;
  ushort length;
  uint word;
  ulong wide;
  char sign;
} record_t;

PROGRAM(records, uchar, uint)
{
  const uint i = GLOBAL_ID();
  const record_t record = ((__global const record_t *)in)[i % (n / 16)];
  __global record_t *const to = (__global record_t *)out + i;
  to->tag = (uchar)(record.tag + 1);
  to->length = (ushort)(record.length * 3);
  to->word = record.word ^ (uint)(short)record.length;
  to->wide = record.wide + (ulong)(long)record.sign;
  to->sign = (char)-record.sign;
}

typedef struct {
  uint x, y, z;
} triple_t;

PROGRAM(vectors, uint4, uint4)
{
  const uint i = GLOBAL_ID();
  const uint4 a = in[i % n];
  const triple_t b = *(__global const triple_t *)((__global const uint *)in + i % n);
  const uint2 c = ((__global const uint2 *)in)[(i * 3) % (2 * n)];
  out[2 * i] = (a << (uint4)(1, 3, 5, 7)).wzyx + (uint4)(b.x, b.y, b.z, c.x);
  out[2 * i + 1] = (uint4)(c.y, b.z, b.x, b.y) ^ a;
}

PROGRAM(histogram, uchar, uint)
{
  LOCAL(uint, bins, 64);
  if (LOCAL_ID(x) < 64)
    bins[LOCAL_ID(x)] = 0;
  BARRIER();
  for (uint at = GLOBAL_ID(); at < n; at += 3 * GROUP_SIZE(x)) /* of three groups */
    ATOMIC(fetch_add, &bins[in[at] % 64], 1u);
  BARRIER();
  if (LOCAL_ID(x) < 64)
    ATOMIC(fetch_add, &out[LOCAL_ID(x)], bins[LOCAL_ID(x)]);
}

/* Results that no order changes; the sums of floats are of small integers. */
PROGRAM(atomics, uint, uint)
{
  LOCAL(uint, words, 16);
  LOCAL(ulong, wide, 8);
  LOCAL(float, floats, 4);
  const uint i = GLOBAL_ID(), word = in[i], at = word % 4;
  if (LOCAL_ID(x) < 16)
    words[LOCAL_ID(x)] = 0;
  if (LOCAL_ID(x) < 8)
    wide[LOCAL_ID(x)] = 0;
  if (LOCAL_ID(x) < 4)
    floats[LOCAL_ID(x)] = 0;
  BARRIER();
  ATOMIC(fetch_add, &words[at], word);
  ATOMIC(fetch_xor, &words[4 + at], word);
  ATOMIC(fetch_or, &words[8 + at], word & 0x10101);
  ATOMIC(fetch_max, (__local int *)&words[12 + at], (int)word);
  ATOMIC(fetch_add, &wide[at], (ulong)word << 7);
  ATOMIC(fetch_max, &wide[4 + at], (ulong)word << 20);
  ATOMIC(fetch_add, &floats[at], (float)(int)(word & 63));
  ATOMIC(fetch_add, &out[32 + at], word);
  ATOMIC(fetch_sub, &out[36 + at], word >> 3);
  ATOMIC(fetch_and, &out[40 + at], word | 0xffff);
  ATOMIC(fetch_min, &out[44 + at], word);
  ATOMIC(fetch_min, (__global int *)&out[48 + at], (int)word);
  ATOMIC(fetch_xor, (__global ulong *)&out[52 + 2 * at], (ulong)word << 17);
  ATOMIC(fetch_add, (__global ulong *)&out[60 + 2 * at], (ulong)word << 30);
  ATOMIC(fetch_add, (__global float *)&out[68 + at], (float)(int)(word & 31));
  uint expected = out[72 + at]; /* a product, by what compares */
  while (!__scoped_atomic_compare_exchange_n(&out[72 + at], &expected, expected * (word | 1), false,
                                             __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                             __MEMORY_SCOPE_DEVICE))
    ;
  BARRIER();
  if (LOCAL_ID(x) < 16)
    ATOMIC(fetch_add, &out[LOCAL_ID(x)], words[LOCAL_ID(x)]);
  if (LOCAL_ID(x) < 8)
    ATOMIC(fetch_add, &out[16 + LOCAL_ID(x)], (uint)(wide[LOCAL_ID(x)] >> 9));
  if (LOCAL_ID(x) < 4)
    ATOMIC(fetch_add, &out[24 + LOCAL_ID(x)], (uint)floats[LOCAL_ID(x)]);
}

/* Everybody's number comes once, whoever is first. */
PROGRAM(tickets, uint, uint)
{
  LOCAL(uint, next, 1);
  if (LOCAL_ID(x) == 0)
    next[0] = 0;
  BARRIER();
  if (in[GLOBAL_ID()] & 1) {
    const uint ticket = ATOMIC(fetch_add, &next[0], 1u);
    out[GROUP_ID(x) * GROUP_SIZE(x) + ticket] += 1;
  }
}

PROGRAM(chain, uint, uint)
{
  const uint i = GLOBAL_ID();
  uint at = i, sum = 0;
  for (uint k = 0; k < 30; ++k) {
    at = in[at % n];
    sum += at >> 3;
  }
  out[i] = sum;
}

/* Through descriptors of buffers, of which what lies beyond reads as 0 and is not written. */
#if __GFX11__
#define FORMAT 0x31004000
#elif __GFX10__
#define FORMAT 0x31014000
#else
#define FORMAT 0x00027000
#endif

PROGRAM(descriptors, uint, uint)
{
  const uint i = GLOBAL_ID(), size = 700 * 4, at = (i * 37 % 1024) * 4;
#ifdef __AMDGCN__
  __amdgpu_buffer_rsrc_t from =
      __builtin_amdgcn_make_buffer_rsrc((__global void *)in, 0, size, FORMAT);
  __amdgpu_buffer_rsrc_t to =
      __builtin_amdgcn_make_buffer_rsrc(out, 0, 4 * (GROUP_SIZE(x) - 9), FORMAT);
  const uint word = __builtin_amdgcn_raw_buffer_load_b32(from, (int)at, 0, 0);
  const uint2 pair = __builtin_amdgcn_raw_buffer_load_b64(from, (int)at, 8, 0);
  const uchar byte = __builtin_amdgcn_raw_buffer_load_b8(from, (int)(at + 5), 0, 0);
  const ushort two = __builtin_amdgcn_raw_buffer_load_b16(from, (int)(at + 10), 0, 0);
  __builtin_amdgcn_raw_buffer_store_b32(word ^ pair.x ^ pair.y * 3 ^ byte ^ (uint)two << 8, to,
                                        (int)(4 * i), 0, 0);
#else
  __global const uchar *const bytes = (__global const uchar *)in;
#define BOUNDED(type, offset)                                                                      \
  ((offset) + sizeof(type) <= size ? *(__global const type *)(bytes + (offset)) : 0)
  const uint word = BOUNDED(uint, at), x = BOUNDED(uint, at + 8), y = BOUNDED(uint, at + 12);
  const uchar byte = BOUNDED(uchar, at + 5);
  const ushort two = BOUNDED(ushort, at + 10);
  if (i < GROUP_SIZE(x) - 9)
    out[i] = word ^ x ^ y * 3 ^ byte ^ (uint)two << 8;
#endif
}
