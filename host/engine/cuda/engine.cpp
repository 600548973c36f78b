// One step on a GPU:
//
//   one chunk      source -> partials;  finish: sum, move;  tick
//   more of them   for each chunk: source -> partials;  finish: sum -> sums[k]
//                  finish: sum over chunks, move;  tick
//
// Rows are taken in chunks where X is streamed (the next chunk is copied meanwhile) and where one
// sum over all partials would be longer than the map error allows (core/summation.hpp).
// A step on resident rows runs once, is captured then and replayed, so the host does nothing
// between two steps. State goes up at the start of `advance` and comes back at its end: a chain is
// plain data on the host whenever a caller can see it.
//
// A step on all GPUs, if rows are a rank's share:
//
//   partials as above;  finish: sum -> packet;  mark theta -> packet;  gather packets
//   add them in the tree over ranks;  rank 0 alone: finish, move;  broadcast theta;  tick
//
// Not captured: NCCL's part of a graph has run nowhere.
#include "engine/cuda/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/format_message.hpp"
#include "engine/checks.hpp"
#include "engine/clip.hpp"
#include "engine/cuda/metric_rows.hpp"
#include "engine/cuda/placed_rows.hpp"
#include "engine/cuda/why_not.hpp"
#include "engine/cuda/work.hpp"
#include "engine/gpu_share.hpp"
#include "engine/host_rows.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/model/losses/softmax.hpp"

namespace gibbsite::cuda {
namespace {

// As the GPU's loss takes them (kernels/losses.hpp); none where they are as they should be.
std::vector<float> labels_for(const Loss& loss, std::span<const float> y) {
  const float size = kernels::logistic_by_label::label_of(loss.name());
  std::vector<float> out;
  if (size != 1) {
    out.assign(y.begin(), y.end());
    for (float& label : out) label *= size;
  }
  return out;
}

class CudaEngine final : public SteppingRows, public GpuShare {
 public:
  CudaEngine(std::shared_ptr<Device> device, const Rows& x, std::span<const float> y,
             const Loss& loss, unsigned kernels_loss, const EngineOptions& options)
      : SteppingRows(x, y, loss),
        device_(std::move(device)),
        written_out_(written_out(x)),
        x_(x.is_sparse() ? MatrixView<const float>{written_out_.data(), x.rows, x.cols}
                         : x.matrix()),
        own_labels_(labels_for(loss, y)),
        y_(own_labels_.empty() ? y : own_labels_),
        loss_(kernels_loss),
        options_(options),
        ranks_(x.whole.parts),
        most_depth_(depth_left(x)),
        metric_(*device_, x_, y_, loss, kernels_loss, options.memory_limit, most_depth_) {}

  ~CudaEngine() override { forget_run(); }

  [[nodiscard]] bool certifiable() const override {
    return options_.arithmetic == Arithmetic::float64 && options_.noise == NoiseSource::streams;
  }
  [[nodiscard]] std::string design() const override { return design_; }

  void advance(Ensemble& ensemble, std::uint64_t steps) override {
    require_fitting(ensemble, features());
    require_output_streams(ensemble, outputs());
    steps = std::min(steps, steps_left(ensemble));
    if (steps == 0) return;
    upload(ensemble);
    enqueue_steps(steps);
    download_theta();
    device_->synchronize();
    keep(ensemble, steps);
  }

