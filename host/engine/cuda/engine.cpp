// One step on a card:
//
//   one chunk      source -> partials;  finish: sum, move;  tick
//   more of them   for each chunk: source -> partials;  finish: sum -> sums[k]
//                  finish: sum over chunks, move;  tick
//
// Rows are taken in chunks where X is streamed (the next chunk is copied meanwhile) and where one
// sum over all partials would be longer than the map error allows (core/summation.hpp).
// A step on resident rows is captured once and replayed, so the host does nothing between two
// steps. State goes up at the start of `advance` and comes back at its end: a chain is plain data
// on the host whenever a caller can see it.
#include "engine/cuda/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/checks.hpp"
#include "engine/cuda/source.hpp"
#include "engine/host_rows.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/memory.hpp"
#include "gibbsite/core/summation.hpp"

namespace gibbsite::cuda {
namespace {

constexpr std::size_t alignment = 256;
std::size_t aligned(std::size_t bytes) { return kernels::round_up_to(bytes, alignment); }

// Bytes of a chunk of X: padded so that 16-byte accesses stay inside.
std::size_t row_bytes(std::size_t rows, std::size_t features) {
  return aligned((rows * features + 4) * sizeof(float));
}

struct Memory {
  Device& device;
  std::byte* data;
  std::size_t bytes;
  bool pinned;
  Memory(Device& device_, std::size_t bytes_, bool pinned_ = false)
      : device(device_),
        data(pinned_ ? device_.allocate_pinned(bytes_) : device_.allocate(bytes_)),
        bytes(bytes_),
        pinned(pinned_) {}
  ~Memory() { pinned ? device.release_pinned(data) : device.release(data); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
};

// Hands out parts of an arena, or only adds up what is asked for.
struct Parts {
  std::byte* base = nullptr;
  std::size_t used = 0;
  template <class T>
  View<T> take(std::size_t count) {
    std::byte* const at = base == nullptr ? nullptr : base + used;
    used += aligned(count * sizeof(T));
    return {reinterpret_cast<T*>(at), count};
  }
};

// What a run keeps on the card besides X.
struct Work {
  View<float> labels;            // [n]
  View<double> theta, gradient;  // [C x d]
  View<double> normals;          // [C x d], an even number of them: cuRAND's
  View<double> centers;          // [C x d]
  View<kernels::Chain> chain;    // [C]
  View<std::uint64_t> clock;     // [1]
  View<double> sums;             // [chunks x C x d], streamed runs
  View<std::byte> partials;      // of one chunk
  View<std::byte> scratch;       // the source's
  View<double> values;           // [leaves x C], loss values

  static Work in(Parts& parts, const Shape& s, const GradientSource& source, std::size_t chunk_rows,
                 std::size_t chunks, bool library_noise) {
    Work w;
    const std::size_t cells = s.chains * s.features;
    w.labels = parts.take<float>(s.rows + 4);
    w.theta = parts.take<double>(cells);
    w.gradient = parts.take<double>(cells);
    w.normals = parts.take<double>(library_noise ? kernels::round_up_to(cells, 2) : 0);
    w.centers = parts.take<double>(cells);
    w.chain = parts.take<kernels::Chain>(s.chains);
    w.clock = parts.take<std::uint64_t>(1);
    w.sums = parts.take<double>(chunks > 1 ? chunks * cells : 0);
    w.partials = parts.take<std::byte>(source.partials(chunk_rows) * cells *
                                       (source.single_partials() ? sizeof(float) : sizeof(double)));
    w.scratch = parts.take<std::byte>(source.scratch_bytes(chunk_rows));
    w.values = parts.take<double>(kernels::ceil_div(chunk_rows, row_block) * s.chains);
    return w;
  }
};

// Sparse rows with their zeros.
std::vector<float> written_out(const Rows& x) {
  if (!x.is_sparse()) return {};
  const double bytes = static_cast<double>(x.rows) * static_cast<double>(x.cols) * sizeof(float);
  const auto available = static_cast<double>(available_memory());
  constexpr double gib = 1 << 30;
  if (bytes > (available > 0 ? available : 1e18)) {
    throw BadInput(fmt::format(
        "`backend` cuda: takes dense rows, and {} rows of {} features need {:.1f} GiB of memory, "
        "{:.1f} GiB are available; use `backend` cpu, which takes them as they are",
        x.rows, x.cols, bytes / gib, available / gib));
  }
  std::vector<float> dense(x.rows * x.cols);
  for (std::size_t i = 0; i < x.rows; ++i) {
    x.for_each(i, [&](std::size_t j, float v) { dense[i * x.cols + j] = v; });
  }
  return dense;
}

class CudaEngine final : public HostRows {
 public:
  CudaEngine(std::shared_ptr<Device> device, const Rows& x, std::span<const float> y,
             const Loss& loss, unsigned kernels_loss, const EngineOptions& options)
      : HostRows(x, y, loss),
        device_(std::move(device)),
        written_out_(written_out(x)),
        x_(x.is_sparse() ? MatrixView<const float>{written_out_.data(), x.rows, x.cols}
                         : x.matrix()),
        y_(y),
        loss_(kernels_loss),
        options_(options) {}

