// A share of the rows: what it answers, by engines of the nodes of the tree that it is.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <utility>

#include "core/score_coordinates.hpp"
#include "engine/checks.hpp"
#include "engine/host_rows.hpp"
#include "engine/ordered_sums.hpp"
#include "engine/remote/program.hpp"
#include "engine/remote/wire.hpp"
#include "engine/sharded/tree.hpp"
#include "engine/symmetric.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/core/summation.hpp"
#include "gibbsite/engine/remote.hpp"
#include "gibbsite/model/losses/softmax.hpp"
#include "gibbsite/version.hpp"

namespace gibbsite {
namespace remote {

std::string name_of_program(const Backend& local) {
  return fmt::format("gibbsite {}; {}: {}", GIBBSITE_VERSION, local.name(), local.arithmetic());
}

Bytes raw_digest(std::string_view bytes) {
  Digest digest;
  digest.add(bytes.data(), bytes.size());
  return digest.raw();
}

namespace {

using sharded::Node;

void require(bool fits) {
  if (!fits) {
    throw BadInput(
        "shares: the question is not one of these rows; run the same gibbsite "
        "everywhere");
  }
}

bool is_matrix(std::span<const double> numbers, std::uint64_t rows, std::uint64_t columns) {
  return rows > 0 && columns > 0 && numbers.size() % columns == 0 &&
         numbers.size() / columns == rows;
}

/// Rows that are asked by the bytes of questions alone.
class AskedRows final : private HostRows {
 public:
  AskedRows(const Rows& x, std::span<const float> y, const Loss& loss, const SharePlace& place)
      : HostRows(x, y, loss),
        before_(place.first_row),
        local_(make_backend("cpu", {.threads = 1})) {
    Rows mine = x;
    mine.whole = {place.table_rows, place.table_entries};
    const auto block_of = [](std::uint64_t row) { return (row + row_block - 1) / row_block; };
    for (const Node& node :
         sharded::nodes_of(block_of(place.first_row), block_of(place.first_row + x.rows),
                           block_of(place.table_rows))) {
      const std::size_t first = node.first * row_block - place.first_row;
      const std::size_t last =
          std::min<std::size_t>(node.last * row_block, place.table_rows) - place.first_row;
      nodes_.push_back(local_->load(mine.part(first, last), y.subspan(first, last - first), loss));
    }
  }

  [[nodiscard]] std::string program() const { return name_of_program(*local_); }

