// Numbers whose digits are grouped by thousands.
#include "data/text.hpp"
#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "support.hpp"
#include "support/arrow_builder.hpp"

namespace gibbsite {
namespace thousands_test {

using test::expect_bad_input;
using test::expect_same;
using ::testing::ElementsAre;

class Thousands : public test::DataTest {
 public:
  static Schema schema(const std::string& keys) {
    return parse_schema(keys +
                            "label = 'y'\npositive = '1'\nintercept = false\n[columns]\n"
                            "x = {type = 'number', range = [-4096, 4096]}\n",
                        "s.toml");
  }
  [[nodiscard]] std::vector<float> read(const Schema& schema, const std::string& rows) const {
    const Dataset data = read_csv(write("t.csv", "x;y\n" + rows), schema);
    return {data.dense().begin(), data.dense().end()};
  }
};

TEST_F(Thousands, AreReadWithEverySign) {
  for (const std::string_view sign : thousands_signs) {
    const bool point = sign == ".";
    const Schema s =
        schema("thousands = \"" + std::string(sign) + "\"\n" + (point ? "decimal = ','\n" : ""));
    const std::string g(sign), d = point ? "," : ".";
    EXPECT_THAT(read(s, "1" + g + "024;1\n-2" + g + "048;0\n+1" + g + "024" + d + "0;1\n1024;0\n1" +
                            g + "024" + d + "0e0;1\n512" + d + "0;0\n"),
                ElementsAre(0.625F, 0.25F, 0.625F, 0.625F, 0.625F, 0.5625F))
        << sign;
    EXPECT_EQ(parse_schema(to_toml(s), "again"), s);
  }
}

TEST_F(Thousands, AreGroupsOfThree) {
  double value = 0;
  EXPECT_TRUE(parse_grouped("12,345,678.5", value, '.', ","));
  EXPECT_EQ(value, 12345678.5);
  EXPECT_TRUE(parse_grouped("-1.234,25e1", value, ',', "."));
  EXPECT_EQ(value, -12342.5);
  for (const char* const text :
       {"1,23",    "1,2345",      "1234,567", ",123",     "1,,234", "1,234,",  "1,234,56",
        "1.5,000", "1,234.5,678", "0x1,234",  "1,234nan", "1,234e", "--1,234", "1, 234",
        "1,234 ",  "1,234 kg",    "nan,123",  "1,000inf", "-,123",  "1234",    ""})
    EXPECT_FALSE(parse_grouped(text, value, '.', ",")) << text;
  const Schema s = schema("thousands = ','\n");
  expect_bad_input([&] { (void)read(s, "1,23;1\n"); }, {"'1,23' is not a finite number"});
}

// Where the sign separates cells too, a number needs quotes; without them the row is ragged.
TEST_F(Thousands, InQuotesWhereTheSignSeparatesCells) {
  const Schema s = schema("thousands = ','\n");
  const Dataset data = read_csv(write("t.csv", "x,y\n\"1,024\",1\n\"-1,024.0\",0\n"), s);
  EXPECT_THAT(data.dense(), ElementsAre(0.625F, 0.375F));
  expect_bad_input([&] { (void)read_csv(write("t.csv", "x,y\n1,024,1\n"), s); },
                   {"3 cells where the header has 2", "needs quotes"});
}

TEST_F(Thousands, OfLabelsAndOfTextInArrow) {
  const Schema s = parse_schema(
      "thousands = \"'\"\nlabel = 'y'\nrange = [0, 4096]\n[columns]\n"
      "x = {type = 'number', range = [0, 4096]}\n",
      "s.toml");
  const Dataset data = read_csv(write("t.csv", "x,y\n1'024,2'048\n1,3'072\n"), s);
  const Schema plain = parse_schema(
      "label = 'y'\nrange = [0, 4096]\n[columns]\nx = {type = 'number', range = [0, 4096]}\n",
      "s.toml");
  EXPECT_EQ(data.y, read_csv(write("p.csv", "x,y\n1024,2048\n1,3072\n"), plain).y);
  testing::ArrowTable table({{testing::arrow_text("x", "u", {"1'024", "1"}),
                              testing::arrow_text("y", "u", {"2'048", "3'072"})}});
  ArrowArrayStream stream = table.stream();
  expect_same(read_arrow(stream, s), data);
}

TEST_F(Thousands, RefusesSignsThatContradict) {
  expect_bad_input([&] { (void)schema("thousands = '.'\n"); },
                   {"s.toml:1:", "thousands and decimal are both '.'"});
  expect_bad_input([&] { (void)schema("thousands = ','\ndecimal = ','\n"); }, {"both ','"});
  expect_bad_input([&] { (void)schema("thousands = ';'\n"); }, {"thousands is ';'"});
  expect_bad_input([&] { (void)schema("thousands = ''\n"); }, {"thousands is empty"});
}

TEST_F(Thousands, AreNamedWhereTheSchemaLacksThem) {
  expect_bad_input([&] { (void)read(schema(""), "1'024;1\n"); }, {"set thousands = \"'\""});
  expect_bad_input([&] { (void)read(schema(""), "1,024.5;1\n"); }, {"set thousands = \",\""});
}

}  // namespace thousands_test
}  // namespace gibbsite
