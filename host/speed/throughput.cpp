#include "gibbsite/speed/throughput.hpp"

#include "gibbsite/core/error.hpp"

namespace gibbsite {
namespace {

constexpr const char* library_noise = "curand";

}  // namespace

bool Throughput::as_of_a_fit() const {
  return arithmetic == Throughput().arithmetic && noise == Throughput().noise;
}

BackendOptions Throughput::backend_options() const {
  static_cast<void>(noise_kind());
  BackendOptions out;
  out.noise = noise == library_noise ? NoiseSource::curand : NoiseSource::streams;
  if (arithmetic == "float32") {
    out.arithmetic = Arithmetic::float32;
  } else if (arithmetic == "bfloat16") {
    out.arithmetic = Arithmetic::bfloat16;
  } else if (arithmetic != "float64") {
    throw BadInput(Field{"arithmetic"}, "must be float64, float32 or bfloat16");
  }
  return out;
}

NoiseKind Throughput::noise_kind() const {
  if (noise == library_noise) return NoiseKind::philox;
  for (const NoiseKind kind : {NoiseKind::chacha20, NoiseKind::philox}) {
    if (noise == to_string(kind)) return kind;
  }
  throw BadInput(Field{"noise"}, "must be chacha20, philox or curand");
}

}  // namespace gibbsite
