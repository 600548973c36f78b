// What a schema says of networks: bins, decimals, [network], the label as a column.
#include <fmt/format.h>

#include <array>

#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/model/network_model.hpp"
#include "support.hpp"

namespace gibbsite {
namespace network_schema_test {

using test::expect_bad_input;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string columns_of_network = R"(label = "income"
positive = ">50K"
negative = "<=50K"
[columns]
age   = {type = "number", range = [17, 90], bins = [30, 45], decimals = 0}
hours = {type = "number", range = [0, 100], bins = 4}
sex   = {type = "category", levels = ["Female", "Male"]}
id    = {type = "ignore"}
)";
const std::string network_example =
    columns_of_network + "[network]\nincome = [\"sex\", \"age\"]\nhours = [\"income\"]\n";

std::string with(const std::string& from, const std::string& to) {
  std::string text = network_example;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(NetworkSchema, ReadsBinsDecimalsAndParents) {
  const Schema s = parse_schema(network_example, "s.toml");
  EXPECT_THAT(s.columns[0].edges, ElementsAre(30, 45));
  EXPECT_EQ(s.columns[0].decimals, 0);
  EXPECT_THAT(s.columns[1].edges, ElementsAre(25, 50, 75));
  EXPECT_FALSE(s.columns[1].decimals);
  ASSERT_TRUE(s.network);
  EXPECT_THAT(s.network->at("income"), ElementsAre("sex", "age"));
  EXPECT_EQ(parse_schema(to_toml(s), "t.toml"), s) << to_toml(s);
  EXPECT_FALSE(parse_schema(columns_of_network, "s.toml").network);
  // With the ends of the range, one of them, or none.
  for (const char* bins : {"[17, 30, 45, 90]", "[17, 30, 45]", "[30, 45, 90]", "[30.0, 45]"})
    EXPECT_EQ(parse_schema(with("[30, 45]", bins), "s.toml"), s) << bins;
  // A network without an edge is one.
  const Schema none = parse_schema(columns_of_network + "[network]\n", "s.toml");
  ASSERT_TRUE(none.network);
  EXPECT_TRUE(none.network->empty());
  EXPECT_EQ(parse_schema(to_toml(none), "t.toml"), none);
}

// A level for missing numbers: where the column has its own mark, or where the schema says so.
TEST(NetworkSchema, MissingNumbersHaveALevelWhereOneIsSaid) {
  const auto bins_of = [](const std::string& head, const std::string& more) {
    std::string text = head + with("bins = 4", "bins = 4" + more);
    const std::string sex = "\"Male\"]";
    text.replace(text.find(sex), sex.size(), sex + ", other = true");
    const Schema read = parse_schema(text, "s.toml");
    EXPECT_EQ(parse_schema(to_toml(read), "t.toml"), read) << to_toml(read);
    for (const Column& column : read.columns) EXPECT_FALSE(column.has_missing_bin);  // of rows none
    const Schema network = network_schema(read);
    EXPECT_EQ(network_schema(network), network);
    EXPECT_EQ(network.columns[1].has_missing_bin ? 5U : 4U, network_levels(network)[1]);
    EXPECT_FALSE(network.columns[0].has_missing_bin);
    // No row is scaled down, which would move it to another bin.
    EXPECT_GE(network.row_norm, network.max_unclipped_norm());
    return network.columns[1].has_missing_bin;
  };
  EXPECT_FALSE(bins_of("", ""));
  EXPECT_TRUE(bins_of("", ", missing = \"\""));
  EXPECT_FALSE(bins_of("", ", missing = \"\", missing_level = false"));
  EXPECT_FALSE(bins_of("missing = \"\"\n", ""));
  // Nobody gives edges to a table of counts: there the marks of the whole table make one, too.
  const auto table_bins = [](const std::string& whole, const std::string& more) {
    return parse_table_schema(
               whole + "[columns]\na = {type = \"number\", range = [0, 9], bins = 3" + more + "}\n",
               "t.toml", {"a"})
        .columns[0]
        .has_missing_bin;
  };
  EXPECT_TRUE(table_bins("missing = \"NA\"\n", ""));
  EXPECT_FALSE(table_bins("missing = \"NA\"\n", ", missing_level = false"));
  EXPECT_TRUE(table_bins("", ", missing = \"NA\""));
  EXPECT_FALSE(table_bins("", ""));
  EXPECT_TRUE(bins_of("missing = \"\"\n", ", missing_level = true"));
  expect_bad_input([&] { parse_schema(with("bins = 4", "bins = 4, missing_level = true"), "s"); },
                   {"nothing says how a missing cell reads"});
  expect_bad_input([&] { parse_schema(with("\"Male\"]", "\"Male\"], missing_level = true"), "s"); },
                   {"unknown key 'missing_level'"});
}

TEST(NetworkSchema, EqualBinsMeetWherePeopleCanReadIt) {
  EXPECT_THAT(equal_edges(0, 1, 3), ElementsAre(0.3333, 0.6667));
  EXPECT_THAT(equal_edges(17, 90, 4), ElementsAre(35.25, 53.5, 71.75));
  EXPECT_THAT(equal_edges(0, 1e6, 3), ElementsAre(333300, 666700));
  EXPECT_THAT(equal_edges(-1, 1, 2), ElementsAre(0));
  // Whatever the range, they ascend inside of it.
  for (const auto& [lo, hi] : {std::pair{1e9, 1e9 + 1}, {-1e300, 1e300}, {0.0, 1e-12}, {3.0, 4.0}})
    for (const std::uint64_t bins : {2ULL, 7ULL, 1000ULL}) {
      double last = lo;
      for (const double edge : equal_edges(lo, hi, bins)) {
        EXPECT_GT(edge, last) << lo << ' ' << bins;
        EXPECT_NEAR((edge - last) / (hi - lo), 1.0 / static_cast<double>(bins),
                    2e-3 / static_cast<double>(bins) + 1e-6);
        last = edge;
      }
      EXPECT_LT(last, hi);
    }
}

// What [network] says of a column that could not be read is no second error.
TEST(NetworkSchema, ABadColumnIsSaidOnce) {
  const auto errors = [](const std::string& text) -> std::vector<std::string> {
    try {
      static_cast<void>(parse_network_schema(text, "s.toml"));
    } catch (const BadInputs& error) {
      std::vector<std::string> out;
      for (const Message& line : error.lines) out.push_back(line.text());
      return out;
    }
    return {};
  };
  EXPECT_THAT(errors(with("bins = 4", "bins = 1")), ElementsAre(HasSubstr("s.toml:6:")));
  EXPECT_THAT(errors(with("bins = [30, 45]", "bins = \"x\"")), ElementsAre(HasSubstr("s.toml:5:")));
  EXPECT_THAT(errors(with("\"income\"", "3")), ElementsAre(HasSubstr("s.toml:1:")));
  // Other faults of [network] are still told.
  std::string both = with("bins = 4", "bins = 1");
  both.replace(both.find("\"sex\", \"age\""), 12, "\"sax\", \"age\"");
  EXPECT_THAT(errors(both), ElementsAre(HasSubstr("s.toml:6:"), HasSubstr("parent 'sax' is no")));
}

TEST(NetworkSchema, LimitsOfATableAreToldWithTheirLine) {
  std::string text = "[columns]\n", list;
  for (int k = 0; k < 12; ++k) {
    text +=
        fmt::format("c{} = {{type = \"number\", range = [0, 1], bins = {}}}\n", k, k < 3 ? 300 : 2);
    if (k > 0) list += fmt::format("{}\"c{}\"", k > 1 ? ", " : "", k);
  }
  const auto error = [&](const std::string& network) -> std::string {
    try {
      static_cast<void>(parse_network_schema(text + "[network]\n" + network, "s.toml"));
    } catch (const BadInput& bad) {
      return bad.what();
    }
    return "";
  };
  EXPECT_EQ(error("c3 = [\"c4\"]\n"), "");
  EXPECT_THAT(error("c3 = [\"c4\"]\nc0 = [" + list + "]\n"),
              AllOf(HasSubstr("s.toml:16: [network]: parents: 'c0' has 11; at most 10 are taken")));
  EXPECT_THAT(
      error("c3 = [\"c4\"]\nc0 = [\"c1\", \"c2\"]\n"),
      HasSubstr("s.toml:16: [network]: parents: the table of 'c0' would have 27000000 cells"));
}

TEST(NetworkSchema, RefusesEachFaultWithItsLine) {
  struct Fault {
    const char *from, *to;
    std::vector<std::string> error;
  };
  const std::vector<Fault> faults{
      {"bins = 4", "bins = 1", {"s.toml:6:", "'hours'", "bins must be from 2 to 1000, got 1"}},
      {"bins = 4", "bins = 1001", {"s.toml:6:", "bins", "got 1001"}},
      {"bins = 4", "bins = \"4\"", {"s.toml:6:", "bins", "how many, or a list"}},
      {"bins = 4", "bins = 4.0", {"s.toml:6:", "bins", "how many, or a list"}},
      {"bins = 4", "bins = [0, 100]", {"s.toml:6:", "bins must be two at least"}},
      {"bins = 4", "bins = []", {"s.toml:6:", "bins must be two at least"}},
      {"bins = 4", "bins = [\"x\"]", {"s.toml:6:", "bins", "a number"}},
      {"bins = 4", "bins = [50, 20]", {"s.toml:6:", "bins meet at 20", "ascending"}},
      {"bins = 4", "bins = [20, 20]", {"s.toml:6:", "bins meet at 20"}},
      {"bins = 4", "bins = [120]", {"s.toml:6:", "bins meet at 120"}},
      {"bins = 4", "bins = [-1, 5]", {"s.toml:6:", "bins meet at -1"}},
      {"bins = 4", "bins = [nan]", {"s.toml:6:", "bins meet at nan"}},
      {"bins = 4", "bins = [50, 50.0000001]", {"s.toml:6:", "too near to 50"}},
      {"bins = 4", "decimals = -1", {"s.toml:6:", "decimals must be from 0 to 15, got -1"}},
      {"bins = 4",
       "decimals = 1.5",
       {"s.toml:6:", "decimals", "a whole number, got the number 1.5"}},
      {"[\"Female\", \"Male\"]", "[\"Female\", \"Male\"], bins = 3", {"s.toml:7:", "'bins'"}},
      {"\"ignore\"", "\"ignore\", decimals = 3", {"s.toml:8:", "'decimals'"}},
      {"negative = \"<=50K\"", "bins = 3", {"s.toml:3:", "bins have a meaning beside"}},
      {"\"Male\"]", "\"Male\"], unlisted = \"None\"", {"s.toml:7:", "unlisted 'None'"}},
      {"hours = [\"income\"]", "hours = \"income\"", {"s.toml:11:", "'hours'", "a list"}},
      {"hours = [\"income\"]", "hours = [3]", {"s.toml:11:", "'hours'", "string"}},
      {"[\"sex\", \"age\"]", "[\"sex\", \"sax\"]", {"s.toml:10:", "parent 'sax' is no column"}},
      {"[\"sex\", \"age\"]", "[\"sex\", \"id\"]", {"s.toml:10:", "parent 'id' is ignored"}},
      {"[\"sex\", \"age\"]", "[\"sex\", \"sex\"]", {"s.toml:10:", "the parent 'sex' twice"}},
      {"[\"sex\", \"age\"]", "[\"income\"]", {"s.toml:10:", "'income': is its own parent"}},
      {"hours = [", "minutes = [", {"s.toml:11:", "'minutes' is no column"}},
      {"hours = [", "id = [", {"s.toml:11:", "'id' is ignored"}},
      {"[\"sex\", \"age\"]", "[\"hours\"]", {"[network]: hours <- income <- hours is a cycle"}},
  };
  for (const Fault& fault : faults) {
    SCOPED_TRACE(std::string(fault.from) + " -> " + fault.to);
    expect_bad_input([&] { parse_schema(with(fault.from, fault.to), "s.toml"); }, fault.error);
  }
  expect_bad_input([] { parse_schema("network = 3\n" + columns_of_network, "s.toml"); },
                   {"s.toml:1:", "network", "a table [network]"});
}

TEST(NetworkSchema, EventsTakeEachSpellingOfABoolean) {
  const auto never = [](const std::string& level) {
    return structural_zeros(
        parse_network_schema("never = [[\"v = " + level +
                                 "\", \"w = a\"]]\n[columns]\nv = {type = \"boolean\"}\n"
                                 "w = {type = \"category\", levels = [\"a\", \"b\"]}\n",
                             "s.toml"));
  };
  for (const char* const yes : {"yes", "Y", "1", "TRUE"})
    EXPECT_EQ(never(yes), never("true")) << yes;
  EXPECT_EQ(never("no"), never("false"));
  expect_bad_input([&] { static_cast<void>(never("maybe")); }, {"has no level 'maybe'"});
}

// The label, unless another column is named or parents are given.
TEST(NetworkSchema, ReadsTheTarget) {
  const auto read = [](const std::string& toml) { return parse_network_schema(toml, "s.toml"); };
  const Schema of_label = read(columns_of_network);
  EXPECT_EQ(target_column(of_label), 3U);
  EXPECT_EQ(read(network_example).target, "");
  EXPECT_EQ(target_column(read(network_example)), std::nullopt);
  const Schema of_sex = read("target = \"sex\"\n" + columns_of_network);
  EXPECT_EQ(target_column(of_sex), 2U);
  EXPECT_EQ(parse_network_schema(to_toml(of_sex), "t.toml").target, "sex") << to_toml(of_sex);
  EXPECT_EQ(target_column(read("target = \"income\"\n" + network_example)), 3U);
  EXPECT_EQ(table_schema(of_sex, {"sex", "age"}).target, "");
  for (const char* const name : {"id", "sexx", ">50K"}) {
    expect_bad_input([&] { read("target = \"" + std::string(name) + "\"\n" + columns_of_network); },
                     {"s.toml:1: target: '" + std::string(name) + "' is no column of the network"});
  }
  expect_bad_input([&] { read("target = 3\n" + columns_of_network); }, {"s.toml:1:", "target"});
  expect_bad_input([&] { read("target = \"\"\n" + columns_of_network); },
                   {"s.toml:1: target is empty; name the column"});
}

// A schema that is read for one column ignores [network], even if it has a cycle.
TEST(NetworkSchema, ReadsWhatIsNever) {
  const auto never = [](const std::string& rules) {
    return parse_network_schema("never = " + rules + "\n" + columns_of_network, "s.toml");
  };
  const Schema s = never(R"([["age < 30", "income = >50K"], ["sex = Male", "hours >= 75"]])");
  EXPECT_EQ(parse_network_schema(to_toml(s), "t.toml").never, s.never) << to_toml(s);
  const std::vector<StructuralZero> zeros = structural_zeros(s);
  ASSERT_EQ(zeros.size(), 2U);
  EXPECT_EQ(zeros[0], (StructuralZero{{0, 3}, {{0}, {1}}}));
  EXPECT_EQ(zeros[1], (StructuralZero{{1, 2}, {{3}, {1}}}));
  EXPECT_EQ(structural_zeros(never(R"([["income in {>50K, <=50K}", "age >= 30", "age < 45"]])"))[0],
            (StructuralZero{{0, 3}, {{1}, {0, 1}}}));
  EXPECT_TRUE(structural_zeros(never("[]")).empty());
  EXPECT_TRUE(table_schema(s, {"sex", "age"}).never.empty());
  const auto refuses = [&](const std::string& rules, const char* why) {
    expect_bad_input([&] { never(rules); }, {why});
  };
  refuses(R"([["age < 16", "sex = Male"]])", "s.toml:1: never[0]: no level of 'age' is meant");
  refuses(
      R"([["age < 31", "sex = Male"]])",
      "s.toml:1: never[0]: 'age' < 31 cuts a bin; its bins hold their lower end and meet at 17, "
      "30, 45, 90: write < or >= and one of them");
  refuses(R"([["sex = Male"], ["sex = Mole"]])",
          "s.toml:1: never[1]: 'sex' has no level 'Mole'; its levels are Female, Male");
  refuses(R"([["weight < 3"]])", "never[0]: the network has no column 'weight'");
  refuses(R"([["id = 3"]])", "never[0]: the network has no column 'id'");
  refuses(R"([["sex = Male, age < 30"]])", "never[0]: 'sex' has no level 'Male, age < 30'");
  refuses(R"([["sex in {Male} or so"]])", "goes on after its event");
  refuses(R"([["age < 30", "age >= 45"]])", "never[0]: no level of 'age' is meant");
  refuses("[[]]", "never[0]: has no event");
  refuses("[\"age < 30\"]", "s.toml:1: never must be a list of lists");
  refuses("3", "s.toml:1: never must be a list of lists");
}

TEST(NetworkSchema, IsNoBusinessOfOneColumn) {
  const std::string cyclic = with("[\"sex\", \"age\"]", "[\"hours\"]");
  EXPECT_FALSE(parse_column_schema(cyclic, "s.toml", "sex").network);
  EXPECT_FALSE(parse_column_schema(cyclic, "s.toml", "income").network);
}

TEST(NetworkSchema, TheLabelIsAColumn) {
  const Schema s = parse_network_schema(network_example, "s.toml");
  ASSERT_EQ(s.columns.size(), 4U);
  EXPECT_EQ(s.columns[3].name, "income");
  EXPECT_THAT(s.columns[3].levels, ElementsAre("<=50K", ">50K"));
  EXPECT_THAT(network_levels(s), ElementsAre(3, 4, 2, 2));
  EXPECT_THAT(network_parents(s),
              ElementsAre(ElementsAre(), ElementsAre(3), ElementsAre(), ElementsAre(0, 2)));
  EXPECT_GE(s.row_norm, s.max_unclipped_norm());
  EXPECT_FALSE(s.intercept);
  // Without `negative` every other label is one level.
  const Schema other = parse_network_schema(with("negative = \"<=50K\"\n", ""), "s.toml");
  EXPECT_THAT(other.columns[3].levels, ElementsAre(">50K"));
  EXPECT_TRUE(other.columns[3].other);
  EXPECT_THAT(network_levels(other), ElementsAre(3, 4, 2, 2));
}

TEST(NetworkSchema, NeedsNoLabel) {
  const std::string lines =
      "[columns]\na = {type = \"number\", range = [0, 8]}\nb = {type = "
      "\"exposure\", range = [1, 5]}\n[network]\na = [\"b\"]\n";
  for (const char* label : {"", "label = \"\"\npositive = \"\"\n"}) {
    const Schema s = parse_network_schema(label + lines, "s.toml");
    EXPECT_THAT(network_levels(s), ElementsAre(default_bins, default_bins));
    EXPECT_THAT(network_parents(s), ElementsAre(ElementsAre(1), ElementsAre()));
  }
  expect_bad_input([&] { parse_schema(lines, "s.toml"); }, {"`label` is missing"});
  expect_bad_input([&] { parse_network_schema("[columns]\na = {type = \"\"}\n", "s.toml"); },
                   {"s.toml:2:", "'a' is not filled in"});
}

TEST(NetworkSchema, LabelsOfEveryKindAreColumns) {
  const std::string rest = "[columns]\nx = {type = \"number\", range = [0, 1]}\n";
  const auto label_of = [&](const std::string& label) {
    return parse_network_schema("label = \"y\"\n" + label + rest, "s.toml").columns.back();
  };
  const Column amount = label_of("range = [0, 500]\nbins = [100, 200]\ndecimals = 2\n");
  EXPECT_THAT(amount.edges, ElementsAre(100, 200));
  EXPECT_EQ(amount.decimals, 2);
  const Column few = label_of("range = [0, 3]\ncounts = true\n");
  EXPECT_THAT(few.edges, ElementsAre(0.5, 1.5, 2.5));
  EXPECT_EQ(few.decimals, 0);
  // Whole numbers are not cut between two of them.
  EXPECT_THAT(label_of("range = [-1, 2]\ndecimals = 0\n").edges, ElementsAre(-0.5, 0.5, 1.5));
  EXPECT_THAT(label_of("range = [17, 90]\ndecimals = 0\n").edges,
              ElementsAre(24, 32, 39, 46, 54, 61, 68, 75, 83));
  // Where 0 is the low end it is a bin of its own, as far as such numbers are told apart.
  EXPECT_THAT(label_of("range = [0, 500]\ncounts = true\n").edges,
              ElementsAre(0.5, 50, 100, 150, 200, 250, 300, 350, 400, 450));
  EXPECT_EQ(label_of("range = [0, 500]\ndecimals = 2\n").edges.front(), 0.005);
  EXPECT_EQ(label_of("range = [0, 500]\n").edges.front(), 50);
  EXPECT_EQ(label_of("range = [1, 501]\ndecimals = 2\n").edges.size(), 9U);
  EXPECT_EQ(label_of("range = [0, 1e12]\ndecimals = 4\n").edges.front(), 1e11);
  EXPECT_EQ(label_of("range = [0, 500]\ncounts = true\nbins = 5\n").edges.size(), 4U);
  const Column classes = label_of("classes = [\"a\", \"b\", \"c\"]\n");
  EXPECT_THAT(classes.levels, ElementsAre("a", "b", "c"));
  EXPECT_EQ(classes.unlisted, "a");
  const Schema s = parse_schema(
      "label = \"y\"\nrange = [0, 500]\nbins = [100]\ndecimals = 1\n" + rest, "s.toml");
  EXPECT_EQ(parse_schema(to_toml(s), "t.toml"), s) << to_toml(s);
}

TEST(NetworkSchema, EveryCellHasALevel) {
  const std::string table = "[columns]\nc = {type = \"category\", levels = [\"a\"]";
  expect_bad_input([&] { parse_network_schema("missing = \"?\"\n" + table + "}\n", "s.toml"); },
                   {"column 'c' has no level for cells that are missing", "other = true"});
  expect_bad_input(
      [&] { parse_network_schema("invalid = \"middle\"\n" + table + "}\n", "s.toml"); },
      {"column 'c' has no level for cells that cannot be read"});
  for (const char* more : {", other = true}\n", ", missing = \"NA\"}\n"})
    EXPECT_THAT(network_levels(parse_network_schema("missing = \"?\"\n" + table + more, "s.toml")),
                ElementsAre(2));
}

using NetworkRows = test::DataTest;

// Cells of each kind end where the schema says, also labels that no level has.
TEST_F(NetworkRows, AreReadByTheLabelsRules) {
  const Schema s = parse_network_schema(
      "missing = \"?\"\n" + with("[\"Female\", \"Male\"]", "[\"Female\", \"Male\", \"?\"]"),
      "s.toml");
  const std::string table =
      write("t.csv",
            "age,hours,sex,id,income\n17,0,Female,1,<=50K\n30,100,Male,2,>50K\n"
            "95,25,?,3,maybe\n?,24.9,Male,4,?\n");
  const Dataset data =
      read_csv(table, s, {.labels = ReadOptions::Labels::optional, .ignore_extra_columns = true});
  EXPECT_FALSE(data.labeled());
  EXPECT_EQ(data.counts.clipped_rows, 0U);
  ASSERT_EQ(data.features(), 1U + 1 + 3 + 2);
  const std::array<std::array<float, 5>, 4> last{
      {{1, 0, 0, 1, 0}, {0, 1, 0, 0, 1}, {0, 0, 1, 1, 0}, {0, 1, 0, 1, 0}}};
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 5; ++j) EXPECT_EQ(data.view()(i, 2 + j), last[i][j]) << i << j;
}

}  // namespace network_schema_test
}  // namespace gibbsite
