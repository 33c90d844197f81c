// Attention of one query, in double arithmetic, and what a kernel's roundings can make of it.
#ifndef RAWHAL_TESTS_AITER_ATTENTION_H
#define RAWHAL_TESTS_AITER_ATTENTION_H

#include "tests/aiter/numbers.h"

#include <algorithm>
#include <functional>

struct Attention {
  std::vector<double> p;              // of each key; their sum is 1
  std::vector<double> out, magnitude; // sums of p v and of p |v|
  double lse = 0;                     // natural logarithm of the sum of exponential functions
  double error = 0;                   // largest relative error of a p
};

// The softmax of `scale` q k over `keys` keys, times v. `key`(i) and `value`(i) are rows.
inline Attention attention(const std::vector<double> &q, size_t keys, size_t columns, double scale,
                           const std::function<const double *(size_t)> &key,
                           const std::function<const double *(size_t)> &value)
{
  Attention result;
  result.out.assign(columns, 0);
  result.magnitude.assign(columns, 0);
  if (keys == 0)
    return result;
  std::vector<double> scores(keys);
  double terms = 0; // the largest sum of the magnitudes of a product's terms
  for (size_t i = 0; i < keys; ++i) {
    const double *row = key(i);
    double sum = 0, magnitude = 0;
    for (size_t at = 0; at < q.size(); ++at) {
      sum += q[at] * row[at];
      magnitude += std::fabs(q[at] * row[at]);
    }
    scores[i] = scale * sum;
    terms = std::max(terms, scale * magnitude);
  }
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double &score : scores)
    sum += score = std::exp(score - most);
  result.lse = most + std::log(sum);
  for (size_t i = 0; i < keys; ++i) {
    const double *row = value(i), p = scores[i] / sum;
    result.p.push_back(p);
    for (size_t at = 0; at < columns; ++at) {
      result.out[at] += p * row[at];
      result.magnitude[at] += p * std::fabs(row[at]);
    }
  }
  // Roundings of the product's additions, of the scaling, of the difference to the largest score,
  // and one unit of the last place of the exponential function.
  result.error = float_unit * (static_cast<double>(q.size()) + 8) * terms + 2 * float_unit;
  return result;
}

// How far a kernel's out[at] may be from it that computes in floats, rounds each p within
// `p_unit` and the result within `out_unit`.
inline double tolerance(const Attention &exact, size_t at, size_t keys, double p_unit,
                        double out_unit)
{
  const double sums = 2 * float_unit * (static_cast<double>(keys) + 4);
  return (p_unit + 2 * exact.error + sums) * exact.magnitude[at] +
         out_unit * std::fabs(exact.out[at]);
}

#endif
