#pragma once
// The interface every backend implements: it holds the data and advances an ensemble.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gibbsite/data/rows.hpp"
#include "gibbsite/engine/ensemble.hpp"
#include "gibbsite/model/loss.hpp"

namespace gibbsite {

/// In what the gradient is computed; the state of a chain is double everywhere.
enum class Arithmetic {
  float64,   ///< double on float storage: the only one that a certificate covers (THEORY 5)
  float32,   ///< throughput: no certificate
  bfloat16,  ///< throughput on matrix units, thetas relative to a centre: no certificate
};
std::string_view to_string(Arithmetic arithmetic);

/// A data set and a loss, resident on a backend.
class Engine {
 public:
  virtual ~Engine() = default;
  /// Double gradients and noise of the chains' own streams: what a certified run needs.
  /// Whoever writes an engine vouches for it.
  [[nodiscard]] virtual bool certifiable() const { return false; }
  /// How the last `advance` was done ("one-pass: ..."), one line for people; may be empty.
  [[nodiscard]] virtual std::string design() const { return ""; }
  [[nodiscard]] virtual std::size_t rows() const = 0;
  [[nodiscard]] virtual std::size_t features() const = 0;

  /// Advances every unfinished chain by min(steps, T - step) Langevin steps. Bitwise reproducible
  /// for one backend and machine, however a run is cut into calls, whatever the number of threads
  /// and whatever else the machine does.
  virtual void advance(Ensemble& ensemble, std::uint64_t steps) = 0;

  /// out[C x d] = sum_i grad l(theta_c; x_i, y_i) for each row of theta [C x d]: the loss alone, no
  /// beta, no prior. Sums keep to accumulation_depth (core/summation.hpp).
  virtual void loss_gradients(MatrixView<const double> theta, MatrixView<double> out) = 0;

  /// out[C] = sum_i l(theta_c; x_i, y_i). Reads private data: diagnostics only.
  virtual void loss_values(MatrixView<const double> theta, std::span<double> out) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// "double on float storage; AVX-512; 2 threads": one line for people.
  [[nodiscard]] virtual std::string description() const = 0;
  /// Takes the data in. The views must outlive the engine. Throws BadInput on zero rows, zero
  /// columns or labels of the wrong length.
  virtual std::unique_ptr<Engine> load(const Rows& x, std::span<const float> y,
                                       const Loss& loss) = 0;
};

/// What `gibbsite devices` lists.
struct BackendInfo {
  std::string name;  ///< "reference", "cpu", "cuda"
  bool available = false;
  std::string description;  ///< or why it is not available
};
std::vector<BackendInfo> list_backends();

/// Where a throughput run takes its normals from.
enum class NoiseSource {
  streams,  ///< the chains' keys: pure in (key, stream, step, coordinate)
  curand,   ///< the library's Philox, seeded by the first chain's key: no certificate, and a run's
            ///< bits depend on how its chains are grouped
};

struct BackendOptions {
  Arithmetic arithmetic =
      Arithmetic::float64;                   ///< cuda: any; cpu: not bfloat16; reference: float64
  std::string design = "auto";               ///< cuda only: docs/cuda.md names them
  NoiseSource noise = NoiseSource::streams;  ///< cuda only
  std::size_t threads = 0;  ///< cpu only: so many, at most 64; 0: thread_count() of them
};

/// "auto" (the fastest one available), "reference", "cpu", "cuda". An explicit name never falls
/// back. Throws BadInput on an unknown name, NotCompiled / NoDevice / CudaError when it cannot be
/// used.
std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options = {});

}  // namespace gibbsite
