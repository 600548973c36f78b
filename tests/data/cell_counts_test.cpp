// What one row does to the counts that a schema is bought from: by brute force over all pairs of
// rows, for every kind of cell.
#include "gibbsite/data/cell_counts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "gibbsite/core/error.hpp"
#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/model/date.hpp"
#include "support/arrow_builder.hpp"
#include "support/repeats.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace cell_counts_test {

std::size_t at(CellClass c) { return static_cast<std::size_t>(c); }

TEST(CellClasses, EveryTextIsInOne) {
  EXPECT_EQ(class_of_cell(""), at(CellClass::empty));
  for (const std::string_view mark : public_marks())
    EXPECT_EQ(class_of_cell(mark), at(CellClass::mark)) << mark;
  for (const char* const date :
       {"2020-05-01", "2020-02-29", "1999-12-31T23:59:00", "2020-05-01 07:30"})
    EXPECT_EQ(class_of_cell(date), at(CellClass::date)) << date;
  for (const char* const text : {"x", "2021-02-29", "2020-13-01", "2020-05-", "2020-05-01x", "inf",
                                 "1e400", "1,5,6", "0x10", "Na", "\xff", "1,234 kg", "1.5.6"})
    EXPECT_EQ(class_of_cell(text), at(CellClass::text)) << text;
  EXPECT_EQ(class_of_cell(std::string(1 << 20, 'a')), at(CellClass::text));
}

TEST(CellClasses, DatesInFurtherFormatsAreOfOneClass) {
  const auto at_format = [](std::size_t k) { return first_date_class + k; };
  for (const auto& [text, k] :
       {std::pair("2020/05/01", 0), std::pair("1.5.2020", 1), std::pair("31.12.1999 23:59", 1),
        std::pair("1 May 2020", 2), std::pair("01-JAN-2020", 3), std::pair("01jan2020", 4),
        std::pair("Jan 1, 2020", 5), std::pair("31/12/1999", 6), std::pair("12/31/1999", 7),
        std::pair("1/2/2020", 8), std::pair("31-12-1999", 9), std::pair("12-31-1999", 10),
        std::pair("02-01-2020 07:30", 11)})
    EXPECT_EQ(class_of_cell(text), at_format(static_cast<std::size_t>(k))) << text;
  EXPECT_EQ(cell_classes, at_format(12));
  for (const char* const text : {"31.2.2020", "2020.12.31", "1/2/20", "32/1/2020", "13/13/2020",
                                 "1 Foo 2020", "1/2/2020x", "1.2-2020"})
    EXPECT_EQ(class_of_cell(text), at(CellClass::text)) << text;
}

// A text that is a number in several forms is one of the first.
TEST(CellClasses, NumbersAreOfOneForm) {
  const auto form_of = [](const char* text, double value) -> int {
    for (const Written form : {Written::plain, Written::comma, Written::grouped})
      if (class_of_cell(text) == number_class(value, form)) return static_cast<int>(form);
    return -1;
  };
  constexpr int plain = 0, comma = 1, grouped = 2;
  for (const auto& [text, value, form] :
       {std::tuple("1234.5", 1234.5, plain), std::tuple("1.234", 1.234, plain),
        std::tuple("-7", -7.0, plain), std::tuple("1,5", 1.5, comma),
        std::tuple("-1.234.567,5", -1234567.5, comma), std::tuple("1.234.567", 1234567.0, comma),
        std::tuple("0,125", .125, comma), std::tuple("-0,125", -.125, comma),
        std::tuple("12,50", 12.5, comma), std::tuple("1 234,5", 1234.5, comma),
        std::tuple("1,234", 1234.0, grouped), std::tuple("1,234,567.5", 1234567.5, grouped),
        std::tuple("1'234", 1234.0, grouped), std::tuple("1\u00a0234", 1234.0, grouped),
        std::tuple("1_234", 1234.0, grouped), std::tuple("-12 345.5", -12345.5, grouped)})
    EXPECT_EQ(form_of(text, value), form) << text;
}

// A bin contains its lower end, on both sides of 0.
TEST(CellClasses, NumbersAreInTheBinOfTheSeries) {
  const std::size_t zero = at(CellClass::first_bin) + number_bins / 2;
  EXPECT_EQ(number_class(0), zero);
  EXPECT_EQ(number_class(-0.0), zero);
  EXPECT_EQ(number_class(5e-324), zero + 1);
  EXPECT_EQ(number_class(-5e-324), zero - 1);
  EXPECT_EQ(number_class(1e300), at(CellClass::first_bin) + number_bins - 1);
  EXPECT_EQ(number_class(1e300, Written::grouped), first_date_class - 1);
  EXPECT_EQ(number_class(-1e300), at(CellClass::first_bin));
  EXPECT_EQ(number_class(-5e12), at(CellClass::first_bin) + 1);
  for (std::size_t k = 0; k < series_ends.size(); ++k) {
    const double end = series_ends[k];
    EXPECT_EQ(number_class(end), zero + 2 + k);
    EXPECT_EQ(number_class(std::nextafter(end, 0)), zero + 1 + k);
    EXPECT_EQ(number_class(-end), zero - 1 - k);
    EXPECT_EQ(number_class(-std::nextafter(end, 1e300)), zero - 2 - k);
  }
}

