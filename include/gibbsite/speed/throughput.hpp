#pragma once
// Arithmetic and noise by which steps are timed for throughput, where a certified fit takes others.
#include <string>

#include "gibbsite/core/random.hpp"
#include "gibbsite/engine/engine.hpp"

namespace gibbsite {

/// Arithmetic and noise by their names on the command line and in Python; the defaults are those of
/// a fit.
struct Throughput {
  std::string arithmetic = "float64";  ///< "float64", "float32" or "bfloat16"
  std::string noise = "chacha20";      ///< "chacha20", "philox" or "curand"

  /// True if a fit uses the same arithmetic and noise.
  [[nodiscard]] bool as_of_a_fit() const;
  /// The options for `make_backend`. Throws BadInput on a name that is not listed above.
  [[nodiscard]] BackendOptions backend_options() const;
  /// The kind of the chains' noise streams; cuRAND takes their key as its seed. Throws BadInput on
  /// an unknown name.
  [[nodiscard]] NoiseKind noise_kind() const;
};

}  // namespace gibbsite
