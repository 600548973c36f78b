// Columns of dates and of booleans, by every reader.
#include <cmath>
#include <cstdint>

#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/row_encoder.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/date.hpp"
#include "gibbsite/model/network_model.hpp"
#include "support.hpp"
#include "support/arrow_builder.hpp"

namespace gibbsite {
namespace date_columns_test {

using test::bytes_of;
using test::expect_bad_input;
using test::expect_same;
using test::npy;
using ::testing::ElementsAre;

const char* const head = "label = 'y'\npositive = '1'\nintercept = false\n";

class DateColumns : public test::DataTest {
 public:
  static Schema schema(const std::string& columns, const std::string& more = "") {
    return parse_schema(head + more + "\n[columns]\n" + columns, "s.toml");
  }
  [[nodiscard]] Dataset read(const Schema& schema, const std::string& rows) const {
    return read_csv(write("t.csv", rows), schema);
  }
};

// 1024 days from 1970-01-01.
const char* const column = "d = {type = 'date', range = ['1970-01-01', '1972-10-21']}";

TEST_F(DateColumns, AreDaysThatAreScaled) {
  const Schema s = schema(column);
  EXPECT_EQ(s.columns[0].hi, 1024);
  const Dataset data =
      read(s, "d,y\n1970-01-01,1\n1971-05-28,0\n1972-10-21T12:30,1\n1900-01-01,0\n");
  EXPECT_THAT(data.dense(), ElementsAre(0, 0.5F, 1, 0));
  EXPECT_EQ(data.counts.clamped_cells, 1U);
  EXPECT_EQ(parse_schema(to_toml(s), "again"), s);
  EXPECT_EQ(schema("d = {type = 'date', range = [1970-01-01, 1972-10-21]}"), s);
  const Schema german =
      schema("d = {type = 'date', range = ['1970-01-01', '1972-10-21'], format = '%d.%m.%Y'}");
  EXPECT_EQ(
      read(german, "d,y\n1.1.1970,1\n28.05.1971,0\n21.10.1972 12:30,1\n01.01.1900,0\n").dense(),
      data.dense());
  EXPECT_EQ(parse_schema(to_toml(german), "again"), german);
  RowEncoder rows(s);
  for (const auto& [day, y] : {std::pair("1970-01-01", "1"), std::pair("1971-05-28", "0"),
                               std::pair("1972-10-21", "1"), std::pair("1900-01-01", "0")})
    rows.add(std::vector<std::string_view>{day}, y);
  expect_same(rows.finish(), data);
}

TEST_F(DateColumns, OfArrowAndOfNumbersAreThoseOfText) {
  const Schema s = schema(column, "missing = ''\n");
  const Dataset text = read(s, "d,y\n1970-01-01,1\n1971-05-28,0\n1969-12-31,1\n,0\n");
  EXPECT_THAT(text.dense(), ElementsAre(0, 0.5F, 0, 0.5F));
  const testing::ArrowColumn y = testing::arrow_numbers<std::int64_t>("y", "l", {1, 0, 1, 0});
  const auto arrow = [&](const testing::ArrowColumn& days) {
    testing::ArrowTable table({{days, y}});
    ArrowArrayStream stream = table.stream();
    return read_arrow(stream, s);
  };
  expect_same(arrow(testing::arrow_numbers<std::int32_t>("d", "tdD", {0, 512, -1, {}})), text);
  for (const auto& [format, unit] :
       {std::pair("tdm", std::int64_t{86'400'000}), std::pair("tss:", std::int64_t{86'400}),
        std::pair("tsm:UTC", std::int64_t{86'400'000}),
        std::pair("tsu:", std::int64_t{86'400'000'000}),
        std::pair("tsn:Europe/Berlin", std::int64_t{86'400'000'000'000})}) {
    // The last moment of a day, also before 1970.
    expect_same(arrow(testing::arrow_numbers<std::int64_t>("d", format,
                                                           {unit - 1, 513 * unit - 1, -1, {}})),
                text);
  }
  expect_same(arrow(testing::arrow_text("d", "u", {"1970-01-01", "1971-05-28", "1969-12-31", ""})),
              text);
  const Dataset numbers = read_npy(
      write("x.npy", npy("<f8", "(4, 1)", bytes_of(std::vector<double>{0, 512, -1, 512}))), s,
      {.label_path =
           write("y.npy", npy("<f8", "(4,)", bytes_of(std::vector<double>{1, 0, 1, 0})))});
  EXPECT_EQ(std::vector<float>(numbers.dense().begin(), numbers.dense().end()),
            std::vector<float>(text.dense().begin(), text.dense().end()));
  expect_bad_input(
      [&] {
        (void)arrow(testing::arrow_numbers<std::int64_t>("d", "l", {20240131, 0, 0, 0}));
      },
      {"column 'd': numbers", "type = \"date\"", "give it as dates"});
}

TEST_F(DateColumns, HaveMarksAndLevelsOfMissing) {
  const Schema s = schema(
      "d = {type = 'date', range = ['1970-01-01', '1972-10-21'], missing = ['NA', '1900-01-01'], "
      "missing_level = true}");
  EXPECT_EQ(s.features(), 2U);
  const Dataset data = read(s, "d,y\nNA,1\n1900-01-01,1\n1971-05-28,0\n1900-01-01T00:00,1\n");
  EXPECT_THAT(data.dense(), ElementsAre(0, 1, 0, 1, 0.5F, 0, 0, 1));
  EXPECT_EQ(data.counts.missing_cells, 3U);
}

TEST_F(DateColumns, BendAtWholeDays) {
  const Schema s = schema("d = {type = 'date', range = ['1970-01-01', '1972-10-21'], curve = 4}");
  EXPECT_THAT(s.feature_names(),
              ElementsAre("d=1970-01-01", "d=1970-12-08", "d=1971-11-15", "d=1972-10-21"));
  EXPECT_EQ(parse_schema(to_toml(s), "again"), s);
  const Schema listed =
      schema("d = {type = 'date', knots = ['1970-01-01', '1971-05-28', '1972-10-21']}");
  EXPECT_THAT(read(listed, "d,y\n1971-05-28,1\n1970-09-14,0\n").dense(),
              ElementsAre(0, 1, 0, 0.5F, 0.5F, 0));
  const Schema chosen = with_knots(
      schema("d = {type = 'date', range = ['1970-01-01', '2024-12-31'], curve = 'auto'}"), 9);
  EXPECT_EQ(chosen.columns[0].knots.size(), 9U);
  for (const double knot : chosen.columns[0].knots) EXPECT_EQ(knot, std::floor(knot));
  // Fewer days than knots.
  EXPECT_LE(
      with_knots(
          schema("d = {type = 'date', range = ['1970-01-01', '1970-01-04'], curve = 'auto'}"), 9)
          .columns[0]
          .knots.size(),
      4U);
  const Schema both = parse_schema(
      std::string(head) + "[columns]\n" + column +
          "\nc = {type = 'category', levels = ['a', 'b']}\n[[interaction]]\ncolumns = ['d', 'c']\n"
          "knots = {d = ['1970-01-01', '1971-05-28', '1972-10-21']}\n",
      "s.toml");
  EXPECT_EQ(parse_schema(to_toml(both), "again"), both);
  EXPECT_EQ(both.feature_names().back(), "d × c=1972-10-21 × b");
}

TEST_F(DateColumns, SayWhatIsWrong) {
  const Schema s = schema(column);
  expect_bad_input([&] { (void)read(s, "d,y\n31.12.1970,1\n"); },
                   {"t.csv:2: column 'd': '31.12.1970' is not a day such as 1972-10-21",
                    "set format = \"%d.%m.%Y\"", "private"});
  expect_bad_input([&] { (void)read(s, "d,y\n02/03/1970,1\n"); },
                   {"set format = \"%d/%m/%Y\"", "set format = \"%m/%d/%Y\""});
  expect_bad_input([&] { (void)read(s, "d,y\n512,1\n"); }, {"'512' is not a day"});
  expect_bad_input([&] { (void)read(s, "d,y\n1,5,1\n"); }, {"3 cells"});
  const Schema number = schema("d = {type = 'number', range = [0, 1]}");
  expect_bad_input([&] { (void)read(number, "d,y\n1970-12-31,1\n"); },
                   {"is not a finite number", "set type = \"date\" if these are dates"});
  const auto refused = [](const std::string& columns, const std::vector<std::string>& parts) {
    expect_bad_input([&] { (void)schema(columns); }, parts);
  };
  refused("d = {type = 'date'}", {"s.toml:6:", "is a date without a range"});
  refused("d = {type = 'date', range = [1, 2]}", {"must be a day such as", "got the number 1"});
  refused("d = {type = 'date', range = ['1970-01-01', '1970-02-30']}", {"'1970-02-30'"});
  refused("d = {type = 'date', range = ['1971-01-01', '1970-01-01']}",
          {"range [1971-01-01, 1970-01-01] must be two days, the earlier first"});
  refused("d = {type = 'date', range = ['1970-01-01', '1971-01-01'], format = '%d.%m.%y'}",
          {"'%d.%m.%y' has %y"});
  refused("d = {type = 'date', range = ['1970-01-01', '1971-01-01'], scale = 'log', curve = 5}",
          {"unknown key 'scale'"});
  refused("d = {type = 'date', range = ['1970-01-01', '1971-01-01'], bins = 5}",
          {"unknown key 'bins'"});
  refused("d = {type = 'number', range = [0, 1], format = '%Y-%m-%d'}", {"unknown key 'format'"});
  expect_bad_input([&] { (void)network_schema(s); }, {"column 'd' is a date", "networks"});
  Schema broken = s;
  broken.columns[0].lo = 0.5;
  expect_bad_input([&] { broken.validate("s"); }, {"whole days"});
  broken = s;
  broken.columns[0].scale = KnotScale::log;
  expect_bad_input([&] { broken.validate("s"); }, {"no ratios"});
}

TEST_F(DateColumns, InFoldersAreIso) {
  const Schema s = schema(
      "x = {type = 'number', range = [0, 1]}\n"
      "d = {type = 'date', range = ['1970-01-01', '1972-10-21'], format = '%d.%m.%Y'}");
  std::filesystem::create_directories(path("t/d=1971-05-28"));
  const std::string part = write("t/d=1971-05-28/a.csv", "x,y\n1,1\n");
  EXPECT_THAT(read_table(path("t"), s).dense(), ElementsAre(1, 0.5F));
}

TEST_F(DateColumns, BooleansAreReadInEverySpelling) {
  const Schema s = schema("b = {type = 'boolean', missing = 'NA'}");
  EXPECT_EQ(s.features(), 3U);
  EXPECT_THAT(s.feature_names(), ElementsAre("b=false", "b=true", "b=(missing)"));
  EXPECT_EQ(parse_schema(to_toml(s), "again"), s);
  for (const auto& [no, yes] :
       {std::pair("false", "true"), std::pair("FALSE", "TRUE"), std::pair("No", "Yes"),
        std::pair("0", "1"), std::pair("0.0", "1.0"), std::pair("F", "T"), std::pair("n", "y")}) {
    const Dataset data = read(s, std::string("b,y\n") + no + ",1\n" + yes + ",0\nNA,1\n");
    EXPECT_THAT(data.dense(), ElementsAre(1, 0, 0, 0, 1, 0, 0, 0, 1)) << no;
  }
  const Schema plain = schema("b = {type = 'boolean'}");
  const Dataset text = read(plain, "b,y\nno,1\nyes,0\n");
  testing::ArrowTable bools({{testing::arrow_bools("b", {false, true}),
                              testing::arrow_numbers<std::int64_t>("y", "l", {1, 0})}});
  ArrowArrayStream stream = bools.stream();
  expect_same(read_arrow(stream, plain), text);
  testing::ArrowTable numbers({{testing::arrow_numbers<std::int8_t>("b", "c", {0, 1}),
                                testing::arrow_numbers<std::int64_t>("y", "l", {1, 0})}});
  stream = numbers.stream();
  expect_same(read_arrow(stream, plain), text);
  expect_bad_input([&] { (void)read(plain, "b,y\nmaybe,1\n"); },
                   {"level 'maybe' is not in the schema", "'false', 'true'"});
  EXPECT_THAT(read(schema("b = {type = 'boolean', other = true}"), "b,y\nmaybe,1\n").dense(),
              ElementsAre(0, 0, 1));
  expect_bad_input([&] { (void)schema("b = {type = 'boolean', levels = ['a']}"); },
                   {"unknown key 'levels'"});
  Schema broken = plain;
  broken.columns[0].levels = {"no", "yes"};
  expect_bad_input([&] { broken.validate("s"); }, {"levels are \"false\" and \"true\""});
}

// A cell's number depends on its own column's keys.
TEST_F(DateColumns, NumbersAreWrittenAsTheirColumnSays) {
  const Schema s = schema(
      "a = {type = 'number', range = [0, 4096], decimal = ',', thousands = ['.', ' ']}\n"
      "b = {type = 'number', range = [0, 4096], thousands = ','}\n"
      "c = {type = 'number', range = [0, 4096]}",
      "thousands = '_'\n");
  EXPECT_EQ(parse_schema(to_toml(s), "again"), s);
  const Dataset data =
      read(s, "a;b;c;y\n1.024,0;1,024.0;1_024.0;1\n2 048;2,048;2_048;0\n1024,00;1024;1024;1\n");
  EXPECT_THAT(data.dense(), ElementsAre(.25F, .25F, .25F, .5F, .5F, .5F, .25F, .25F, .25F));
  for (const char* const cells : {"1,024.0;1;1", "1;1.024,0;1", "1;1_024;1", "1;1;1,024"})
    expect_bad_input([&] { (void)read(s, std::string("a;b;c;y\n") + cells + ";1\n"); },
                     {"is not a finite number"});
  expect_bad_input([&] { (void)schema("a = {type = 'number', range = [0, 1], thousands = '.'}"); },
                   {"thousands and decimal are both '.'"});
  expect_bad_input(
      [&] { (void)schema("a = {type = 'number', range = [0, 1], thousands = [',', ',']}"); },
      {"lists ',' twice"});
  expect_bad_input([&] { (void)schema("a = {type = 'number', range = [0, 1], thousands = []}"); },
                   {"thousands is empty"});
  expect_bad_input([&] { (void)schema("a = {type = 'category', levels = ['a'], decimal = ','}"); },
                   {"unknown key 'decimal'"});
}

}  // namespace date_columns_test
}  // namespace gibbsite