TEST(CellLevels, AreShortPlainTexts) {
  EXPECT_EQ(level_of_cell("Private"), "Private");
  EXPECT_EQ(level_of_cell("7"), "7");
  EXPECT_EQ(level_of_cell("e\u0301"), "\u00e9");  // one form
  EXPECT_EQ(level_of_cell(std::string(longest_level, 'a')).size(), longest_level);
  for (const std::string& none : {std::string(), std::string("NA"), std::string("\xff"),
                                  std::string("a\nb"), std::string(longest_level + 1, 'a')})
    EXPECT_EQ(level_of_cell(none), "");
}

// How far two rows are apart in what they add to the counts of classes and of levels.
struct Apart {
  double classes = 0, levels = 0;
};
using Row = std::vector<std::string>;
enum class Planted { nothing, dates_twice, forms_twice, both_orders };
Apart apart(const Row& a, const Row& b, Planted error = Planted::nothing) {
  Apart out;
  for (std::size_t k = 0; k < a.size(); ++k) {
    std::map<std::size_t, double> classes;
    std::map<std::string, double> levels;
    for (const auto& [row, sign] : {std::pair(&a, 1.0), std::pair(&b, -1.0)}) {
      const std::string& cell = (*row)[k];
      classes[class_of_cell(cell)] += sign;
      if (error == Planted::dates_twice && class_of_cell(cell) == at(CellClass::date))
        classes[number_class(18383)] += sign;  // its days
      if (error == Planted::forms_twice && cell == "1,234")
        classes[number_class(1.234, Written::comma)] += sign;  // as a number with a comma too
      if (error == Planted::both_orders && cell == "1/2/2020")
        classes[first_date_class + date_formats.size()] += sign;  // as the day first too
      if (const std::string level = level_of_cell(cell); !level.empty()) levels[level] += sign;
    }
    for (const auto& [place, change] : classes) out.classes += change * change;
    for (const auto& [text, change] : levels) out.levels += change * change;
  }
  return out;
}

// Squared norms of 2c for both questions, attained; a date that counts as a day too would be more.
TEST(CellSensitivity, IsThatOfOneClassAndOneTextInEachColumn) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  const Row cells{"",         "NA",        "3",          "7",          "-2",
                  "x",        "y",         "2020-05-01", "2020-05-02", "-",
                  "1,5",      "1,234",     "1.234,5",    "1 234",      "yes",
                  "1/2/2020", "13/2/2020", "1.2.2020",   "12-31-1999"};
  Apart most, dates, forms, orders;
  for (const auto& a : cells)
    for (const auto& b : cells)
      for (const auto& c : cells)
        for (const auto& d : cells) {
          const Apart one = apart({a, b}, {c, d});
          most.classes = std::max(most.classes, one.classes);
          most.levels = std::max(most.levels, one.levels);
          dates.classes =
              std::max(dates.classes, apart({a, b}, {c, d}, Planted::dates_twice).classes);
          forms.classes =
              std::max(forms.classes, apart({a, b}, {c, d}, Planted::forms_twice).classes);
          orders.classes =
              std::max(orders.classes, apart({a, b}, {c, d}, Planted::both_orders).classes);
        }
  EXPECT_EQ(most.classes, 4);
  EXPECT_EQ(most.levels, 4);
  EXPECT_GT(dates.classes, 4);  // planted errors are seen
  EXPECT_GT(forms.classes, 4);
  EXPECT_GT(orders.classes, 4);
}

double squared_distance(const TableCells& a, const TableCells& b, bool levels) {
  double out = 0;
  for (std::size_t k = 0; k < a.columns.size(); ++k) {
    std::map<std::string, double> texts;
    for (const auto& [text, count] : a.columns[k].levels) texts[text] += static_cast<double>(count);
    for (const auto& [text, count] : b.columns[k].levels) texts[text] -= static_cast<double>(count);
    if (levels)
      for (const auto& [text, change] : texts) out += change * change;
    for (std::size_t i = 0; !levels && i < cell_classes; ++i) {
      const double change = static_cast<double>(a.columns[k].classes[i]) -
                            static_cast<double>(b.columns[k].classes[i]);
      out += change * change;
    }
  }
  return out;
}

