/* What lanes of a wave tell each other. */

/* Those chosen, side by side; then the rest by itself. */
PROGRAM(compaction, uint, uint)
{
  const uint word = in[GLOBAL_ID()], start = GLOBAL_ID() - LANE();
  const ulong all = BALLOT(true, ~0ul), chosen = BALLOT(word % 3 == 0, ~0ul);
  const uint place =
      word % 3 == 0 ? BELOW(chosen) : (uint)__builtin_popcountl(chosen) + BELOW(all & ~chosen);
  out[2 * (start + place)] = word;
  uint told = 0;
  if (word % 3 != 0) {
    const ulong others = BALLOT(word & 16, all & ~chosen);
    told = (uint)__builtin_popcountl(others) ^ READ_FIRST(word, all & ~chosen);
  }
  out[2 * GLOBAL_ID() + 1] = told;
}

PROGRAM(permutations, uint, uint)
{
  const uint i = GLOBAL_ID(), word = in[i], lane = LANE();
  out[7 * i] = PULL(word, in[(i + 1) % n] % WAVE);
  out[7 * i + 1] = PUSH(word, lane ^ 21); /* one for each */
  out[7 * i + 2] = SWIZZLE(word, 0x041f);
  out[7 * i + 3] = SWIZZLE(word, 0x7c1f) + SWIZZLE(word, 0x0018);
  out[7 * i + 4] = READ_LANE(word, 5) ^ READ_LANE(word, WAVE - 1);
  out[7 * i + 5] = WRITE_LANE(77u, 9u, word);
  out[7 * i + 6] = READ_FIRST(word, ~0ul) + SWIZZLE(word, 0x8000 | 0x1b);
}

/* Moves within rows of 16 lanes, whole and with parts that stay. */
PROGRAM(rows, uint, uint)
{
  const uint i = GLOBAL_ID(), word = in[i], old = i * 3;
  uint at = 12 * i;
  out[at++] = DPP(old, word, 0x1b, 0xf, 0xf, false);  /* quad_perm:[3,2,1,0] */
  out[at++] = DPP(old, word, 0x39, 0xf, 0xf, true);   /* quad_perm:[1,2,3,0] */
  out[at++] = DPP(old, word, 0x103, 0xf, 0xf, false); /* row_shl:3 */
  out[at++] = DPP(old, word, 0x111, 0xf, 0xf, true);  /* row_shr:1 */
  out[at++] = DPP(old, word, 0x118, 0xf, 0xf, false); /* row_shr:8 */
  out[at++] = DPP(old, word, 0x125, 0xf, 0xf, false); /* row_ror:5 */
  out[at++] = DPP(old, word, 0x140, 0xf, 0xf, false); /* row_mirror */
  out[at++] = DPP(old, word, 0x141, 0xf, 0xf, false); /* row_half_mirror */
  out[at++] = DPP(old, word, 0x111, 0xa, 0xf, false); /* of two rows */
  out[at++] = DPP(old, word, 0x121, 0xf, 0x5, false); /* of two banks in each */
  out[at++] = DPP(0u, word, 0x112, 0xf, 0xf, true) + word;
  out[at++] = DPP(0u, word, 0xb1, 0xf, 0xf, true) ^ word;
}

/* A sum of all before, by moves and, between rows, by reading lanes. */
PROGRAM(scan, uint, uint)
{
  const uint i = GLOBAL_ID(), lane = LANE();
  uint sum = in[i];
  sum += DPP(0u, sum, 0x111, 0xf, 0xf, false);
  sum += DPP(0u, sum, 0x112, 0xf, 0xf, false);
  sum += DPP(0u, sum, 0x114, 0xf, 0xf, false);
  sum += DPP(0u, sum, 0x118, 0xf, 0xf, false);
  for (uint row = 16; row < WAVE; row += 16) {
    const uint before = READ_LANE(sum, row - 1);
    sum += lane / 16 == row / 16 ? before : 0;
  }
  out[i] = sum;
}

/* RDNA's own: any lane of the row or of the one beside it; any of eight; one for a whole row. */
#if __GFX10__ || __GFX11__
#define PERMUTED(old, value, low, high)                                                            \
  __builtin_amdgcn_permlane16(old, value, low, high, false, false)
#define CROSSED(old, value, low, high)                                                             \
  __builtin_amdgcn_permlanex16(old, value, low, high, false, false)
#define OF_EIGHT(value)  __builtin_amdgcn_mov_dpp8(value, 0x53977) /* 7, 6, 5 ... */
#define SHARED(value)    DPP(0u, value, 0x155, 0xf, 0xf, false)
#define TURNED_BY(value) DPP(0u, value, 0x166, 0xf, 0xf, false)
#else
static inline uint of_row(uint value, uint low, uint high, uint with)
{
  const uint lane = LANE() % 16, from = (lane < 8 ? low >> 4 * lane : high >> 4 * (lane - 8)) & 15;
  const uint at = (LANE() & ~15u) + from;
  return PULL(value, at ^ with);
}
#define PERMUTED(old, value, low, high) of_row(value, low, high, 0)
#define CROSSED(old, value, low, high)  of_row(value, low, high, 16)
#define OF_EIGHT(value)                 PULL(value, LANE() ^ 7)
#define SHARED(value)                   PULL(value, (LANE() & ~15u) + 5)
#define TURNED_BY(value)                PULL(value, LANE() ^ 6)
#endif

PROGRAM(row_permutations, uint, uint)
{
  const uint i = GLOBAL_ID(), word = in[i];
  out[5 * i] = PERMUTED(i, word, 0xfedcba98, 0x13572468);
  out[5 * i + 1] = CROSSED(i, word, 0x76543210, 0x0a1b2c3d);
  out[5 * i + 2] = OF_EIGHT(word);
  out[5 * i + 3] = SHARED(word);
  out[5 * i + 4] = TURNED_BY(word);
}

/* Most and least of a wave, of floats: by exchanges with lanes ever further away. */
PROGRAM(extremes, uint, float)
{
  const uint i = GLOBAL_ID(), lane = LANE();
  float most = moderate(in[i]), least = most;
  for (uint distance = 1; distance < 32; distance *= 2) {
    const float other =
        __builtin_astype(PULL(__builtin_astype(most, uint), lane ^ distance), float);
    const float lower =
        __builtin_astype(PULL(__builtin_astype(least, uint), lane ^ distance), float);
    most = other > most ? other : most;
    least = lower < least ? lower : least;
  }
  out[2 * i] = most;
  out[2 * i + 1] = least;
}
