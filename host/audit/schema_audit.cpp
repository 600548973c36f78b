#include "gibbsite/audit/schema_audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "audit/experiment.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/floating_point.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/data/cell_counts.hpp"
#include "gibbsite/run/buy_schema.hpp"
#include "run/schema_answers.hpp"

namespace gibbsite {
namespace {

// What a release says that one of the tables cannot: beyond all log ratios.
constexpr double for_sure = 1e9;

// A table of texts, each in every column of its row.
class TextTable {
 public:
  TextTable(const std::vector<std::string>& texts, std::uint64_t columns) {
    std::map<std::string, std::size_t> known;
    for (const std::string& text : texts) {
      const auto [at, is_new] = known.try_emplace(text, distinct_.size());
      if (is_new) distinct_.emplace_back(columns, text);
      rows_.push_back(at->second);
    }
  }
  [[nodiscard]] CellSource source() const {
    return {"table", [this](const std::vector<std::string>& columns, const CellSource::Row& row) {
              for (const std::size_t at : rows_)
                row(std::span(distinct_[at]).first(columns.size()));
            }};
  }

 private:
  std::vector<std::vector<std::string>> distinct_;  // rows
  std::vector<std::size_t> rows_;
};

// One of the two tables, its exact counts, and those in ranges once they were asked for.
class Side {
 public:
  Side(const std::vector<std::string>& texts, const SchemaShape& shape)
      : table_(texts, shape.asked.size()),
        source_(table_.source()),
        cells_(count_cells(source_, shape.asked)) {}
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  [[nodiscard]] const CellSource& source() const { return source_; }
  [[nodiscard]] const TableCells& cells() const { return cells_; }
  [[nodiscard]] double rows_of(std::size_t column, const std::string& text) const {
    const auto& levels = cells_.columns[column].levels;
    const auto at =
        std::ranges::lower_bound(levels, text, {}, &std::pair<std::string, std::uint64_t>::first);
    return at != levels.end() && at->first == text ? static_cast<double>(at->second) : 0.0;
  }
  // All columns hold the same, so one is counted.
  const std::vector<double>& in_range(const RangeQuestion& question) {
    const auto key = std::tuple(question.lo, question.hi, question.dates, question.written);
    const auto [at, is_new] = ranges_.try_emplace(key);
    if (is_new) {
      const std::array one{RangeOfColumn{cells_.columns.front().name, question}};
      at->second = count_ranges(source_, one, cells_.rows).front();
    }
    return at->second;
  }

 private:
  TextTable table_;
  CellSource source_;
  TableCells cells_;
  std::map<std::tuple<double, double, std::string_view, Written>, std::vector<double>> ranges_;
};

// Log density of a normal count about `there` over that about `here`.
double ratio(double value, double here, double there, double deviation) {
  return (there - here) * (value - (here + there) / 2) / (deviation * deviation);
}
double log_below(double height) { return std::log(std::erfc(-height / std::sqrt(2.0)) / 2); }

class SchemaRuns {
 public:
  explicit SchemaRuns(const SchemaAuditCase& at)
      : questions_(std::get<SchemaQuestions>(at.plan.mechanism)),
        shape_(shape_of(at.plan.problem.columns)),
        table_(at.table, shape_),
        neighbor_(at.neighbor, shape_) {
    for (const auto* const cells : {&table_.cells(), &neighbor_.cells()})
      require_planned_counts(shape_, *cells, at.plan.problem, at.plan.guarantee.who);
    shape_.shape.rows_per_person = at.plan.guarantee.who.rows_per_person;
    for (const auto& [text, rows] : table_.cells().columns.front().levels) texts_.push_back(text);
    for (const auto& [text, rows] : neighbor_.cells().columns.front().levels)
      if (table_.rows_of(0, text) == 0) texts_.push_back(text);
    std::erase_if(texts_, [&](const std::string& text) {
      return table_.rows_of(0, text) == neighbor_.rows_of(0, text);
    });
  }

  void run(std::uint64_t seed, PairedSamples& out) {
    out.of_table.push_back(statistic(table_, seed));
    out.of_neighbor.push_back(statistic(neighbor_, seed));
  }

 private:
  static SchemaShape shape_of(std::uint64_t columns) {
    std::vector<std::string> names;
    for (std::uint64_t j = 0; j < columns; ++j) names.push_back(fmt::format("x{}", j + 1));
    return schema_shape(names, "", TwoClasses{}, "table");
  }

  double statistic(const Side& side, std::uint64_t seed) {
    const StandardArithmetic arithmetic;
    const BoughtSchema made = answered_schema(shape_.shape, side.cells(), side.source(), questions_,
                                              StreamKey::from_seed(seed));
    double sum = of_rows(made.scale);
    for (std::size_t k = 0; k < made.columns.size(); ++k) sum += of_counts(made.columns[k], k);
    for (std::size_t round = 0; round < refinements; ++round) sum += of_ranges(made, round);
    return sum;
  }

