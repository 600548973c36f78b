#include "gibbsite/run/buy_schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "gibbsite/mechanism/ledger_guarantee.hpp"
#include "run/certified.hpp"
#include "run/gaussian_mechanism.hpp"
#include "run/schema_answers.hpp"

namespace gibbsite {
namespace {

// Places in the stream of answers, far from those of any fit. Each text has a pair of normals of
// its own: given the table all noise is independent, in whichever order the texts come.
constexpr std::uint64_t classes_answer = std::uint64_t{1} << 40, ranges_answer = classes_answer + 1,
                        rows_answer = classes_answer + 16,
                        first_level_answer = std::uint64_t{1} << 41;

// Each cell adds what its row counts, of people held to k rows, to one count: what the guarantee
// rests on.
void answer_classes(BoughtSchema& model, const TableCells& cells, const StreamKey& key,
                    double deviation) {
  std::vector<double> exact;
  for (const ColumnCells& column : cells.columns)
    for (const std::uint64_t count : column.classes) exact.push_back(cells.in_rows(count));
  const std::vector<double> noisy =
      GaussianMechanism(key, classes_answer, exact.size()).release(exact, deviation);
  auto next = noisy.begin();
  for (ColumnAnswers& column : model.columns) {
    if (!column.asked()) continue;
    std::copy_n(next, cell_classes, column.classes.begin());
    next += static_cast<std::ptrdiff_t>(cell_classes);
  }
}

// Each row adds what it counts. Rules divide by it and want at least a row; the part of one is left
// out.
std::uint64_t answer_rows(const TableCells& cells, const StreamKey& key, double deviation) {
  const double noisy = GaussianMechanism(key, rows_answer, 1).release(cells.sum(), deviation);
  constexpr double most = 0x1p52;
  return static_cast<std::uint64_t>(std::clamp(noisy, 1.0, most));
}

// Each cell adds to at most one text's count; texts below the threshold stay unsaid. Of people
// those are answered alone that count k, of which there are few, however many rows somebody has.
void answer_levels(BoughtSchema& model, const TableCells& cells, const SchemaQuestions& questions,
                   const StreamKey& key) {
  const double least = cells.held ? static_cast<double>(model.rows_per_person) : 0;
  std::uint64_t answer = first_level_answer;
  auto next = cells.columns.begin();
  for (ColumnAnswers& column : model.columns) {
    if (!column.asked()) continue;
    for (const auto& [text, count] : next->levels) {
      const double exact = cells.in_rows(count);
      if (!(exact >= least)) continue;
      const double rows =
          GaussianMechanism(key, answer++, 1).release(exact, questions.levels_noise);
      if (rows >= questions.threshold) column.levels.push_back({text, rows});
    }
    std::ranges::sort(column.levels, [](const LevelAnswer& a, const LevelAnswer& b) {
      return a.rows != b.rows ? a.rows > b.rows : a.text < b.text;
    });
    ++next;
  }
}

// Each number adds one to one count of each range of its column. They come one range after another.
std::vector<double> counts_of_ranges(const BoughtSchema& model,
                                     const std::vector<RangeQuestion>& asked,
                                     const CellSource& table, const TableCells& cells) {
  std::vector<RangeOfColumn> named;
  for (const RangeQuestion& one : asked) named.push_back({model.columns[one.column].name, one});
  std::vector<double> exact;
  for (const std::vector<double>& counts : count_ranges(table, named, cells))
    exact.insert(exact.end(), counts.begin(), counts.end());
  StandardArithmetic::require();  // the caller's code has run
  return exact;
}

void put_ranges(BoughtSchema& model, const std::vector<RangeQuestion>& asked,
                const std::vector<double>& noisy) {
  auto next = noisy.begin();
  for (const RangeQuestion& one : asked) {
    const auto end = next + static_cast<std::ptrdiff_t>(refined_bins);
    model.columns[one.column].ranges.push_back({one.lo, one.hi, {next, end}});
    next = end;
  }
}

}  // namespace

namespace {

// The columns that say how rows count are others than the label, and there.
void require_counting(const CountingColumns& counting, const std::vector<std::string>& header,
                      const std::string& label, const std::string& source) {
  const auto require = [&](const std::string& name, const char* option) {
    if (name.empty()) return;
    if (std::ranges::find(header, name) == header.end()) {
      throw BadInput(Field{option},
                     fmt::format("{} has no column {}{}", source, gibbsite::quoted(name),
                                 did_you_mean(name, header)),
                     "name a column of its header");
    }
    if (name == label)
      throw BadInput(Field{option}, fmt::format("{} is the label too", gibbsite::quoted(name)),
                     "name another column");
  };
  require(counting.person, "person");
  require(counting.weight, "weight");
  require(counting.exposure, "exposure");
  const auto require_other = [](const std::string& name, const char* option,
                                const std::string& other, const char* says) {
    if (!name.empty() && name == other)
      throw BadInput(Field{option}, fmt::format("{} says {} too", gibbsite::quoted(name), says),
                     "name another column");
  };
  require_other(counting.weight, "weight", counting.person, "whose a row is");
  require_other(counting.exposure, "exposure", counting.person, "whose a row is");
  require_other(counting.exposure, "exposure", counting.weight, "how much a row counts");
}

}  // namespace

void require_exposure_of_counts(const CountingColumns& counting, const Label& label) {
  if (counting.exposure.empty() || is<Count>(label)) return;
  throw BadInput(
      Field{"exposure"},
      fmt::format("is what a count is over, and the label is {}", to_string(kind_of(label))),
      format_message("leave it out, or give {}", Field{"counts"}));
}

SchemaShape schema_shape(const std::vector<std::string>& header, const std::string& label,
                         const Label& target, const std::string& source,
                         const CountingColumns& counting) {
  require_counting(counting, header, label, source);
  if (label.empty() && !counting.exposure.empty())
    throw BadInput(Field{"exposure"}, "is what a count is over, and no label is given",
                   "leave it out, or give the label of counts");
  require_exposure_of_counts(counting, target);
  SchemaShape out;
  out.shape.counting = counting;
  out.shape.label = label;
  out.shape.target = target;
  bool has_label = label.empty();
  std::vector<std::string> names;
  std::set<std::string_view> known;
  for (const std::string& name : header) {
    if (name == label && !label.empty()) {
      has_label = true;
      continue;
    }
    if (shown(name) != name || name.empty()) {
      throw BadInput(FilePosition{source},
                     fmt::format("the name {} of a column is {}", gibbsite::quoted(name),
                                 name.empty() ? "empty" : "no plain UTF-8"),
                     "write a name");
    }
    // The second stands for the label where a table has none (family_model.cpp).
    if (!known.insert(name).second || (label.empty() && name == "(none)")) {
      throw BadInput(FilePosition{source},
                     fmt::format("the name {} of a column is {}", gibbsite::quoted(name),
                                 name == "(none)" ? "kept for no label" : "given twice"),
                     "rename it");
    }
    names.push_back(name);
    ColumnAnswers& column = out.shape.columns.emplace_back();
    column.name = name;
    if (named_like_an_id(name) || counting.names(name)) continue;
    column.classes.assign(cell_classes, 0.0);
    out.asked.push_back(name);
  }
  if (!has_label) {
    throw BadInput(Field{"label"},
                   fmt::format("{} has no column {}{}", source, gibbsite::quoted(label),
                               did_you_mean(label, header)),
                   "name a column of its header");
  }
  if (const Message fault = names_fault(names); !fault.empty()) throw BadInput(source, fault);
  if (out.asked.empty())
    throw BadInput(FilePosition{source},
                   "no column is left to ask about: the label, columns named like an id, and those "
                   "of people, weights or exposures are not asked about",
                   "rename the columns to use");
  return out;
}

void want_parts(SchemaShape& shape, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const std::size_t at = text.rfind('=');
    WantedParts wanted{.column = text.substr(0, at), .parts = {}};
    const std::string names = at == text.npos ? "" : text.substr(at + 1);
    for (std::size_t begin = 0; begin <= names.size();) {
      const std::size_t end = std::min(names.find(',', begin), names.size());
      const auto part = date_part_named(std::string_view(names).substr(begin, end - begin));
      if (!part)
        throw BadInput(Field{"date_parts"},
                       fmt::format("{} names no parts", gibbsite::quoted(text)),
                       "give a column and some of year, month and weekday, as in "
                       "hired=year,month");
      wanted.parts.push_back(*part);
      begin = end + 1;
    }
    shape.shape.parts.push_back(std::move(wanted));
  }
  if (const Message fault = parts_fault(shape.shape.columns, shape.shape.parts); !fault.empty())
    throw BadInput(format_message("{}: ", Field{"date_parts"}) + fault);
}

