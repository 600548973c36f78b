#pragma once
// Rows and chains with everything odd planted, and device memory for tests of kernels.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "engine/cuda/device.hpp"
#include "gibbsite/data/rows.hpp"
#include "gibbsite/engine/ensemble.hpp"

namespace gibbsite::support {

struct OddRows {
  std::size_t n, d;
  std::vector<float> x, y;         // [n x d], [n]
  SparseTable entries = {};        // of rows to be handed on as entries; else without rows
  std::vector<float> offset = {};  // [n], or none
  std::vector<float> weight = {};  // [n], or none
  [[nodiscard]] Rows view() const {
    Rows out = entries.rows() == 0 ? Rows(x.data(), n, d) : Rows(entries.view(), d);
    if (!offset.empty()) out.offset = offset.data();
    if (!weight.empty()) out.weight = weight.data();
    return out;
  }
};

/// x_i . theta, and the sum of |x_ij theta_j|, which its rounding is measured by.
struct ExactLogit {
  long double z = 0;
  double magnitude = 0;
};
inline ExactLogit exact_logit(const OddRows& p, std::size_t i, const double* theta) {
  ExactLogit logit;
  for (std::size_t j = 0; j < p.d; ++j) {
    const long double term = static_cast<long double>(p.x[i * p.d + j]) * theta[j];
    logit.z += term;
    logit.magnitude += static_cast<double>(std::fabs(term));
  }
  return logit;
}

// Stores the rows as sparse entries too: those that are not zero, and a zero here and there.
inline void make_sparse(OddRows& p) {
  for (std::size_t i = 0; i < p.n; ++i) {
    for (std::size_t j = 0; j < p.d; ++j) {
      const float v = p.x[i * p.d + j];
      if (v == 0.0f && (i + j) % 1009 != 0) continue;
      p.entries.feature.push_back(static_cast<std::uint32_t>(j));
      p.entries.value.push_back(v);
    }
    p.entries.begin.push_back(p.entries.value.size());
  }
}

// Rows in [-1,1]^d; a row of zeros, duplicate rows, a constant column, a column of zeros, one of
// tiny and one of large numbers.
inline OddRows make_odd_rows(std::size_t n, std::size_t d, unsigned seed) {
  std::mt19937 gen(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  OddRows p{n, d, std::vector<float>(n * d), std::vector<float>(n)};
  for (float& v : p.x) v = uniform(gen);
  for (float& v : p.y) v = uniform(gen) < 0 ? -1.0f : 1.0f;
  for (std::size_t i = 0; i < n; ++i) {
    float* const row = &p.x[i * d];
    if (d > 1) row[d - 1] = 1.0f;
    if (d > 4) {
      row[1] = 0.0f;
      row[2] *= 1e-20f;
      row[d - 2] *= 1e3f;
    }
    if (i % 11 == 5) std::fill_n(row, d, 0.0f);
    if (i % 7 == 3) std::copy_n(&p.x[(i - 1) * d], d, row);
  }
  return p;
}

// Odd rows of which about `per_row` entries are kept, as entries.
inline OddRows make_sparse_rows(std::size_t n, std::size_t d, double per_row, unsigned seed) {
  OddRows p = make_odd_rows(n, d, seed);
  std::mt19937 gen(seed + 1);
  std::bernoulli_distribution keep(std::min(per_row / static_cast<double>(d), 1.0));
  for (float& v : p.x) v = keep(gen) ? v : 0.0f;
  make_sparse(p);
  return p;
}

// Chains that differ in every field, noise of both kinds; logits up to +-800 and beyond.
inline Ensemble make_odd_chains(std::size_t chains, std::size_t d) {
  std::vector<ChainSpec> specs(chains, {.key = StreamKey::from_seed(0)});
  for (std::size_t c = 0; c < chains; ++c) {
    const auto k = static_cast<double>(c);
    specs[c].inverse_temperature = 0.1 + 0.01 * k;
    specs[c].prior_precision = c % 5 == 4 ? 0.0 : 0.5 + std::fmod(0.1 * k, 3);
    specs[c].step_size = 1e-3 / (1 + std::fmod(k, 7));
    specs[c].iterations = 2 + c % 4;
    if (c % 3 == 1) specs[c].center.assign(d, 0.2 * std::sin(k));
    specs[c].key = StreamKey::from_seed(c / 2);
    if (c % 2 == 1) specs[c].key.kind = NoiseKind::chacha20;
    specs[c].stream = static_cast<std::uint32_t>(c % 3);
  }
  Ensemble e = start(std::move(specs), d);
  std::mt19937 gen(static_cast<unsigned>(chains + d));
  std::normal_distribution<double> normal(0, 1);
  for (std::size_t c = 0; c < chains; ++c) {
    for (double& v : e.chain(c)) v += normal(gen) * (c % 6 == 5 ? 300 : 1);
  }
  return e;
}

// An array in a device's memory for the time of a test.
template <class T>
class DeviceArray {
 public:
  DeviceArray(cuda::Device& device, std::size_t count)
      : device_(device),
        memory_(device.allocate(std::max<std::size_t>(count, 1) * sizeof(T))),
        count_(count) {}
  DeviceArray(cuda::Device& device, std::span<const T> values)
      : DeviceArray(device, values.size()) {
    device_.copy_in(cuda::Queue::compute, memory_, values.data(), values.size_bytes());
    device_.synchronize();
  }
  ~DeviceArray() { device_.release(memory_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  [[nodiscard]] kernels::View<T> view() const { return {reinterpret_cast<T*>(memory_), count_}; }
  [[nodiscard]] std::byte* bytes() const { return memory_; }
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> values(count_);
    device_.copy_out(cuda::Queue::compute, values.data(), memory_, count_ * sizeof(T));
    device_.synchronize();
    return values;
  }

 private:
  cuda::Device& device_;
  std::byte* memory_;
  std::size_t count_;
};

}  // namespace gibbsite::support
