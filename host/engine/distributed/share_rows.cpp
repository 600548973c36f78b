#include "engine/distributed/share_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/summation.hpp"

namespace gibbsite::distributed {

ShareRows::ShareRows(Backend& local, const Rows& x, std::span<const float> y, const Loss& loss,
                     const Place& place)
    : HostRows(x, y, loss), before_(place.before), one_node_(place.one_node) {
  Rows mine = x;
  mine.whole = place.whole;
  if (one_node_) {
    if (x.rows > 0) nodes_.push_back({0, x.rows, local.load(mine, y, loss)});
    return;
  }
  for (const sharded::Node& node : place.nodes) {
    const std::size_t first = node.first * row_block - before_;
    const std::size_t last =
        std::min<std::size_t>(node.last * row_block, place.whole.rows) - before_;
    nodes_.push_back(
        {first, last, local.load(mine.part(first, last), y.subspan(first, last - first), loss)});
  }
}

void ShareRows::of_nodes(const Question& q, std::span<double> out) {
  const auto capped = q.of->capped ? capped_of(q) : std::span<const std::unique_ptr<CappedLoss>>();
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    const std::size_t size = out.size() / nodes_.size();
    q.of->of_rows({*nodes_[k].engine, before_ + nodes_[k].first, nodes_[k].first,
                   capped.empty() ? nullptr : capped[k].get()},
                  q, out.subspan(k * size, size));
  }
}

void ShareRows::of_share(const Question& q, std::span<double> out) {
  q.of->of_rows({*this, before_, 0, nullptr}, q, out);
}

std::string ShareRows::design_on(std::size_t ranks) const {
  const std::string of_node = nodes_.empty() ? "" : nodes_.front().engine->design();
  return fmt::format("{}{}rows on {} ranks", of_node, of_node.empty() ? "" : "; ", ranks);
}

std::span<const std::unique_ptr<CappedLoss>> ShareRows::capped_of(const Question& q) {
  const auto kept = std::ranges::find_if(
      capped_, [&](const Kept& of) { return of.clip == q.number && of.metric == q.second; });
  if (kept == capped_.end()) {
    if (capped_.size() == 2) capped_.pop_back();
    Kept found{q.second, q.number, {}};
    for (const Node& node : nodes_) {
      found.of_nodes.push_back(node.engine->capped_loss(metric_of(*this, q), limits_of(q)));
    }
    capped_.insert(capped_.begin(), std::move(found));
  } else {
    std::rotate(capped_.begin(), kept, kept + 1);
  }
  return capped_.front().of_nodes;
}

const HostHessian& ShareRows::hessian_of(const Question& q) {
  if (!hessian_ || hessian_theta_ != q.first || hessian_scale_ != q.number) {
    hessian_ = host_hessian(q.first, q.number);
    hessian_theta_ = q.first;
    hessian_scale_ = q.number;
  }
  return *hessian_;
}

OrderedSums& ShareRows::ordered(Engine& engine) {
  auto* const out = dynamic_cast<OrderedSums*>(&engine);
  if (out == nullptr) {
    throw BadInput(
        "shares: rows are added in another way than those that ask; run the same gibbsite "
        "everywhere");
  }
  return *out;
}

std::vector<double> ShareRows::loss_terms(MatrixView<const double> theta) {
  std::vector<double> terms;
  for (const Node& node : nodes_) {
    const std::vector<double> of_node = node.engine->loss_terms(theta);
    terms.insert(terms.end(), of_node.begin(), of_node.end());
  }
  return terms;
}

void ShareRows::clipped_rows(MatrixView<const double> P, double clip, MatrixView<float> out) {
  for (const Node& node : nodes_) {
    node.engine->clipped_rows(P, clip,
                              {out.data + node.first * out.cols, node.last - node.first, out.cols});
  }
}

// A share's own gradient would be of another order than the table's: nodes are asked.
void ShareRows::loss_gradients(MatrixView<const double> /*theta*/, MatrixView<double> /*out*/) {
  throw BadInput("shares: a share answers questions of a table; ask the table");
}
void ShareRows::loss_values(MatrixView<const double> theta, std::span<double> /*out*/) {
  loss_gradients(theta, {});
}

}  // namespace gibbsite::distributed
