/* Floating point of 32 and 64 bits: what IEEE 754 says exactly, with all kinds of numbers. */

PROGRAM(floats, float, uint)
{
  const uint i = GLOBAL_ID();
  const float a = in[i], b = in[(i + 1) % n], c = in[(i + 2) % n];
  out[12 * i] = bits_of(a / b);
  out[12 * i + 1] = bits_of(__builtin_elementwise_sqrt(a));
  out[12 * i + 2] = bits_of(__builtin_elementwise_fma(a, b, c));
  out[12 * i + 3] = bits_of(a * b + c);
  out[12 * i + 4] = bits_of(__builtin_elementwise_floor(a) + __builtin_elementwise_ceil(b));
  out[12 * i + 5] = bits_of(__builtin_elementwise_trunc(a) - __builtin_elementwise_rint(b));
  out[12 * i + 6] = (a < b) | (a <= b) << 1 | (a > b) << 2 | (a >= b) << 3 | (a == b) << 4 |
                    (a != b) << 5 | !(a < c) << 6 | !(a >= c) << 7;
  out[12 * i + 7] = bits_of(a < b ? -a : __builtin_fabsf(b));
  out[12 * i + 8] = bits_of(__builtin_copysignf(a, b) * 2 - c);
  out[12 * i + 9] = bits_of(1.0f / c);
  out[12 * i + 10] = bits_of((a - b) * 0.5f);
  out[12 * i + 11] = bits_of(-(a * c) - __builtin_fabsf(a));
}

PROGRAM(doubles, ulong, ulong)
{
  const uint i = GLOBAL_ID();
  const double a = __builtin_astype(in[i], double), b = __builtin_astype(in[(i + 1) % n], double);
  const double c = __builtin_astype(
      (in[(i + 2) % n] & 0x800fffffffffffff) | (ulong)(1000 + i % 50) << 52, double);
  out[9 * i] = bits_of_double(a / b);
  out[9 * i + 1] = bits_of_double(__builtin_elementwise_sqrt(c));
  out[9 * i + 2] = bits_of_double(__builtin_elementwise_fma(c, a, b));
  out[9 * i + 3] = bits_of_double(a * c + b);
  out[9 * i + 4] =
      bits_of_double(__builtin_elementwise_floor(c) + __builtin_elementwise_ceil(c * 3));
  out[9 * i + 5] =
      bits_of_double(__builtin_elementwise_trunc(c) - __builtin_elementwise_rint(c * 5));
  out[9 * i + 6] =
      (a < b) | (a <= c) << 1 | (a > b) << 2 | (a == b) << 3 | (a != c) << 4 | !(a < c) << 5;
  out[9 * i + 7] = bits_of_double(c / 3 - 1 / c);
  out[9 * i + 8] = bits_of((float)a) | (ulong)bits_of((float)c) << 32;
}

PROGRAM(conversions, uint, ulong)
{
  const uint i = GLOBAL_ID(), a = in[i];
  const ulong w = (ulong)a << 32 | in[(i + 1) % n];
  const float f = moderate(a) * 100;
  out[8 * i] = bits_of((float)a) | (ulong)bits_of((float)(int)a) << 32;
  out[8 * i + 1] = bits_of((float)w) | (ulong)bits_of((float)(long)w) << 32;
  out[8 * i + 2] = bits_of_double((double)w) ^ bits_of_double((double)(long)(w >> (i & 63)));
  out[8 * i + 3] = (ulong)(uint)(int)f << 32 | (uint)__builtin_fabsf(f);
  out[8 * i + 4] = (ulong)(long)(f * 1e6f) ^ (ulong)(__builtin_fabsf(f) * 1e9f);
  out[8 * i + 5] = (ulong)(long)((double)f * 1e12) ^ (uint)(int)((double)f * 3);
  out[8 * i + 6] =
      (ulong)(uchar)a * 3 + (ulong)bits_of((float)(uchar)(a >> 8) + (float)(uchar)(a >> 24));
  out[8 * i + 7] = bits_of((float)(short)a) ^ (ulong)bits_of((float)(char)(a >> 16)) << 32 ^
                   bits_of_double((double)(int)a);
}

