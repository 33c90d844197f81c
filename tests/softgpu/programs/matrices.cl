/* Products of matrices of 16 by 16 elements: gfx11's by one instruction, with the layouts that its waves have, others' by a
 * sum for each element. No term is negative, so that sums of floats are exact, which gfx11's else are not. */

#ifdef __GFX11__
#define IS_WMMA 1
typedef int int_row __attribute__((ext_vector_type(256 / WAVE)));
typedef float float_row __attribute__((ext_vector_type(256 / WAVE)));
typedef half half_row __attribute__((ext_vector_type(512 / WAVE)));
#if WAVE == 64
#define WMMA(name) __builtin_amdgcn_wmma_##name##_w64
#else
#define WMMA(name) __builtin_amdgcn_wmma_##name##_w32
#endif
#else
#define IS_WMMA 0
#endif

/* Element (row, k) of a matrix of `bits` a number, whose rows follow one another. */
static inline uint element(__global const uint *at, uint row, uint k, uint bits)
{
  const uint bit = (row * 16 + k) * bits;
  return at[bit / 32] >> bit % 32 & (bits == 32 ? ~0u : (1u << bits) - 1);
}

/* The row of the result that a lane's register has. */
static inline uint row_in(uint lane, uint number)
{
  return number * (WAVE / 16) + lane / 16;
}

/* a: 16 rows of 16 bytes; b the same, by columns; of signed numbers and of others. */
PROGRAM(matrix_of_bytes, uint, uint)
{
  const uint lane = LANE(), first = GLOBAL_ID() / WAVE * 128, column = lane % 16;
#if IS_WMMA
  int4 a, b;
  for (uint k = 0; k < 4; ++k) {
    a[k] = (int)in[(first + column * 4 + k) % n];
    b[k] = (int)in[(first + 64 + column * 4 + k) % n];
  }
  int_row c;
  for (uint r = 0; r < 256 / WAVE; ++r)
    c[r] = (int)(row_in(lane, r) * 100 + column);
  c = WMMA(i32_16x16x16_iu8)(true, a, false, b, c, false);
  for (uint r = 0; r < 256 / WAVE; ++r)
    out[GLOBAL_ID() / WAVE * 256 + row_in(lane, r) * 16 + column] = (uint)c[r];
#else
  for (uint r = 0; r < 256 / WAVE; ++r) {
    const uint row = row_in(lane, r);
    int sum = (int)(row * 100 + column);
    for (uint k = 0; k < 16; ++k)
      sum +=
          (int)(char)element(in + first, row, k, 8) * (int)element(in + first + 64, column, k, 8);
    out[GLOBAL_ID() / WAVE * 256 + row * 16 + column] = (uint)sum;
  }
#endif
}

PROGRAM(matrix_of_nibbles, uint, uint)
{
  const uint lane = LANE(), first = GLOBAL_ID() / WAVE * 64, column = lane % 16;
#if IS_WMMA
  int2 a, b;
  for (uint k = 0; k < 2; ++k) {
    a[k] = (int)in[first + column * 2 + k];
    b[k] = (int)in[first + 32 + column * 2 + k];
  }
  int_row c = 0;
  c = WMMA(i32_16x16x16_iu4)(false, a, true, b, c, false);
  for (uint r = 0; r < 256 / WAVE; ++r)
    out[GLOBAL_ID() / WAVE * 256 + row_in(lane, r) * 16 + column] = (uint)c[r];
#else
  for (uint r = 0; r < 256 / WAVE; ++r) {
    const uint row = row_in(lane, r);
    int sum = 0;
    for (uint k = 0; k < 16; ++k)
      sum += (int)element(in + first, row, k, 4) *
             ((int)(element(in + first + 32, column, k, 4) << 28) >> 28);
    out[GLOBAL_ID() / WAVE * 256 + row * 16 + column] = (uint)sum;
  }
#endif
}

static inline half small_half(uint bits)
{
  return (half)(float)(bits & 15) * (half)0.25f;
}

PROGRAM(matrix_of_halves, uint, float)
{
  const uint lane = LANE(), first = GLOBAL_ID() / WAVE * 512, column = lane % 16;
#if IS_WMMA
  half16 a, b;
  for (uint k = 0; k < 16; ++k) {
    a[k] = small_half(in[(first + column * 16 + k) % n]);
    b[k] = small_half(in[(first + 256 + column * 16 + k) % n]);
  }
  float_row c;
  for (uint r = 0; r < 256 / WAVE; ++r)
    c[r] = (float)(row_in(lane, r) + column);
  c = WMMA(f32_16x16x16_f16)(a, b, c);
  for (uint r = 0; r < 256 / WAVE; ++r)
    out[GLOBAL_ID() / WAVE * 256 + row_in(lane, r) * 16 + column] = c[r];
#else
  for (uint r = 0; r < 256 / WAVE; ++r) {
    const uint row = row_in(lane, r);
    float sum = (float)(row + column);
    for (uint k = 0; k < 16; ++k)
      sum += (float)small_half(in[(first + row * 16 + k) % n]) *
             (float)small_half(in[(first + 256 + column * 16 + k) % n]);
    out[GLOBAL_ID() / WAVE * 256 + row * 16 + column] = sum;
  }
#endif
}

/* Of numbers whose lower half is 0 as floats, which bf16's are. */
static inline float small_float(uint bits)
{
  return (float)(bits >> 4 & 31) * 0.5f;
}

PROGRAM(matrix_of_bf16, uint, float)
{
  const uint lane = LANE(), first = GLOBAL_ID() / WAVE * 512, column = lane % 16;
#if IS_WMMA
  short16 a, b;
  for (uint k = 0; k < 16; ++k) {
    a[k] = (short)(bits_of(small_float(in[(first + column * 16 + k) % n])) >> 16);
    b[k] = (short)(bits_of(small_float(in[(first + 256 + column * 16 + k) % n])) >> 16);
  }
  float_row c = 0;
  c = WMMA(f32_16x16x16_bf16)(a, b, c);
  for (uint r = 0; r < 256 / WAVE; ++r)
    out[GLOBAL_ID() / WAVE * 256 + row_in(lane, r) * 16 + column] = c[r];
#else
  for (uint r = 0; r < 256 / WAVE; ++r) {
    const uint row = row_in(lane, r);
    float sum = 0;
    for (uint k = 0; k < 16; ++k)
      sum += small_float(in[(first + row * 16 + k) % n]) *
             small_float(in[(first + 256 + column * 16 + k) % n]);
    out[GLOBAL_ID() / WAVE * 256 + row * 16 + column] = sum;
  }
#endif
}

/* Pairs of halves, multiplied and added to a float. */
PROGRAM(dot_of_halves, uint, float)
{
  const uint i = GLOBAL_ID();
  float sum = (float)(i & 7);
  for (uint k = 0; k < 12; ++k) {
    const uint word = in[(i + k) % n];
    const half2 a = (half2)(small_half(word), small_half(word >> 4)),
                b = (half2)(small_half(word >> 8), small_half(word >> 12));
#ifdef __AMDGCN__
    sum = __builtin_amdgcn_fdot2(a, b, sum, false);
#else
    sum += (float)a.x * (float)b.x + (float)a.y * (float)b.y;
#endif
  }
  out[i] = sum;
}
