#include "gibbsite/model/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <random>

#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/model/curve.hpp"
#include "gibbsite/model/linear_model.hpp"
#include "support.hpp"

namespace gibbsite {
namespace schema_test {

using test::expect_bad_input;
using ::testing::ElementsAre;
using ::testing::StartsWith;

const std::string example = R"(label = "income"            # column to predict
positive = ">50K"
row_norm = 1.0
intercept = true
missing = "?"

[columns]
workclass = {type = "category", levels = ["Private", "State-gov"], other = true, missing = "?"}
age       = {type = "number", range = [17, 90]}
fnlwgt    = {type = "ignore"}
sex       = {type = "category", levels = ["Female", "?"]}
)";

TEST(Schema, ReadsTheExampleInTheOrderOfTheFile) {
  const Schema s = parse_schema(example, "s.toml");
  EXPECT_EQ(s.label_name, "income");
  EXPECT_EQ(std::get<TwoClasses>(s.label).positive, ">50K");
  EXPECT_EQ(std::get<TwoClasses>(s.label).negative_name(), "not >50K");
  EXPECT_EQ(s.row_norm, 1.0);
  EXPECT_TRUE(s.intercept && s.text.has_missing);
  ASSERT_EQ(s.columns.size(), 4U);
  EXPECT_EQ(s.columns[1].lo, 17);
  EXPECT_EQ(s.columns[1].hi, 90);
  // "?" is a level of sex, so sex has no "(missing)" of its own.
  EXPECT_THAT(s.feature_names(),
              ElementsAre("workclass=Private", "workclass=State-gov", "workclass=(missing)",
                          "workclass=(other)", "age", "sex=Female", "sex=?", "(intercept)"));
  EXPECT_EQ(s.features(), 8U);
  const FeatureSpace space = s;
  EXPECT_EQ(space.features, 8U);
  EXPECT_EQ(space.row_norm, 1.0);
  EXPECT_TRUE(space.intercept);
}

// No level that no row was said to have: the table's `missing` adds none.
TEST(Schema, AMissingLevelIsOfTheColumnThatAsksForIt) {
  const Schema s = parse_schema(
      "label='y'\npositive='1'\nmissing='?'\nrow_norm=1.0\nintercept=false\n[columns]\nplain={type="
      "'category',levels=['a']}\n"
      "own={type='category',levels=['a'],missing='NA'}\nlisted={type='category',levels=['a','?']}\n"
      "both={type='category',levels=['a','NA'],missing='NA'}\n"
      "x={type='number',range=[0,1],missing='-9'}\n",
      "s");
  EXPECT_THAT(s.feature_names(), ElementsAre("plain=a", "own=a", "own=(missing)", "listed=a",
                                             "listed=?", "both=a", "both=NA", "x"));
  expect_bad_input(
      [] {
        parse_schema("label='y'\npositive='1'\n[columns]\nx={type='ignore',missing='?'}", "s");
      },
      {"s:4:", "'missing'"});
}

TEST(Schema, ACategoryNamesItsReferenceLevel) {
  const auto with = [](const std::string& options) {
    return parse_schema(
        "label='y'\npositive='1'\n[columns]\nk={type='category',levels=['a','b'],other=true,"
        "missing='NA'" +
            options + "}\nx={type='number',range=[0,1]}",
        "s");
  };
  EXPECT_EQ(with("").columns[0].reference, "");
  // Levels, the two that are no listed ones, and a missing cell's own text.
  const std::vector<std::pair<std::string, std::size_t>> places{
      {"a", 0}, {"b", 1}, {"(missing)", 2}, {"NA", 2}, {"(other)", 3}};
  for (const auto& [reference, place] : places) {
    const Schema s = with(",reference='" + reference + "'");
    EXPECT_EQ(s.columns[0].reference, reference);
    EXPECT_EQ(s.level_index(s.columns[0], reference), place);
    EXPECT_EQ(parse_schema(to_toml(s), "s"), s);
    EXPECT_EQ(s.feature_names(), with("").feature_names());
  }
  EXPECT_THAT(with("").level_names(with("").columns[0]),
              ElementsAre("a", "b", "(missing)", "(other)"));
  EXPECT_TRUE(with("").level_names(with("").columns[1]).empty());
  expect_bad_input([&] { with(",reference='c'"); },
                   {"s:4:", "column 'k'", "reference 'c' is none of the column's levels"});
  expect_bad_input([&] { with(",reference=1"); }, {"s:4:", "reference"});
  expect_bad_input(
      [] {
        parse_schema(
            "label='y'\npositive='1'\n[columns]\nx={type='number',range=[0,1],reference='a'}", "s");
      },
      {"s:4:", "unknown key 'reference'"});
}

TEST(Schema, SaysWhatIsTypicalOfNumbers) {
  const auto with = [](const std::string& more) {
    return parse_schema(
        "label='y'\npositive='1'\n[columns]\nx={type='number',range=[10,110]" + more + "}", "s");
  };
  const Schema s = with(",typical=[40,10.5]");
  EXPECT_EQ(s.columns[0].typical, (Typical{40, 10.5}));
  EXPECT_EQ(parse_schema(to_toml(s), "s"), s);
  EXPECT_FALSE(with("").columns[0].typical);
  const Schema open = with(",typical=[40,10],curve='auto'");
  EXPECT_TRUE(with_knots(open, 2).columns[0].typical) << "a straight line after all";
  EXPECT_FALSE(with_knots(open, 5).columns[0].typical);
  expect_bad_input([&] { with(",typical=40"); }, {"s:4:", "[center, spread]"});
  expect_bad_input([&] { with(",typical=[40,'a']"); }, {"s:4:", "typical"});
  expect_bad_input([&] { with(",typical=[5,10]"); }, {"s:4:", "outside of the range"});
  expect_bad_input([&] { with(",typical=[40,0.001]"); }, {"s:4:", "spread of 0.001"});
  expect_bad_input([&] { with(",typical=[40,101]"); }, {"s:4:", "spread of 101"});
  expect_bad_input([&] { with(",typical=[40,10],knots=[10,40,110]"); },
                   {"s:4:", "of a straight line"});
  expect_bad_input(
      [] {
        parse_schema(
            "label='y'\npositive='1'\n[columns]\nx={type='date',range=['2000-01-01',"
            "'2001-01-01'],typical=[1,2]}",
            "s");
      },
      {"s:4:", "unknown key 'typical'"});
}

TEST(Schema, DefaultsAreThoseOfTheHeader) {
  const Schema s = parse_schema(
      "label='y'\npositive='1'\nnegative='0'\n[columns]\nx={type='number',range=[0,1]}", "s");
  EXPECT_EQ(s.row_norm, 1.0);
  EXPECT_TRUE(s.intercept);
  EXPECT_FALSE(s.text.has_missing);
  EXPECT_EQ(std::get<TwoClasses>(s.label).negative_name(), "0");
  EXPECT_EQ(s.features(), 2U);
}

// Nothing is scaled where a private metric takes what length there is; beyond it the longest row
// sets the noise.
TEST(Schema, AutoScalesNoRowButWhereNoMetricCanBeHad) {
  const auto with = [](const std::string& keys, std::size_t count) {
    return parse_schema(fmt::format("label='y'\npositive='1'\n{}\n[columns]\n"
                                    "x={{type='number',range=[0,1],count={}}}\n"
                                    "k={{type='category',levels=['a','b','c']}}",
                                    keys, count),
                        "s");
  };
  for (const char* keys : {"", "row_norm='auto'\nintercept='auto'"}) {
    EXPECT_EQ(with(keys, 8).row_norm, 3.0);
    EXPECT_EQ(with(keys, 8).max_unclipped_norm(), 3.0);
    EXPECT_TRUE(with(keys, 8).intercept);
    EXPECT_EQ(with(keys, 1996).row_norm, with(keys, 1996).max_unclipped_norm()) << "2000 features";
    EXPECT_EQ(with(keys, 1997).row_norm, 1.0);
    EXPECT_EQ(with(keys, 20'000).row_norm, 1.0);
  }
  EXPECT_EQ(with("row_norm='auto'\nintercept=false", 1997).row_norm,
            with("", 1997).max_unclipped_norm());
  EXPECT_EQ(with("row_norm=0.5", 8).row_norm, 0.5);
}

TEST(Schema, CountMakesManyColumns) {
  const Schema s = parse_schema(
      "label='y'\npositive='1'\nrow_norm=1.0\nintercept=false\n[columns]\nx={type='number',range=["
      "0,255],count=12}\n"
      "z={type='category',levels=['0','1'],count=2}",
      "s");
  ASSERT_EQ(s.columns.size(), 14U);
  EXPECT_EQ(s.columns[0].name, "x1");
  EXPECT_EQ(s.columns[11].name, "x12");
  EXPECT_EQ(s.columns[13].name, "z2");
  EXPECT_EQ(s.columns[11].hi, 255);
  EXPECT_EQ(s.features(), 16U);
}

TEST(Schema, MaxUnclippedNormIsNeverBelowTheRoot) {
  using Exact = boost::multiprecision::cpp_rational;
  Schema s = parse_schema(
      "label='y'\npositive='1'\n[columns]\nx={type='ignore'}\nz={type='number',range=[0,1]}", "s");
  for (int used = 1; used < 300; ++used) {
    const Exact norm(s.max_unclipped_norm());
    EXPECT_GE(norm * norm, used);
    EXPECT_NEAR(s.max_unclipped_norm(), std::sqrt(used), 1e-14);
    s.columns.push_back({.name = std::to_string(used), .type = ColumnType::number});
  }
}

TEST(Schema, ToTomlReadsBackEqual) {
  Schema s = parse_schema(example, "s");
  s.row_norm = 1.4142135623730951;
  std::get<TwoClasses>(s.label).negative = "<=50K \"quoted\" \\ back";
  s.columns.push_back({.name = "odd name.with \"dots\"\tand \x01",
                       .type = ColumnType::number,
                       .lo = -1e-7 / 3,
                       .hi = 1e300});
  s.columns.push_back({.name = "", .type = ColumnType::ignore});
  s.columns.push_back({.name = "Straße",
                       .type = ColumnType::category,
                       .levels = {"", "New York", "\xe2\x82\xac", "a\nb"},
                       .other = true,
                       .has_missing = true,
                       .missing = "a \"gap\""});
  const Schema back = parse_schema(to_toml(s), "s");
  EXPECT_TRUE(back == s) << to_toml(back);
}

/// Each replaces one line of a good schema, and says the line and what the error must name.
struct Fault {
  const char *from, *to;
  std::vector<std::string> error;
};

TEST(Schema, RefusesEachFaultWithItsLine) {
  const std::vector<Fault> faults = {
      {"label = \"income\"", "label = \"\"", {"s.toml:1:", "label is empty"}},
      {"label = \"income\"", "label = 3", {"s.toml:1:", "label", "string", "number"}},
      {"label = \"income\"", "label = \"age\"", {"s.toml:9:", "'age'", "is the label"}},
      {"label = \"income\"", "", {"s.toml:", "`label` is missing"}},
      {"positive = \">50K\"", "positive = \"\"", {"s.toml:2:", "positive"}},
      {"positive = \">50K\"", "positive = true", {"s.toml:2:", "positive", "true or false"}},
      {"positive = \">50K\"", "", {"s.toml:", "`positive` is missing"}},
      {"intercept = true", "negative = \">50K\"", {"s.toml:4:", "negative"}},
      {"intercept = true", "negative = \"\"", {"s.toml:4:", "negative"}},
      {"intercept = true", "intercept = 1", {"s.toml:4:", "intercept", "true or false"}},
      {"intercept = true", "intersept = true", {"s.toml:4:", "unknown key 'intersept'"}},
      {"row_norm = 1.0", "row_norm = 0", {"s.toml:3:", "row_norm", "positive"}},
      {"row_norm = 1.0", "row_norm = -1", {"s.toml:3:", "row_norm"}},
      {"row_norm = 1.0", "row_norm = nan", {"s.toml:3:", "row_norm"}},
      {"row_norm = 1.0", "row_norm = inf", {"s.toml:3:", "row_norm"}},
      {"row_norm = 1.0",
       "row_norm = \"1\"",
       {"s.toml:3:", "row_norm is '1'", "\"auto\" or a number"}},
      {"row_norm = 1.0", "row_norm = true", {"s.toml:3:", "row_norm", "a number", "true or"}},
      {"intercept = true", "intercept = \"yes\"", {"s.toml:4:", "'yes'", "\"auto\" or true"}},
      {"missing = \"?\"", "missing = 7", {"s.toml:5:", "missing", "string"}},
      {"missing = \"?\"", "missing = \"", {"s.toml:5:", "TOML"}},
      {"[17, 90]", "[90, 17]", {"s.toml:9:", "'age'", "range", "lower first"}},
      {"[17, 90]", "[17, 17]", {"s.toml:9:", "'age'", "range"}},
      {"[17, 90]", "[17, inf]", {"s.toml:9:", "'age'", "finite"}},
      {"[17, 90]", "[nan, 90]", {"s.toml:9:", "'age'", "finite"}},
      {"[17, 90]", "[-1e308, 1e308]", {"s.toml:9:", "'age'", "range"}},
      {"[17, 90]",
       "[0, 9e-101]",
       {"s.toml:9:", "'age'", "range [0, 9e-101]", "narrower than 1e-100"}},
      {"[17, 90]", "[-1e-307, 0]", {"s.toml:9:", "'age'", "range", "narrower than 1e-100"}},
      {"positive = \">50K\"", "range = [0, 1e-101]", {"s.toml:2:", "label: range", "narrower"}},
      {"positive = \">50K\"",
       "range = [-2e100, 1]",
       {"s.toml:2:", "range", "of the label", "1e+100"}},
      {"[17, 90]", "[17]", {"s.toml:9:", "'age'", "two numbers"}},
      {"[17, 90]", "[\"a\", \"b\"]", {"s.toml:9:", "'age'", "a number"}},
      {"[17, 90]", "17", {"s.toml:9:", "'age'", "two numbers"}},
      {", range = [17, 90]", "", {"s.toml:9:", "'age'", "without a range"}},
      {", range = [17, 90]", ", range = [17, 90], levels = [\"a\"]", {"s.toml:9:", "'levels'"}},
      {", range = [17, 90]", ", range = [17, 90], count = 0", {"s.toml:9:", "count"}},
      {", range = [17, 90]", ", range = [17, 90], count = 2.0", {"s.toml:9:", "count"}},
      {"type = \"number\", range = [17, 90]", "range = [17, 90]", {"s.toml:9:", "no type"}},
      {"type = \"number\"", "type = \"real\"", {"s.toml:9:", "'real'", "\"category\""}},
      {"type = \"number\"", "type = 1", {"s.toml:9:", "type", "string"}},
      {"{type = \"number\", range = [17, 90]}", "\"number\"", {"s.toml:9:", "'age'", "table"}},
      {"age       =", "sex.age =", {"s.toml:"}},
      {"age       =", "fnlwgt =", {"s.toml:10:", "TOML"}},
      {"[\"Private\", \"State-gov\"]", "[\"a\", \"b\", \"a\"]", {"s.toml:8:", "'a'", "twice"}},
      {"[\"Private\", \"State-gov\"]", "[]", {"s.toml:8:", "levels is empty"}},
      {"[\"Private\", \"State-gov\"]", "[1, 2]", {"s.toml:8:", "levels", "string"}},
      {"[\"Private\", \"State-gov\"]", "\"Private\"", {"s.toml:8:", "levels", "list"}},
      {"[\"Private\", \"State-gov\"]",
       "[\"(other)\"]",
       {"s.toml:8:", "two levels would both be called"}},
      {", levels = [\"Private\", \"State-gov\"]", "", {"s.toml:8:", "without levels"}},
      {"other = true", "other = \"yes\"", {"s.toml:8:", "other", "true or false"}},
      {"other = true", "others = true", {"s.toml:8:", "'others'"}},
  };
  for (const Fault& fault : faults) {
    SCOPED_TRACE(std::string(fault.from) + " -> " + fault.to);
    std::string text = example;
    const std::size_t at = text.find(fault.from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, std::strlen(fault.from), fault.to);
    expect_bad_input([&] { parse_schema(text, "s.toml"); }, fault.error);
  }
}

// The narrowest that is taken, with a label of the widest: coefficients in their units are finite.
TEST(Schema, NarrowRangesLeaveCoefficientsFinite) {
  const Schema s = parse_schema(
      "label='y'\nrange=[-1e100, 1e100]\ntolerance=1e100\n[columns]\n"
      "x={type='number',range=[0,1e-100]}\nz={type='number',range=[1e300,1.0000000000000002e300]}",
      "s");
  const LinearModel model{"huber", s, {{1e100, 1e100, 1e100}}};
  const OriginalUnits units = original_units(model, model.draws[0]);
  EXPECT_TRUE(std::isfinite(units.intercept));
  for (const auto& [name, slope] : units.slopes) EXPECT_TRUE(std::isfinite(slope)) << name;
}

TEST(Schema, SaysAllThatIsWrongAtOnce) {
  const auto lines = [](const std::string& text) {
    try {
      parse_schema(text, "s");
    } catch (const BadInputs& errors) {
      EXPECT_EQ(std::string(errors.what()).find('\n'), std::string::npos);
      std::vector<std::string> out;
      for (const Message& line : errors.lines) out.push_back(line.text());
      return out;
    }
    return std::vector<std::string>{};
  };
  using ::testing::HasSubstr;
  using ::testing::StartsWith;
  // In the order of the file: a wrong type, an unknown key, two columns, and what is missing.
  EXPECT_THAT(lines("row_norm='1'\nlable='y'\n[columns]\nz={type='number'}\na={type='real'}\n"
                    "good={type='ignore'}\n"),
              ElementsAre(StartsWith("s:1: row_norm"), StartsWith("s:2: unknown key 'lable'"),
                          StartsWith("s:4: column 'z'"), StartsWith("s:5: column 'a'"),
                          HasSubstr("`label` is missing"), HasSubstr("`positive` is missing")));
  // What can be read but must not be comes with what cannot.
  EXPECT_THAT(
      lines("label=''\npositive=1\nrow_norm=0\n[columns]\na={type='number'}\n"
            "b={type='number',range=[2,1]}\nc={type='category',levels=['p','p','q','q']}\n"),
      ElementsAre(StartsWith("s:1: label is empty"), StartsWith("s:2: positive must"),
                  StartsWith("s:3: row_norm must"), StartsWith("s:5: column 'a' is a number"),
                  StartsWith("s:6: column 'b': range [2, 1]"),
                  StartsWith("s:7: column 'c': level 'p'"),
                  StartsWith("s:7: column 'c': level 'q'")));
  // What can be read but must not be.
  EXPECT_THAT(
      lines("label='y'\npositive='1'\nrow_norm=0\n[columns]\na={type='number',range=[2,1]}\n"
            "y={type='number',range=[0,1]}\nb={type='category',levels=['p','p','q','q']}\n"),
      ElementsAre(StartsWith("s:3: row_norm"), StartsWith("s:5: column 'a': range"),
                  StartsWith("s:6: column 'y': is the label"), StartsWith("s:7: "),
                  StartsWith("s:7: ")));
  EXPECT_THAT(lines("label=''\npositive='1'\n[columns]\na={type='ignore'}"),
              ElementsAre(StartsWith("s:1: label is empty"), StartsWith("s:3: no column is used")));
}

TEST(Schema, RefusesTablesThatUseNoColumn) {
  const std::string head = "label='y'\npositive='1'\nintercept=true\n";
  expect_bad_input([&] { parse_schema(head, "s"); }, {"s: `columns` is missing"});
  expect_bad_input([&] { parse_schema(head + "[columns]", "s"); }, {"s:4:", "no column is used"});
  expect_bad_input([&] { parse_schema(head + "[columns]\na={type='ignore'}", "s"); },
                   {"s:4:", "no column is used"});
  expect_bad_input([&] { parse_schema(head + "columns=3", "s"); }, {"s:4:", "columns", "table"});
}

TEST(Schema, ValidateNamesItsSource) {
  Schema s = parse_schema(example, "s");
  s.row_norm = 0;
  expect_bad_input([&] { s.validate("model.json"); }, {"model.json: row_norm"});
  s = parse_schema(example, "s");
  s.columns.push_back(s.columns[0]);
  expect_bad_input([&] { s.validate("model.json"); }, {"model.json: column 'workclass'", "twice"});
}

// What toml++ takes for impossible, by an assertion or as unreachable, found by
// tests/fuzz/schema.cpp.
TEST(Schema, WhatTomlAssumes) {
  for (const std::string text :
       {"[~columns]", "[!]", "[[~]]", "\u00f6 = 1", "[\u00f6]", "x = 1 \u00f6", "x = [1\u03e2]",
        "x.~ = 1", "x = {~b = 1}", "\ufb06 = 1", "\u2e5e = 1"}) {
    try {
      parse_schema("label = \"y\"\n" + text + "\n", "s.toml");
      FAIL() << text;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), StartsWith("s.toml:2: not valid TOML: ")) << text;
    }
  }
}

TEST(Schema, DamagedTextNeverCrashes) {
  const std::string alphabet = "[]{}=.,\"'#\n\\ 0129aeinxtrue_+-\xff";
  std::mt19937_64 random(11);
  int read = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text = example;
    for (int i = 0; i <= trial % 4; ++i) {
      const std::size_t at = random() % text.size();
      if (trial % 3 == 0)
        text.erase(at, random() % 20);
      else
        text[at] =
            trial % 3 == 1 ? alphabet[random() % alphabet.size()] : static_cast<char>(random());
    }
    try {
      const Schema s = parse_schema(text, "s");
      EXPECT_EQ(parse_schema(to_toml(s), "s").feature_names(), s.feature_names());
      ++read;
    } catch (const BadInput& error) {
      EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
    }
  }
  EXPECT_GT(read, 50);
}

