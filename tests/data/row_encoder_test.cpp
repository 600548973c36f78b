// Rows in memory against the same table in a file: the same Dataset, bit by bit, and the same
// refusals.
#include "gibbsite/data/row_encoder.hpp"

#include <fmt/format.h>

#include <random>

#include "gibbsite/data/schema_file.hpp"
#include "support.hpp"

namespace gibbsite {
namespace row_encoder_test {

using test::bytes_of;
using test::expect_bad_input;
using test::expect_same;
using test::npy;
using Cells = std::vector<std::string_view>;

class RowsInMemory : public test::DataTest {
 public:
  static Schema schema(std::string_view more) {
    return parse_schema(fmt::format(R"(label = "y"
positive = "yes"
missing = "?"
{}
[columns]
age = {{type = "number", range = [18, 90]}}
note = {{type = "ignore"}}
town = {{type = "category", levels = ["north", "south"], other = true}}
size = {{type = "number", range = [-1, 1]}}
)",
                                    more),
                        "s.toml");
  }
};

// Cells of every kind: in range and beyond, missing, other, unreadable, labels too; more rows than
// the layout is chosen by.
TEST_F(RowsInMemory, AreThoseOfTheCsvFile) {
  std::mt19937_64 random(3);
  const auto one_of = [&](const Cells& choices) { return choices[random() % choices.size()]; };
  for (const bool middle : {false, true}) {
    for (const char* shape :
         {"row_norm = 0.7\nintercept = true", "row_norm = 10", "intercept = true"}) {
      const Schema s =
          schema(fmt::format("invalid = \"{}\"\n{}", middle ? "middle" : "refuse", shape));
      Cells ages{"18", "89.5", "200", "?", "1e1", "+40"}, labels{"yes", "no"};
      Cells towns{"north", "south", "east", "?"}, sizes{"0", "-0.25", "1e-3", "7", "?"};
      if (middle) {
        for (const char* bad : {"", "nan", "x"}) ages.push_back(bad), sizes.push_back(bad);
        towns.push_back("");
        labels.push_back("");
      }
      for (const int rows : {1, 50, 1500}) {
        std::string csv = "age,note,town,size,y\n";
        RowEncoder whole(s), chosen(s, std::vector<std::string>{"size", "town", "age"});
        whole.expect(static_cast<std::uint64_t>(rows));
        for (int i = 0; i < rows; ++i) {
          const auto age = one_of(ages), town = one_of(towns), size = one_of(sizes);
          const auto label = one_of(labels);
          csv += fmt::format("{},a note,{},{},{}\n", age, town, size, label);
          whole.add(Cells{age, "a note", town, size}, label);
          chosen.add(Cells{size, town, age}, label);
        }
        const Dataset file = read_csv(write("t.csv", csv), s);
        expect_same(whole.finish(), file);
        expect_same(chosen.finish(), file);
        if (rows > 1 && std::string_view(shape).starts_with("row_norm = 0.7")) {
          EXPECT_GT(file.counts.clipped_rows, 0U);
        }
      }
    }
  }
}

TEST_F(RowsInMemory, AreKeptAsEntriesWhereAFileIs) {
  std::string toml = "label = \"y\"\npositive = \"1\"\n[columns]\n", csv, header;
  for (int j = 0; j < 60; ++j)
    toml += fmt::format("c{} = {{type = \"number\", range = [0, 1]}}\n", j);
  const Schema s = parse_schema(toml, "s.toml");
  for (int j = 0; j < 60; ++j) header += fmt::format("c{},", j);
  RowEncoder rows(s);
  for (int i = 0; i < 1100; ++i) {
    Cells cells(60, "0");
    cells[static_cast<std::size_t>(i * 7 % 60)] = "0.5";
    for (const auto& cell : cells) csv += fmt::format("{},", cell);
    csv += i % 3 == 0 ? "1\n" : "0\n";
    rows.add(cells, i % 3 == 0 ? "1" : "0");
  }
  const Dataset data = rows.finish();
  EXPECT_TRUE(data.view().is_sparse());
  expect_same(data, read_csv(write("t.csv", header + "y\n" + csv), s));
}

// Numbers: those of a float64 .npy file, with categories and labels compared as numbers.
TEST_F(RowsInMemory, OfNumbersAreThoseOfTheNpyFile) {
  const Schema s = parse_schema(R"(label = "y"
positive = "1.0"
row_norm = 0.9
missing = "nan"
intercept = true
[columns]
a = {type = "number", range = [-1, 1]}
skipped = {type = "ignore"}
b = {type = "category", levels = ["0", "3"], other = true}
)",
                                "s.toml");
  std::mt19937_64 random(4);
  std::vector<double> x, y;
  RowEncoder rows(s);
  for (int i = 0; i < 200; ++i) {
    const double a = i % 9 == 0 ? std::nan("") : static_cast<double>(random() % 4000) / 1000 - 2;
    const std::vector<double> row{a, 1e300, static_cast<double>(random() % 5)};
    y.push_back(static_cast<double>(random() % 2));
    x.insert(x.end(), row.begin(), row.end());
    rows.add(row, y.back());
  }
  const Dataset file = read_npy(write("x.npy", npy("<f8", "(200, 3)", bytes_of(x))), s,
                                {.label_path = write("y.npy", npy("<f8", "(200,)", bytes_of(y)))});
  expect_same(rows.finish(), file);
  EXPECT_GT(file.counts.clipped_rows, 10U);
  EXPECT_GT(file.counts.missing_cells, 10U);
  EXPECT_GT(file.counts.other_cells, 10U);
}