  ~CudaEngine() override { forget_run(); }

  [[nodiscard]] bool certifiable() const override {
    return options_.arithmetic == Arithmetic::float64 && options_.noise == NoiseSource::streams;
  }
  [[nodiscard]] std::string design() const override { return design_; }

  void advance(Ensemble& ensemble, std::uint64_t steps) override {
    std::uint64_t left = 0;
    for (std::size_t c = 0; c < ensemble.chains(); ++c) {
      if (ensemble.step[c] >= ensemble.specs[c].iterations) continue;
      left = std::max(left, ensemble.specs[c].iterations - ensemble.step[c]);
    }
    steps = std::min(steps, left);
    if (steps == 0) return;

    // Finished chains stay on board and rest: another number of chains could be another design, and
    // the bits of a chain would depend on where a run is cut.
    prepare(ensemble.chains());
    theta_ = ensemble.theta;
    upload_chains(ensemble);
    upload_theta();
    enqueue_steps(steps);
    device_->copy_out(Queue::compute, theta_.data(), bytes_of(work_.theta),
                      theta_.size() * sizeof(double));
    device_->synchronize();
    ensemble.theta = theta_;
    for (std::size_t c = 0; c < ensemble.chains(); ++c) {
      const std::uint64_t last = std::max(ensemble.step[c], ensemble.specs[c].iterations);
      ensemble.step[c] = std::min(ensemble.step[c] + steps, last);
    }
  }

  void loss_gradients(MatrixView<const double> theta, MatrixView<double> out) override {
    if (theta.rows == 0) return;
    prepare(theta.rows);
    theta_.assign(theta.data, theta.data + theta.rows * theta.cols);
    upload_theta();
    enqueue_gradients();
    finish(work_.gradient);
    device_->copy_out(Queue::compute, out.data, bytes_of(work_.gradient),
                      theta_.size() * sizeof(double));
    device_->synchronize();
  }

  void loss_values(MatrixView<const double> theta, std::span<double> out) override {
    if (theta.rows == 0) return;
    prepare(theta.rows);
    theta_.assign(theta.data, theta.data + theta.rows * theta.cols);
    upload_theta();
    std::ranges::fill(out, 0.0);
    std::vector<double> values(work_.values.size);
    for_each_chunk([&](const Chunk& chunk, std::size_t) {
      const std::size_t leaves = kernels::ceil_div(chunk.rows, row_block);
      device_->launch(kernels::Values{.x = chunk.x,
                                      .y = chunk.y,
                                      .theta = work_.theta,
                                      .partials = work_.values.part(0, leaves * theta.rows),
                                      .rows = chunk.rows,
                                      .features = features(),
                                      .chains = theta.rows,
                                      .leaf_rows = row_block,
                                      .loss = loss_});
      device_->copy_out(Queue::compute, values.data(), bytes_of(work_.values),
                        leaves * theta.rows * sizeof(double));
      device_->synchronize();
      for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
        for (std::size_t c = 0; c < theta.rows; ++c) out[c] += values[leaf * theta.rows + c];
      }
    });
  }

 private:
  template <class T>
  static std::byte* bytes_of(const View<T>& view) {
    return reinterpret_cast<std::byte*>(view.data);
  }