using SchemaFile = test::DataTest;

TEST_F(SchemaFile, ReadsAFileAndNamesItInErrors) {
  EXPECT_EQ(read_schema(write("s.toml", "\xef\xbb\xbf" + example)).features(), 8U);
  expect_bad_input([&] { (void)read_schema(path("none.toml")); },
                   {path("none.toml"), "there is no such file"});
  expect_bad_input([&] { (void)read_schema(write("t.toml", "label = [")); }, {"t.toml:1:"});
  expect_bad_input([&] { (void)read_schema(path(".")); }, {"directory"});
}

TEST_F(SchemaFile, TemplateComesFromTheHeaderAlone) {
  const std::string header = "age,\"work \"\"class\"\"\",\"two\nlines\", capital.gain ,,income\r\n";
  const auto given = [&](const std::string& name, const std::string& text) {
    return schema_template(write(name, text), Header::given);  // a name is empty
  };
  const std::string a = given("a.csv", header + "1,2,3,4,5,6\n7,8,9,10,11,12\n");
  EXPECT_EQ(a, given("b.csv", header + "not \"even\" CSV\n\xff\xfe\""));
  EXPECT_EQ(a, given("c.csv", header));
  EXPECT_NE(a, schema_template(write("d.csv", "other,income\n1,2\n")));
  EXPECT_EQ(a.find("12"), std::string::npos);
  EXPECT_THAT(a, ::testing::HasSubstr("Only the header line"));
}