TEST_F(RowsInMemory, WithoutLabelsAreToBePredicted) {
  const Schema s = schema("");
  RowEncoder rows(s);
  rows.add(Cells{"20", "", "north", "0"});
  rows.add(Cells{"30", "", "south", "1"});
  const Dataset data = rows.finish();
  EXPECT_FALSE(data.labeled());
  expect_same(data, read_csv(write("t.csv", "age,town,size\n20,north,0\n30,south,1\n"), s,
                             {.labels = ReadOptions::Labels::optional}));
}

// The row and the column, as for a line of the file; and no row after it, nor a table without it.
TEST_F(RowsInMemory, AreRefusedWhereTheFileIs) {
  const Schema s = schema("unlisted_label = \"refuse\"\nnegative = \"no\"");
  struct Refused {
    Cells cells;
    std::string_view label;
    std::vector<std::string> parts;
  };
  const Cells good{"20", "", "north", "0"};
  for (const Refused& refused :
       {Refused{{"x", "", "north", "0"}, "yes", {"rows: row 2: column 'age': ", "'x'"}},
        Refused{{"20", "", "", "0"}, "yes", {"rows: row 2: column 'town': ", "empty"}},
        Refused{good, "maybe", {"rows: row 2: label 'maybe'", "unlisted_label"}},
        Refused{good, "", {"rows: row 2: the label is missing"}},
        Refused{{"20", "north", "0"}, "yes", {"rows: row 2: 3 cells for 4 columns"}}}) {
    RowEncoder rows(s);
    rows.add(good, "yes");
    expect_bad_input([&] { rows.add(refused.cells, refused.label); }, refused.parts);
    expect_bad_input([&] { rows.add(good, "yes"); }, {"rows: ", "another RowEncoder"});
    expect_bad_input([&] { rows.finish(); }, {"rows: ", "another RowEncoder"});
  }
  RowEncoder mixed(s);
  mixed.add(good, "yes");
  expect_bad_input([&] { mixed.add(std::vector<double>{20, 0, 0, 0}, 1); }, {"row 2", "text and"});
  RowEncoder half(s);
  half.add(good);
  expect_bad_input([&] { half.add(good, "yes"); }, {"row 2", "some rows have a label"});
  expect_bad_input([&] { RowEncoder(s).finish(); }, {"rows: ", "no rows"});
}

TEST_F(RowsInMemory, NeedTheSchemasColumns) {
  using Names = std::vector<std::string>;
  const Schema s = schema("");
  expect_bad_input(
      [&] {
        RowEncoder(s, Names{"age", "town", "size", "x"});
      },
      {"columns: ", "'x'", "not in the schema"});
  expect_bad_input(
      [&] {
        RowEncoder(s, Names{"age", "town", "age", "size"});
      },
      {"columns: ", "'age'", "twice"});
  expect_bad_input(
      [&] {
        RowEncoder(s, Names{"age", "town"});
      },
      {"columns: ", "'size'", "lacking"});
  Schema bad = s;
  bad.row_norm = -1;
  EXPECT_THROW(RowEncoder{bad}, BadInput);
}

}  // namespace row_encoder_test
}  // namespace gibbsite
