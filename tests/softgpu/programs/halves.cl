/* Floating point of 16 bits: one in a register, two in one, and what of the other stays. */

static half fair(uint bits) /* between 1/16 and 16 */
{
  return __builtin_astype((ushort)((bits & 0x83ff) | (11 + (bits >> 10 & 7)) << 10), half);
}

PROGRAM(scalar_halves, ushort, ushort)
{
  const uint i = GLOBAL_ID();
  const half a = __builtin_astype(in[i], half), b = __builtin_astype(in[(i + 1) % n], half);
  const half c = fair(in[(i + 2) % n]), d = fair(in[(i + 3) % n]);
  out[9 * i] = bits_of_half(a + b);
  out[9 * i + 1] = bits_of_half(a * b);
  out[9 * i + 2] = bits_of_half(a - c);
  out[9 * i + 3] = bits_of_half(c / d);
  out[9 * i + 4] = bits_of_half((half)((float)a * 3.0f));
  out[9 * i + 5] = bits_of_half(a < b ? c : -d);
  out[9 * i + 6] =
      (ushort)((a < b) | (a <= c) << 1 | (a == b) << 2 | (a != d) << 3 | !(a >= b) << 4);
  out[9 * i + 7] = bits_of_half((half)(short)(in[i] >> 3)) ^ (ushort)(short)(c * 100);
  out[9 * i + 8] = bits_of_half(__builtin_elementwise_sqrt(__builtin_elementwise_abs(c))) ^
                   bits_of_half(__builtin_elementwise_floor(d));
}

/* Each half of a word is made for itself and by turns, so that the other must stay. */
PROGRAM(kept_halves, uint, uint)
{
  const uint i = GLOBAL_ID();
  half2 pair = (half2)(fair(in[i]), fair(in[i] >> 16));
  short2 whole = __builtin_astype(in[(i + 5) % n], short2);
  for (uint k = 1; k < 12; ++k) {
    const uint word = in[(i + k) % n];
    if (word & 4) {
      pair.x = pair.x * (half)0.5f + fair(word);
      whole.y = (short)(whole.y * 3 + (short)word);
    }
    if (word & 8) {
      pair.y = fair(word >> 16) - pair.y * (half)0.25f;
      whole.x = (short)((whole.x >> 1) ^ (short)(word >> 16));
    }
    if (word & 16)
      pair = pair.yx;
    if (word & 32)
      whole = whole.yx;
  }
  out[2 * i] = __builtin_astype(pair, uint);
  out[2 * i + 1] = __builtin_astype(whole, uint);
}

PROGRAM(packed_halves, uint, uint)
{
  const uint i = GLOBAL_ID();
  half2 sum = (half2)(0), product = (half2)(1), most = (half2)(-100);
  for (uint k = 0; k < 8; ++k) {
    const uint word = in[(i + k) % n], other = in[(i * 7 + k) % n];
    const half2 a = (half2)(fair(word), fair(word >> 16)),
                b = (half2)(fair(other), fair(other >> 16));
    sum = sum + a * b.yx;
    product = product * (half2)(0.75f, -1.25f) - a;
    most = __builtin_elementwise_max(most, __builtin_elementwise_min(a, -b));
  }
  out[3 * i] = __builtin_astype(sum, uint);
  out[3 * i + 1] = __builtin_astype(product, uint);
  out[3 * i + 2] = __builtin_astype(most, uint);
}

/* Of quarters, so that no step is rounded. */
PROGRAM(mixed_precision, uint, float)
{
  const uint i = GLOBAL_ID();
  float sum = 0;
  for (uint k = 0; k < 24; ++k) {
    const uint word = in[(i + k) % n];
    const half2 a = (half2)((half)(int)(word & 15) * (half)0.25f, (half)(int)(word >> 4 & 15));
    const half2 b = (half2)((half)(int)(word >> 8 & 15), (half)((int)(word >> 12 & 15) - 8));
    sum = __builtin_elementwise_fma((float)a.x, (float)b.x, sum);
    sum = __builtin_elementwise_fma((float)a.y, (float)b.y, sum);
  }
  out[2 * i] = sum;
  out[2 * i + 1] = (float)(half)(sum * 0.125f);
}
