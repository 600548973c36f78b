#include "run/run_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <optional>
#include <span>

#include "core/digest.hpp"
#include "core/format_message.hpp"
#include "data/keyed_digest.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/machine/communicator.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/model.hpp"
#include "run/mechanism_run.hpp"

namespace gibbsite {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class T>
void require_equal(const T& data, const T& plan, std::string_view name) {
  if (data != plan) {
    throw BadInput(
        fmt::format("{}: {} here, {} in the plan; plan again for this data", name, data, plan));
  }
}

// Strong convexity that the mechanism gives the potential.
double precision_of(const Mechanism& mechanism) {
  const auto ridge = setting(mechanism, "ridge");
  return ridge ? *ridge : setting(mechanism, "prior_precision").value_or(0);
}

// Rows of all ranks.
std::uint64_t rows_of(const Dataset& data, Communicator& ranks, const FitOptions& options) {
  const std::vector<std::uint64_t> shares = ranks.gather(data.rows());
  return std::accumulate(shares.begin(), shares.end(), options.rows_elsewhere);
}

// A plan counts people where a schema names them, and weights hold each to its rows. How many rows
// there are decides nothing.
void require_people(const Dataset& data, std::uint64_t rows, const Plan& plan) {
  const Problem& planned = plan.problem;
  require_equal(data.schema.person() != nullptr, planned.of_people(), "people");
  if (!planned.of_people()) return;
  if (rows != data.rows_counted)
    throw BadInput(
        "people: were counted among other rows than those of this run; count them over all ranks "
        "together (hold_people), and on Dask, where they are not counted, give all rows to one "
        "process");
  require_equal(data.rows_of_person, planned.rows_of_person, "rows_of_person");
  require_equal(plan.candidate().guarantee.who.rows_per_person, planned.rows_of_person,
                "rows_per_person");
  if (rows > planned.most_rows())
    throw BadInput("rows: are more than 2^40, whose sums are not bounded; give fewer");
}

// The guarantee rests on these: the shape that was planned for, and rows within their norm.
// `rows`: of all ranks.
void require_shape(const Model& model, const Dataset& data, std::uint64_t rows, const Plan& plan) {
  // One object a name: another of that name would have other gradients than its constants bound.
  if (model.loss != &loss_named(model.loss->name())) {
    throw BadInput(fmt::format("loss: this is not the library's {}; make the model with glm()",
                               model.loss->name()));
  }
  const Problem& planned = plan.problem;
  const Problem here = model.constants(data.schema, planned.rows);
  require_equal(here.loss, planned.loss, "loss");
  require_equal(here.label_bound, planned.label_bound, "label_bound");
  require_equal(here.offset_bound, planned.offset_bound, "offset_bound");
  require_equal(here.weighted, planned.weighted, "weighted");
  require_equal(here.features, planned.features, "features");
  require_equal(here.outputs, planned.outputs, "outputs");
  require_equal(here.row_norm, planned.row_norm, "row_norm");
  require_equal(here.intercept, planned.intercept, "intercept");
  require_equal(here.max_abs_derivative, planned.max_abs_derivative, "max_abs_residual");
  require_equal(here.derivative_at_zero, planned.derivative_at_zero, "residual_at_zero");
  require_equal(here.curvature, planned.curvature, "curvature");
  require_equal(here.traces.most, planned.traces.most, "traces.most");
  require_equal(here.traces.majorant, planned.traces.majorant, "traces.majorant");
  require_equal(here.self_concordance, planned.self_concordance, "self_concordance");
  require_equal(here.drop_from_zero, planned.drop_from_zero, "drop_from_zero");
  require_equal(here.one_signed, planned.one_signed, "one_signed");
  require_equal(here.center_norm, planned.center_norm, "center_norm");
  if (model.prior_precision) {
    require_equal(*model.prior_precision, precision_of(plan.candidate().mechanism),
                  "prior_precision");
  }
  require_people(data, rows, plan);
  const std::uint64_t counted = planned.of_people() ? data.counted() : rows;
  const std::string_view unit = planned.of_people() ? "people" : "rows";
  if (plan.candidate().guarantee.who.adjacency == Adjacency::replace_one) {
    require_equal(counted, planned.rows, unit);
  } else if (counted > planned.rows) {
    throw BadInput(
        fmt::format("{}: the table has more than the public cap {} of the plan; plan again with a "
                    "larger cap (private: how many {} there are is not public)",
                    unit, planned.rows, unit));
  }
  if (data.rows() > 0 && !data.labeled())
    throw BadInput("data: has no labels; give a table with the label column");
  const std::size_t offsets = data.schema.exposure() == nullptr ? 0 : data.rows();
  if (data.offset.size() != offsets) {
    throw BadInput(fmt::format("data: has {} exposures of {} rows; read it through its schema",
                               data.offset.size(), offsets));
  }
  const std::size_t weights = planned.weighted ? data.rows() : 0;
  if (data.weight.size() != weights) {
    throw BadInput(fmt::format("data: has {} weights of {} rows; read it through its schema",
                               data.weight.size(), weights));
  }
}

// In double, so up to d roundings of slack; readers clip exactly.
void require_planned_rows(const RowSums& engine, const Problem& planned) {
  const double limit = planned.row_norm * planned.row_norm *
                       (1 + static_cast<double>(planned.row_features() + 2) *
                                std::numeric_limits<double>::epsilon());
  const LabelKind label = loss_named(planned.loss).label();
  const double label_bound =
      label == LabelKind::classes ? static_cast<double>(planned.outputs) : planned.label_bound;
  const auto fault =
      engine.first_fault({limit, planned.intercept, label, label_bound, planned.offset_bound});
  if (!fault) return;
  throw BadInput(fmt::format(
      "data: row {} {}; read it through a schema", fault->row + 1,
      fault->what == RowFault::What::label
          ? fmt::format("has a label that is not {}",
                        label == LabelKind::classes ? "a class's place" : to_string(label))
      : fault->what == RowFault::What::offset ? std::string("has an exposure outside of its range")
      : fault->what == RowFault::What::weight
          ? std::string("has a weight outside of its range")
          : std::string("is longer than row_norm or lacks the intercept")));
}

std::unique_ptr<MechanismRun> make_sampler(const Model& model, const Dataset& data,
                                           const Plan& plan, Backend& backend,
                                           const std::shared_ptr<Engine>& engine,
                                           const StreamKey& key) {
  // The neighbors that the certificate will name.
  const Neighbors& who = plan.candidate().guarantee.who;
  const Task task{model,      plan.problem, who,    plan.budget.draws,  data.schema,        engine,
                  key,        backend,      data.y, data.view().offset, data.view().weight, 0,
                  data.person};
  return std::visit([&](const auto& m) { return sampler_of(m, task); }, plan.candidate().mechanism);
}

// Digest of everything that a resumed run must share with the run it continues: keyed, so that it
// says nothing about the data to a reader without the key. It holds the neighbors too, as noise may
// be scaled to them where the settings are not.
std::string fingerprint_of(const Model& model, const Dataset& data, const Plan& plan,
                           const StreamKey& key, Communicator& ranks) {
  const Problem& p = plan.problem;
  Schema schema = data.schema;
  if (TwoClasses* const two = std::get_if<TwoClasses>(&schema.label))
    two->positive_share.reset();  // of plans' words alone
  std::string text = fmt::format("{} {} {} {:a} {} {} {} {}\n{}\n{}\n{} ", to_string(key.kind),
                                 p.rows, p.features, p.row_norm, p.intercept, plan.budget.draws,
                                 to_string(plan.candidate().guarantee.who.adjacency),
                                 plan.candidate().guarantee.who.rows_per_person, model.loss->name(),
                                 to_toml(schema), name_of(plan.candidate().mechanism));
  struct Writer {
    std::string& text;
    void operator()(const char* name, double value, Legal legal) const {
      if (is_absent(legal, value)) return;
      text += fmt::format("{} {:a} ", name, value);
    }
    void operator()(const char* name, Calibration value) const {
      text += fmt::format("{} {} ", name, to_string(value));
    }
  };
  visit_fields(plan.candidate().mechanism, Writer{text});
  for (const double v : model.center) text += fmt::format("{:a} ", v);
  return keyed_digest(key.bytes, text, data, ranks);
}

// Throws BadInput when the checkpoint belongs to another run.
void require_same_run(const Checkpoint& checkpoint, const FitOptions& options,
                      const StreamKey& asked, const MechanismRun& sampler,
                      const std::string& fingerprint) {
  const std::string& path = options.checkpoint;
  if (checkpoint.key.kind != asked.kind ||
      (asked.kind == NoiseKind::philox && checkpoint.key.bytes != asked.bytes)) {
    throw BadInput(format_message(
        "{}: this checkpoint was made with another {} (or with none); give the same, or remove "
        "it and start again",
        path, Field{"seed"}));
  }
  if (checkpoint.fingerprint != fingerprint || !sampler.fits(checkpoint)) {
    throw BadInput(fmt::format(
        "{}: this checkpoint is of another run: the data or the plan changed; give what it was "
        "made with, or remove it and start again",
        path));
  }
}

// What rank 0 has, on all ranks.
std::optional<Checkpoint> shared(Communicator& ranks, std::optional<Checkpoint> of_rank_0) {
  SecretBytes bytes;
  if (of_rank_0) bytes = bytes_of(*of_rank_0);
  std::uint64_t size = bytes.size();
  ranks.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0);
  if (size == 0 || ranks.size() == 1) return of_rank_0;
  bytes.resize(size);
  ranks.broadcast(std::as_writable_bytes(std::span(bytes)), 0);
  return checkpoint_of({bytes.data(), bytes.size()});
}