  [[nodiscard]] bool exchanges() const override { return !library_noise(); }
  void advance_among(Ensemble& ensemble, std::uint64_t steps, Communicator& ranks,
                     DeviceRanks& gpus) override {
    steps = std::min(steps, steps_left(ensemble));
    if (steps == 0) return;
    // Nobody waits on a GPU for one that has no room.
    ranks.together([&] {
      upload(ensemble);
      device_->fill_zero(Queue::compute, bytes_of(exchange_.strange), sizeof(std::uint64_t));
      device_->synchronize();
    });
    const std::size_t cells = shape_.chains * shape_.features, bytes = sizeof(double);
    for (std::uint64_t k = 0; k < steps; ++k) {
      enqueue_gradients();
      finish(exchange_.packet.part(0, cells));
      device_->launch(kernels::MarkTheta{.theta = work_.theta,
                                         .clock = work_.clock,
                                         .mark = exchange_.packet.part(cells, 1),
                                         .cells = cells});
      device_->gather(gpus, bytes_of(exchange_.packet), bytes_of(exchange_.packets),
                      (cells + 1) * bytes);
      device_->launch(kernels::AddShares{.packets = exchange_.packets,
                                         .total = exchange_.total,
                                         .strange = exchange_.strange,
                                         .shares = ranks_,
                                         .cells = cells});
      if (ranks.rank() == 0) {
        kernels::Finish move = finish_of_partials(1, {});
        move.partials = exchange_.total;
        move.partials_single = {};
        device_->launch(move);
      }
      device_->broadcast(gpus, bytes_of(work_.theta), cells * bytes);
      device_->launch(kernels::Tick{work_.clock});
    }
    std::uint64_t strange = 0;
    download_theta();
    device_->copy_out(Queue::compute, &strange, bytes_of(exchange_.strange), sizeof(strange));
    device_->synchronize();
    if (strange != 0) {
      throw BadInput(fmt::format(
          "ranks: rank {} is not where rank 0 is: another theta on its card; start all again, "
          "and "
          "look at that card",
          strange));
    }
    keep(ensemble, steps);
  }

  void loss_gradients(MatrixView<const double> theta, MatrixView<double> out) override {
    if (theta.rows == 0) return;
    prepare(theta.rows * outputs());
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
    prepare(theta.rows * outputs());
    theta_.assign(theta.data, theta.data + theta.rows * theta.cols);
    upload_theta();
    std::ranges::fill(out, 0.0);
    std::vector<double> values(work_.values.size);
    rows_.for_each_chunk([&](const Chunk& chunk, std::size_t) {
      const std::size_t leaves = kernels::ceil_div(chunk.rows, row_block);
      const View<double> partials = work_.values.part(0, leaves * theta.rows);
      if (outputs() > 1) {
        device_->launch(kernels::SoftmaxValues{.x = chunk.x,
                                               .y = chunk.y,
                                               .theta = work_.theta,
                                               .partials = partials,
                                               .rows = chunk.rows,
                                               .features = columns(),
                                               .chains = theta.rows,
                                               .outputs = outputs(),
                                               .leaf_rows = row_block});
      } else {
        device_->launch(kernels::Values{.x = chunk.x,
                                        .y = chunk.y,
                                        .theta = work_.theta,
                                        .partials = partials,
                                        .rows = chunk.rows,
                                        .features = columns(),
                                        .chains = theta.rows,
                                        .leaf_rows = row_block,
                                        .loss = loss_});
      }
      device_->copy_out(Queue::compute, values.data(), bytes_of(work_.values),
                        leaves * theta.rows * sizeof(double));
      device_->synchronize();
      for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
        for (std::size_t c = 0; c < theta.rows; ++c) out[c] += values[leaf * theta.rows + c];
      }
    });
  }

  // The GPU holds rows for chains or for a metric, not for both.
  void second_moments(MatrixView<const double> P, double clip, MatrixView<double> out) override {
    if (!on_the_gpu()) return HostRows::second_moments(P, clip, out);
    require_metric(P, columns(), clip);
    forget_run();
    metric_.second_moments(P, clip, out);
    design_ = metric_.how();
  }
  [[nodiscard]] std::unique_ptr<CappedLoss> capped_loss(MatrixView<const double> P,
                                                        const ScoreLimits& limits) override {
    if (outputs() > 1) {
      design_ = "in a metric, on the host: the card caps losses of one output";
      return HostRows::capped_loss(P, limits);
    }
    if (!on_the_gpu()) return HostRows::capped_loss(P, limits);
    require_metric(P, columns(), limits);
    return std::make_unique<Capped>(*this, P, limits, ++caps_made_);
  }

