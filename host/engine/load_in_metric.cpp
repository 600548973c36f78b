// Rows in a metric, resident on an engine of their own.
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "gibbsite/engine/engine.hpp"

namespace gibbsite {

std::shared_ptr<Engine> load_in_metric(RowSums& engine, Backend& backend,
                                       const LoadedTargets& targets, MatrixView<const double> P,
                                       double clip) {
  struct Held {
    std::vector<float> rows;  // [local n x k]: the engine looks at them
    std::unique_ptr<Engine> engine;
  };
  const auto held = std::make_shared<Held>();
  const std::size_t n = engine.local_rows();
  held->rows.resize(n * P.cols);
  engine.clipped_rows(P, clip, {held->rows.data(), n, P.cols});
  Rows rows(held->rows.data(), n, P.cols);
  rows.offset = targets.offset;
  rows.weight = targets.weight;
  held->engine = backend.load(rows, targets.y, engine.loss());
  return {held, held->engine.get()};
}

}  // namespace gibbsite
