#pragma once
// Arithmetic and noise by which steps are timed for throughput, where a certified fit takes others.
#include <string>

#include "gibbsite/core/random.hpp"
#include "gibbsite/engine/engine.hpp"

namespace gibbsite {

/// Names as the command line and Python take them; as they are by default, those of a fit.
struct Throughput {
  std::string arithmetic = "float64";  ///< "float64", "float32" or "bfloat16"
  std::string noise = "chacha20";      ///< "chacha20", "philox" or "curand"

  /// Whether a fit computes in the same arithmetic, with the same noise.
  [[nodiscard]] bool as_of_a_fit() const;
  /// What `make_backend` is given. Throws BadInput on a name that is not one of those above.
  [[nodiscard]] BackendOptions backend_options() const;
  /// The kind of the chains' streams; cuRAND takes their key as its seed. Throws BadInput likewise.
  [[nodiscard]] NoiseKind noise_kind() const;
};

}  // namespace gibbsite
