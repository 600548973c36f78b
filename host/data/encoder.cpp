#include "data/encoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "core/format_message.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/data/cell_counts.hpp"
#include "gibbsite/machine/memory.hpp"
#include "gibbsite/model/boolean.hpp"
#include "machine/processors.hpp"
#include "model/people_advice.hpp"

namespace gibbsite {

namespace {
// Buffer of rows on their way to a cache.
constexpr std::size_t buffer_bytes = std::size_t{16} << 20;

/// y of a label that cannot be read.
float middle_label(const Schema& schema) {
  if (is<TwoClasses>(schema.label)) return -1;
  const Count* const count = std::get_if<Count>(&schema.label);
  return scaled_label(schema.label,
                      count != nullptr ? std::floor(count->hi / 2) : label_middle(schema.label));
}

/// Whether a label is a mark of missing, however its accents are written.
bool marks_missing_label(const Schema& schema, std::string_view label) {
  if (schema.text.marks_missing(label)) return true;
  if (is_ascii(label) || !schema.text.has_missing) return false;
  const std::string text = composed(label);
  return text == composed(schema.text.missing) ||
         std::ranges::any_of(schema.text.also_missing,
                             [&](const std::string& mark) { return text == composed(mark); });
}

/// Numbers in their shortest form, other text as it is.
std::string canonical(std::string_view text) {
  double value = 0;
  return parse_number(text, value) ? number_text(value) : std::string(text);
}
}  // namespace

namespace {

/// Names in Unicode's normal form, for levels or classes that are listed in another one.
template <class Map, class First>
void add_composed(const std::vector<std::string>& names, First first, Map& places) {
  for (std::size_t k = 0; k < names.size(); ++k)
    places.emplace(composed(names[k]),
                   static_cast<typename Map::mapped_type>(first + static_cast<First>(k)));
}

/// Names of whole numbers, as columns of numbers have them, for levels or classes that are listed
/// as "3.0": but for a number that is listed twice, which is itself alone.
template <class Map, class First>
void add_whole_numbers(const std::vector<std::string>& names, First first, Map& places) {
  std::unordered_map<std::string_view, std::size_t> counts;
  for (const std::string& name : names) ++counts[whole_number(name)];
  for (std::size_t k = 0; k < names.size(); ++k) {
    const std::string_view whole = whole_number(names[k]);
    if (whole != names[k] && counts[whole] == 1)
      places.emplace(whole, static_cast<typename Map::mapped_type>(first + static_cast<First>(k)));
  }
}

}  // namespace

bool parse_grouped(std::string_view text, double& value, char point, std::string_view sign) {
  std::string plain;
  std::string_view rest = text;
  if (!rest.empty() && (rest[0] == '+' || rest[0] == '-')) {
    plain = rest[0];
    rest.remove_prefix(1);
  }
  const auto digits = [&] {
    std::size_t count = 0;
    while (count < rest.size() && rest[count] >= '0' && rest[count] <= '9') ++count;
    plain += rest.substr(0, count);
    rest.remove_prefix(count);
    return count;
  };
  const std::size_t first = digits();
  if (first < 1 || first > 3 || !rest.starts_with(sign)) return false;
  while (rest.starts_with(sign)) {
    rest.remove_prefix(sign.size());
    if (digits() != 3) return false;
  }
  // A word such as "1,234nan" has no digits behind its groups; a sign in the fraction is no number.
  if (!rest.empty() && rest[0] != point && rest[0] != 'e' && rest[0] != 'E') return false;
  plain += rest;
  return parse_number(plain, value, point);
}

namespace {
// People are held to their rows by who asked for them.
void require_people_held(const Schema& schema, const ReadOptions& options,
                         const std::string& source) {
  const Column* const person = schema.person();
  if (person == nullptr || !options.reads_weights(schema) || options.holds_people) return;
  const bool of_model = options.unreadable != ReadOptions::Unreadable::by_schema;
  throw BadInput(fmt::format(
      "{}: column {} says whose a row is, and this counts rows, each as one; {} (fit, plan and "
      "evaluate count people)",
      source, gibbsite::quoted(person->name),
      of_model ? "give a model without a column of people" : rows_instead(schema)));
}
}  // namespace

InteractionEncoding::InteractionEncoding(const Schema& schema, const Interaction& interaction,
                                         std::span<const Encoding> encodings, std::size_t first)
    : first_(first) {
  for (const Interaction::Part& part : interaction.parts) {
    const Encoding& e = encodings[static_cast<std::size_t>(schema.column_named(part.column) -
                                                           schema.columns.data())];
    Part& own = parts_.emplace_back();
    own.slot = e.slot;
    own.first = e.first;
    if (!part.knots.empty()) {
      own.hats.emplace(std::span<const double>(part.knots));
      own.missing = e.missing;
    }
    sizes_.push_back(schema.features_of(part));
  }
}

bool InteractionEncoding::place(const Part& part, const Encoding::Entry& entry,
                                InteractionPlace& out) {
  if (!part.hats) {
    out = {entry.feature - part.first, 0};
    return entry.value != 0;
  }
  if (entry.feature == part.missing) {
    out = {part.hats->size(), 0};
    return true;
  }
  const Hat hat = part.hats->at(entry.scaled);
  out = {hat.first, static_cast<std::uint32_t>(hat.next * 0x1p24F)};
  return true;
}

CellEncoder::CellEncoder(const Schema& schema, const ReadOptions& options, Input* input,
                         std::function<Message()> where, std::string source)
    : features_(schema.features()),
      may_clip_(schema.may_clip()),
      middle_label_(middle_label(schema)),
      input_(input),
      source_(std::move(source)),
      options_(options),
      where_(std::move(where)) {
  schema.validate("schema");
  require_people_held(schema, options, this->source());
  if (features_ > std::numeric_limits<std::uint32_t>::max())
    throw BadInput("schema: more than 2^32 features; leave some out");
  data_.schema = schema;
  data_.storage = SparseTable{};  // until choose_layout
  if (const TwoClasses* const two = std::get_if<TwoClasses>(&schema.label)) {
    positive_ = two->positive;
    negative_ = two->negative;
    composed_positive_ = composed(two->positive);
    composed_negative_ = composed(two->negative);
  } else if (const Classes* const several = std::get_if<Classes>(&schema.label)) {
    for (std::size_t k = 0; k < several->names.size(); ++k)
      classes_.emplace(several->names[k], static_cast<float>(k));
    add_whole_numbers(several->names, std::size_t{0}, classes_);
    add_composed(several->names, std::size_t{0}, classes_);
  }
  if (number_of(schema.label) == nullptr) {
    for (const std::string& name : class_names(schema.label))
      names_of_numbers_.insert_or_assign(canonical(name), name);
  }
  if (schema.text.has_missing) {
    std::vector<std::string> marks = schema.text.also_missing;
    marks.push_back(schema.text.missing);
    for (const std::string& mark : marks)
      if (double value = 0; parse_number(mark, value)) missing_labels_.push_back(value);
  }
  std::size_t next = 0;
  for (const Column& column : schema.columns) {
    Encoding e;
    e.name = column.name;
    e.column = encodings_.size();
    e.type = column.type;
    e.has_missing_bin = column.has_missing_bin;
    e.lo = column.lo;
    e.hi = column.hi;
    e.first = next;
    e.slot = entries_.size();
    if (column.is_curve()) e.hats.emplace(column);
    if (column.type != ColumnType::ignore) {
      entries_.push_back({0, static_cast<std::uint32_t>(e.first), 0});
      counts_.emplace_back();
    }
    if (column.type == ColumnType::exposure) exposure_ = e.slot;
    if (column.type == ColumnType::weight) weight_ = e.slot;
    if (column.type == ColumnType::person) {
      person_ = e.slot;
      if (reads_weights()) {
        if (options_.people == nullptr) own_people_ = std::make_unique<PersonIds>();
        lookup_.emplace(own_people_ ? *own_people_ : *options_.people,
                        options_.threads != 1 && usable_processors() > 1);
      }
    }
    for (const std::string& level : column.levels) e.levels.emplace(level, next++);
    if (column.is_boolean) {
      for (const bool value : {false, true})
        for (const std::string& word : boolean_spellings(value))
          e.levels.emplace(word, e.first + (value ? 1 : 0));
    }
    add_whole_numbers(column.levels, e.first, e.levels);
    add_composed(column.levels, e.first, e.levels);
    e.date = column.date;
    e.part = column.part;
    e.numbers = schema.numbers_of(column);
    e.missing_texts = schema.missing_marks(column);
    for (const std::string& mark : e.missing_texts) {
      e.missing_composed.push_back(composed(mark));
      double value = 0;
      const bool is_number = parse_number(mark, value);
      if (is_number && std::isnan(value)) {
        e.nan_is_missing = true;
        continue;
      }
      const std::optional<double> found = e.is_date() ? parse_date(mark, e.date)
                                          : is_number ? std::optional(value)
                                                      : std::nullopt;
      if (found && std::ranges::find(e.missing_numbers, *found) == e.missing_numbers.end())
        e.missing_numbers.push_back(*found);
    }
    e.takes_any_number =
        e.type == ColumnType::number && !e.hats && !e.is_date() && e.missing_numbers.empty() &&
        std::ranges::none_of(e.missing_texts, [&](const std::string& mark) {
          double value = 0;
          return parse_number(mark, value, e.numbers.decimal) && std::isfinite(value);
        });
    if (schema.has_missing_level(column) && column.type == ColumnType::number)
      e.missing = next + std::max<std::size_t>(column.knots.size(), 1);
    else if (schema.has_missing_level(column))
      e.missing = next++;
    else if (const std::string* const level = schema.missing_level(column))
      e.missing = e.levels.find(*level)->second;
    const auto rest = e.levels.find(column.unlisted);
    if (column.type == ColumnType::category && column.other)
      e.other = column.unlisted.empty() ? next++ : rest->second;
    if (e.missing == Encoding::none && !column.unlisted.empty()) e.missing = rest->second;
    next = e.first + schema.features_of(column);
    encodings_.push_back(std::move(e));
  }
  link_cells();
  for (const Interaction& interaction : schema.interactions) {
    interactions_.emplace_back(schema, interaction, encodings_, next);
    next += schema.features_of(interaction);
  }
}

// Parts of dates read cells that others may read too.
void CellEncoder::link_cells() {
  const std::vector<Column>& columns = data_.schema.columns;
  if (std::ranges::all_of(columns, [](const Column& c) { return c.part == DatePart::none; }))
    return;
  std::unordered_map<std::string_view, Encoding*> last;
  for (Encoding& e : encodings_) {
    if (e.type == ColumnType::ignore) continue;
    Encoding*& before = last[columns[e.column].cell_name()];
    if (before != nullptr) before->next_of_cell = &e;
    before = &e;
  }
}

void CellEncoder::reserve(std::uint64_t rows) {
  using Cache = ReadOptions::Cache;
  if (cache_ != nullptr) return;
  const bool sparse = layout_ == Layout::sparse;
  // The rows so far stand for the others.
  const double entries = sparse ? static_cast<double>(data_.sparse().value.size()) /
                                      static_cast<double>(std::max<std::uint64_t>(rows_, 1))
                                : 0;
  const double row_bytes = sparse ? 8 * entries + 8 : 4 * static_cast<double>(features_);
  const std::string shortage = memory_shortage(source(), rows, features_, row_bytes + 4);
  const bool may_cache =
      options_.cache == Cache::automatic && input_ != nullptr && input_->size() > 0;
  if (options_.cache == Cache::always || options_.to_files != nullptr) return begin_cache();
  if (!shortage.empty()) {
    if (!may_cache)
      throw BadInput(
          shortage +
          format_message(
              "; use a machine with more memory, fewer rows, levels or columns, or {} auto on a "
              "regular file",
              Field{"cache"}) +
          (input_ == nullptr ? " of CSV or .npy" : ""));
    note(options_, shortage + ": they go to files on disk");
    return begin_cache();
  }
  try {  // address space only, until rows are written
    if (sparse) {
      const auto room = static_cast<std::size_t>(entries * 1.05 * static_cast<double>(rows));
      data_.sparse().begin.reserve(rows + 1);
      data_.sparse().feature.reserve(room);
      data_.sparse().value.reserve(room);
    } else {
      data_.dense().reserve(rows * features_);
      prefer_huge_pages(data_.dense().data(), data_.dense().capacity() * sizeof(float));
    }
    data_.y.reserve(rows);
    if (lookup_) {
      data_.person.reserve(rows);
      prefer_huge_pages(data_.person.data(), data_.person.capacity() * sizeof(data_.person[0]));
    }
  } catch (const std::bad_alloc&) {
    if (may_cache) return begin_cache();
    throw BadInput(fmt::format(
        "{}: no memory for {} rows (private under add-remove) of {} features; use a machine with "
        "more",
        source(), rows, features_));
  }
}

void CellEncoder::begin_cache() {
  if (options_.to_files != nullptr) {
    cache_ = options_.to_files;
    drained_entries_ = cache_->entries();
    if (layout_ == Layout::sparse) {  // behind what is there; dense rows are still to be made
      std::vector<std::uint64_t>& begin = data_.sparse().begin;
      for (std::uint64_t& entry : begin) entry += drained_entries_;
      if (cache_->rows() > 0) begin.erase(begin.begin());  // the end of the row before
    }
  } else {
    if (input_->size() == 0)
      throw BadInput(
          FilePosition{input_->path()},
          format_message(
              "rows of a pipe cannot be cached, it is read only once; give a regular file, or "
              "{} never",
              Field{"cache"}));
    own_cache_ = std::make_unique<CacheWriter>(cache_of(input_->path()));
    cache_ = own_cache_.get();
    input_->start_digest();
  }
  drain();
  if (layout_ == Layout::dense) {
    data_.dense() = {};
    data_.dense().reserve(buffer_bytes / sizeof(float) + features_);
  } else {
    data_.sparse() = {.begin = {}, .feature = {}, .value = {}};
  }
}

void CellEncoder::drain() {
  if (layout_ == Layout::dense) {
    cache_->append(CacheWriter::x, std::span<const float>(data_.dense()));
    data_.dense().clear();
    return;
  }
  SparseTable& t = data_.sparse();
  cache_->append(CacheWriter::begin, std::span<const std::uint64_t>(t.begin));
  cache_->append(CacheWriter::feature, std::span<const std::uint32_t>(t.feature));
  cache_->append(CacheWriter::value, std::span<const float>(t.value));
  drained_entries_ += t.value.size();
  t.begin.clear();
  t.feature.clear();
  t.value.clear();
}

void CellEncoder::fail(const Message& what) const { throw BadInput(where_(), what); }

void CellEncoder::fail(const Encoding& e, const Message& what) const {
  fail(format_message("column {}: {}", gibbsite::quoted(e.name), what));
}

void CellEncoder::fail_quoting(const Message& what) const {
  fail(what + " (private: this line quotes the table)");
}

void CellEncoder::fail_telling(const Message& what) const { fail(what + tells_of_row); }

Message CellEncoder::or_else(const Message& in_schema) const {
  if (options_.unreadable != ReadOptions::Unreadable::by_schema)
    return " (the schema is the model's and stays as it was published)";
  return format_message(", {}or set invalid = \"middle\" in the schema", in_schema);
}

Message CellEncoder::missing_label_words() const {
  return "the label is missing; fill it or leave the row out" + or_else("") + tells_of_row;
}

// "its levels are 'A', 'B'", which are public; and what the cell may have been meant to be.
std::string CellEncoder::schema_has(std::string_view cell, const std::string& what,
                                    const std::vector<std::string>& names) {
  return fmt::format("{} {}{}", what, short_list(names), did_you_mean(cell, names));
}

// What a cell that is no such number or date may be. The words name formats, which are public.
Message CellEncoder::number_advice(const Encoding& e, std::string_view cell) const {
  const char point = e.numbers.decimal, other = point == '.' ? ',' : '.';
  const bool has_other = cell.find(other) != std::string_view::npos;
  double value = 0;
  Message out;
  bool grouped = false;
  if (e.type == ColumnType::number || e.is_date()) {
    for (const char* const format : {"%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d",
                                     "%d-%m-%Y", "%d %b %Y", "%d%b%Y"}) {
      if (!parse_date(cell, format)) continue;
      if (e.is_date())
        out += fmt::format("set format = \"{}\" if that is how dates are written, ", format);
      else if (format == iso_date)
        out += "set type = \"date\" if these are dates, ";
      else
        out += fmt::format("set type = \"date\" and format = \"{}\" if these are dates, ", format);
    }
  }
  if (!e.is_date() && has_other && parse_number(cell, value, other))
    out += fmt::format("set decimal = \"{}\" if that is the decimal sign, ", other);
  for (const std::string_view sign : thousands_signs) {
    if (e.is_date() || !e.numbers.thousands.empty() || !parse_grouped(cell, value, point, sign))
      continue;
    out += fmt::format("set thousands = \"{}\" if it groups digits, ", sign);
    grouped = true;
  }
  std::string plain(cell);
  std::erase(plain, other);
  if (!e.is_date() && has_other && !grouped && parse_number(plain, value, point) &&
      std::isfinite(value))
    out += "write numbers without thousands separators, ";
  constexpr std::size_t longest_mark = 16;
  const bool digits = cell.find_first_of("0123456789") != std::string_view::npos;
  if (!digits && cell.size() <= longest_mark)
    out += e.has_missing()
               ? format_message("write it as {} if it is a missing one, or list it in {}, ",
                                gibbsite::quoted(e.missing_texts.front()), Word{"missing"})
               : fmt::format("set missing = \"{}\" if it marks a missing cell, ", shown(cell));
  return out;
}

Message CellEncoder::level_advice(const Encoding& e, std::string_view cell) const {
  if (!is_utf8(cell))
    return "save the table as UTF-8 (this looks like Latin-1 or Windows-1252: iconv -f LATIN1 -t "
           "UTF-8), ";
  double value = 0, listed = 0;
  if (parse_number(cell, value)) {
    for (const auto& [level, feature] : e.levels)
      if (parse_number(level, listed) && listed == value)
        return fmt::format(
            "write it as {}, which is the same number (R writes 1e+05 unless options(scipen = "
            "999) "
            "is set), ",
            gibbsite::quoted(level));
  }
  return "list the level, set other = true, ";
}

void CellEncoder::set_invalid(const Encoding& e, std::string_view cell) {
  const bool marks = options_.unreadable == ReadOptions::Unreadable::marked && may_mark_;
  if (data_.schema.invalid == Invalid::middle || marks) {
    ++counts_[e.slot].invalid;
    set_number(e, e.middle());
    const bool missing = marks && cell.empty() && e.missing != Encoding::none;
    if (missing)
      set_one(e, e.missing);
    else if (e.other != Encoding::none)
      set_one(e, e.other);
    if (marks) data_.unreadable.push_back({rows_, static_cast<std::uint32_t>(e.column)});
    return;
  }
  double value = 0;  // text such as "abc" may be a level, nan may not
  const bool number = e.is_number() || e.is_date() ||
                      (labels_are_numbers_ && parse_number(cell, value) && !std::isfinite(value));
  if (cell.empty())
    fail_telling(format_message(
        "column {}: the cell is empty; fill it{}", gibbsite::quoted(e.name),
        or_else(e.has_missing()
                    ? format_message("write it as a missing one, {}, or list \"\" in {}, ",
                                     gibbsite::quoted(e.missing_texts.front()), Word{"missing"})
                    : "set missing = \"\", ")));
  const std::string column = fmt::format("column {}: ", gibbsite::quoted(e.name));
  if (number)
    fail_quoting(format_message(
        "{}{} is not a {}; fix the cell{}", column, gibbsite::quoted(cell),
        e.is_date() ? fmt::format("day such as {}",
                                  date_text(e.part == DatePart::none ? e.hi : 19'722, e.date))
                    : "finite number",
        or_else(number_advice(e, cell))));
  fail_quoting(format_message(
      "{}level {} is not in the schema ({}); fix the cell{}", column, gibbsite::quoted(cell),
      schema_has(cell, "its levels:", data_.schema.columns[e.column].levels),
      or_else(level_advice(e, cell))));
}

void CellEncoder::set_person(const Encoding& e, std::string_view id) {
  if (!lookup_) return;
  const bool purchased = data_.schema.was_bought_for_people();
  if (purchased) id_room_ = purchased_id(id);
  const std::string_view one = purchased ? id_room_ : person_id(id, e.numbers, id_room_);
  if (one.empty() ||
      (!purchased && (e.is_missing(id) || e.is_missing(one) || e.is_missing_composed(id))))
    return set_nobody(e);
  entries_[e.slot] = Entry::awaited(lookup_->add(one));
}

void CellEncoder::begin_people() {
  lookup_->next_block(data_.person);
  entries_[person_] = {0, Dataset::nobody, 0};  // it may have waited
}

void CellEncoder::place_now(const Encoding& e) {
  Entry& entry = entries_[e.slot];
  if (entry.is_awaited()) entry = {0, lookup_->place_now(entry.feature), 0};
}

void CellEncoder::set_person(const Encoding& e, double id) {
  // The purchase knew no marks of missing but its own.
  const bool missing = !data_.schema.was_bought_for_people() && e.is_missing(id);
  set_person(e, missing ? std::string() : person_id(id));
}

// Such a row counts 0: it has nobody's weight, so nobody else's rows decide what it counts.
void CellEncoder::set_nobody(const Encoding& e) {
  if (data_.schema.invalid == Invalid::refuse) {
    fail_telling(format_message(
        "column {}: says of nobody whose the row is; fill it with an id, as text where a number "
        "has more than 15 digits or was stored as a float{}",
        gibbsite::quoted(e.name), or_else("leave the row out, ")));
  }
  ++counts_[e.slot].invalid;
  entries_[e.slot] = {0, Dataset::nobody, 0};
}

void CellEncoder::set_null(const Encoding& e) {
  if (e.is_person()) return set_person(e, std::string_view());
  e.has_missing() ? set_missing(e) : set_invalid(e, "");
}

void CellEncoder::set_missing(const Encoding& e) {
  ++counts_[e.slot].missing;
  set_number(e, e.middle());
  if (e.missing != Encoding::none) set_one(e, e.missing);
}

void CellEncoder::set_level(const Encoding& e, std::string_view cell) {
  const char point = data_.schema.text.decimal;
  if (const std::size_t level = e.level(cell, point); level != Encoding::none) {
    set_one(e, level);
    return;
  }
  if (e.has_missing() && e.is_missing_whole(cell, point)) return set_missing(e);
  if (cell.empty() || e.other == Encoding::none) return set_invalid(e, cell);
  ++counts_[e.slot].other;
  set_one(e, e.other);
}

void CellEncoder::set_part(const Encoding& e, std::string_view cell) {
  if (const std::optional<double> day = parse_date(cell, e.date))
    return e.is_missing(*day) ? set_missing(e) : set_part(e, *day);
  if (e.is_missing_composed(cell)) return set_missing(e);
  if (cell.empty() || e.other == Encoding::none) return set_invalid(e, cell);
  ++counts_[e.slot].other;
  set_one(e, e.other);
}

void CellEncoder::set_part(const Encoding& e, double days) {
  if (!(days >= first_day && days < last_day + 1)) return set_invalid(e, number_text(days));
  const int part = part_of_day(e.part, days);
  e.is_number() ? set_in_range(e, part) : set_one(e, e.first + static_cast<std::size_t>(part));
}

void CellEncoder::compare_labels_as_numbers() {
  labels_are_numbers_ = true;
  positive_ = canonical(positive_);
  negative_ = canonical(negative_);
  classes_.clear();
  const Classes* const several = std::get_if<Classes>(&data_.schema.label);
  for (std::size_t k = 0; several != nullptr && k < several->names.size(); ++k)
    classes_.emplace(canonical(several->names[k]), static_cast<float>(k));
}

void CellEncoder::set_unlabeled(const Message& why) {
  if (options_.labels != ReadOptions::Labels::optional) fail(why);
  labeled_ = false;
}

void CellEncoder::set_label(std::string_view text) {
  if (labels_are_numbers_)
    add_label(canonical(text));
  else
    add_label(text);
}

void CellEncoder::set_label_missing(const Message& why) {
  if (!labeled_) return;
  if (data_.schema.invalid == Invalid::refuse) return set_unlabeled(why);
  ++data_.counts.invalid_labels;
  data_.y.push_back(middle_label_);
}

/// Adds the label of an amount or a count.
void CellEncoder::add_number_label(double value, std::string_view text) {
  const Schema& schema = data_.schema;
  if (std::isfinite(value) &&
      (is<Amount>(schema.label) || (value >= 0 && value == std::floor(value)))) {
    const NumberLabel& range = *number_of(schema.label);
    data_.counts.clamped_labels += value < range.lo || value > range.hi ? 1U : 0U;
    data_.y.push_back(scaled_label(schema.label, value));
    return;
  }
  set_label_missing(format_message(
      "label {} is not {}; fix the label{} (private: this line quotes the table)",
      gibbsite::quoted(text),
      is<Amount>(schema.label) ? "a finite number" : "a whole number from 0 up", or_else("")));
}

void CellEncoder::set_label(double value) {
  if (labeled_ && number_of(data_.schema.label) != nullptr) {
    const bool absent =
        std::isnan(value) || std::ranges::find(missing_labels_, value) != missing_labels_.end();
    return absent ? set_label_missing(missing_label_words())
                  : add_number_label(value, number_text(value));
  }
  const auto bits = std::bit_cast<std::uint64_t>(value);
  if (labeled_ && is<Classes>(data_.schema.label)) {
    const auto known = known_classes_.find(bits);
    if (known != known_classes_.end())
      data_.y.push_back(known->second);
    else if (add_label(label_text(value)))
      known_classes_.emplace(bits, data_.y.back());
    return;
  }
  for (std::size_t positive = 0; labeled_ && positive < 2; ++positive) {
    const auto& known = known_labels_[positive];
    if (!known || known->bits != bits) continue;
    data_.counts.unlisted_labels += known->unlisted ? 1U : 0U;
    data_.y.push_back(positive == 1 ? 1.0F : -1.0F);
    return;
  }
  const std::uint64_t unlisted = data_.counts.unlisted_labels;
  if (add_label(label_text(value)))
    known_labels_[data_.y.back() > 0 ? 1 : 0] = {bits, data_.counts.unlisted_labels != unlisted};
}

std::string CellEncoder::label_text(double value) const {
  if (std::isnan(value)) return "";
  std::string text = number_text(value);
  const auto named = names_of_numbers_.find(text);
  return labels_are_numbers_ || named == names_of_numbers_.end() ? text : named->second;
}

void CellEncoder::set_class(double label) {
  if (number_of(data_.schema.label) != nullptr) return set_label(label);
  if (const Classes* const several = std::get_if<Classes>(&data_.schema.label)) {
    const std::size_t most = several->names.size() - 1;
    if (!(label >= 0 && label <= static_cast<double>(most) && label == std::floor(label)))
      fail_quoting(format_message(
          "label {} is no place in the schema's classes; give a whole number from 0 to {}", label,
          most));
  } else if (label != 1 && label != -1)
    fail_quoting(format_message("label {} is neither -1 nor +1; give one of them", label));
  data_.y.push_back(static_cast<float>(label + 0.0));  // -0 is 0
}

/// Adds a label of several classes; says whether it is a listed one.
bool CellEncoder::add_class(std::string_view label) {
  const Schema& schema = data_.schema;
  auto listed = classes_.find(label);
  if (listed == classes_.end()) listed = classes_.find(whole_number(label, schema.text.decimal));
  if (listed == classes_.end() && !is_ascii(label)) listed = classes_.find(composed(label));
  if (listed != classes_.end()) {
    data_.y.push_back(listed->second);
    return true;
  }
  if (label.empty() || marks_missing_label(schema, label)) {
    set_label_missing(missing_label_words());
  } else if (schema.invalid == Invalid::refuse) {
    set_unlabeled(format_message(
        "label {} is none of the schema's classes ({}); fix the label{} (private: this line quotes "
        "the table)",
        gibbsite::quoted(label),
        schema_has(label, "these are:", std::get<Classes>(schema.label).names),
        or_else(format_message("list it in {}, ", Word{"classes"}))));
  } else {
    ++data_.counts.unlisted_labels;
    data_.y.push_back(middle_label_);
  }
  return false;
}

/// Whether the row has a class now; false where it is missing, or none of several.
bool CellEncoder::add_label(std::string_view label) {
  if (!labeled_) return false;
  const Schema& schema = data_.schema;
  if (is<Classes>(schema.label)) return add_class(label);
  if (number_of(schema.label) != nullptr) {
    double value = 0;
    if (label.empty() || marks_missing_label(schema, label)) {
      set_label_missing(missing_label_words());
    } else {
      const bool number =
          parse_number(label, value, labels_are_numbers_ ? '.' : schema.text.decimal) ||
          (!labels_are_numbers_ &&
           parse_grouped(label, value, {schema.text.decimal, schema.text.thousands}));
      add_number_label(number ? value : std::numeric_limits<double>::quiet_NaN(), label);
    }
    return false;
  }
  bool positive = label == positive_;
  bool listed = positive || label == negative_;
  if (!listed && !labels_are_numbers_) {  // a whole number, however it is written
    const std::string_view whole = whole_number(label, schema.text.decimal),
                           first = whole_number(positive_), second = whole_number(negative_);
    positive = whole == first && first != second;
    listed = positive || (whole == second && first != second && !negative_.empty());
  }
  if (!listed && !is_ascii(label)) {
    const std::string text = composed(label);
    positive = text == composed_positive_;
    listed = positive || text == composed_negative_;
  }
  if (label.empty() || (!listed && marks_missing_label(schema, label))) {
    set_label_missing(missing_label_words());
    return false;
  }
  const bool unlisted = !listed && !negative_.empty();
  if (unlisted && std::get<TwoClasses>(schema.label).refuses_unlisted) {
    set_unlabeled(format_message(
        "label {} is neither {} nor {}{}; fix the label{} (private: this line quotes the table)",
        gibbsite::quoted(label), gibbsite::quoted(positive_), gibbsite::quoted(negative_),
        did_you_mean(label, {std::string(positive_), std::string(negative_)}),
        options_.unreadable == ReadOptions::Unreadable::by_schema
            ? ", or set unlisted_label = \"negative\" in the schema"
            : or_else("")));
    return false;
  }
  data_.counts.unlisted_labels += unlisted ? 1 : 0;
  data_.y.push_back(positive ? 1.0F : -1.0F);
  return true;
}

void CellEncoder::absent_is(double value) {
  if (lookup_) {
    fail(format_message(
        "column {}: an absent entry says of nobody whose the row is; write the table "
        "as CSV, Parquet or Arrow",
        gibbsite::quoted(data_.schema.person()->name)));
  }
  absent_number_ = value;
  absent_.resize(entries_.size());
  const bool may_mark = std::exchange(may_mark_, false);
  for (const Encoding& e : encodings_) {
    if (e.type == ColumnType::ignore) continue;
    Absent& absent = absent_[e.slot];
    try {
      set(e, value);
    } catch (const BadInput&) {  // said for the first row that lacks the column
      absent.refused = &e;
      entries_[e.slot] = {};
    }
    absent.entry = entries_[e.slot];
    absent.counts = std::exchange(counts_[e.slot], {});
    if (!absent.entry.is_zero() || absent.refused != nullptr) absent_matters_.push_back(e.slot);
  }
  may_mark_ = may_mark;
}

void CellEncoder::set_present(const Encoding& e, double value) {
  set(e, value);
  present_.push_back(e.slot);
}

void CellEncoder::set_present_unreadable(const Encoding& e, std::string_view text) {
  set_invalid(e, text);
  present_.push_back(e.slot);
}

void CellEncoder::gather(std::size_t slot) {
  if (slot == exposure_ || slot == weight_ || slot == person_) return;
  entries_[slot].each([this](std::uint32_t feature, float value) {
    row_values_.push_back(value);
    row_features_.push_back(feature);
  });
}

void CellEncoder::gather_products(std::span<const Entry> entries, std::vector<float>& values,
                                  std::vector<std::uint32_t>& features) const {
  for (const InteractionEncoding& interaction : interactions_) {
    interaction.each(entries, [&](std::uint32_t feature, float value) {
      values.push_back(value);
      features.push_back(feature);
    });
  }
}

void CellEncoder::gather_row() {
  row_values_.clear();
  row_features_.clear();
  if (!absent_number_) {
    gather_entries(entries_, row_values_, row_features_);
    gather_products(entries_, row_values_, row_features_);
    return;
  }
  auto present = present_.begin();
  for (const std::size_t slot : absent_matters_) {
    for (; present != present_.end() && *present < slot; ++present) gather(*present);
    if (present != present_.end() && *present == slot) {
      ++present;
    } else if (absent_[slot].refused != nullptr) {
      set(*absent_[slot].refused, *absent_number_);  // throws
    }
    gather(slot);
  }
  for (; present != present_.end(); ++present) gather(*present);
  gather_products(entries_, row_values_, row_features_);
  for (const std::size_t slot : present_) {
    ++absent_[slot].present;
    entries_[slot] = absent_[slot].entry;
  }
  present_.clear();
}

void CellEncoder::end_row() {
  add_beside_row(entries_);
  gather_row();
  store_row();
  end_entries();
}

void CellEncoder::add_beside_row(std::span<const Entry> entries) {
  if (exposure_ != Encoding::none) data_.offset.push_back(entries[exposure_].value);
  if (weight_ != Encoding::none && reads_weights()) data_.weight.push_back(entries[weight_].value);
  if (!lookup_) return;
  if (entries[person_].is_awaited()) lookup_->add_row(data_.person.size());
  data_.person.push_back(entries[person_].feature);
}

void CellEncoder::gather_entries(std::span<const Entry> entries, std::vector<float>& values,
                                 std::vector<std::uint32_t>& features) const {
  std::size_t at = values.size();
  values.resize(at + 2 * entries.size());
  features.resize(at + 2 * entries.size());
  for (std::size_t slot = 0; slot < entries.size(); ++slot) {
    if (slot == exposure_ || slot == weight_ || slot == person_) continue;
    const Entry& entry = entries[slot];
    // Zeros are written too, and written over: whether a number is one is no jump then.
    values[at] = entry.value;
    features[at] = entry.feature;
    at += entry.value != 0 ? 1 : 0;
    if (entry.next == 0) continue;
    values[at] = entry.next;
    features[at++] = entry.feature + 1;
  }
  values.resize(at);
  features.resize(at);
}

void CellEncoder::end_row(std::span<const Entry> entries) {
  row_values_.clear();
  row_features_.clear();
  add_beside_row(entries);
  gather_entries(entries, row_values_, row_features_);
  gather_products(entries, row_values_, row_features_);
  store_row();
}

void CellEncoder::end_row(std::span<const Entry> entries, std::span<const Product> products) {
  row_values_.clear();
  row_features_.clear();
  add_beside_row(entries);
  gather_entries(entries, row_values_, row_features_);
  for (const Product& product : products) {
    row_values_.push_back(product.value);
    row_features_.push_back(product.feature);
  }
  store_row();
}

void CellEncoder::add_row(std::span<const Entry> entries, SparseRowsMade& made) const {
  const std::size_t begin = made.values.size();
  gather_entries(entries, made.values, made.features);
  gather_products(entries, made.values, made.features);
  if (end_row(begin, made.values, made.features)) ++made.clipped_rows;
  made.sizes.push_back(made.values.size() - begin);
}

void CellEncoder::append(const SparseRowsMade& made, std::size_t rows) {
  SparseTable& t = data_.sparse();
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < rows; ++i) count += made.sizes[i];
  if (t.begin.size() + rows > t.begin.capacity() || t.value.size() + count > t.value.capacity())
    reserve(std::max(2 * rows_, rows_ + rows) + 1024);
  const auto taken = static_cast<std::ptrdiff_t>(count);
  t.feature.insert(t.feature.end(), made.features.begin(), made.features.begin() + taken);
  t.value.insert(t.value.end(), made.values.begin(), made.values.begin() + taken);
  std::uint64_t end = drained_entries_ + t.value.size() - count;
  for (std::size_t i = 0; i < rows; ++i) t.begin.push_back(end += made.sizes[i]);
  rows_ += rows;
  if (cache_ != nullptr && (t.begin.size() + t.value.size()) * sizeof(t.begin[0]) >= buffer_bytes)
    drain();
}

/// Clips the row whose entries are those from `begin` on, and gives it its intercept. Returns
/// whether it was clipped.
bool CellEncoder::end_row(std::size_t begin, std::vector<float>& values,
                          std::vector<std::uint32_t>& features) const {
  const bool clipped =
      may_clip_ && clip_row_to_norm(std::span(values).subspan(begin), data_.schema.row_norm);
  if (data_.schema.intercept) {
    values.push_back(1.0F);
    features.push_back(static_cast<std::uint32_t>(features_ - 1));
  }
  return clipped;
}

void CellEncoder::store_row() {
  if (end_row(0, row_values_, row_features_)) ++data_.counts.clipped_rows;
  layout_ == Layout::dense ? store_dense(row_features_, row_values_) : store_sparse();
  ++rows_;
  if (layout_ == Layout::undecided &&
      (rows_ == rows_that_choose || data_.sparse().value.size() >= entries_that_choose))
    choose_layout();
}

void CellEncoder::store_sparse() {
  SparseTable& t = data_.sparse();
  if (layout_ == Layout::sparse && (t.begin.size() == t.begin.capacity() ||
                                    t.value.size() + row_values_.size() > t.value.capacity()))
    reserve(2 * rows_ + 1024);
  t.feature.insert(t.feature.end(), row_features_.begin(), row_features_.end());
  t.value.insert(t.value.end(), row_values_.begin(), row_values_.end());
  t.begin.push_back(drained_entries_ + t.value.size());
  if (cache_ != nullptr && (t.begin.size() + t.value.size()) * sizeof(t.begin[0]) >= buffer_bytes)
    drain();
}

void CellEncoder::store_dense(std::span<const std::uint32_t> features,
                              std::span<const float> values) {
  const std::size_t start = data_.dense().size();
  if (start + features_ > data_.dense().capacity()) reserve(2 * rows_ + 1024);
  data_.dense().resize(start + features_, 0.0F);
  float* const row = data_.dense().data() + start;
  for (std::size_t k = 0; k < values.size(); ++k) row[features[k]] = values[k];
  if (cache_ != nullptr && data_.dense().size() * sizeof(float) >= buffer_bytes) drain();
}

float* CellEncoder::extend(std::uint64_t rows) {
  const std::size_t start = data_.dense().size();
  if (start + rows * features_ > data_.dense().capacity())
    reserve(std::max(2 * rows_, rows_ + rows));
  data_.dense().resize(start + rows * features_);
  return data_.dense().data() + start;
}

void CellEncoder::end_rows(std::uint64_t rows, std::uint64_t extended) {
  data_.dense().resize(data_.dense().size() - (extended - rows) * features_);
  rows_ += rows;
  if (cache_ != nullptr && data_.dense().size() * sizeof(float) >= buffer_bytes) drain();
}

void CellEncoder::add_counts(std::span<const CellCounts> cells, std::uint64_t clipped_rows) {
  for (std::size_t slot = 0; slot < cells.size(); ++slot) {
    counts_[slot].clamped += cells[slot].clamped;
    counts_[slot].missing += cells[slot].missing;
    counts_[slot].other += cells[slot].other;
    counts_[slot].invalid += cells[slot].invalid;
  }
  data_.counts.clipped_rows += clipped_rows;
}

bool is_sparse_by_head(const SparseRows& head, std::uint64_t features) {
  std::uint64_t rows = 0;
  while (rows < head.rows && rows < rows_that_choose &&
         (rows == 0 || head.begin[rows] - head.begin[0] < entries_that_choose))
    ++rows;
  return static_cast<double>(head.part(0, rows).entries()) <=
         most_sparse_density * static_cast<double>(rows * features);
}

void CellEncoder::choose_layout() {
  using Wanted = ReadOptions::Layout;
  const bool sparse = options_.layout == Wanted::automatic
                          ? static_cast<double>(data_.sparse().value.size()) <=
                                most_sparse_density * static_cast<double>(rows_ * features_)
                          : options_.layout == Wanted::sparse;
  layout_ = sparse ? Layout::sparse : Layout::dense;
  SparseTable entries;  // of dense rows
  if (!sparse) {
    entries = std::move(data_.sparse());
    data_.storage = DenseTable{};
  }
  reserve(std::max(expected_, rows_));
  if (sparse) return;
  const std::span features(entries.feature);  // empty where no row has an entry
  const std::span values(entries.value);
  for (std::uint64_t i = 0; i < rows_; ++i) {
    const std::uint64_t first = entries.begin[i], count = entries.begin[i + 1] - first;
    store_dense(features.subspan(first, count), values.subspan(first, count));
  }
}

void CellEncoder::sum_counts() {
  IngestCounts& all = data_.counts;
  for (const Encoding& e : encodings_) {
    CellCounts& c = all.columns.emplace_back();
    if (e.type == ColumnType::ignore) continue;
    c = counts_[e.slot];
    if (absent_number_) {
      const Absent& absent = absent_[e.slot];
      const std::uint64_t lacking = rows_ - absent.present;
      c.clamped += lacking * absent.counts.clamped;
      c.missing += lacking * absent.counts.missing;
      c.other += lacking * absent.counts.other;
      c.invalid += lacking * absent.counts.invalid;
    }
    all.clamped_cells += c.clamped;
    all.missing_cells += c.missing;
    all.other_cells += c.other;
    all.invalid_cells += c.invalid;
  }
}

Dataset CellEncoder::finish() {
  const std::uint64_t rows = rows_;
  if (rows == 0 && !options_.may_be_empty)
    throw BadInput(source() + ": the table has no rows; give at least one");
  if (lookup_) lookup_->finish(data_.person);
  if (layout_ == Layout::undecided) choose_layout();
  if (!labeled_) data_.y.clear();
  sum_counts();
  if (cache_ != nullptr) {
    drain();
    data_.storage = {};
    cache_->add_rows(rows, drained_entries_);
  }
  if (own_cache_ != nullptr) {
    CacheOrigin origin{
        .input = input_->digest(), .input_bytes = input_->size(), .label_file = "", .share = {}};
    if (!options_.label_path.empty()) origin.label_file = digest_of_file(options_.label_path);
    data_.storage = own_cache_->finish(data_, layout_ == Layout::sparse, origin, options_);
  }
  return std::move(data_);
}

}  // namespace gibbsite