 private:
  class Capped final : public CappedLoss {
   public:
    Capped(CudaEngine& engine, MatrixView<const double> P, const ScoreLimits& limits,
           std::uint64_t id)
        : engine_(engine), of_{id, P.cols, {P.data, P.data + P.rows * P.cols}, limits} {
      of_.limits.largest_count = counts_of(engine.loss(), limits);
    }
    // The GPU has no kernel for it: the host answers from its own rows, once in a run.
    void information_between(std::span<const double> theta, ClassPair pair,
                             MatrixView<double> out) override {
      on_host()->information_between(theta, pair, out);
    }
    void information(std::span<const double> theta, MatrixView<double> out) override {
      on_host()->information(theta, out);
    }
    void score_moments(std::span<const double> theta, MatrixView<double> out) override {
      on_host()->score_moments(theta, out);
    }
    double gradient(std::span<const double> theta, std::span<double> out) override {
      engine_.forget_run();
      const double curvature = engine_.metric_.capped_gradient(of_, theta, out);
      engine_.design_ = engine_.metric_.how();
      return curvature;
    }

   private:
    [[nodiscard]] std::unique_ptr<CappedLoss> on_host() {
      return engine_.HostRows::capped_loss({of_.P.data(), engine_.columns(), of_.k}, of_.limits);
    }

    CudaEngine& engine_;
    CapsOf of_;
  };

  // Steps left to the chain that has most.
  static std::uint64_t steps_left(const Ensemble& ensemble) {
    std::uint64_t left = 0;
    for (std::size_t c = 0; c < ensemble.chains(); ++c) {
      if (ensemble.step[c] >= ensemble.specs[c].iterations) continue;
      left = std::max(left, ensemble.specs[c].iterations - ensemble.step[c]);
    }
    return left;
  }
  // Finished chains stay on board and rest: another number of chains could be another design, and
  // the bits of a chain would depend on where a run is cut.
  void upload(const Ensemble& ensemble) {
    prepare(ensemble.chains() * outputs());
    theta_ = ensemble.theta;
    upload_chains(ensemble);
    upload_theta();
  }
  void download_theta() {
    device_->copy_out(Queue::compute, theta_.data(), bytes_of(work_.theta),
                      theta_.size() * sizeof(double));
  }
  void keep(Ensemble& ensemble, std::uint64_t steps) const {
    ensemble.theta = theta_;
    for (std::size_t c = 0; c < ensemble.chains(); ++c) {
      const std::uint64_t last = std::max(ensemble.step[c], ensemble.specs[c].iterations);
      ensemble.step[c] = std::min(ensemble.step[c] + steps, last);
    }
  }

  // Questions in a metric: the host's copy answers those of more features.
  [[nodiscard]] bool on_the_gpu() {
    if (MetricRows::takes(columns())) return true;
    design_ = fmt::format("in a metric, on the host: the card takes at most {} features",
                          kernels::capped_most_features);
    return false;
  }