PROGRAM(kahan_sum, uint, float)
{
  const uint i = GLOBAL_ID();
  float sum = 0, rest = 0;
  for (uint k = 0; k < 40; ++k) {
    const float next = moderate(in[(i * 40 + k) % n]) - rest, total = sum + next;
    rest = total - sum - next;
    sum = total;
  }
  out[2 * i] = sum;
  out[2 * i + 1] = rest;
}

PROGRAM(mandelbrot, uint, uint)
{
  const uint i = GLOBAL_ID(), width = 32;
  const float cx = (float)(i % width) * (3.0f / width) - 2.2f,
              cy = (float)(i / width) * 0.1f - 1.2f;
  float x = 0, y = 0;
  uint turns = 0;
  while (turns < 100 && x * x + y * y < 4) {
    const float next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
    ++turns;
  }
  out[i] = turns;
}

#ifdef __AMDGCN__
#define MEDIAN(a, b, c)  __builtin_amdgcn_fmed3f(a, b, c)
#define FRACTION(a)      __builtin_amdgcn_fractf(a)
#define MANTISSA(a)      __builtin_amdgcn_frexp_mantf(a)
#define EXPONENT(a)      __builtin_amdgcn_frexp_expf(a)
#define PACKED(a, at, b) __builtin_amdgcn_cvt_pk_u8_f32(a, at, b)
#else
static float lesser(float a, float b)
{
  return a < b ? a : b;
}
static float MEDIAN(float a, float b, float c)
{
  const float most = a < b ? b : a, least = lesser(a, b);
  return c < least ? least : lesser(c, most);
}
#define FRACTION(a)                                                                                \
  ((a)-__builtin_elementwise_floor(a)) /* exact where a is not tiny and negative */
static int EXPONENT(float a)
{
  return (int)(__builtin_astype(a, uint) >> 23 & 255) - 126;
}
static float MANTISSA(float a)
{
  return __builtin_astype((__builtin_astype(a, uint) & 0x807fffff) | 126u << 23, float);
}
static uint PACKED(float a, uint at, uint b) /* of a whole number */
{
  const uint byte = a <= 0 ? 0 : a >= 255 ? 255 : (uint)a;
  return (b & ~(255u << 8 * at)) | byte << 8 * at;
}
#endif

PROGRAM(medians, uint, uint)
{
  const uint i = GLOBAL_ID();
  const float a = moderate(in[i]), b = moderate(in[(i + 1) % n]), c = moderate(in[(i + 2) % n]);
  out[6 * i] = bits_of(MEDIAN(a, b, c));
  out[6 * i + 1] = bits_of(FRACTION(__builtin_fabsf(a) * 8));
  out[6 * i + 2] = bits_of(MANTISSA(b)) ^ (uint)EXPONENT(c);
  out[6 * i + 3] = PACKED(__builtin_elementwise_rint(a * 9), 1, in[(i + 3) % n]);
  const float most = a > b ? a > c ? a : c : b > c ? b : c;
  out[6 * i + 4] = bits_of(most);
  out[6 * i + 5] = bits_of(a < 0 ? 0 : a > 1 ? 1 : a);
}

/* By fused steps; and by a Newton iteration whose start both sides share. */
PROGRAM(polynomial, uint, float)
{
  const uint i = GLOBAL_ID();
  const float x = one_to_two(in[i]) - 1.5f;
  float value = 1;
  for (int k = 12; k > 0; --k)
    value = __builtin_elementwise_fma(value * x, 1.0f / (float)k, 1.0f);
  float root = 1;
  for (int k = 0; k < 5; ++k)
    root = 0.5f * (root + (x + 2) / root);
  out[2 * i] = value;
  out[2 * i + 1] = root;
}

PROGRAM(bodies, float4, float)
{
  const uint i = GLOBAL_ID();
  const float4 me = __builtin_elementwise_fma(in[i], (float4)(1, 2, 3, 4), (float4)(0.5f));
  float3 force = (float3)(0);
  for (uint k = 0; k < 32; ++k) {
    const float4 other = in[(i + k * 5) % n];
    const float3 way = other.xyz - me.xyz;
    const float square = way.x * way.x + way.y * way.y + way.z * way.z + 0.01f;
    force += way * (other.w / (square * __builtin_elementwise_sqrt(square)));
  }
  out[3 * i] = force.x;
  out[3 * i + 1] = force.y;
  out[3 * i + 2] = force.z;
}
