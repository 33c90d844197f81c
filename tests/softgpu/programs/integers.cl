/* Integers of all sizes. */

PROGRAM(wide_integers, ulong, ulong)
{
  const uint i = GLOBAL_ID();
  const ulong a = in[i], b = in[(i + 1) % n] >> (i & 63);
  const long c = (long)a >> 3, d = (long)b >> (i & 31);
  out[8 * i] = a * b + (a ^ b) - (a << (b & 63));
  out[8 * i + 1] = b ? a / b : 1;
  out[8 * i + 2] = b ? a % b : 2;
  out[8 * i + 3] = (ulong)(d ? c / d : 3);
  out[8 * i + 4] = (ulong)(d ? c % d : 4);
  out[8 * i + 5] = (ulong)((unsigned __int128)a * b >> 64);
  out[8 * i + 6] = (ulong)((__int128)c * d >> 64);
  out[8 * i + 7] =
      (a < b) | (c < d) << 1 | (a == b) << 2 | (ulong)((c >> (b & 63)) ^ (long)(a >> (a & 63)));
}

PROGRAM(division, uint, uint)
{
  const uint i = GLOBAL_ID(), a = in[i], b = in[(i + 7) % n] >> (i % 32) | 1;
  const int c = (int)a, d = (int)b >> (i % 7) | 1;
  const short e = (short)a, f = (short)(b | 1);
  const char g = (char)(a >> 8), h = (char)(b | 1);
  out[8 * i] = a / b;
  out[8 * i + 1] = a % b;
  out[8 * i + 2] = (uint)(d == -1 ? c : c / d);
  out[8 * i + 3] = (uint)(d == -1 ? c : c % d);
  out[8 * i + 4] = (uint)(e / f) ^ (uint)(e % f) << 16;
  out[8 * i + 5] = (uint)(g / h) ^ (uint)(g % h) << 16;
  out[8 * i + 6] = a / 7 + a % 1000 + a / 641;
  out[8 * i + 7] = (uint)(c / 10 + c % 60 + c / -3);
}

PROGRAM(bit_tricks, uint, uint)
{
  const uint i = GLOBAL_ID(), a = in[i], b = in[(i + 3) % n];
  const ulong w = (ulong)a << 32 | b;
  uint x = a ^ __builtin_rotateleft32(b, 13) ^ __builtin_bitreverse32(a + b);
  x += a ? (uint)__builtin_clz(a) : 99;
  x = x * 33 + (b ? (uint)__builtin_ctz(b) : 77);
  x ^= (uint)__builtin_popcount(a) << 8 | (uint)__builtin_popcountl(w) << 16;
  x = (x & a) | (~x & b);
  x ^= (a >> (b & 7) & 0x3ff) + (uint)((int)(a << (i & 15)) >> 20);
  x += __builtin_bswap32(a) ^ (uint)(w >> (i & 31));
  x ^= (a ^ b ^ i) + ((a & b) | i) + ((a | b | i) << 5) + ((a + b + i) >> 2) + (((a << 3) | b) ^ i);
  out[i] =
      x ^ ~(a ^ b) ^ (uint)(__builtin_bitreverse64(w) >> (i & 63)) ^ (uint)__builtin_clzl(w | 1);
}

static NOINLINE uint mixed(uchar4 a, uchar4 b, short2 c, short2 d)
{
  const uchar4 sum = a + b * (uchar4)(3, 5, 7, 9), most = __builtin_elementwise_max(sum, a);
  const char4 low =
      __builtin_elementwise_min(__builtin_astype(a, char4), __builtin_astype(b, char4));
  const short2 e = (c * d + (c >> (short2)(3, 2))) ^ (d << (short2)(1, 5));
  const short2 f = __builtin_elementwise_add_sat(c, d), g = __builtin_elementwise_sub_sat(c, d);
  const ushort2 h =
      __builtin_elementwise_min(__builtin_astype(c, ushort2), __builtin_astype(d, ushort2));
  return __builtin_astype(most, uint) ^ __builtin_astype(low, uint) * 3 ^
         __builtin_astype(e, uint) ^ __builtin_astype(f, uint) * 5 ^ __builtin_astype(g, uint) * 7 ^
         __builtin_astype(h, uint);
}