  // Lays out and fills the GPU for that many rows of theta; again only when their number changes,
  // and then rows that are there whole stay.
  // A chain of K outputs is K of them, which meet in the residuals alone: output k has its own
  // part of the gradient, of the center and of the noise.
  void prepare(std::size_t chains) {
    if (chains == shape_.chains) return;
    forget_work();
    metric_.forget();
    const Shape shape{x_.rows, x_.cols, chains, outputs(), loss_ == 0};
    const Gpu gpu = device_->gpu();
    Choice choice = choose_design(shape, options_.arithmetic, gpu, options_.design);
    const DeviceProblem problem{shape, options_.arithmetic, loss_, gpu};
    auto source = make_source(gradient_design(choice.design, shape), problem);
    auto loop = make_loop(choice.design, problem);
    if (loop && ranks_ > 1) {  // a loop does not stop for other ranks' sums
      if (options_.design) {
        throw BadInput(
            Field{"design"},
            fmt::format("{} makes steps without a stop, and sums of several ranks are one",
                        to_string(*options_.design)),
            "leave it out");
      }
      choice = {gradient_design(choice.design, shape), "its sums are added to other ranks'"};
      loop.reset();
    }
    std::size_t loop_bytes = loop ? aligned(loop->scratch_bytes()) : 0;
    Parts exchanged;
    Exchange::in(exchanged, shape, ranks_);
    const std::size_t there = rows_memory_ ? rows_memory_->bytes : 0;
    std::size_t free = std::min(gpu.free_bytes + there, options_.memory_limit);
    free -= std::min(free, exchanged.used);
    const Layout layout = plan_layout(shape, *source, free, most_depth_);
    // A loop needs all of X and its scratch on the GPU; where there is no room the source makes
    // the steps.
    if (loop && (layout.streamed || layout.row_bytes + layout.work_bytes + loop_bytes > free)) {
      if (options_.design) {
        throw BadInput(Field{"design"},
                       fmt::format("{} needs all rows on the card, {} MiB are free",
                                   to_string(*options_.design), free >> 20));
      }
      choice = {gradient_design(choice.design, shape), "the card has little room"};
      loop.reset();
      loop_bytes = 0;
    }

    Parts sizes;
    Work::in(sizes, shape, *source, layout.chunk_rows, layout.chunks, library_noise());
    const bool stay = rows_are_whole_ && !layout.streamed;
    if (!stay) {
      forget_rows();
      rows_memory_ =
          std::make_unique<Memory>(*device_, PlacedRows::buffers(layout) * layout.row_bytes);
      device_->fill_zero(Queue::compute, rows_memory_->data, rows_memory_->bytes);
    }
    arena_ = std::make_unique<Memory>(*device_, sizes.used + exchanged.used + loop_bytes);
    Parts parts{arena_->data, 0};
    work_ = Work::in(parts, shape, *source, layout.chunk_rows, layout.chunks, library_noise());
    exchange_ = Exchange::in(parts, shape, ranks_);
    loop_scratch_ = parts.take<std::byte>(loop_bytes).data;
    device_->fill_zero(Queue::compute, arena_->data, arena_->bytes);
    rows_ = PlacedRows(*device_, x_, layout, rows_memory_->data, work_.labels);
    rows_.fill(y_, stay);
    device_->synchronize();
    rows_are_whole_ = !layout.streamed;
    layout_ = layout;
    source_ = std::move(source);
    loop_ = std::move(loop);
    shape_ = shape;
    design_ = fmt::format(
        "{}: {}; {}", to_string(choice.design), choice.why,
        !layout.streamed
            ? fmt::format("{} MiB on the card", (rows_memory_->bytes + arena_->bytes) >> 20)
            : std::string("X streamed"));
    if (layout.chunks > 1) {
      design_ += fmt::format(" in {} chunks of {} rows", layout.chunks, layout.chunk_rows);
    }
  }

  // Leaves nothing private in the GPU's memory.
  void forget_run() noexcept {
    forget_work();
    forget_rows();
  }
  void forget_rows() noexcept {
    if (rows_memory_) rows_memory_->wipe();
    rows_memory_.reset();
    rows_are_whole_ = false;
  }
  void forget_work() noexcept {
    if (graph_) device_->discard(*graph_);
    if (arena_) arena_->wipe();
    graph_.reset();
    arena_.reset();
    rows_ = {};
    shape_ = {};
  }

  void upload_chains(const Ensemble& ensemble) {
    chain_.clear();
    centers_.clear();
    const bool centered = std::ranges::any_of(
        ensemble.specs, [](const ChainSpec& spec) { return !spec.center.empty(); });
    for (std::size_t c = 0; c < ensemble.chains(); ++c) {
      const ChainSpec& spec = ensemble.specs[c];
      for (std::size_t k = 0; k < outputs(); ++k) {
        chain_.push_back(kernels::make_chain(spec, ensemble.step[c]));
        chain_.back().stream = output_stream(spec.stream, outputs(), k);
      }
      if (!centered) continue;
      centers_.insert(centers_.end(), spec.center.begin(), spec.center.end());
      centers_.resize(chain_.size() * columns(), 0.0);
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
      source_->begin(*device_, rows_.all(), work_.theta, work_.scratch.data);
    }
  }

