#include <cmath>
#include <random>

#include "gibbsite/data/schema_file.hpp"
#include "support.hpp"

namespace gibbsite {
namespace {

using test::bytes_of;
using test::expect_bad_input;
using test::npy;
using ::testing::ElementsAre;
using Labels = ReadOptions::Labels;

class Npy : public test::DataTest {
 public:
  Schema schema = parse_schema(R"(label = "y"
positive = "1"
row_norm = 2
[columns]
a = {type = "number", range = [-1, 1]}
b = {type = "ignore"}
c = {type = "category", levels = ["0", "3"]}
)",
                               "s.toml");
  const std::string good_x =
      npy("<f4", "(3, 3)", bytes_of<float>({0.5F, 9, 3, 0, NAN, 0, -1, 1, 0}));
  const std::string good_y = npy("<f8", "(3,)", bytes_of<double>({1, -1, 1}));

  Dataset read(const std::string& x, const std::string& y, ReadOptions options = {}) const {
    options.label_path = y.empty() ? "" : write("y.npy", y);
    return read_npy(write("x.npy", x), schema, options);
  }
  void expect_error(const std::string& x, const std::string& y,
                    const std::vector<std::string>& parts) const {
    expect_bad_input([&] { (void)read(x, y); }, parts);
  }
};

TEST_F(Npy, ReadsFloatsAndDoubles) {
  const Dataset a = read(good_x, good_y);  // NaN in an ignored column is not looked at
  EXPECT_THAT(a.x, ElementsAre(0.75F, 0, 1, 0.5F, 1, 0, 0, 1, 0));
  EXPECT_THAT(a.y, ElementsAre(1, -1, 1));
  const Dataset b =
      read(npy("<f8", "(3,3)", bytes_of<double>({0.5, 9, 3, 0, 0, 0, -1, 1, 0})), good_y);
  EXPECT_EQ(b.x, a.x);
}

TEST_F(Npy, ReadsEveryTypeAndVersionOfLabels) {
  const auto same = [&](const std::string& y) {
    EXPECT_THAT(read(good_x, y).y, ElementsAre(1, -1, 1));
  };
  same(npy("<f4", "(3,)", bytes_of<float>({1, 0, 1})));
  same(npy("<f4", "(3, 1)", bytes_of<float>({1, 0, 1})));
  same(npy("|b1", "(3,)", bytes_of<std::uint8_t>({1, 0, 1})));
  same(npy("|u1", "(3,)", bytes_of<std::uint8_t>({1, 2, 1})));
  same(npy("|i1", "(3,)", bytes_of<std::int8_t>({1, -1, 1})));
  same(npy("<i2", "(3,)", bytes_of<std::int16_t>({1, -1, 1})));
  same(npy("<u2", "(3,)", bytes_of<std::uint16_t>({1, 0, 1})));
  same(npy("<i4", "(3,)", bytes_of<std::int32_t>({1, -1, 1})));
  same(npy("<u4", "(3,)", bytes_of<std::uint32_t>({1, 0, 1})));
  same(npy("<i8", "(3,)", bytes_of<std::int64_t>({1, -1, 1})));
  same(npy("<u8", "(3,)", bytes_of<std::uint64_t>({1, 0, 1}), "True"));  // a vector has no order
  std::string v2 = good_y;  // version 2: a length of four bytes
  v2[6] = 2;
  v2.insert(10, 2, '\0');
  same(v2);
  v2[6] = 3;
  same(v2);
}

TEST_F(Npy, RefusesOtherFiles) {
  expect_error("", good_y, {"x.npy: ", "empty"});
  expect_error("a,b,c\n1,2,3\n", good_y, {"x.npy: ", "not a .npy file"});
  expect_error("\x93NUMPY", good_y, {"x.npy: ", "not a .npy file"});
  std::string version = good_x;
  version[6] = 4;
  expect_error(version, good_y, {"x.npy: ", "version 4"});
  expect_error(good_x.substr(0, 30), good_y, {"x.npy: ", "too early"});
  expect_error(good_x.substr(0, good_x.size() - 1), good_y, {"x.npy: ", "bytes"});
  expect_error(good_x + "x", good_y, {"x.npy: ", "bytes"});
  const std::string values = bytes_of(std::vector<float>(9));
  expect_error(npy(">f4", "(3, 3)", values), good_y,
               {"x.npy: ", "'>f4'", "numpy.ascontiguousarray"});
  expect_error(npy("<f2", "(3, 3)", values), good_y, {"'<f2'", "numpy.ascontiguousarray"});
  expect_error(npy("<i4", "(3, 3)", values), good_y, {"'<f4' or '<f8'", "numpy.ascontiguousarray"});
  expect_error(npy("<f4", "(3, 3)", values, "True"), good_y,
               {"Fortran", "numpy.ascontiguousarray"});
  expect_error(npy("<f4", "(9,)", values), good_y, {"2 dimensions, got 1"});
  expect_error(npy("<f4", "(1, 3, 3)", values), good_y, {"2 dimensions, got 3"});
  expect_error(npy("<f4", "(9, 1)", values), good_y, {"1 columns where the schema has 3"});
  expect_error(npy("<f4", "(0, 3)", ""), npy("<f4", "(0,)", ""), {"no rows"});
  expect_error(npy("<f4", "(3000000000000, 3)", values), good_y, {"bytes", "shape"});
  expect_error(npy("<f4", "(18446744073709551616, 3)", values), good_y, {"shape"});
  expect_error(npy("<f4", "(-3, 3)", values), good_y, {"shape"});
}

TEST_F(Npy, RefusesValuesByRowAndColumn) {
  const auto with = [](float a, float c) {
    return npy("<f4", "(2, 3)", bytes_of<float>({0, 0, 0, a, 0, c}));
  };
  const std::string y = npy("<f4", "(2,)", bytes_of<float>({1, 0}));
  expect_error(with(NAN, 0), y, {"x.npy: row 2: column 'a'", "nan", "not a finite number"});
  expect_error(with(INFINITY, 0), y, {"x.npy: row 2: column 'a'", "inf", "not a finite number"});
  expect_error(with(0, NAN), y, {"x.npy: row 2: column 'c'", "not a finite number"});
  expect_error(with(0, 7), y, {"x.npy: row 2: column 'c'", "level '7'"});
  schema.has_missing = true;
  schema.missing = "nan";
  EXPECT_EQ(read(with(NAN, NAN), y).counts.missing_cells, 2U);
}

TEST_F(Npy, RefusesLabelsThatDoNotFit) {
  expect_error(good_x, npy("<f4", "(2,)", bytes_of<float>({1, 0})),
               {"y.npy: ", "one value per row"});
  expect_error(good_x, npy("<f4", "(3, 2)", bytes_of<float>({1, 0, 1, 0, 1, 0})),
               {"y.npy: ", "vector"});
  expect_error(good_x, npy("<U3", "(3,)", std::string(36, 'a')), {"y.npy: ", "'<U3'"});
  EXPECT_EQ(read(good_x, npy("<f4", "(3,)", bytes_of<float>({1, 0, 2}))).y,
            (std::vector<float>{1, -1, -1}));
  expect_error(good_x, npy("<f4", "(3,)", bytes_of<float>({1, NAN, 1})),
               {"row 2", "label is missing"});
  expect_error(good_x, "", {"x.npy: ", "holds no labels"});
  EXPECT_FALSE(read(good_x, "", {.labels = Labels::optional}).labeled());
}

TEST_F(Npy, TheSameNumbersFromEveryFormatAreTheSameDataSet) {
  schema = parse_schema(R"(label = "y"
positive = "1"
intercept = true
[columns]
x = {type = "number", range = [-2, 2], count = 5}
k = {type = "category", levels = ["0", "1", "-2"], other = true}
)",
                        "s.toml");
  std::mt19937_64 random(3);
  std::uniform_real_distribution<float> uniform(-2.2F, 2.2F);
  std::string csv = "x1,x2,x3,x4,x5,k,y\n", svm;
  std::vector<float> x, y;
  for (int i = 0; i < 500; ++i) {
    svm += i % 3 == 0 ? "+1" : "0";
    for (int j = 0; j < 6; ++j) {
      const float v = j == 5              ? static_cast<float>(static_cast<int>(random() % 6) - 2)
                      : random() % 4 == 0 ? 0
                                          : uniform(random);
      char text[32];
      std::snprintf(text, sizeof text, "%.9g", static_cast<double>(v));
      x.push_back(v);
      csv.append(text).append(",");
      if (v != 0) svm.append(" ").append(std::to_string(j + 1)).append(":").append(text);
    }
    csv += i % 3 == 0 ? "1\n" : "0\n";
    svm += "\n";
    y.push_back(i % 3 == 0);
  }
  const Dataset a = read_table(write("t.csv", csv), schema);
  const Dataset b = read_table(write("t.svmlight", svm), schema);
  // %.9g gives a float back, and its double when read as one differs from the float: below 1e-9.
  const Dataset c = read_table(write("x.NPY", npy("<f4", "(500, 6)", bytes_of(x))), schema,
                               {.label_path = write("y.npy", npy("<f4", "(500,)", bytes_of(y)))});
  EXPECT_EQ(a.rows(), 500U);
  EXPECT_EQ(a.x, b.x);
  EXPECT_EQ(a.y, b.y);
  EXPECT_EQ(a.y, c.y);
  ASSERT_EQ(a.x.size(), c.x.size());
  for (std::size_t i = 0; i < a.x.size(); ++i) EXPECT_NEAR(a.x[i], c.x[i], 3e-7);
  for (const Dataset* data : {&b, &c}) {
    EXPECT_EQ(data->counts.clamped_cells, a.counts.clamped_cells);
    EXPECT_EQ(data->counts.other_cells, a.counts.other_cells);
    EXPECT_EQ(data->counts.clipped_rows, a.counts.clipped_rows);
  }
  EXPECT_GT(a.counts.clamped_cells, 100U);
  EXPECT_GT(a.counts.other_cells, 100U);
  EXPECT_GT(a.counts.clipped_rows, 100U);
  expect_bad_input([&] { (void)read_table(path("t.csv"), schema, {.label_path = path("y.npy")}); },
                   {"y.npy", ".npy table only"});
}

TEST_F(Npy, ChangedBytesNeverCrash) {
  std::mt19937_64 random(5);
  int read_rows = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::string x = good_x, y = good_y;
    std::string& changed = trial % 4 == 0 ? y : x;
    for (int i = 0; i < 1 + trial % 3; ++i)
      changed[random() % std::min<std::size_t>(changed.size(), 90)] =
          trial % 2 == 0 ? static_cast<char>(random()) : "0123456789()<f48 ,'"[random() % 19];
    if (trial % 7 == 0) changed.resize(random() % changed.size());
    try {
      (void)read(x, y, {.labels = Labels::optional});
      ++read_rows;
    } catch (const BadInput& error) {
      EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
    }
  }
  EXPECT_GT(read_rows, 50);
}

}  // namespace
}  // namespace gibbsite
