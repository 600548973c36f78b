#pragma once
// What is asked of rows in a metric P (docs/theory/whitened.md): moments, and the loss capped in
// it. Threads share blocks of rows; their sums are added in the one tree (pairwise.hpp).
#include <memory>
#include <span>

#include "engine/cpu/moments.hpp"
#include "engine/cpu/table.hpp"
#include "engine/host_rows.hpp"
#include "gibbsite/engine/engine.hpp"
#include "machine/thread_pool.hpp"

namespace gibbsite::cpu {

/// The caps of rows, found once; one float each.
class Caps {
 public:
  Caps(const Table& table, const Loss& loss, MatrixView<const double> P, double clip);
  /// What a thread needs.
  struct Scratch {
    Aligned<float> products;
    Aligned<double> sizes;
  };
  static constexpr std::size_t most_rows = 256;  ///< at a time
  [[nodiscard]] const Metric& metric() const { return metric_; }
  [[nodiscard]] Scratch scratch() const;
  void find(std::size_t first, std::size_t last, Scratch& scratch);
  [[nodiscard]] const float* from(std::size_t row) const { return &caps_[row]; }

 private:
  Table table_;
  Metric metric_;
  double clip_;
  float largest_;
  Aligned<double> sizes_;  // of the rows of P, as row_logits takes them
  std::vector<float> caps_;
};

void second_moments(const Table& table, ThreadPool& pool, MatrixView<const double> P, double clip,
                    MatrixView<double> out);
void clipped_rows(const Table& table, ThreadPool& pool, MatrixView<const double> P, double clip,
                  MatrixView<float> out);
/// Takes the rows of `host` as `table`; scores' moments of several outputs are those of HostRows.
std::unique_ptr<CappedLoss> capped_loss(HostRows& host, const Table& table, ThreadPool& pool,
                                        MatrixView<const double> P, const ScoreLimits& limits);
/// As CappedLoss::information, of rows' curvatures [n]: each between 0 and 1.
void information(const Table& table, ThreadPool& pool, const Metric& metric,
                 const ScoreLimits& limits, std::span<const double> curvatures,
                 MatrixView<double> out);
/// As CappedLoss::information_between, of `classes` classes with caps that were found. `theta`: of
/// all classes as outputs_logits takes them.
void class_information(const Table& table, ThreadPool& pool, const Caps& caps,
                       const ScoreLimits& limits, std::size_t classes, const double* theta,
                       const ClassPair& pair, MatrixView<double> out);
/// As CappedLoss::score_moments, of rows' scores [n].
void score_moments(const Table& table, ThreadPool& pool, const Metric& metric,
                   const ScoreLimits& limits, std::span<const double> scores,
                   MatrixView<double> out);

}  // namespace gibbsite::cpu