  // Lays out and fills the card for that many chains; again only when their number changes.
  void prepare(std::size_t chains) {
    if (chains == shape_.chains) return;
    forget_run();
    const Shape shape{x_.rows, x_.cols, chains};
    const Card card = device_->card();
    Choice choice = choose_design(shape, options_.arithmetic, card, options_.design);
    const DeviceProblem problem{shape, options_.arithmetic, loss_, card};
    auto source = make_source(gradient_design(choice.design, shape), problem);
    auto loop = make_loop(choice.design, problem);
    std::size_t loop_bytes = loop ? aligned(loop->scratch_bytes()) : 0;
    const std::size_t free = std::min(card.free_bytes, options_.memory_limit);
    const Layout layout = plan_layout(shape, *source, free);
    // A loop needs all of X and its scratch on the card; where there is no room the source makes
    // the steps.
    if (loop && (layout.streamed || layout.row_bytes + layout.work_bytes + loop_bytes > free)) {
      if (options_.design) {
        throw BadInput(fmt::format("design: {} needs all rows on the card, {} MiB are free",
                                   to_string(*options_.design), free >> 20));
      }
      choice = {gradient_design(choice.design, shape), "the card has little room"};
      loop.reset();
      loop_bytes = 0;
    }

    Parts sizes;
    Work::in(sizes, shape, *source, layout.chunk_rows, layout.chunks, library_noise());
    const std::size_t buffers = layout.streamed ? 2 : 1;
    arena_ =
        std::make_unique<Memory>(*device_, buffers * layout.row_bytes + sizes.used + loop_bytes);
    for (std::size_t b = 0; b < buffers; ++b) rows_[b] = arena_->data + b * layout.row_bytes;
    Parts parts{arena_->data + buffers * layout.row_bytes, 0};
    work_ = Work::in(parts, shape, *source, layout.chunk_rows, layout.chunks, library_noise());
    loop_scratch_ = parts.take<std::byte>(loop_bytes).data;
    device_->fill_zero(Queue::compute, arena_->data, arena_->bytes);
    device_->copy_in(Queue::compute, bytes_of(work_.labels), y_.data(), y_.size_bytes());
    if (!layout.streamed) {
      device_->copy_in(Queue::compute, rows_[0], x_.data, x_.rows * x_.cols * sizeof(float));
    } else {
      for (auto& staging : staging_) {
        staging = std::make_unique<Memory>(*device_, layout.row_bytes, true);
      }
    }
    device_->synchronize();
    layout_ = layout;
    source_ = std::move(source);
    loop_ = std::move(loop);
    shape_ = shape;
    design_ = fmt::format("{}: {}; {}", to_string(choice.design), choice.why,
                          !layout.streamed ? fmt::format("{} MiB on the card", arena_->bytes >> 20)
                                           : std::string("X streamed"));
    if (layout.chunks > 1) {
      design_ += fmt::format(" in {} chunks of {} rows", layout.chunks, layout.chunk_rows);
    }
  }

  // Leaves nothing private in the card's memory.
  void forget_run() noexcept {
    try {
      if (graph_) device_->discard(*graph_);
      if (arena_) {
        device_->fill_zero(Queue::compute, arena_->data, arena_->bytes);
        device_->synchronize();
      }
    } catch (...) {  // a card that failed keeps nothing that can be reached
    }
    graph_.reset();
    arena_.reset();
    for (auto& staging : staging_) staging.reset();
    shape_ = {};
  }

  void upload_chains(const Ensemble& ensemble) {
    chain_.clear();
    centers_.clear();
    const bool centered = std::ranges::any_of(
        ensemble.specs, [](const ChainSpec& spec) { return !spec.center.empty(); });
    for (std::size_t c = 0; c < ensemble.chains(); ++c) {
      const ChainSpec& spec = ensemble.specs[c];
      chain_.push_back(kernels::make_chain(spec, ensemble.step[c]));
      if (!centered) continue;
      centers_.insert(centers_.end(), spec.center.begin(), spec.center.end());
      centers_.resize(chain_.size() * features(), 0.0);
    }
    device_->copy_in(Queue::compute, bytes_of(work_.chain), chain_.data(),
                     chain_.size() * sizeof(kernels::Chain));
    // A captured step reads the centers of every chain, so they are always there.
    if (centered) {
      device_->copy_in(Queue::compute, bytes_of(work_.centers), centers_.data(),
                       centers_.size() * sizeof(double));
    } else {
      device_->fill_zero(Queue::compute, bytes_of(work_.centers),
                         work_.centers.size * sizeof(double));
    }
    device_->fill_zero(Queue::compute, bytes_of(work_.clock), sizeof(std::uint64_t));
  }

  void upload_theta() {
    device_->copy_in(Queue::compute, bytes_of(work_.theta), theta_.data(),
                     theta_.size() * sizeof(double));
    if (!layout_.streamed && layout_.chunks == 1) {
      source_->begin(*device_, resident(), work_.theta, work_.scratch.data);
    }
  }

  [[nodiscard]] Chunk resident() const {
    return {{reinterpret_cast<const float*>(rows_[0]), layout_.row_bytes / sizeof(float)},
            work_.labels,
            x_.rows};
  }

