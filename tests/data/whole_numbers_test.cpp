// Levels and classes that are whole numbers: the same from text, from numbers and from Arrow.
#include "data/text.hpp"
#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/row_encoder.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "support.hpp"
#include "support/arrow_builder.hpp"

namespace gibbsite {
namespace whole_numbers_test {

using test::bytes_of;
using test::expect_same;
using test::npy;

class WholeNumbers : public test::DataTest {
 public:
  static Schema schema(const std::string& levels, const std::string& more = "missing = '-9'") {
    return parse_schema(
        more +
            "\nlabel='y'\npositive='1'\nnegative='0'\n[columns]\na = {type='category', "
            "levels=[" +
            levels + "], other=true}\nb = {type='number', range=[0, 9]}\n",
        "s.toml");
  }
  [[nodiscard]] Dataset csv(const std::string& rows, const Schema& s) const {
    return read_csv(write("t.csv", "a,b,y\n" + rows), s);
  }
};

TEST_F(WholeNumbers, AreTheSameLevelFromEverySource) {
  const std::string as_integers = "1,4,1\n2,-9,0\n7,3,1\n-9,1,0\n",
                    as_floats = "1.0,4.0,1.0\n2.00,-9.0,0.0\n7.0,3.0,1.0\n-9.0,1.0,0.0\n";
  const Dataset wanted = csv(as_integers, schema("'1', '2'"));
  EXPECT_EQ(wanted.counts.columns[0].other, 1U);
  EXPECT_EQ(wanted.counts.columns[0].missing, 1U);
  EXPECT_EQ(wanted.counts.columns[1].missing, 1U);
  EXPECT_EQ(wanted.y, (std::vector<float>{1, -1, 1, -1}));
  for (const char* const levels : {"'1', '2'", "'1.0', '2.0'", "'1', '2.0'"}) {
    SCOPED_TRACE(levels);
    const Schema s = schema(levels);
    for (const std::string& text : {as_integers, as_floats}) {
      const Dataset data = csv(text, s);
      EXPECT_EQ(data.dense(), wanted.dense());
      EXPECT_EQ(data.y, wanted.y);
      EXPECT_EQ(data.counts.unlisted_labels, 0U);
      EXPECT_EQ(data.counts.missing_cells, 2U);
    }
    const Dataset by_npy = read_npy(
        write("x.npy", npy("<f8", "(4, 2)", bytes_of<double>({1, 4, 2, -9, 7, 3, -9, 1}))), s,
        {.label_path = write("y.npy", npy("<f8", "(4,)", bytes_of<double>({1, 0, 1, 0})))});
    EXPECT_EQ(by_npy.dense(), wanted.dense());
    for (const bool floats : {false, true}) {
      using testing::arrow_numbers;
      testing::ArrowTable table(
          {floats ? testing::ArrowTable::Batch{arrow_numbers<double>("a", "g", {1, 2, 7, -9}),
                                               arrow_numbers<double>("b", "g", {4, -9, 3, 1}),
                                               arrow_numbers<double>("y", "g", {1, 0, 1, 0})}
                  : testing::ArrowTable::Batch{
                        arrow_numbers<std::int64_t>("a", "l", {1, 2, 7, -9}),
                        arrow_numbers<std::int64_t>("b", "l", {4, -9, 3, 1}),
                        testing::arrow_text("y", "u", {"1.0", "0", "1", "0.0"})}});
      ArrowArrayStream stream = table.stream();
      const Dataset data = read_arrow(stream, s);
      EXPECT_EQ(data.dense(), wanted.dense());
      EXPECT_EQ(data.y, wanted.y);
    }
  }
}

// A cell that is listed as it stands is that level, and codes keep their zeros.
TEST_F(WholeNumbers, AreNoCodesAndNoOtherNumbers) {
  const Dataset both = csv("1.0,1,1\n1,1,0\n1.00,1,0\n", schema("'1', '1.0'"));
  const Rows rows = both.view();
  EXPECT_EQ(rows(0, 1), 1.0F);
  EXPECT_EQ(rows(1, 0), 1.0F);
  EXPECT_EQ(rows(2, 0), 1.0F);
  EXPECT_EQ(csv("01,1,1\n01.0,1,1\n1.5,1,1\n+1,1,0\n1.,1,0\n.0,1,1\n", schema("'1'"))
                .counts.columns[0]
                .other,
            6U);
  EXPECT_EQ(whole_number("-3.000"), "-3");
  EXPECT_EQ(whole_number("0.0"), "0");
  EXPECT_EQ(whole_number("3,0", ','), "3");
  for (const char* const text :
       {"3", "03.0", "3.", ".0", "-.0", "3.01", "3.0e1", "a.0", "", "--3.0"})
    EXPECT_EQ(whole_number(text), text);
}

TEST_F(WholeNumbers, OfSeveralClasses) {
  const Schema s = parse_schema(
      "label='y'\nclasses=['1', '2.0', '3']\n[columns]\nb = {type='number', range=[0, 9]}\n",
      "s.toml");
  EXPECT_EQ(read_csv(write("t.csv", "b,y\n1,1.0\n1,2\n1,3.00\n1,2.0\n"), s).y,
            (std::vector<float>{0, 1, 2, 1}));
}

}  // namespace whole_numbers_test
}  // namespace gibbsite