// Ranks that went other ways would release what no theorem is about.
void require_same_state(Communicator& ranks, const MechanismRun& sampler,
                        const Checkpoint& of_run) {
  if (ranks.size() == 1) return;
  Checkpoint state = of_run;
  sampler.save(state);
  const SecretBytes bytes = bytes_of(state);
  Digest digest;
  digest.add(bytes.data(), bytes.size());
  const std::vector<std::string> all = ranks.gather(digest.hex());
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    throw BadInput(fmt::format(
        "ranks: the chains of rank {} are not those of rank 0, so nothing is released; run all "
        "ranks on machines of one kind, and report this where they are",
        rank));
  }
}

}  // namespace

void require_planned(const Model& model, const Dataset& data, const Plan& plan,
                     const FitOptions& options) {
  const std::unique_ptr<Communicator> alone = one_process();
  Communicator& ranks = options.ranks != nullptr ? *options.ranks : *alone;
  const std::uint64_t rows = rows_of(data, ranks, options);
  ranks.together([&] {
    static_cast<void>(require_feasible(plan));
    require_chosen_curves(data.schema);
    require_shape(model, data, rows, plan);
    if (options.rows_elsewhere > 0 && !options.checkpoint.empty()) {
      throw BadInput(Field{"checkpoint"}, "it belongs to rows, which lie elsewhere here",
                     "leave it out");
    }
  });
}

