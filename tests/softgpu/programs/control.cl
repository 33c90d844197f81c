/* Ways through a program that lanes do not share. */

PROGRAM(collatz, uint, uint)
{
  const uint i = GLOBAL_ID();
  uint value = (in[i] & 0xfff) + 1, steps = 0, most = value;
  while (value != 1 && steps < 200) {
    value = value & 1 ? value * 3 + 1 : value >> 1;
    most = value > most ? value : most;
    ++steps;
  }
  out[2 * i] = steps;
  out[2 * i + 1] = most;
}

/* A machine of sixteen operations, each lane with a program of its own. */
PROGRAM(interpreter, uint, uint)
{
  const uint i = GLOBAL_ID();
  uint a = i, b = in[i], at = i, steps = 0;
  for (; steps < 48; ++steps, ++at) {
    const uint operation = in[at % n];
    switch (operation >> 4 & 15) {
    case 0:
      a += b;
      break;
    case 1:
      a -= operation;
      break;
    case 2:
      b ^= a;
      break;
    case 3:
      a = a << (b & 31);
      break;
    case 4:
      b = a >> (operation & 31);
      break;
    case 5:
      a *= b | 1;
      break;
    case 6: {
      const uint t = a;
      a = b;
      b = t;
    } break;
    case 7:
      if (a & 1)
        at += 3;
      break;
    case 8:
      b += 0x9e3779b9;
      break;
    case 9:
      a = b % 1000 + a;
      break;
    case 10:
      a = ~a;
      break;
    case 11:
      b = (uint)__builtin_popcount(a) + b;
      break;
    case 12:
      if (b & 2)
        continue;
      a += 5;
      break;
    case 13:
      a = a > b ? a - b : b - a;
      break;
    case 14:
      if ((a ^ b) % 61 == 3)
        goto done;
      break;
    default:
      b = __builtin_rotateleft32(b, 7);
      break;
    }
  }
done:
  out[3 * i] = a;
  out[3 * i + 1] = b;
  out[3 * i + 2] = steps;
}

static NOINLINE uint third(uint a, uint b)
{
  uint work[6];
  for (uint k = 0; k < 6; ++k)
    work[(k * 5 + a) % 6] = a * k ^ b;
  return work[b % 6] + work[(a ^ b) % 6];
}
static NOINLINE uint second(uint a, uint b)
{
  return a & 1 ? third(a + b, b) * 3 : third(b, a) + third(a, a) + a;
}
static NOINLINE uint first(uint a, uint b)
{
  uint sum = 0;
  for (uint k = 0; k < (a & 3) + 1; ++k)
    sum = sum * 31 + second(a + k, b ^ sum);
  return sum;
}

PROGRAM(calls, uint, uint)
{
  const uint i = GLOBAL_ID();
  uint value = first(in[i], i);
  if (i % 3 == 1)
    value ^= first(value, 7);
  out[i] = value;
}

/* Each calls the next one once or twice, or not at all, and keeps something meanwhile. */
#define LINK(name, next)                                                                           \
  static NOINLINE uint name(uint value, uint depth)                                                \
  {                                                                                                \
    if (depth == 0)                                                                                \
      return ~value;                                                                               \
    if (value & 1)                                                                                 \
      return next(value * 3, depth - 1) ^ next(value >> 3, depth - 1) * depth;                     \
    return next(value + depth, depth - 1) * 5 + value;                                             \
  }
static NOINLINE uint last_link(uint value, uint depth)
{
  return value ^ depth;
}
LINK(fifth_link, last_link)
LINK(fourth_link, fifth_link)
LINK(third_link, fourth_link)
LINK(second_link, third_link)
LINK(first_link, second_link)

PROGRAM(call_chain, uint, uint)
{
  const uint i = GLOBAL_ID();
  out[i] = first_link(in[i], 1 + in[(i + 1) % n] % 6);
}

PROGRAM(string_search, uchar, uint)
{
  const uint i = GLOBAL_ID();
  uint found = ~0u, hits = 0;
  for (uint at = i * 16; at < i * 16 + 64; ++at) {
    uint k = 0;
    while (k < 3 && (in[(at + k) % n] & 3) == (i >> 2 * k & 3))
      ++k;
    if (k < 3)
      continue;
    ++hits;
    if (found == ~0u)
      found = at;
    if (hits == 4)
      break;
  }
  out[2 * i] = found;
  out[2 * i + 1] = hits;
}

/* Lanes leave one after the other, from loops within loops, and the rest goes on. */
PROGRAM(leaving, uint, uint)
{
  const uint i = GLOBAL_ID();
  uint sum = 0;
  out[i] = 1;
  if (in[i] % 11 == 0)
    return;
  for (uint outer = 0; outer < 6; ++outer) {
    for (uint inner = 0; inner < 9; ++inner) {
      const uint word = in[(i + outer * 9 + inner) % n];
      if (word % 13 == 0)
        break;
      if (word % 7 == outer)
        continue;
      if (word % 101 == 5) {
        out[i] = sum;
        return;
      }
      sum = sum * 3 + (word & 255);
    }
    if (sum % 17 == 4)
      break;
  }
  out[i] = sum + 2;
}

PROGRAM(coordinates, uint, uint)
{
  const uint x = GROUP_ID(x) * GROUP_SIZE(x) + LOCAL_ID(x),
             y = GROUP_ID(y) * GROUP_SIZE(y) + LOCAL_ID(y);
  const uint z = GROUP_ID(z) * GROUP_SIZE(z) + LOCAL_ID(z);
  const uint at =
      (z * 3 * GROUP_SIZE(y) + y) * 2 * GROUP_SIZE(x) + x; /* of two groups, and of three */
  out[at] = x | y << 8 | z << 16 | (GROUP_ID(x) + GROUP_ID(y) * 4 + GROUP_ID(z) * 16) << 24;
}

/* Functions that are called by their address, several in one wave. */
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
typedef uint function_t(uint a, uint b);
static NOINLINE uint product_of(uint a, uint b)
{
  return a * b + 1;
}
static NOINLINE uint turned_by(uint a, uint b)
{
  return __builtin_rotateleft32(a, b & 31) ^ b;
}
static NOINLINE uint rest_of(uint a, uint b)
{
  return a % (b | 1);
}

PROGRAM(function_pointers, uint, uint)
{
  function_t *const functions[] = {product_of, turned_by, rest_of, third};
  const uint i = GLOBAL_ID();
  uint value = i;
  for (uint k = 0; k < 9; ++k) {
    const uint word = in[(i + k) % n];
    value = functions[word >> 6 & 3](value, word);
  }
  out[i] = value;
}
