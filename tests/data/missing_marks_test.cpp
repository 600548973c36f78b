// Several marks of a missing cell: by every reader, in the schema's text, and where they contradict
// each other.
#include <cmath>
#include <limits>

#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/row_encoder.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "support.hpp"
#include "support/arrow_builder.hpp"

namespace gibbsite {
namespace missing_marks_test {

using test::bytes_of;
using test::expect_bad_input;
using test::expect_same;
using test::npy;
using ::testing::ElementsAre;

const char* const head = "label = 'y'\npositive = '1'\nintercept = false\n";

class MissingMarks : public test::DataTest {
 public:
  static Schema schema(const std::string& more, const std::string& columns) {
    return parse_schema(head + more + "\n[columns]\n" + columns, "s.toml");
  }
};

TEST_F(MissingMarks, EachIsAMissingCellOfText) {
  const Schema s = schema("missing = ['NA', '', '-9']",
                          "x = {type = 'number', range = [0, 10]}\n"
                          "c = {type = 'category', levels = ['a'], missing = ['?', '']}\n"
                          "d = {type = 'category', levels = ['a', '?'], missing = ['', '?']}");
  EXPECT_EQ(s.features(), 5U);  // x, a, (missing) of c; a, ? of d, whose mark is listed
  const Dataset data = read_csv(write("t.csv", "x,c,d,y\nNA,a,a,1\n,?,?,0\n-9,,,1\n5,a,a,0\n"), s);
  EXPECT_THAT(data.dense(),
              ElementsAre(0.5F, 1, 0, 1, 0, 0.5F, 0, 1, 0, 1, 0.5F, 0, 1, 0, 1, 0.5F, 1, 0, 1, 0));
  EXPECT_EQ(data.counts.columns[0].missing, 3U);
  EXPECT_EQ(data.counts.columns[1].missing, 2U);
  EXPECT_EQ(data.counts.columns[2].missing, 2U);
  EXPECT_EQ(data.counts.missing_cells, 7U);
  expect_bad_input([&] { (void)read_csv(write("t.csv", "x,c,d,y\n.,a,a,1\n"), s); },
                   {"'.' is not a finite number", "list it in `missing`"});
}

TEST_F(MissingMarks, NumbersManyAtATimeAreThoseOfText) {
  const Schema s = schema("missing = ['-9', 'nan', '-99', '']",
                          "a = {type = 'number', range = [0, 10]}\n"
                          "b = {type = 'number', range = [0, 4], missing = ['2', '3']}");
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> cells;
  std::vector<std::optional<double>> a, b;
  std::vector<double> y;
  std::string text = "a,b,y\n";
  const double all_a[] = {-9, nan, -99, 5, -98, 11}, all_b[] = {2, 3, 1, 4, 9, 0};
  RowEncoder rows(s);
  for (int i = 0; i < 3000; ++i) {
    const double p = all_a[i % 6], q = all_b[i % 5];
    cells.insert(cells.end(), {p, q});
    a.emplace_back(p);
    b.emplace_back(q);
    y.push_back(i % 2);
    text += (std::isnan(p) ? "nan" : std::to_string(static_cast<int>(p))) + "," +
            std::to_string(static_cast<int>(q)) + "," + (i % 2 == 1 ? "1" : "0") + "\n";
    rows.add(std::vector<double>{p, q}, y.back());
  }
  const Dataset by_text = read_csv(write("t.csv", text), s);
  EXPECT_EQ(by_text.counts.columns[0].missing, 1500U);
  EXPECT_EQ(by_text.counts.columns[1].missing, 1200U);
  EXPECT_EQ(by_text.counts.columns[0].clamped, 1000U);
  expect_same(rows.finish(), by_text);
  const Dataset by_npy =
      read_npy(write("x.npy", npy("<f8", "(3000, 2)", bytes_of(cells))), s,
               {.label_path = write("y.npy", npy("<f8", "(3000,)", bytes_of(y)))});
  expect_same(by_npy, by_text);
  std::vector<std::optional<std::int64_t>> labels;
  for (const double one : y) labels.emplace_back(static_cast<std::int64_t>(one));
  for (const bool sliced : {false, true}) {
    testing::ArrowTable table(
        {{testing::arrow_numbers<double>("a", "g", a), testing::arrow_numbers<double>("b", "g", b),
          testing::arrow_numbers<std::int64_t>("y", "l", labels)}});
    ArrowArrayStream stream = table.stream();
    expect_same(read_arrow(stream, s, {.threads = sliced ? 3U : 1U}), by_text);
  }
}

TEST_F(MissingMarks, OfTheTableMarkLabels) {
  const Schema s = schema("missing = ['NA', '-1']\ninvalid = 'middle'",
                          "x = {type = 'number', range = [0, 10]}");
  const Dataset data = read_csv(write("t.csv", "x,y\n1,NA\n1,1\n1,-1\n1,0\n"), s);
  EXPECT_EQ(data.counts.invalid_labels, 2U);
  Schema amount = s;
  amount.label = Amount{{.lo = 0, .hi = 4}, 1};
  const std::string x = write("x.npy", npy("<f8", "(2, 1)", bytes_of<double>({1, 1})));
  const std::string y = write("y.npy", npy("<f8", "(2,)", bytes_of<double>({-1, 1})));
  EXPECT_EQ(read_npy(x, amount, {.label_path = y}).counts.invalid_labels, 1U);
}

TEST_F(MissingMarks, AreWrittenAsTheyAreRead) {
  const Schema s = schema("missing = ['NA', '']",
                          "x = {type = 'number', range = [0, 10], missing = ['.', '-9']}");
  EXPECT_EQ(s.text.missing, "NA");
  EXPECT_THAT(s.text.also_missing, ElementsAre(""));
  EXPECT_EQ(parse_schema(to_toml(s), "again"), s);
  const Schema one = schema("missing = ['NA']", "x = {type = 'number', range = [0, 10]}");
  EXPECT_TRUE(one.text.also_missing.empty());
  EXPECT_NE(to_toml(one).find("missing = \"NA\"\n"), std::string::npos);
}

TEST_F(MissingMarks, RefusesMarksThatContradict) {
  const std::string x = "x = {type = 'number', range = [0, 10]}";
  expect_bad_input([&] { (void)schema("missing = []", x); },
                   {"s.toml:4:", "missing", "empty list"});
  expect_bad_input([&] { (void)schema("missing = ['a', 'a']", x); }, {"s.toml:4:", "'a' twice"});
  expect_bad_input([&] { (void)schema("missing = ['a', 3]", x); },
                   {"s.toml:4:", "missing must be a string in quotes", "got the number 3"});
  expect_bad_input(
      [&] {
        (void)schema("",
                     "c = {type = 'category', levels = ['a', 'b', 'c'], missing = ['b', '', 'c']}");
      },
      {"s.toml:6:", "column 'c'", "'b' and 'c' are both marks of a missing cell and levels"});
  expect_bad_input(
      [&] {
        (void)schema("missing = ['b', 'c']", "c = {type = 'category', levels = ['a', 'b', 'c']}");
      },
      {"column 'c'", "'b' and 'c' are both"});
}

}  // namespace missing_marks_test
}  // namespace gibbsite