void require_planned_counts(const SchemaShape& shape, const TableCells& cells,
                            const SchemaProblem& problem, const Neighbors& who) {
  const auto names = [](const ColumnCells& column) { return column.name; };
  const bool is_capped = who.adjacency == Adjacency::add_remove;
  const char* const units = problem.of_people() ? "people" : "rows";
  if (is_capped && cells.rows > problem.rows) {
    throw BadInput(
        Field{"rows_cap"}, fmt::format("the table has more than {} {}", problem.rows, units),
        fmt::format("give a public bound that holds (private: how many {} there are is not public)",
                    units));
  }
  if (cells.held.has_value() != problem.of_people() ||
      shape.shape.counting.person.empty() == problem.of_people())
    throw BadInput(
        "data: people are held to their rows where the plan is of people, and there only");
  if ((!is_capped && cells.rows != problem.rows) || shape.asked.size() != problem.columns ||
      !std::ranges::equal(cells.columns, shape.asked, {}, names)) {
    throw BadInput("data: its rows or columns are not the plan's; plan again for this data");
  }
}

BoughtSchema answered_schema(BoughtSchema shape, const TableCells& cells, const CellSource& table,
                             const SchemaQuestions& questions, const StreamKey& key) {
  const bool is_counted = questions.rows_noise != 0;
  shape.scale = {.rows = is_counted ? answer_rows(cells, key, questions.rows_noise) : cells.rows,
                 .bins_noise = questions.bins_noise,
                 .levels_noise = questions.levels_noise,
                 .threshold = questions.threshold,
                 .refine_noise = questions.refine_noise,
                 .rows_noise = questions.rows_noise};
  answer_classes(shape, cells, key, questions.bins_noise);
  answer_levels(shape, cells, questions, key);
  for (std::size_t round = 0; round < refinements; ++round) {
    const std::vector<RangeQuestion> asked = range_questions(shape);
    if (asked.empty()) break;
    const std::vector<double> exact = counts_of_ranges(shape, asked, table, cells);
    put_ranges(shape, asked,
               GaussianMechanism(key, ranges_answer + round, exact.size())
                   .release(exact, refined_deviation_up(questions, asked.size())));
  }
  shape.schema = schema_of(shape);
  return shape;
}

