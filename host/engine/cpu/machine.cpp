#include "gibbsite/engine/machine.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/cpu/kernels.hpp"
#include "machine/processors.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/machine.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gibbsite::machine::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

float Sum(const float* x, size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  auto a = hn::Zero(d), b = a, c = a, e = a;
  for (size_t i = 0; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::Add(a, hn::LoadU(d, x + i));
    b = hn::Add(b, hn::LoadU(d, x + i + lanes));
    c = hn::Add(c, hn::LoadU(d, x + i + 2 * lanes));
    e = hn::Add(e, hn::LoadU(d, x + i + 3 * lanes));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
}

// Ten independent chains hide the latency of two units. Returns the flops done.
template <class T>
double MultiplyAdd(size_t n, double* result) {
  const hn::ScalableTag<T> d;
  const auto x = hn::Set(d, T(0.999)), y = hn::Set(d, T(1e-3));
  auto s0 = hn::Iota(d, 0), s1 = hn::Iota(d, 1), s2 = hn::Iota(d, 2), s3 = hn::Iota(d, 3),
       s4 = hn::Iota(d, 4), s5 = hn::Iota(d, 5), s6 = hn::Iota(d, 6), s7 = hn::Iota(d, 7),
       s8 = hn::Iota(d, 8), s9 = hn::Iota(d, 9);
  for (size_t i = 0; i < n; ++i) {
    s0 = hn::MulAdd(s0, x, y);
    s1 = hn::MulAdd(s1, x, y);
    s2 = hn::MulAdd(s2, x, y);
    s3 = hn::MulAdd(s3, x, y);
    s4 = hn::MulAdd(s4, x, y);
    s5 = hn::MulAdd(s5, x, y);
    s6 = hn::MulAdd(s6, x, y);
    s7 = hn::MulAdd(s7, x, y);
    s8 = hn::MulAdd(s8, x, y);
    s9 = hn::MulAdd(s9, x, y);
  }
  const auto sum = hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)),
                           hn::Add(hn::Add(hn::Add(s4, s5), hn::Add(s6, s7)), hn::Add(s8, s9)));
  *result = static_cast<double>(hn::GetLane(sum));
  return 2.0 * 10 * static_cast<double>(n * hn::Lanes(d));
}

double MultiplyAddDouble(size_t n, double* result) { return MultiplyAdd<double>(n, result); }
double MultiplyAddFloat(size_t n, double* result) { return MultiplyAdd<float>(n, result); }

}  // namespace gibbsite::machine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gibbsite {
namespace machine {
HWY_EXPORT(Sum);
HWY_EXPORT(MultiplyAddDouble);
HWY_EXPORT(MultiplyAddFloat);
}  // namespace machine

namespace {

// Keeps what made `value` from being optimized away.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "g"(value) : "memory");
}

// The shortest of at least 50 windows over a fifth of a second: some fall between turns of others.
template <class F>
double best_seconds(F f) {
  using Seconds = std::chrono::duration<double>;
  const auto begin = std::chrono::steady_clock::now();
  double best = 1e9;
  for (int i = 0;; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (i >= 50 && Seconds(start - begin).count() >= 0.2) return best;
    f();
    best = std::min(best, Seconds(std::chrono::steady_clock::now() - start).count());
  }
}

template <class F>
double fma_rate(F multiply_add) {
  constexpr std::size_t n = 200'000;
  const int threads = startable_threads(thread_count());
  double flops = 0;
  const double seconds = best_seconds([&] {
    flops = 0;
#pragma omp parallel reduction(+ : flops) num_threads(threads)
    {
      double result = 0;
      flops += multiply_add(n, &result);
      keep(result);
    }
  });
  return flops / seconds;
}

}  // namespace

std::string instruction_set() { return cpu::instruction_set(); }

int thread_count() { return std::clamp(omp_get_max_threads(), 1, usable_processors()); }

double read_bandwidth(std::span<const float> x) {
  const int threads = startable_threads(thread_count());
  const auto parts = static_cast<std::size_t>(threads);
  // What is small is read again and again, so that the start of threads does not count.
  const std::size_t times = 1 + (std::size_t{4} << 20) / std::max<std::size_t>(x.size_bytes(), 64);
  const double seconds = best_seconds([&] {
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (std::size_t p = 0; p < parts; ++p) {
      using namespace machine;
      const std::size_t first = x.size() * p / parts, last = x.size() * (p + 1) / parts;
      for (std::size_t k = 0; k < times; ++k) {
        keep(HWY_DYNAMIC_DISPATCH(Sum)(x.data() + first, last - first));
      }
    }
  });
  return static_cast<double>(x.size_bytes() * times) / seconds;
}

double double_fma_rate() {
  return fma_rate([](std::size_t n, double* result) {
    using namespace machine;
    return HWY_DYNAMIC_DISPATCH(MultiplyAddDouble)(n, result);
  });
}

double float_fma_rate() {
  return fma_rate([](std::size_t n, double* result) {
    using namespace machine;
    return HWY_DYNAMIC_DISPATCH(MultiplyAddFloat)(n, result);
  });
}

}  // namespace gibbsite
#endif  // HWY_ONCE
