#pragma once
// What is asked of rows in a metric P (docs/theory/whitened.md), answered on a GPU: second moments
// of clipped rows, and capped gradients. The same bits whatever the GPU and its memory.
#include <memory>
#include <string>
#include <vector>

#include "engine/cuda/placed_rows.hpp"
#include "gibbsite/engine/engine.hpp"
#include "gibbsite/model/loss.hpp"

namespace gibbsite::cuda {

/// How the rows are taken: a function of the table and of k alone, so that no bit depends on the
/// GPU.
struct MetricPlan {
  std::size_t chunk_rows = 0;        ///< of a gradient's partials, and copied where X is streamed
  std::size_t leaf_rows = 0;         ///< of a gradient
  std::size_t block_rows = 0;        ///< clipped at a time
  std::size_t moment_leaf_rows = 0;  ///< of second moments
};
/// `most_rows`, 1024 or more, holds chunks and blocks down, for tests.
MetricPlan plan_metric(const Shape& shape, std::size_t k, std::size_t most_rows = ~std::size_t{0});
/// Additions on the longest path from a row to the answer.
std::size_t capped_gradient_depth(const Shape& shape, const MetricPlan& plan);
std::size_t moments_depth(const Shape& shape, const MetricPlan& plan);

/// A metric and the clip in it.
struct CapsOf {
  std::uint64_t id = 0;  ///< which caps these are, from 1
  std::size_t k = 0;
  std::vector<double> P;  ///< [d x k]
  ScoreLimits limits;     ///< with the counts_of its loss
};

class MetricRows {
 public:
  /// x [n x d] and y [n] must outlive this; `loss`: its place among the compiled ones;
  /// `most_depth`: additions on the longest path to an answer (depth_left).
  MetricRows(Device& device, MatrixView<const float> x, std::span<const float> y, const Loss& loss,
             unsigned loss_index, std::size_t memory_limit, std::size_t most_depth,
             std::size_t most_rows = ~std::size_t{0})
      : device_(device),
        x_(x),
        y_(y),
        largest_(loss.max_abs_derivative()),
        loss_(loss_index),
        memory_limit_(memory_limit),
        most_depth_(most_depth),
        most_rows_(most_rows) {}
  ~MetricRows() { forget(); }

  /// By the number of features alone: which rows it is must not tell how they are answered.
  static bool takes(std::size_t features) { return features <= kernels::capped_most_features; }

  /// As Engine's, for what require_metric has let through. Throw CudaError where the GPU has no
  /// room for two chunks, BadInput where the sums are deeper than `most_depth`.
  void second_moments(MatrixView<const double> P, double clip, MatrixView<double> out);
  double capped_gradient(const CapsOf& of, std::span<const double> theta, std::span<double> out);

  /// Leaves nothing private in the GPU's memory.
  void forget() noexcept;
  /// "on the GPU, ...", one line for people; empty before the first answer.
  [[nodiscard]] const std::string& how() const { return how_; }

 private:
  class Tree;
  [[nodiscard]] Shape shape() const { return {x_.rows, x_.cols, 1}; }
  // Lays out and fills the GPU for k columns; again only where there are more.
  void prepare(std::size_t k);
  // The parts of an arena besides X.
  void lay_out(Parts& parts, const MetricPlan& plan, std::size_t k);

  Device& device_;
  MatrixView<const float> x_;
  std::span<const float> y_;
  double largest_;
  unsigned loss_;
  std::size_t memory_limit_, most_depth_, most_rows_;

  // Coordinates of the metric that is laid out; 0 if none is.
  std::size_t k_ = 0;
  MetricPlan plan_;
  std::unique_ptr<Memory> arena_;
  PlacedRows rows_;
  View<float> labels_, caps_;  // [n]
  View<double> theta_;         // [d]
  View<double> P_;             // [d x k]
  View<double> sizes_;         // [d]
  View<float> clipped_;        // [block x k]
  View<double> partials_;      // of a chunk or block
  View<double> sums_;          // [heights x cells]
  std::uint64_t caps_id_ = 0;  // whose caps are on the GPU; 0: nobody's
  std::string how_;
};

}  // namespace gibbsite::cuda