PROGRAM(small_integers, uchar4, uint)
{
  const uint i = GLOBAL_ID();
  const uchar4 a = in[i], b = in[(i + 1) % n];
  const short2 c = __builtin_astype(in[(i + 2) % n], short2),
               d = __builtin_astype(in[(i + 3) % n], short2);
  out[3 * i] = mixed(a, b, c, d);
  const uchar each = (uchar)(a.x * b.y + (a.z >> (b.w & 7)));
  const short half_word = (short)(c.x - d.y * (short)(i | 1));
  out[3 * i + 1] = each | (uint)(ushort)half_word << 8 | (uint)(a.w < b.w) << 31;
  out[3 * i + 2] = (uint)((int)c.x * d.x + (int)c.y * d.y) + (uint)a.x * b.x * (uint)(ushort)d.x;
}

#ifdef __AMDGCN__
#define SAD(a, b, c)    __builtin_amdgcn_sad_u8(a, b, c)
#define SAD_16(a, b, c) __builtin_amdgcn_sad_u16(a, b, c)
#define PERM(a, b, c)   __builtin_amdgcn_perm(a, b, c)
#define ALIGN(a, b, c)  __builtin_amdgcn_alignbyte(a, b, c)
#define UBFE(a, b, c)   __builtin_amdgcn_ubfe(a, b, c)
#define SBFE(a, b, c)   ((uint)__builtin_amdgcn_sbfe((int)(a), b, c))
#define LERP(a, b, c)   __builtin_amdgcn_lerp(a, b, c)
#define MASKED(a, b, c) __builtin_amdgcn_msad_u8(a, b, c)
#else
static uint SAD(uint a, uint b, uint c)
{
  for (int i = 0; i < 32; i += 8) {
    const int difference = (int)(a >> i & 255) - (int)(b >> i & 255);
    c += (uint)(difference < 0 ? -difference : difference);
  }
  return c;
}
static uint SAD_16(uint a, uint b, uint c)
{
  for (int i = 0; i < 32; i += 16) {
    const int difference = (int)(a >> i & 65535) - (int)(b >> i & 65535);
    c += (uint)(difference < 0 ? -difference : difference);
  }
  return c;
}
static uint MASKED(uint a, uint b, uint c)
{
  for (int i = 0; i < 32; i += 8) {
    const int difference = (int)(a >> i & 255) - (int)(b >> i & 255);
    c += b >> i & 255 ? (uint)(difference < 0 ? -difference : difference) : 0;
  }
  return c;
}
static uint PERM(uint a, uint b, uint selectors) /* of no bytes but those of a and b */
{
  uint result = 0;
  for (int i = 0; i < 32; i += 8)
    result |= (uint)(((ulong)a << 32 | b) >> (selectors >> i & 7) * 8 & 255) << i;
  return result;
}
static uint LERP(uint a, uint b, uint c)
{
  uint result = 0;
  for (int i = 0; i < 32; i += 8)
    result |= ((a >> i & 255) + (b >> i & 255) + (c >> i & 1)) >> 1 << i;
  return result;
}
#define ALIGN(a, b, c) ((uint)(((ulong)(a) << 32 | (b)) >> ((c)&3) * 8))
#define UBFE(a, b, c)  ((a) >> ((b)&31) & ((1u << ((c)&31)) - 1))
#define SBFE(a, b, c)                                                                              \
  (((c)&31) ? (uint)((int)(UBFE(a, b, c) << (32 - ((c)&31))) >> (32 - ((c)&31))) : 0)
#endif

PROGRAM(of_bytes, uint, uint)
{
  const uint i = GLOBAL_ID(), a = in[i], b = in[(i + 1) % n], c = in[(i + 2) % n];
  out[9 * i] = SAD(a, b, c);
  out[9 * i + 1] = SAD_16(a, b, c);
  out[9 * i + 2] = PERM(a, b, c & 0x07070707);
  out[9 * i + 3] = ALIGN(a, b, c);
  out[9 * i + 4] = UBFE(a, b & 7, c & 15);
  out[9 * i + 5] = SBFE(a, b & 7, (c & 15) + 1);
  out[9 * i + 6] = LERP(a, b, c);
  out[9 * i + 7] = MASKED(a, b, c);
  out[9 * i + 8] = (uint)((int)(a << 8) >> 8) * (uint)((int)(b << 8) >> 8); /* one of 24 bits */
}