  /// numbers: of the share before this one, of a question that is answered in turn.
  void answer(const Question& q, bool in_turn, std::vector<double>& numbers) {
    const std::size_t d = features();
    switch (q.what) {
      case What::gradients: {
        require(is_matrix(q.first, q.rows, d));
        const MatrixView<const double> theta{q.first.data(), q.rows, d};
        if (in_turn) {
          require(numbers.size() == q.rows * 2 * d);
          for (const auto& node : nodes_) {
            for (std::size_t c = 0; c < q.rows; ++c) {
              ordered(*node).add_gradient(theta.row(c),
                                          std::span(numbers).subspan(c * 2 * d, 2 * d));
            }
          }
          return;
        }
        return of_nodes(numbers, q.rows * d, [&](std::size_t k, std::span<double> out) {
          nodes_[k]->loss_gradients(theta, {out.data(), q.rows, d});
        });
      }
      case What::values: {
        require(in_turn && is_matrix(q.first, q.rows, d) && numbers.size() == q.rows);
        for (const auto& node : nodes_) {
          const auto terms = node->loss_terms({q.first.data(), q.rows, d});
          for (std::size_t k = 0; k < terms.size(); ++k) numbers[k % q.rows] += terms[k];
        }
        return;
      }
      case What::moments: {
        const std::size_t k = q.rows;
        require(is_matrix(q.first, k, columns()));
        return symmetric_of_nodes(numbers, k, [&](std::size_t node, MatrixView<double> out) {
          nodes_[node]->second_moments({q.first.data(), columns(), k}, q.number, out);
        });
      }
      case What::information: {
        if (outputs() == 1) {
          find_caps(q);
          return symmetric_of_nodes(numbers, q.rows, [&](std::size_t node, MatrixView<double> out) {
            capped_[node]->information(q.first, out);
          });
        }
        require(q.first.size() == features() + 2);
        Question of_caps = q;
        of_caps.first.resize(features());
        find_caps(of_caps);
        const ClassPair pair = pair_of(q.first[features()], q.first[features() + 1]);
        return symmetric_of_nodes(numbers, q.rows, [&](std::size_t node, MatrixView<double> out) {
          capped_[node]->information_between(of_caps.first, pair, out);
        });
      }
      case What::score_moments: {
        find_caps(q);
        const std::size_t size = score_coordinates(outputs(), q.rows);
        return symmetric_of_nodes(numbers, size, [&](std::size_t node, MatrixView<double> out) {
          capped_[node]->score_moments(q.first, out);
        });
      }
      case What::capped_gradient: {
        find_caps(q);
        if (in_turn) {
          require(numbers.size() == 2 * (d + 1));
          for (std::size_t k = 0; k < nodes_.size(); ++k) {
            ordered(*nodes_[k]).add_capped(*capped_[k], q.first, numbers);
          }
          return;
        }
        return of_nodes(numbers, d + 1, [&](std::size_t k, std::span<double> out) {
          out[d] = capped_[k]->gradient(q.first, out.first(d));
        });
      }
      case What::lengths: {
        require(q.first.size() == columns() && q.second.size() == columns() + 3);
        const double* const of = &q.second[columns()];
        const RowLengths lengths{of[0], q.first, {q.second.begin(), q.second.end() - 3},
                                 of[1], of[2],   false};
        return of_nodes(numbers, 1, [&](std::size_t k, std::span<double> out) {
          out[0] = nodes_[k]->log_lengths(lengths);
        });
      }
      case What::plain_value:
        require(in_turn && q.first.size() == d && numbers.size() == 1);
        numbers[0] = plain_value_from(numbers[0], q.first);
        return;
      case What::plain_gradient:
        require(in_turn && q.first.size() == d && numbers.size() == d);
        return add_plain_gradient(q.first, numbers);
      case What::dense:
        require(in_turn && q.first.size() == d && numbers.size() == d * d);
        return hessian_at(q).add(numbers);
      case What::diagonal:
        require(in_turn && q.first.size() == d && numbers.size() == d);
        return hessian_at(q).add_diagonal(numbers);
      case What::product:
        require(in_turn && q.first.size() == d && q.second.size() == d && numbers.size() == d);
        return hessian_at(q).add_product(q.second, numbers);
      case What::logit:
        require(q.first.size() == d);
        numbers = {HostRows::largest_logit(q.first)};
        return;
      case What::offset:
        numbers = {HostRows::largest_offset()};
        return;
      case What::difference: {
        require(in_turn && is_matrix(q.first, q.rows, d) && q.second.size() == d &&
                numbers.size() == 4);
        std::array<double, 4> sum{};
        std::ranges::copy(numbers, sum.begin());
        sum = exact_difference_from(sum, {q.first.data(), q.rows, d}, q.second, before_);
        numbers.assign(sum.begin(), sum.end());
        return;
      }
      case What::norms: {
        require(in_turn && numbers.size() == 2);
        const RowNorms norms = row_norms_from({numbers[0], numbers[1]});
        numbers = {norms.largest_squared, norms.sum_squares};
        return;
      }
      case What::fault: {
        require(q.first.size() == 3);
        const auto fault =
            HostRows::first_fault({q.first[0], (q.rows & 1) != 0,
                                   static_cast<LabelKind>(q.rows >> 1), q.first[1], q.first[2]});
        numbers = {0, 0};
        if (fault) {
          numbers = {static_cast<double>(before_ + fault->row + 1),
                     static_cast<double>(static_cast<int>(fault->what))};
        }
        return;
      }
    }
    require(false);
  }

 private:
  // What is asked of a whole table goes through answer().
  void advance(Ensemble& /*ensemble*/, std::uint64_t /*steps*/) override { require(false); }
  void loss_gradients(MatrixView<const double> /*theta*/, MatrixView<double> /*out*/) override {
    require(false);
  }
  void loss_values(MatrixView<const double> /*theta*/, std::span<double> /*out*/) override {
    require(false);
  }

