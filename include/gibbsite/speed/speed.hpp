#pragma once
// How long a step takes on this machine, measured on rows made up for the purpose: of the same
// public kind as the table (columns and their widths), never the table itself. The model
// is in docs/reference/performance.md, "How long a fit takes".
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "gibbsite/core/random.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/engine/engine.hpp"
#include "gibbsite/mechanism/plan.hpp"

namespace gibbsite {

/// What the time of a step depends on: n, and how many entries of a row can be nonzero.
struct TableShape {
  std::uint64_t rows = 0;             ///< n
  std::vector<std::uint32_t> widths;  ///< [columns] features of a column, of which one is not zero

  [[nodiscard]] std::uint64_t features() const;  ///< d, the intercept included
  /// Largest number of nonzero entries of a row: a category's column has one, and so has a
  /// number's.
  [[nodiscard]] std::uint64_t entries() const { return widths.size(); }
  /// True if readers keep such rows sparse.
  [[nodiscard]] bool is_sparse() const;
  /// Memory of such a row and its label, in bytes.
  [[nodiscard]] double bytes_per_row() const;
};
/// The shape of rows without a schema: every entry may be nonzero.
TableShape dense_shape(const FeatureSpace& space, std::uint64_t rows);
/// The shape of rows under a schema; public like it.
TableShape shape_of(const Schema& schema, std::uint64_t rows);
/// The shape of rows with `entries` nonzero entries, evenly spread over the features; their number
/// decides the time of sparse rows. It is clamped to [1, features].
TableShape sparse_shape(std::uint64_t features, std::uint64_t rows, double entries);

/// Generated rows of norm 1 with random labels: one level of every category, numbers of either
/// sign. Sparse if readers would keep such a table sparse (data/rows.hpp).
struct MadeUpRows {
  std::uint64_t features = 0;  ///< d
  std::vector<float> x;        ///< [n x d] row-major; empty when the rows are sparse
  SparseTable sparse;          ///< no rows when they are dense
  std::vector<float> y;        ///< [n] -1 or 1

  [[nodiscard]] Rows view() const;
};
/// Generates the first `rows` rows of a shape. Throws std::bad_alloc.
MadeUpRows make_up_rows(const TableShape& shape, std::uint64_t rows);

/// How a time is measured.
struct TimingOptions {
  double seconds = 0.25;  ///< measured for about so long a number of chains, where a
                          ///< step is shorter; else three steps
  double planned_steps = std::numeric_limits<double>::infinity();  ///< a twentieth of the time
                                                                   ///< that these take is enough
  double longest_step = 0.25;       ///< seconds: fewer rows are measured where a step takes longer
  std::uint64_t most_bytes = 0;     ///< of the rows made up; 0: four times the last cache, at least
                                    ///< 128 MiB
  std::uint64_t most_chains = 256;  ///< more are counted in proportion; fewer where d is large
  /// Generator of the chains' noise. philox is for throughput alone: no fit takes it.
  NoiseKind noise = NoiseKind::chacha20;
  /// Seconds since some moment.
  std::function<double()> clock = {};
  /// Called between windows; may throw.
  std::function<void()> poll = {};
};

struct StepTime {
  double seconds = 0;                    ///< of a step of all chains on all rows
  std::uint64_t rows = 0, chains = 0;    ///< that were measured; the rest in proportion
  std::uint64_t windows = 0, steps = 0;  ///< windows whose median it is, steps of each
};

/// Seconds of what runs are made of.
struct WorkTime {
  double pass = 0;  ///< a gradient pass of one chain
  /// A gradient of capped scores, whose caps are found; NaN where none was measured.
  double capped = std::numeric_limits<double>::quiet_NaN();
  /// A run's first question for second moments, and a later one, with the eigenpairs of the answer
  /// [d x d]; NaN where none was measured.
  double first_moments = std::numeric_limits<double>::quiet_NaN(),
         moments = std::numeric_limits<double>::quiet_NaN();
  double release = 0;  ///< writing and verifying all released numbers
};

/// Measures steps of a backend on a table. Keeps views of the rows it is given.
class StepTimer {
 public:
  /// Measures on generated rows: all of them, or as many as `most_bytes` holds.
  StepTimer(Backend& backend, const TableShape& shape, const Loss& loss,
            TimingOptions options = {});
  /// Measures on existing rows [n x d] with labels [n].
  StepTimer(Backend& backend, const Rows& x, std::span<const float> y, const Loss& loss,
            TimingOptions options = {});

  /// Seconds of a step of `chains` chains on all rows. Rows beyond those measured count in
  /// proportion, and so do chains beyond `most_chains`.
  StepTime time(std::uint64_t chains);

  /// The moments of WorkTime, measured on few rows.
  WorkTime time_moments();

  /// `capped` of WorkTime, measured on at most 2^24 numbers of x times outputs, or 16,384 rows.
  double time_capped();

  /// Numbers of a chain: features times outputs.
  [[nodiscard]] std::uint64_t coordinates() const { return x_.cols * loss_.outputs(); }

 private:
  [[nodiscard]] std::unique_ptr<Engine> load(std::uint64_t rows) const;

  Backend& backend_;
  const Loss& loss_;
  TimingOptions options_;
  MadeUpRows made_up_;
  Rows x_;  ///< [n' x d]
  std::span<const float> y_;
  std::uint64_t rows_ = 0;  ///< n
  std::unique_ptr<Engine> engine_;
};

/// Measures a gradient pass of one of `draws` chains, and a question for second moments and a
/// gradient of capped scores if `offers` within reach ask any.
WorkTime measure_work(StepTimer& timer, std::span<const Candidate> offers, std::uint64_t draws);

/// Predicted seconds of an offer with all of its draws. It is for the screen: nothing that is
/// planned depends on it. What was not measured counts as passes.
double predicted_seconds(const Candidate& candidate, const WorkTime& time);
/// The predicted seconds of every offer of a plan, in its order.
std::vector<double> predicted_seconds(const Plan& plan, const WorkTime& time);

}  // namespace gibbsite