// Whole files: every cell counts once, whatever it holds, and k rows of one person move the counts
// by k times as much.
TEST(CellCounts, OfFilesMoveAsTheTheoremSays) {
  const testing::TempDir folder;
  const std::string rest = "a,b\n1,x\n2,y\n,NA\n";
  const std::vector<std::string> rows{
      "3,x",        "\"\",NA",           "2020-05-01,9",
      "-2,\"a,b\"", "\"1,5\",\"1,234\"", std::string(200, 'q') + ",1e400"};
  for (const std::uint64_t k : {1U, 3U}) {
    std::vector<TableCells> counts;
    for (const std::string& row : rows) {
      std::string text = rest;
      for (std::uint64_t i = 0; i < k; ++i) text += row + "\n";
      counts.push_back(count_cells(folder.write("t.csv", text), {"a", "b"}));
      EXPECT_EQ(counts.back().rows, 3 + k);
      for (const ColumnCells& column : counts.back().columns) {
        std::uint64_t all = 0;
        for (const std::uint64_t count : column.classes) all += count;
        EXPECT_EQ(all, 3 + k);
      }
    }
    const double bound = 4 * static_cast<double>(k * k);
    double classes = 0, levels = 0;
    for (const TableCells& a : counts)
      for (const TableCells& b : counts) {
        classes = std::max(classes, squared_distance(a, b, false));
        levels = std::max(levels, squared_distance(a, b, true));
      }
    EXPECT_EQ(classes, bound);
    EXPECT_EQ(levels, bound);
  }
}

TEST(CellCounts, DoNotDependOnTheOrderOfRows) {
  const testing::TempDir folder;
  const auto one = count_cells(folder.write("1.csv", "a\nx\ny\n7\nx\n"), {"a"});
  const auto other = count_cells(folder.write("2.csv", "a\n7\nx\nx\ny\n"), {"a"});
  EXPECT_EQ(one.columns[0].levels, other.columns[0].levels);
  EXPECT_EQ(one.columns[0].classes, other.columns[0].classes);
}

// Numbers alone count in a range's bins, each once, in the outer ones where they lie beyond.
TEST(RangeCounts, CountEachNumberOnce) {
  const testing::TempDir folder;
  const std::string table =
      folder.write("t.csv", "a,b\n0,1\n63.99,x\n64,\n-5,2\n1e300,NA\n2020-05-01,3\nNaN,4\n1,\n");
  const std::vector<RangeOfColumn> ranges{{"a", {0, 0, 64}}, {"b", {1, 0, 2}}};
  const auto counts = count_ranges(table, ranges, 8);
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_EQ(counts[0][0], 2);  // 0 and -5
  EXPECT_EQ(counts[0][1], 1);
  EXPECT_EQ(counts[0][63], 3);
  EXPECT_EQ(counts[1][32], 1);
  EXPECT_EQ(counts[1][63], 3);
  double all = 0;
  for (const double count : counts[0]) all += count;
  EXPECT_EQ(all, 6);
  EXPECT_THROW(count_ranges(table, ranges, 7), BadInput) << "a row more than before";
}

// What counts in a range is read as the question says, and each cell once at most.
TEST(RangeCounts, OfDatesAndOfForms) {
  const testing::TempDir folder;
  const std::string table =
      folder.write("t.csv",
                   "a;b;c\n1970-01-02;1,5;1,024\n1970-01-01T12:00;1.024;1024\n5;7;2 048.0\n"
                   "1969-01-01;0,5;1,5\nNA;-;..\n1970-13-01;x;3.000,5\n");
  const std::vector<RangeOfColumn> ranges{{"a", {0, 0, 64, iso_date}},
                                          {"b", {1, 0, 2048, {}, Written::comma}},
                                          {"c", {2, 0, 4096, {}, Written::grouped}}};
  const auto counts = count_ranges(table, ranges, 6);
  EXPECT_EQ(counts[0][0], 2);  // and the one before the range
  EXPECT_EQ(counts[0][1], 1);
  EXPECT_EQ(counts[1][0], 3);
  EXPECT_EQ(counts[1][32], 1);  // 1.024 is a thousand
  EXPECT_EQ(counts[2][16], 2);
  EXPECT_EQ(counts[2][32], 1);
  for (const auto& [column, all] : {std::pair(0, 3.0), std::pair(1, 4.0), std::pair(2, 3.0)}) {
    double sum = 0;
    for (const double count : counts[static_cast<std::size_t>(column)]) sum += count;
    EXPECT_EQ(sum, all) << column;
  }
}