TableCells count_asked(const SchemaShape& shape, const CellSource& table,
                       std::uint64_t rows_per_person) {
  const std::string& person = shape.shape.counting.person;
  if (person.empty()) return count_cells(table, shape.asked);
  return count_cells(table, shape.asked, hold_rows(table, person, rows_per_person));
}

SchemaProblem problem_of(const SchemaShape& shape, std::uint64_t rows,
                         std::uint64_t rows_per_person) {
  return {.rows = rows,
          .columns = shape.asked.size(),
          .rows_of_person = shape.shape.counting.person.empty() ? 0 : rows_per_person};
}

BoughtApart purchase_of(const SchemaRelease& made) {
  return {.certificate = to_json(made).at("certificate").at("digest").get<std::string>(),
          .epsilon = made.certificate().epsilon,
          .delta = made.certificate().delta,
          .person = made.model().counting.person,
          .rows_per_person = made.model().rows_per_person,
          .adjacency = std::string(to_string(made.certificate().claimed.who.adjacency))};
}

SchemaRelease buy_schema(const SchemaShape& shape, const TableCells& cells, const CellSource& table,
                         const SchemaPlan& plan, Key&& key, const FitOptions& options) {
  return certified<SchemaKind>(
      plan, std::move(key), options,
      {.require_planned =
           [&](const SchemaPlan& is) {
             require_planned_counts(shape, cells, is.problem, is.guarantee.who);
             if (options.ledger != nullptr) options.ledger->require_room(ledger_guarantee(is));
           },
       .make_model =
           [&](const SchemaPlan& is, const StreamKey& stream, const Analysis& analysis) {
             BoughtSchema model = shape.shape;
             model.rows_per_person = is.guarantee.who.rows_per_person;
             // Which ranges are read, and so what can end here, follows from noisy answers.
             return paid_if_refused(
                 options, "schema, refused",
                 {ledger_guarantee(is), in_a_ledger(analysis.guarantee, is.problem.of_people())},
                 stream, [&] {
                   return answered_schema(std::move(model), cells, table,
                                          std::get<SchemaQuestions>(is.mechanism), stream);
                 });
           }});
}

}  // namespace gibbsite