/* Products of packed numbers: an instruction each where the chip has it. */
static uint dot_bytes(uint a, uint b, uint c)
{
#if __GFX9__ || __GFX10__
  return (uint)__builtin_amdgcn_sdot4((int)a, (int)b, (int)c, false);
#elif __GFX11__
  return (uint)__builtin_amdgcn_sudot4(true, (int)a, true, (int)b, (int)c, false);
#else
  for (int i = 0; i < 32; i += 8)
    c += (uint)((int)(char)(a >> i) * (char)(b >> i));
  return c;
#endif
}
static uint dot_unsigned(uint a, uint b, uint c)
{
#ifdef __AMDGCN__
  return __builtin_amdgcn_udot4(a, b, c, false);
#else
  for (int i = 0; i < 32; i += 8)
    c += (a >> i & 255) * (b >> i & 255);
  return c;
#endif
}
static uint dot_fours(uint a, uint b, uint c)
{
#ifdef __AMDGCN__
  return __builtin_amdgcn_udot8(a, b, c, false);
#else
  for (int i = 0; i < 32; i += 4)
    c += (a >> i & 15) * (b >> i & 15);
  return c;
#endif
}

PROGRAM(dot_products, uint, uint)
{
  const uint i = GLOBAL_ID();
  uint sum = i, unsigned_sum = i, fours = i;
  for (uint k = 0; k < 16; ++k) {
    const uint a = in[(i + k) % n], b = in[(i * 3 + k) % n];
    sum = dot_bytes(a, b, sum);
    unsigned_sum = dot_unsigned(a, b, unsigned_sum);
    fours = dot_fours(a, b, fours);
  }
  out[3 * i] = sum;
  out[3 * i + 1] = unsigned_sum;
  out[3 * i + 2] = fours;
}

__constant uint sha_words[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

#define TURNED(x, by) __builtin_rotateright32(x, by)

PROGRAM(sha256, uint, uint)
{
  const uint i = GLOBAL_ID();
  uint words[64], state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (uint k = 0; k < 16; ++k)
    words[k] = in[(i * 16 + k) % n];
  for (uint k = 16; k < 64; ++k) {
    const uint a = words[k - 15], b = words[k - 2];
    words[k] = words[k - 16] + words[k - 7] + (TURNED(a, 7) ^ TURNED(a, 18) ^ a >> 3) +
               (TURNED(b, 17) ^ TURNED(b, 19) ^ b >> 10);
  }
  for (uint k = 0; k < 64; ++k) {
    const uint a = state[0], e = state[4];
    const uint first = state[7] + (TURNED(e, 6) ^ TURNED(e, 11) ^ TURNED(e, 25)) +
                       ((e & state[5]) ^ (~e & state[6])) + sha_words[k] + words[k];
    const uint second = (TURNED(a, 2) ^ TURNED(a, 13) ^ TURNED(a, 22)) +
                        ((a & state[1]) ^ (a & state[2]) ^ (state[1] & state[2]));
    for (int m = 7; m > 0; --m)
      state[m] = state[m - 1];
    state[4] += first;
    state[0] = first + second;
  }
  for (uint k = 0; k < 8; ++k)
    out[8 * i + k] = state[k];
}

PROGRAM(crc32, uchar, uint)
{
  LOCAL(uint, table, 256);
  for (uint at = LOCAL_ID(x); at < 256; at += GROUP_SIZE(x)) {
    uint word = at;
    for (int k = 0; k < 8; ++k)
      word = word >> 1 ^ (word & 1 ? 0xedb88320 : 0);
    table[at] = word;
  }
  BARRIER();
  const uint i = GLOBAL_ID();
  uint sum = ~0u;
  for (uint k = 0; k < 32 + i % 7; ++k)
    sum = sum >> 8 ^ table[(sum ^ in[(i * 32 + k) % n]) & 255];
  out[i] = ~sum;
}