  // Partials of all rows, or sums[chunk] of each chunk.
  void enqueue_gradients() {
    rows_.for_each_chunk([&](const Chunk& chunk, std::size_t k) {
      source_->enqueue(*device_, chunk, work_.theta, shape_.chains, work_.partials.data,
                       work_.scratch.data);
      if (layout_.chunks == 1) return;
      const std::size_t cells = shape_.chains * shape_.features;
      device_->launch(
          finish_of_partials(source_->partials(chunk.rows), work_.sums.part(k * cells, cells)));
    });
  }

  [[nodiscard]] kernels::Finish finish_of_partials(std::size_t count, View<double> gradient) const {
    return work_.finish(shape_, count, source_->single_partials(), gradient);
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
      const Residents run{rows_.all(), work_.theta,   work_.centers,  work_.chain,
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
      // The first step runs as it is: it loads kernels and chooses products, which no capture does.
      std::uint64_t done = 0;
      if (!graph_) step(), ++done;
      if (!graph_ && done < steps) graph_ = device_->capture(step);
      for (; done < steps; ++done) device_->replay(*graph_);
    } else {
      for (std::uint64_t k = 0; k < steps; ++k) step();
    }
  }

  std::shared_ptr<Device> device_;
  std::vector<float> written_out_;  // [n x d] of sparse rows
  MatrixView<const float> x_;       // [n x d]
  std::vector<float> own_labels_;
  std::span<const float> y_;  // [n]
  unsigned loss_;
  EngineOptions options_;
  std::size_t ranks_;       // whose sums are added to one; 1: these are all rows
  std::size_t most_depth_;  // of these rows' sums
  MetricRows metric_;
  std::uint64_t caps_made_ = 0;

  // Shape of the run that is laid out; shape_.chains = 0 if none is.
  Shape shape_;
  Layout layout_;
  std::unique_ptr<GradientSource> source_;
  std::unique_ptr<StepLoop> loop_;
  std::byte* loop_scratch_ = nullptr;
  std::unique_ptr<Memory> rows_memory_;  // X whole, or two buffers of a streamed one
  bool rows_are_whole_ = false;          // X is whole in rows_memory_
  std::unique_ptr<Memory> arena_;        // all but X
  PlacedRows rows_;
  Work work_;
  Exchange exchange_;
  std::optional<Graph> graph_;
  std::string design_;

  std::vector<double> theta_;          // [C x K x d]
  std::vector<kernels::Chain> chain_;  // [C x K]
  std::vector<double> centers_;        // [C x K x d]
};

}  // namespace

std::string why_no_kernels(const Loss& loss, bool more) {
  if (more) return "has no kernels of rows with an exposure or weights";
  const bool softmax =
      loss.outputs() > 1 && loss.name() == full_loss_name(losses::Softmax::family, loss.outputs());
  if (softmax || kernels::index_of_loss(loss.name()) != kernels::no_loss) return {};
  return fmt::format("has no kernels of the loss {}", loss.name());
}

std::unique_ptr<Engine> make_engine(std::shared_ptr<Device> device, const Rows& x,
                                    std::span<const float> y, const Loss& loss,
                                    const EngineOptions& options) {
  require_loadable(x, y, loss);
  const std::string why = why_no_kernels(loss, x.has_more_than_labels());
  if (!why.empty())
    throw BadInput(format_message("{} cuda", Field{"backend"}), why,
                   format_message("use {} cpu", Field{"backend"}));
  return std::make_unique<CudaEngine>(std::move(device), x, y, loss,
                                      kernels::index_of_loss(loss.name()), options);
}

}  // namespace gibbsite::cuda