  // The number of rows, where it is an answer: rounded and held up as it is, it tells no more.
  [[nodiscard]] double of_rows(const AnswerScale& scale) const {
    if (scale.rows_noise == 0) return 0;
    return ratio(static_cast<double>(scale.rows), static_cast<double>(table_.cells().rows),
                 static_cast<double>(neighbor_.cells().rows), scale.rows_noise);
  }

  double of_counts(const ColumnAnswers& column, std::size_t k) const {
    const auto& here = table_.cells().columns[k].classes;
    const auto& there = neighbor_.cells().columns[k].classes;
    double sum = 0;
    for (std::size_t i = 0; i < here.size(); ++i) {
      if (here[i] == there[i]) continue;
      sum += ratio(column.classes[i], static_cast<double>(here[i]), static_cast<double>(there[i]),
                   questions_.bins_noise);
    }
    for (const std::string& text : texts_) sum += of_text(column, k, text);
    return sum;
  }

  double of_text(const ColumnAnswers& column, std::size_t k, const std::string& text) const {
    const double here = table_.rows_of(k, text), there = neighbor_.rows_of(k, text);
    const auto found = std::ranges::find(column.levels, text, &LevelAnswer::text);
    if (found == column.levels.end()) {
      const auto below = [&](double rows) {  // a text that nobody has is never said
        return rows == 0 ? 0 : log_below((questions_.threshold - rows) / questions_.levels_noise);
      };
      return below(there) - below(here);
    }
    if (here == 0) return for_sure;
    if (there == 0) return -for_sure;
    return ratio(found->rows, here, there, questions_.levels_noise);
  }

  // What was asked again: which columns and where follows from what was answered before.
  double of_ranges(const BoughtSchema& made, std::size_t round) {
    BoughtSchema before = made;
    for (ColumnAnswers& column : before.columns)
      column.ranges.resize(std::min(column.ranges.size(), round));
    const std::vector<RangeQuestion> asked = range_questions(before);
    const auto answered = std::ranges::count_if(
        made.columns, [&](const ColumnAnswers& column) { return column.ranges.size() > round; });
    if (std::cmp_not_equal(answered, asked.size())) unled();
    double sum = 0;
    for (const RangeQuestion& question : asked) {
      const auto& ranges = made.columns[question.column].ranges;
      if (ranges.size() <= round || ranges[round].lo != question.lo ||
          ranges[round].hi != question.hi)
        unled();
      const std::vector<double>& here = table_.in_range(question);
      const std::vector<double>& there = neighbor_.in_range(question);
      const double deviation = refined_deviation_up(questions_, asked.size());
      for (std::size_t i = 0; i < refined_bins; ++i)
        if (here[i] != there[i]) sum += ratio(ranges[round].rows[i], here[i], there[i], deviation);
    }
    return sum;
  }
  // A question that does not follow from the answers is a release of its own.
  [[noreturn]] static void unled() {
    throw BadInput("audit: a range was asked about that no answer leads to; report this");
  }

  SchemaQuestions questions_;
  SchemaShape shape_;
  Side table_, neighbor_;
  std::vector<std::string> texts_;  // whose counts differ, of every column
};

}  // namespace

SchemaAuditCase schema_case(SchemaPair pair, std::uint64_t rows, std::uint64_t columns,
                            const Budget& budget) {
  budget.validate();
  if (rows <= budget.rows_per_person) {
    throw BadInput(
        Field{"rows"},
        fmt::format("must be above rows per person, {}, got {}", budget.rows_per_person, rows),
        "give more");
  }
  const bool added = budget.adjacency == Adjacency::add_remove;
  const bool rare = pair == SchemaPair::rare_texts;
  SchemaAuditCase out{.plan = plan_schema({.rows = rows, .columns = columns}, budget),
                      .table = {},
                      .neighbor = {},
                      .pair = rare    ? "a person's texts that nobody else has, among numbers"
                              : added ? "a person's number more, in every column"
                                      : "another number of a person, in every column"};
  // Numbers of two classes, of which two are frequent; all others stay below the threshold, so the
  // column is no category and its range is asked about.
  constexpr std::uint64_t others = 20;
  constexpr const char *first = "2.5", *const second = "7.5";
  for (std::uint64_t i = 0; i < rows; ++i) {
    const bool own = i < budget.rows_per_person;
    const std::string common =
        i % 3 == 0   ? first
        : i % 3 == 1 ? second
                     : fmt::format("{:.2f}", 2.61 + .25 * static_cast<double>(i % others));
    if (!own || !added) out.table.push_back(own ? first : common);
    out.neighbor.push_back(!own ? common : rare ? fmt::format("t{}", i) : second);
  }
  return out;
}

AuditResult audit(const SchemaAuditCase& at, const AuditOptions& options) {
  SchemaRuns runs(at);
  return experiment({at.plan.guarantee, at.plan.budget.epsilon, 1,
                     [&](std::uint64_t seed, std::uint64_t pairs, PairedSamples& out) {
                       for (std::uint64_t i = 0; i < pairs; ++i) runs.run(seed, out);
                     }},
                    options);
}

}  // namespace gibbsite
