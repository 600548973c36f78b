// Years, months and weekdays of dates: features of their own, of the cell's day alone.
#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/row_encoder.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/model/date.hpp"
#include "gibbsite/model/family_model.hpp"
#include "gibbsite/model/network_model.hpp"
#include "support.hpp"
#include "support/arrow_builder.hpp"

namespace gibbsite {
namespace date_parts_test {

using test::bytes_of;
using test::expect_bad_input;
using test::expect_same;
using test::npy;
using ::testing::ElementsAre;

class DateParts : public test::DataTest {
 public:
  static Schema schema(const std::string& columns, const std::string& more = "") {
    return parse_schema(
        "label = 'y'\npositive = '1'\nintercept = false\n" + more + "\n[columns]\n" + columns,
        "s.toml");
  }
  [[nodiscard]] Dataset read(const Schema& schema, const std::string& rows) const {
    return read_csv(write("t.csv", rows), schema);
  }
};

const std::string date =
    "d = {type = 'date', range = ['1970-01-01', '1972-10-21'], format = '%d.%m.%Y', "
    "missing = ['', 'NA']}\n";
const std::string parts =
    "dy = {type = 'year', of = 'd'}\ndm = {type = 'month', of = 'd'}\n"
    "dw = {type = 'weekday', of = 'd', reference = 'Sun'}\n";

// A table of the days and what a person would write of them by hand.
const std::string of_dates =
    "d,y\n01.01.1970,1\n28.05.1971,0\n21.10.1972 12:30,1\n29.02.1972,0\nNA,1\n,0\n";
const std::string by_hand =
    "d,dy,dm,dw,y\n01.01.1970,1970,Jan,Thu,1\n28.05.1971,1971,May,Fri,0\n"
    "21.10.1972,1972,Oct,Sat,1\n29.02.1972,1972,Feb,Tue,0\nNA,NA,NA,NA,1\n,,,,0\n";

Schema schema_by_hand(const std::string& more = "") {
  const std::string marks = ", missing = ['', 'NA']}\n";
  return parse_schema(
      "label = 'y'\npositive = '1'\nintercept = false\n" + more + "[columns]\n" + date +
          "dy = {type = 'number', range = [1970, 1972]" + marks +
          "dm = {type = 'category', levels = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', "
          "'Aug', 'Sep', 'Oct', 'Nov', 'Dec']" +
          marks + "dw = {type = 'category', levels = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', " +
          "'Sun']" + marks,
      "hand.toml");
}

void expect_same_rows(const Dataset& a, const Dataset& b) {
  ASSERT_EQ(a.rows(), b.rows());
  ASSERT_EQ(a.features(), b.features());
  std::vector<float> x(a.rows() * a.features()), z(x.size());
  for (std::size_t i = 0; i < a.rows(); ++i) {
    a.view().for_each(i, [&](std::size_t j, float v) { x[i * a.features() + j] = v; });
    b.view().for_each(i, [&](std::size_t j, float v) { z[i * b.features() + j] = v; });
  }
  EXPECT_EQ(x, z);
  EXPECT_EQ(a.y, b.y);
}

TEST_F(DateParts, AreColumnsThatAPersonWouldWriteByHand) {
  const Schema s = schema(date + parts), hand = schema_by_hand();
  EXPECT_EQ(s.feature_names(), hand.feature_names());
  EXPECT_EQ(s.row_norm, hand.row_norm);  // every part is counted
  EXPECT_EQ(s.row_norm, 2);
  const Dataset data = read(s, of_dates);
  expect_same_rows(data, read(hand, by_hand));
  EXPECT_EQ(data.counts.missing_cells, 8U);
  // Rows that are scaled down, and an intercept.
  for (const char* const more : {"row_norm = 1\n", "row_norm = 0.5\n"}) {
    const Dataset short_rows = read(schema(date + parts, more), of_dates);
    expect_same_rows(short_rows, read(schema_by_hand(more), by_hand));
    EXPECT_EQ(short_rows.counts.clipped_rows, short_rows.rows());
  }
}

// No cell makes a row longer than the public bound: bits of a day, of no day, of a missing one.
TEST_F(DateParts, MakeNoRowLongerThanItsBound) {
  for (const std::string& invalid : {std::string("invalid = 'middle'\n"), std::string()}) {
    const Schema s = schema(date +
                                "dy = {type = 'year', of = 'd', curve = 3}\n"
                                "dm = {type = 'month', of = 'd', other = true}\n"
                                "dw = {type = 'weekday', of = 'd'}\n",
                            invalid);
    EXPECT_EQ(s.row_norm, 2);
    std::string rows = "d,y\nNA,1\n,0\n01.01.0001,1\n31.12.9999,0\n";
    if (!invalid.empty()) rows += "31.02.1971,1\nx,0\n1971,1\n";
    for (int day = 0; day < 1400; ++day) rows += date_text(day, "%d.%m.%Y") + ",1\n";
    const Dataset data = read(s, rows);
    EXPECT_EQ(data.counts.clipped_rows, 0U);
    for (std::size_t i = 0; i < data.rows(); ++i) {
      double squared = 0;
      data.view().for_each(i, [&](std::size_t, float v) { squared += double{v} * v; });
      EXPECT_LE(squared, 4) << i;
    }
  }
}

// What is missing or no day is so for all parts.
TEST_F(DateParts, AreMissingTogether) {
  const Schema s = schema(date + parts, "invalid = 'middle'\n");
  const auto row = [&](const std::string& cell) {
    const Dataset data = read(s, "d,y\n" + cell + ",1\n");
    std::vector<std::string> out;
    const std::vector<std::string> names = s.feature_names();
    data.view().for_each(0, [&](std::size_t j, float v) {
      if (v != 0) out.push_back(fmt::format("{} {}", names[j], v));
    });
    return out;
  };
  EXPECT_THAT(row("NA"), ElementsAre("d 0.5", "dy 0.5", "dm=(missing) 1", "dw=(missing) 1"));
  EXPECT_EQ(row(""), row("NA"));
  EXPECT_THAT(row("30.02.1971"), ElementsAre("d 0.5", "dy 0.5"));
  EXPECT_THAT(row("29.02.2072"), ElementsAre("d 1", "dy 1", "dm=Feb 1", "dw=Mon 1"));
  expect_bad_input([&] { (void)read(schema(date + parts), "d,y\n30.02.1971,1\n"); },
                   {"t.csv:2: column 'd': '30.02.1971' is not a day"});
  // A mark that is a day is one however its day is written.
  const Schema marked =
      schema("d = {type = 'date', range = ['1970-01-01', '1972-10-21'], missing = '1900-01-01'}\n" +
             parts);
  const Dataset data = read(marked, "d,y\n1900-01-01T00:00,1\n1900-01-01,1\n");
  EXPECT_EQ(data.counts.missing_cells, 8U);
}

TEST_F(DateParts, AreThoseOfTextInArrowAndInMemory) {
  const std::string iso = "d = {type = 'date', range = ['1970-01-01', '1972-10-21']}\n";
  for (const bool ignored : {false, true}) {
    const Schema s = !ignored ? schema(iso + parts, "missing = ''\n")
                              : schema(
                                    "d = {type = 'ignore'}\ndy = {type = 'year', of = 'd', range = "
                                    "[1970, 1972]}\ndm = {type = 'month', of = 'd'}\n"
                                    "dw = {type = 'weekday', of = 'd'}\n",
                                    "missing = ''\n");
    const Dataset text =
        read(s, "d,y\n1970-01-01,1\n1971-05-28,0\n1969-12-31,1\n,0\n1971-05-28,0\n");
    const testing::ArrowColumn y = testing::arrow_numbers<std::int64_t>("y", "l", {1, 0, 1, 0, 0});
    const auto arrow = [&](const testing::ArrowColumn& days) {
      testing::ArrowTable table({{days, y}});
      ArrowArrayStream stream = table.stream();
      return read_arrow(stream, s);
    };
    expect_same(arrow(testing::arrow_numbers<std::int32_t>("d", "tdD", {0, 512, -1, {}, 512})),
                text);
    constexpr std::int64_t unit = 86'400'000;
    expect_same(arrow(testing::arrow_numbers<std::int64_t>(
                    "d", "tsm:UTC", {unit - 1, 513 * unit - 1, -1, {}, 512 * unit})),
                text);
    expect_same(arrow(testing::arrow_text(
                    "d", "u", {"1970-01-01", "1971-05-28", "1969-12-31", {}, "1971-05-28"})),
                text);
    expect_bad_input(
        [&] {
          (void)arrow(testing::arrow_numbers<std::int64_t>("d", "l", {20240131, 0, 0, 0, 0}));
        },
        {"column 'd': numbers", "type = \"date\""});
    RowEncoder rows(s);
    for (const auto& [day, label] :
         {std::pair("1970-01-01", "1"), std::pair("1971-05-28", "0"), std::pair("1969-12-31", "1"),
          std::pair("", "0"), std::pair("1971-05-28", "0")})
      rows.add(std::vector<std::string_view>{day}, label);
    expect_same(rows.finish(), text);
  }
}

// Many rows go in pieces, by several threads.
TEST_F(DateParts, AreTheSameInManyRows) {
  const Schema s = schema("d = {type = 'date', range = ['1970-01-01', '1990-10-21']}\n" + parts);
  std::string text = "d,y\n";
  std::vector<std::optional<std::int32_t>> days;
  std::vector<std::optional<std::int64_t>> labels;
  for (std::int32_t i = 0; i < 20'000; ++i) {
    days.emplace_back(i * 37 % 9'000);
    labels.emplace_back(i % 2);
    text += date_text(*days.back()) + (i % 2 == 0 ? ",0\n" : ",1\n");
  }
  testing::ArrowTable table({{testing::arrow_numbers<std::int32_t>("d", "tdD", days),
                              testing::arrow_numbers<std::int64_t>("y", "l", labels)}});
  ArrowArrayStream stream = table.stream();
  expect_same(read_arrow(stream, s), read(s, text));
}

TEST_F(DateParts, AreReadBackAsTheyAreWritten) {
  const std::vector<std::string> all{
      date + parts, parts + date,
      date + "dy = {type = 'year', of = 'd', range = [1950, 2000], curve = 4}\n",
      std::string("d = {type = 'month', format = '%d.%m.%Y', missing = 'NA', other = true}\n"
                  "dw = {type = 'weekday', of = 'd', unlisted = 'Mon'}\n"),
      std::string("d = {type = 'ignore'}\n"
                  "dw = {type = 'weekday', of = 'd', format = '%d.%m.%Y', missing = 'NA'}\n")};
  for (const std::string& columns : all) {
    const Schema s = schema(columns);
    EXPECT_EQ(parse_schema(to_toml(s), "again"), s) << to_toml(s);
  }
}

TEST_F(DateParts, AreOfTheColumnInAFolder) {
  const Schema s = schema(
      "x = {type = 'number', range = [0, 1]}\nd = {type = 'ignore'}\n"
      "dm = {type = 'month', of = 'd', format = '%d.%m.%Y'}");
  std::filesystem::create_directories(path("t/d=1971-01-28"));
  (void)write("t/d=1971-01-28/a.csv", "x,y\n1,1\n");
  EXPECT_THAT(read_table(path("t"), s).dense(), ElementsAre(1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST_F(DateParts, InteractAsOtherColumns) {
  const Schema s = schema(date + parts + "[[interaction]]\ncolumns = ['dm', 'dw']\n");
  EXPECT_EQ(s.features_of(s.interactions[0]), 13U * 8U);
  const Dataset data = read(s, "d,y\n28.05.1971,1\n");
  const std::vector<std::string> names = s.feature_names();
  std::vector<std::string> found;
  data.view().for_each(0, [&](std::size_t j, float v) {
    if (v != 0) found.push_back(names[j]);
  });
  EXPECT_THAT(found, ElementsAre("d", "dy", "dm=May", "dw=Fri", "dm × dw=May × Fri"));
}

TEST_F(DateParts, SayWhatIsWrong) {
  const auto refused = [](const std::string& columns, const std::vector<std::string>& words) {
    expect_bad_input([&] { (void)schema(columns); }, words);
  };
  refused("dm = {type = 'month', of = 'd'}", {"column 'dm': is of 'd', which is not under"});
  refused(date + "dm = {type = 'month', of = 'd', format = '%Y-%m-%d'}",
          {"s.toml:7: column 'dm': format is what 'd' says"});
  refused(date + "dm = {type = 'month', of = 'd', missing = '?'}", {"missing is what 'd' says"});
  refused(date + "dm = {type = 'month', of = 'd', levels = ['Jan']}", {"unknown key 'levels'"});
  refused(date + "dm = {type = 'month', of = 'd', range = [1, 12]}", {"unknown key 'range'"});
  refused(date + "dm = {type = 'month', of = 'd', count = 2}", {"unknown key 'count'"});
  refused("d = {type = 'ignore'}\ndm = {type = 'year', of = 'd'}", {"without a range"});
  refused("d = {type = 'year', range = ['1970-01-01', '1972-10-21']}", {"must be a number"});
  refused("d = {type = 'year', range = [0, 1970]}", {"years 1 to 9999"});
  refused("d = {type = 'year', range = [1970.5, 1980]}", {"years 1 to 9999"});
  refused("d = {type = 'number', range = [0, 1]}\ndm = {type = 'month', of = 'd'}",
          {"'d', which is no date"});
  refused(date + parts + "e = {type = 'month', of = 'dm'}", {"'dm', which is no date"});
  refused(date + "dm = {type = 'month', of = 'y'}", {"is of the label"});
  refused(
      "d = {type = 'ignore'}\ndm = {type = 'month', of = 'd', missing = 'NA'}\n"
      "dw = {type = 'weekday', of = 'd'}",
      {"column 'dw': reads the cells of 'dm' with", "missing"});
  refused("c = {type = 'category', levels = ['a'], of = 'd'}", {"unknown key 'of'"});
  const Schema s = schema(date + parts);
  expect_bad_input([&] { (void)read(s, "d,dm,y\n28.05.1971,May,1\n"); },
                   {"column 'dm' is not in the schema"});
  expect_bad_input([&] { (void)read(s, "e,y\n28.05.1971,1\n"); }, {"column 'e' is not in"});
  expect_bad_input([&] { (void)read(s, "y\n1\n"); }, {"lacks column 'd' of the schema"});
  expect_bad_input([&] { (void)network_schema(s); }, {"networks"});
  expect_bad_input([&] { (void)family_schema(s, "dm"); }, {"part of one, which no family"});
  const std::string x = write("x.npy", npy("<f8", "(1, 4)", bytes_of(std::vector<double>(4))));
  const std::string y = write("y.npy", npy("<f8", "(1,)", bytes_of(std::vector<double>{1})));
  expect_bad_input([&] { (void)read_npy(x, s, {.label_path = y}); },
                   {"column 'dy': a part of a date", "CSV, Parquet or Arrow"});
  expect_bad_input([&] { (void)read_libsvm(write("t.svm", "1 1:5\n"), s); },
                   {"column 'dy': a part of a date"});
}

}  // namespace date_parts_test
}  // namespace gibbsite