  static OrderedSums& ordered(Engine& engine) {
    auto* const out = dynamic_cast<OrderedSums*>(&engine);
    require(out != nullptr);
    return *out;
  }
  template <class F>
  void of_nodes(std::vector<double>& numbers, std::size_t size, const F& find) {
    numbers.assign(nodes_.size() * size, 0.0);
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      find(k, std::span(numbers).subspan(k * size, size));
    }
  }
  // The lower triangle of each node's matrix [k x k].
  template <class F>
  void symmetric_of_nodes(std::vector<double>& numbers, std::size_t k, const F& find) {
    std::vector<double> whole(k * k);
    of_nodes(numbers, triangle_size(k), [&](std::size_t node, std::span<double> half) {
      find(node, MatrixView<double>{whole.data(), k, k});
      pack_triangle({whole.data(), k, k}, half);
    });
  }
  // Which classes two numbers are; an engine refuses those that are no pair of its loss.
  static ClassPair pair_of(double first, double second) {
    constexpr auto most = static_cast<double>(losses::Softmax::most_classes);
    require(first >= 0 && first < second && second < most);  // not of numbers that are none
    return {static_cast<std::size_t>(first), static_cast<std::size_t>(second)};
  }
  // Those of the last question, or new ones: P, the limit of information behind it, and the clip.
  void find_caps(const Question& q) {
    require(q.first.size() == features() && !q.second.empty() &&
            is_matrix(std::span(q.second).first(q.second.size() - 1), q.rows, columns()));
    if (!capped_.empty() && caps_metric_ == q.second && caps_clip_ == q.number) return;
    capped_.clear();
    for (const auto& node : nodes_) {
      capped_.push_back(
          node->capped_loss({q.second.data(), columns(), q.rows}, {q.number, q.second.back()}));
    }
    caps_metric_ = q.second;
    caps_clip_ = q.number;
  }
  const HostHessian& hessian_at(const Question& q) {
    if (!hessian_ || hessian_theta_ != q.first || hessian_scale_ != q.number) {
      hessian_ = host_hessian(q.first, q.number);
      hessian_theta_ = q.first;
      hessian_scale_ = q.number;
    }
    return *hessian_;
  }

  std::uint64_t before_;
  std::unique_ptr<Backend> local_;
  std::vector<std::unique_ptr<Engine>> nodes_;

  // State of the last question.
  std::vector<std::unique_ptr<CappedLoss>> capped_;
  std::vector<double> caps_metric_, hessian_theta_;
  double caps_clip_ = 0, hessian_scale_ = 0;
  std::unique_ptr<HostHessian> hessian_;
};

}  // namespace
}  // namespace remote

struct Share::State {
  State(HeldRows held, const SharePlace& at, std::string of)
      : rows(std::move(held)), place(at), loss(std::move(of)) {
    const Loss& asked = loss_named(loss);
    if (rows.rows() > 0) require_loadable(rows.view(), rows.y, asked);
    const std::uint64_t end = place.first_row + rows.rows();
    if (place.first_row % row_block != 0 || end > place.table_rows ||
        (end % row_block != 0 && end != place.table_rows)) {
      throw BadInput(fmt::format(
          "shares: rows {} to {} of {} are no whole blocks of {} rows; cut the table there",
          place.first_row, end, place.table_rows, row_block));
    }
    asks.emplace(rows.view(), rows.y, asked, place);
    stamp.rows = remote::raw_digest(bytes());
    stamp.program = remote::raw_digest(asks->program());
  }
  [[nodiscard]] std::string bytes() const {
    return remote::Writer().add(place).add_all(loss).add_all(rows.bytes()).take();
  }

  HeldRows rows;
  SharePlace place;
  std::string loss;
  remote::Stamp stamp;
  std::mutex one_at_a_time;
  std::optional<remote::AskedRows> asks;
};

Share::Share(HeldRows rows, const SharePlace& place, const std::string& loss)
    : state_(std::make_unique<State>(std::move(rows), place, loss)) {}
Share::Share(Share&&) noexcept = default;
Share::~Share() = default;

const HeldRows& Share::rows() const { return state_->rows; }
std::string Share::digest() const {
  return {reinterpret_cast<const char*>(state_->stamp.rows.data()), state_->stamp.rows.size()};
}
std::string Share::bytes() const { return state_->bytes(); }

Share Share::parse(std::string_view bytes) {
  const StandardArithmetic arithmetic;
  SharePlace place;
  std::string loss, rows;
  remote::Reader(bytes).get(place).get_all(loss).get_all(rows).end();
  return {HeldRows::parse(rows), place, loss};
}

std::string Share::answer(std::string_view question, std::string_view before) const {
  const StandardArithmetic arithmetic;  // in whatever thread a worker calls from
  const bool in_turn = !before.empty();
  remote::Answer out = in_turn ? remote::answer_of(before) : remote::Answer{};
  out.stamps.push_back(state_->stamp);
  out.stamps.back().question = remote::raw_digest(question);
  const std::scoped_lock lock(state_->one_at_a_time);
  state_->asks->answer(remote::question_of(question), in_turn, out.numbers);
  return remote::bytes_of(out);
}

}  // namespace gibbsite