TEST_F(SchemaFile, TemplateMustBeFilledInAndThenReads) {
  std::string text = schema_template(
      write("a.csv", "age,\"work \"\"class\"\"\",\"two\nlines\",capital.gain,,income\n"),
      Header::given);
  const auto replace = [&text](const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from << " in\n" << text;
    text.replace(at, from.size(), to);
  };
  const auto parse = [&] { return parse_schema(text, "t.toml"); };
  expect_bad_input(parse, {"t.toml:", "label is empty", "and 7 more errors"});
  try {
    (void)parse();
  } catch (const BadInputs& errors) {
    EXPECT_THAT(errors.lines[2],
                ::testing::HasSubstr(
                    "column 'age' is not filled in yet; write its kind, such as {type = "));
    EXPECT_THAT(errors.lines[2], ::testing::HasSubstr("if it is the column to predict, delete"));
  }
  EXPECT_EQ(std::count(text.begin() + static_cast<std::ptrdiff_t>(text.rfind("\n[columns]\n") + 1),
                       text.end(), '\n'),
            7)
      << "one line a column";
  for (const char* key : {"age", R"("work \"class\"")", R"("two\u000Alines")", R"("capital.gain")"})
    replace(std::string(key) + " = {type = \"\"}",
            std::string(key) + " = {type = \"number\", range = [0, 1]}");
  replace("\"\" = {type = \"\"}", "\"\" = {type = \"ignore\"}");
  replace("income = {type = \"\"}\n", "");
  expect_bad_input(parse, {"t.toml:", "label is empty"});
  replace("label = \"\"", "label = \"income\"");
  expect_bad_input(parse, {"t.toml:", "positive is empty"});
  replace("positive = \"\"", "positive = \">50K\"");
  const Schema s = parse();
  EXPECT_EQ(s.row_norm, 2.0);
  EXPECT_THAT(s.feature_names(),
              ElementsAre("age", "work \"class\"", "two\nlines", "capital.gain", "(intercept)"));
}

// A first row taken for names would end in model.json.
TEST_F(SchemaFile, TemplateRefusesAPersonForAHeader) {
  for (const char* row : {"39,State-gov,13,<=50K\n", "State-gov,+7.5e3\n", "a,nan,b\n",
                          "\"Smith, J\",-1\n", "a,,b\n"}) {
    SCOPED_TRACE(row);
    const std::string file = write("h.csv", std::string(row) + "50,Private,9,>50K\n");
    expect_bad_input([&] { (void)schema_template(file); },
                     {"h.csv:1: cell ", "looks like a row", "`header` yes"});
    try {
      (void)schema_template(file);
    } catch (const BadInput& error) {  // nor is it told
      for (const char* cell : {"39", "State-gov", "7.5", "Smith"})
        EXPECT_EQ(std::string_view(error.what()).find(cell), std::string_view::npos);
    }
    EXPECT_THAT(schema_template(file, Header::given), ::testing::HasSubstr("[columns]"));
  }
  EXPECT_NO_THROW(schema_template(write("n.csv", "x1,2nd,age in years\n1,2,3\n")));
}

// Words above words: nothing but a person can say which they are.
TEST_F(SchemaFile, TemplateAsksWhereTheSecondLineLooksLikeTheFirst) {
  const std::string file = write("w.csv", "Smith,nurse,north\nJones,clerk,south\n");
  expect_bad_input([&] { (void)schema_template(file); },
                   {"w.csv:1: the second line looks like the first", "`header` yes"});
  try {
    (void)schema_template(file);
  } catch (const BadInput& error) {
    for (const char* cell : {"Smith", "nurse", "Jones", "clerk"})
      EXPECT_EQ(std::string_view(error.what()).find(cell), std::string_view::npos);
  }
  EXPECT_THAT(schema_template(file, Header::given), ::testing::HasSubstr("Smith = "));
  for (const char* other : {"name,job\nSmith,3\n", "name,job\nSmith,\n", "name,job\n",
                            "name,job\nSmith\n", "name,job\nSmith,\"nurse\n"})
    EXPECT_NO_THROW((void)schema_template(write("o.csv", other))) << other;
  EXPECT_THAT(first_line_names(file), ElementsAre("Smith", "nurse", "north"));
}

TEST_F(SchemaFile, TemplateRefusesBadHeaders) {
  expect_bad_input([&] { (void)schema_template(path("none.csv")); },
                   {"none.csv", "there is no such file"});
  expect_bad_input([&] { (void)schema_template(write("e.csv", "")); }, {"e.csv", "empty"});
  expect_bad_input([&] { (void)schema_template(write("b.csv", "\n \n")); }, {"no header"});
  expect_bad_input([&] { (void)schema_template(write("d.csv", "a,b,a\n")); },
                   {"d.csv:1:", "twice"});
  expect_bad_input([&] { (void)schema_template(write("q.csv", "a,\"b\n")); }, {"quote"});
  expect_bad_input([&] { (void)schema_template(write("l.csv", "a,caf\xe9\n")); }, {"UTF-8"});
}

}  // namespace schema_test
}  // namespace gibbsite