  // Calls `work` for every chunk of rows on the card, in order; the copy of the next runs beside
  // it.
  template <class F>
  void for_each_chunk(F&& work) {
    const std::size_t d = features();
    if (!layout_.streamed) {
      const Chunk all = resident();
      for (std::size_t k = 0; k < layout_.chunks; ++k) {
        const std::size_t first = k * layout_.chunk_rows;
        const std::size_t count = std::min(layout_.chunk_rows, x_.rows - first);
        work(Chunk{all.x.part(first * d, all.x.size - first * d), all.y.part(first, count), count},
             k);
      }
      return;
    }
    const auto copy = [&](std::size_t k) {
      const std::size_t b = k % 2;
      const std::size_t first = k * layout_.chunk_rows;
      const std::size_t count = std::min(layout_.chunk_rows, x_.rows - first);
      if (copied_[b]) device_->wait_host(*copied_[b]);  // the staging buffer is free again
      std::memcpy(staging_[b]->data, x_.data + first * d, count * d * sizeof(float));
      if (computed_[b]) device_->wait(Queue::copy, *computed_[b]);
      device_->copy_in(Queue::copy, rows_[b], staging_[b]->data, count * d * sizeof(float));
      copied_[b] = device_->record(Queue::copy);
    };
    copied_[0].reset();
    copied_[1].reset();
    computed_[0].reset();
    computed_[1].reset();
    copy(0);
    for (std::size_t k = 0; k < layout_.chunks; ++k) {
      const std::size_t b = k % 2;
      const std::size_t first = k * layout_.chunk_rows;
      device_->wait(Queue::compute, *copied_[b]);
      work(Chunk{{reinterpret_cast<const float*>(rows_[b]), layout_.row_bytes / sizeof(float)},
                 work_.labels.part(first, std::min(layout_.chunk_rows, x_.rows - first)),
                 std::min(layout_.chunk_rows, x_.rows - first)},
           k);
      computed_[b] = device_->record(Queue::compute);
      if (k + 1 < layout_.chunks) copy(k + 1);
    }
    device_->synchronize();
  }

  // Partials of all rows, or sums[chunk] of each chunk.
  void enqueue_gradients() {
    for_each_chunk([&](const Chunk& chunk, std::size_t k) {
      source_->enqueue(*device_, chunk, work_.theta, shape_.chains, work_.partials.data,
                       work_.scratch.data);
      if (layout_.chunks == 1) return;
      const std::size_t cells = shape_.chains * shape_.features;
      device_->launch(
          finish_of_partials(source_->partials(chunk.rows), work_.sums.part(k * cells, cells)));
    });
  }

  [[nodiscard]] kernels::Finish finish_of_partials(std::size_t count, View<double> gradient) const {
    const std::size_t cells = count * shape_.chains * shape_.features;
    const bool single = source_->single_partials();
    return {.partials = {reinterpret_cast<const double*>(work_.partials.data), single ? 0 : cells},
            .partials_single = {reinterpret_cast<const float*>(work_.partials.data),
                                single ? cells : 0},
            .count = count,
            .chains = shape_.chains,
            .features = shape_.features,
            .gradient = gradient,
            .theta = work_.theta,
            .chain = work_.chain,
            .centers = work_.centers,
            .clock = work_.clock,
            .normals = work_.normals};
  }

  // Sums what enqueue_gradients left: into `gradient`, or, when that is empty, moves the chains.
  void finish(View<double> gradient) {
    kernels::Finish last = finish_of_partials(source_->partials(layout_.chunk_rows), gradient);
    if (layout_.chunks > 1) {
      last.partials = work_.sums;
      last.partials_single = {};
      last.count = layout_.chunks;
    } else {
      last.count = source_->partials(x_.rows);
    }
    device_->launch(last);
  }

  [[nodiscard]] bool library_noise() const { return options_.noise == NoiseSource::curand; }

  void enqueue_steps(std::uint64_t steps) {
    if (loop_ && !library_noise()) {
      const Residents run{resident(),  work_.theta,   work_.centers,  work_.chain,
                          work_.clock, shape_.chains, shape_.features};
      return loop_->enqueue(*device_, run, steps, loop_scratch_);
    }
    const auto step = [this] {
      enqueue_gradients();
      finish({});
      device_->launch(kernels::Tick{work_.clock});
    };
    if (library_noise()) {  // the generator is the host's: nothing to capture
      std::uint64_t seed = 0;
      std::memcpy(&seed, chain_.front().key, sizeof(seed));
      for (std::uint64_t k = 0; k < steps; ++k) {
        const std::uint64_t position = chain_.front().step + k;
        device_->fill_normals(work_.normals, seed, position * work_.normals.size);
        step();
      }
    } else if (!layout_.streamed && source_->capturable()) {
      if (!graph_) graph_ = device_->capture(step);
      for (std::uint64_t k = 0; k < steps; ++k) device_->replay(*graph_);
    } else {
      for (std::uint64_t k = 0; k < steps; ++k) step();
    }
  }

