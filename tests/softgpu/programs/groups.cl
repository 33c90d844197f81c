/* What a work-group does together, between barriers. */

PROGRAM(prefix_sum, uint, uint)
{
  LOCAL(uint, sums, 512);
  const uint i = LOCAL_ID(x), size = GROUP_SIZE(x);
  uint now = 0;
  sums[i] = in[GLOBAL_ID()];
  for (uint distance = 1; distance < size; distance *= 2) {
    BARRIER();
    sums[256 - now + i] = sums[now + i] + (i >= distance ? sums[now + i - distance] : 0);
    now = 256 - now;
  }
  BARRIER();
  out[GLOBAL_ID()] = sums[now + i];
}

/* One pass of four bits, stable: who has the same digit before me in the group. */
PROGRAM(radix_pass, uint, uint)
{
  LOCAL(uint, counts, 16 * 256);
  LOCAL(uint, starts, 17);
  const uint i = LOCAL_ID(x), size = GROUP_SIZE(x), word = in[GLOBAL_ID()], digit = word >> 8 & 15;
  for (uint k = 0; k < 16; ++k)
    counts[k * size + i] = k == digit;
  BARRIER();
  if (i < 16) {
    uint sum = 0;
    for (uint k = 0; k < size; ++k) {
      const uint here = counts[i * size + k];
      counts[i * size + k] = sum;
      sum += here;
    }
    starts[i + 1] = sum;
  }
  BARRIER();
  if (i == 0) {
    starts[0] = 0;
    for (uint k = 1; k <= 16; ++k)
      starts[k] += starts[k - 1];
  }
  BARRIER();
  out[GROUP_ID(x) * size + starts[digit] + counts[digit * size + i]] = word;
}

PROGRAM(bitonic_sort, uint, uint)
{
  LOCAL(uint, words, 256);
  const uint i = LOCAL_ID(x), size = GROUP_SIZE(x);
  words[i] = in[GLOBAL_ID()];
  BARRIER();
  for (uint length = 2; length <= size; length *= 2) {
    for (uint distance = length / 2; distance > 0; distance /= 2) {
      const uint other = i ^ distance;
      if (other > i) {
        const uint a = words[i], b = words[other];
        if ((a > b) == ((i & length) == 0)) {
          words[i] = b;
          words[other] = a;
        }
      }
      BARRIER();
    }
  }
  out[GLOBAL_ID()] = words[i];
}

PROGRAM(matrix_product, float, float)
{
  LOCAL(float, left, 256);
  LOCAL(float, right, 256);
  const uint x = LOCAL_ID(x) % 16, y = LOCAL_ID(x) / 16, column = GROUP_ID(x) % 2 * 16 + x,
             row = GROUP_ID(x) / 2 * 16 + y;
  float sum = 0;
  for (uint k = 0; k < 32; k += 16) {
    left[y * 16 + x] = in[row * 32 + k + x];
    right[y * 16 + x] = in[1024 + (k + y) * 32 + column];
    BARRIER();
    for (uint m = 0; m < 16; ++m)
      sum = __builtin_elementwise_fma(left[y * 16 + m], right[m * 16 + x], sum);
    BARRIER();
  }
  out[row * 32 + column] = sum;
}

PROGRAM(matrix_of_doubles, float, double)
{
  const uint i = GLOBAL_ID(), row = i / 16, column = i % 16;
  double sum = 0;
  for (uint k = 0; k < 16; ++k)
    sum += (double)in[row * 16 + k] * (double)in[k * 16 + column] - (double)in[k];
  out[i] = sum;
}

/* Each reads its neighbours' cells, of which those at the edges are dead. */
PROGRAM(life, uchar, uint)
{
  LOCAL(uchar, cells, 2 * 18 * 18);
  const uint x = LOCAL_ID(x) % 16 + 1, y = LOCAL_ID(x) / 16 + 1;
  for (uint at = LOCAL_ID(x); at < 2 * 18 * 18; at += GROUP_SIZE(x))
    cells[at] = 0;
  BARRIER();
  cells[y * 18 + x] = in[GLOBAL_ID()] % 3 == 0;
  BARRIER();
  uint now = 0;
  for (uint turn = 0; turn < 5; ++turn) {
    uint alive = 0;
    for (uint k = 0; k < 9; ++k)
      alive += k == 4 ? 0 : cells[now + (y + k / 3 - 1) * 18 + x + k % 3 - 1];
    const uchar was = cells[now + y * 18 + x];
    now = 324 - now;
    cells[now + y * 18 + x] = alive == 3 || (alive == 2 && was);
    BARRIER();
  }
  out[GLOBAL_ID()] = cells[now + y * 18 + x];
}

/* A tree in LDS. */
PROGRAM(reduction, uint, ulong)
{
  LOCAL(ulong, sums, 256);
  const uint i = LOCAL_ID(x);
  sums[i] = (ulong)in[GLOBAL_ID()] * in[(GLOBAL_ID() + 1) % n];
  for (uint distance = GROUP_SIZE(x) / 2; distance > 0; distance /= 2) {
    BARRIER();
    if (i < distance)
      sums[i] += sums[i + distance];
  }
  if (i == 0)
    out[GROUP_ID(x)] = sums[0];
}