LinearModel run_plan(const Model& model, const Dataset& data, const Plan& plan, Backend& backend,
                     StreamKey& key, const FitOptions& options) {
  const std::unique_ptr<Communicator> alone = one_process();
  Communicator& ranks = options.ranks != nullptr ? *options.ranks : *alone;
  const bool first_rank = ranks.rank() == 0;
  const std::uint64_t rows = rows_of(data, ranks, options);
  const std::shared_ptr<Engine> engine = backend.load(data.view(), data.y, *model.loss);
  require_equal(std::uint64_t{engine->rows()}, rows, "rows");
  require_planned_rows(*engine, plan.problem);
  if (!engine->certifiable()) {
    throw BadInput(
        format_message("{} {}", Field{"backend"}, backend.name()),
        "its arithmetic or its noise is for throughput only and no certificate covers it",
        "use double arithmetic and the chains' own noise");
  }
  const bool keep = !options.checkpoint.empty();
  Checkpoint checkpoint{key, {}, {}, {}};
  std::unique_ptr<MechanismRun> sampler;
  std::optional<Checkpoint> found;
  ranks.together([&] {
    std::error_code ignored;
    if (first_rank && keep && std::filesystem::exists(options.checkpoint, ignored))
      found = read_checkpoint(options.checkpoint);
  });
  if (auto before = shared(ranks, std::move(found))) {
    checkpoint = *std::move(before);
    sampler = make_sampler(model, data, plan, backend, engine, checkpoint.key);
    require_same_run(checkpoint, options, key, *sampler,
                     fingerprint_of(model, data, plan, checkpoint.key, ranks));
    sampler->restore(checkpoint);
    key = checkpoint.key;
  } else {
    if (keep) checkpoint.fingerprint = fingerprint_of(model, data, plan, key, ranks);
    sampler = make_sampler(model, data, plan, backend, engine, key);
    sampler->begin();
  }
  const auto save = [&] {
    ranks.together([&] {
      if (!first_rank) return;
      sampler->save(checkpoint);
      write_checkpoint(options.checkpoint, checkpoint);
    });
  };
  // Clocks and signals are of a rank; what follows from them is of all.
  const auto any = [&](bool here) {
    const std::vector<std::uint64_t> all = ranks.gather(std::uint64_t{here});
    return std::ranges::find(all, 1U) != all.end();
  };
  const auto of_first_rank = [&](std::uint64_t value) {
    ranks.broadcast(std::as_writable_bytes(std::span(&value, 1)), 0);
    return value;
  };

  // At once, so that a path that cannot be written is found before hours of work.
  if (keep) save();
  const std::uint64_t total = sampler->total();
  auto last_save = Clock::now();
  std::uint64_t chunk = 1;
  while (sampler->done() < total) {
    if (any(options.stop != nullptr && *options.stop)) {
      if (keep) save();
      throw Interrupted(
          format_message("interrupted after {} of {} steps; {}", sampler->done(), total,
                         keep ? Message("run the same again to go on from " + options.checkpoint)
                              : format_message("nothing was kept; give {} FILE to be able to go on",
                                               Field{"checkpoint"})));
    }
    const auto chunk_start = Clock::now();
    sampler->advance(chunk);
    require_same_state(ranks, *sampler, checkpoint);
    // The next call lasts about a tenth of a second, so progress and `stop` are polled often.
    const double ratio = 0.1 / std::max(seconds_since(chunk_start), 1e-6);
    chunk = of_first_rank(static_cast<std::uint64_t>(
        std::clamp(static_cast<double>(chunk) * std::min(ratio, 8.0), 1.0, 1e9)));
    if (options.progress) options.progress(sampler->done(), total);
    const bool due = keep && seconds_since(last_save) >= options.checkpoint_every_seconds;
    if (of_first_rank(std::uint64_t{due}) != 0) {
      save();
      last_save = Clock::now();
    }
  }
  if (keep) save();
  if (options.design) options.design(engine->design());
  LinearModel fitted{std::string(model.loss->name()), data.schema, sampler->draws(), {}, {}};
  sampler->complete(fitted);
  if (!options.release_answers) fitted.answers.clear();
  return fitted;
}

}  // namespace gibbsite