// A cell's text is what the CSV file of the same table has, whatever its type: counts are equal.
TEST(CellCounts, OfAnArrowTableAreThoseOfItsText) {
  using testing::arrow_bools;
  using testing::arrow_numbers;
  using testing::arrow_text;
  const testing::ArrowTable::Batch columns{
      arrow_numbers<std::int64_t>("whole", "l", {3, {}, -7, std::int64_t{9'007'199'254'740'993}}),
      arrow_numbers<double>("real", "g", {.1, 2.0, {}, std::nan("")}),
      arrow_numbers<float>("single", "f", {.5F, 1e6F, 3.F, {}}),
      arrow_bools("truth", {true, false, {}, true}),
      arrow_text("text", "U", {"b", "NA", {}, "2020-05-01"}),
      arrow_numbers<std::int32_t>("day", "tdD", {-1, {}, 19723, 2'932'897}),
      arrow_numbers<std::int64_t>("second", "tss:", {-1, 86'400, {}, 1}),
      testing::arrow_dictionary<std::int8_t>("listed", "c", {1, 0, {}, 1},
                                             arrow_text("", "u", {"x", "y"}))};
  testing::ArrowTable table({columns, columns});
  const CellSource source = cells_of_arrow("t", [&](const auto&) { return table.stream(); });
  const testing::TempDir folder;
  const std::string rows =
      "3,0.1,0.5,true,b,1969-12-31,1969-12-31,y\n,2,1000000,false,NA,,1970-01-02,x\n-7,,3,,,2024-01-01,,\n"
      "9007199254740993,nan,,true,2020-05-01,2932897,1970-01-01,y\n";
  const std::string text =
      folder.write("t.csv", "whole,real,single,truth,text,day,second,listed\n" + rows + rows);
  const std::vector<std::string> names{"text",   "whole", "listed", "real",
                                       "single", "truth", "day",    "second"};
  const TableCells arrow = count_cells(source, names), csv = count_cells(text, names);
  EXPECT_EQ(arrow.rows, 8U);
  for (std::size_t k = 0; k < names.size(); ++k) {
    EXPECT_EQ(arrow.columns[k].classes, csv.columns[k].classes) << names[k];
    EXPECT_EQ(arrow.columns[k].levels, csv.columns[k].levels) << names[k];
  }
  const std::vector<RangeOfColumn> ranges{{"real", {0, 0, 64}}, {"whole", {1, -10, 10}}};
  EXPECT_EQ(count_ranges(source, ranges, 8), count_ranges(CellSource(text), ranges, 8));
  EXPECT_EQ(table.lent(), 0);
  EXPECT_THROW(count_cells(source, {"other"}), BadInput);
  testing::ArrowTable durations({{arrow_numbers<std::int64_t>("long", "tDs", {1, 2})}});
  EXPECT_THROW(
      count_cells(cells_of_arrow("t", [&](const auto&) { return durations.stream(); }), {"long"}),
      BadInput);
}

// Planted: the columns not asked for by name, the header of a file taken for a line of text.
TEST(CellCounts, OfAFileThatNamesItsColumns) {
  struct Opened {
    ~Opened() { set_arrow_opener({}); }
  } at_end;
  testing::ArrowTable table({{testing::arrow_numbers<double>("1", "g", {1.0, {}, 2.5}),
                              testing::arrow_text("note", "u", {"x", "y", "y"})}});
  std::vector<std::vector<std::string>> asked;
  set_arrow_opener(
      [&](const std::string&, const std::vector<std::string>& columns, ArrowArrayStream* out) {
        asked.push_back(columns);
        *out = table.stream();
        return std::uint64_t{3};
      });
  EXPECT_EQ(column_names("t.parquet"), (std::vector<std::string>{"1", "note"}));
  const CellSource source("t.parquet");
  const TableCells cells = count_cells(source, {"note"});
  EXPECT_EQ(cells.rows, 3U);
  EXPECT_EQ(cells.columns.at(0).levels,
            (std::vector<std::pair<std::string, std::uint64_t>>{{"x", 1}, {"y", 2}}));
  EXPECT_EQ(asked, (std::vector<std::vector<std::string>>{{}, {"note"}}));
  const std::vector<RangeOfColumn> range{{"1", {0, 0, 64}}};
  const std::vector<std::vector<double>> counts = count_ranges(source, range, 3);
  double sum = 0;
  for (const double count : counts.at(0)) sum += count;
  EXPECT_EQ(sum, 2);
  EXPECT_THROW(count_ranges(source, range, 4), BadInput);
  EXPECT_EQ(table.lent(), 0);
}

TEST(CellCounts, RefuseWhatIsNoTable) {
  const testing::TempDir folder;
  EXPECT_THROW(count_cells(folder.write("t.csv", "a,b\n1\n"), {"a"}), BadInput);
  EXPECT_THROW(count_cells(folder.write("t.csv", "a\n1\n"), {"b"}), BadInput);
  EXPECT_EQ(count_cells(folder.write("t.csv", "a,b\n"), {"a", "b"}).rows, 0U);
}

}  // namespace cell_counts_test
}  // namespace gibbsite