  std::shared_ptr<Device> device_;
  std::vector<float> written_out_;  // [n x d] of sparse rows
  MatrixView<const float> x_;       // [n x d]
  std::span<const float> y_;        // [n]
  unsigned loss_;
  EngineOptions options_;

  // Of the run that is laid out; shape_.chains = 0: none is.
  Shape shape_;
  Layout layout_;
  std::unique_ptr<GradientSource> source_;
  std::unique_ptr<StepLoop> loop_;
  std::byte* loop_scratch_ = nullptr;
  std::unique_ptr<Memory> arena_, staging_[2];
  std::byte* rows_[2] = {};
  Work work_;
  std::optional<Graph> graph_;
  std::optional<Event> copied_[2], computed_[2];
  std::string design_;

  std::vector<double> theta_;          // [C x d]
  std::vector<kernels::Chain> chain_;  // [C]
  std::vector<double> centers_;        // [C x d]
};

}  // namespace

std::size_t summation_depth(const GradientSource& source, const Layout& layout) {
  const std::size_t in_source = source.depth(layout.chunk_rows);
  if (in_source == 0) return 0;
  return in_source + kernels::finish_depth(source.partials(layout.chunk_rows)) +
         (layout.chunks > 1 ? kernels::finish_depth(layout.chunks) : 0);
}

Layout plan_layout(const Shape& shape, const GradientSource& source, std::size_t free_bytes) {
  // The driver and the libraries keep some; asking for the last byte fails.
  const std::size_t reserve = std::min<std::size_t>(free_bytes / 16, std::size_t{512} << 20);
  const auto layout_of = [&](std::size_t chunk_rows, bool streamed) {
    Layout layout{.chunk_rows = chunk_rows,
                  .chunks = kernels::ceil_div(shape.rows, chunk_rows),
                  .streamed = streamed,
                  .row_bytes = row_bytes(streamed ? chunk_rows : shape.rows, shape.features),
                  .work_bytes = 0};
    Parts parts;
    Work::in(parts, shape, source, layout.chunk_rows, layout.chunks, true);
    layout.work_bytes = parts.used;
    return layout;
  };
  const auto bytes = [](const Layout& layout) {
    return (layout.streamed ? 2 : 1) * layout.row_bytes + layout.work_bytes;
  };
  const auto usable = [&](const Layout& layout) {
    return bytes(layout) <= free_bytes - reserve &&
           summation_depth(source, layout) <= accumulation_depth(shape.rows);
  };
  if (const Layout whole = layout_of(shape.rows, false); usable(whole)) return whole;
  for (const bool streamed : {false, true}) {
    for (std::size_t rows = std::bit_floor(shape.rows); rows >= row_block; rows /= 2) {
      if (const Layout layout = layout_of(rows, streamed); usable(layout)) return layout;
    }
  }
  const auto mib = [&](const Layout& layout) { return (bytes(layout) >> 20) + 1; };
  throw CudaError(fmt::format(
      "`backend` cuda: {} rows x {} features and {} chains need {} MiB on the card, or {} MiB when "
      "X "
      "is streamed, and {} MiB are free; free the card, use fewer chains or `backend` cpu",
      shape.rows, shape.features, shape.chains, mib(layout_of(shape.rows, false)),
      mib(layout_of(std::min<std::size_t>(shape.rows, row_block), true)), free_bytes >> 20));
}

std::unique_ptr<Engine> make_engine(std::shared_ptr<Device> device, const Rows& x,
                                    std::span<const float> y, const Loss& loss,
                                    const EngineOptions& options) {
  require_loadable(x, y);
  const unsigned index = kernels::index_of_loss(loss.name());
  if (index == kernels::no_loss) {
    throw BadInput(fmt::format(
        "`backend` cuda: the loss '{}' has no kernels; put it in include/gibbsite/model/losses/ or "
        "use `backend` cpu",
        loss.name()));
  }
  return std::make_unique<CudaEngine>(std::move(device), x, y, loss, index, options);
}

}  // namespace gibbsite::cuda
