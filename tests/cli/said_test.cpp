// What refusals and screens say, in the words of who reads them.
#include <string>

#include "cli/cli.hpp"
#include "support/repeats.hpp"

namespace gibbsite::testing {
namespace said_test {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

class Said : public Cli {
 protected:
  void SetUp() override {
    std::string table = "hired,age,job,y\n";
    for (int i = 0; i < 300; ++i) {
      table += "20" + std::to_string(10 + i % 10) + "-05-01," + std::to_string(20 + i % 50) +
               (i % 3 == 0 ? ",a," : ",b,") + std::to_string(i % 2) + "\n";
    }
    folder.write("table.csv", table);
    folder.write("table.toml", schema());
  }
  static std::string schema(const std::string& more = "") {
    return "label = \"y\"\npositive = \"1\"\nnegative = \"0\"\n" + more +
           "[columns]\nhired = {type = \"date\", range = [\"2000-01-01\", \"2030-01-01\"]}\n"
           "hired_year = {type = \"year\", of = \"hired\"}\n"
           "age = {type = \"number\", range = [15, 90]}\n"
           "job = {type = \"category\", levels = [\"a\", \"b\"]}\n";
  }
  [[nodiscard]] Outcome fitted(const Arguments& more) const {
    return gibbsite(fit(joined({"--out", "out.json", "--force", "--quiet"}, more)));
  }
  [[nodiscard]] Outcome moments_of(const std::string& columns) const {
    return fitted({"--model", "covariance", "--columns", columns});
  }
  [[nodiscard]] Outcome planned(const Arguments& more) const {
    return gibbsite(joined({"plan", "--features", "5", "--rows", "5000", "--row-norm", "1"}, more));
  }
  /// The longest line, in columns.
  static std::size_t widest(const std::string& text) {
    std::istringstream lines(text);
    std::size_t out = 0;
    for (std::string line; std::getline(lines, line);) {
      const auto columns = std::ranges::count_if(
          line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
      out = std::max(out, static_cast<std::size_t>(columns));
    }
    return out;
  }
};

TEST_F(Said, IntervalsAreOfOneModel) {
  const Outcome both = fitted({"--draws", "3", "--intervals"});
  EXPECT_THAT(both.err, HasSubstr("leave out --draws, or leave out --intervals and use"));
}

TEST_F(Said, AMissingNumberCountsAsTheMiddle) {
  std::string table = folder.read("table.csv");
  table.replace(table.find(",20,"), 4, ",,");
  folder.write("table.csv", table);
  folder.write("table.toml", schema("missing = \"\"\n"));
  const Outcome checked = fitted({"--check"});
  EXPECT_EQ(checked.status, 0) << checked.err;
  EXPECT_THAT(checked.err, HasSubstr("missing, counted as 52.5, the middle of the range"));
}

TEST_F(Said, AHeaderThatIsNoUtf8) {
  std::string table = folder.read("table.csv");
  table.replace(0, 5, "r\xe9gion");
  folder.write("table.csv", table);
  const Outcome refused = fitted({});
  EXPECT_THAT(refused.err, HasSubstr("save the file as UTF-8"));
  EXPECT_THAT(refused.err, Not(HasSubstr("[columns]")));
}

TEST_F(Said, PlansOfPeopleCountPeople) {
  std::string toml = schema();
  const std::string job = "job = {type = \"category\", levels = [\"a\", \"b\"]}";
  toml.replace(toml.find(job), job.size(), "job = {type = \"person\"}");
  folder.write("table.toml", toml);
  const Outcome of_people =
      gibbsite({"plan", "--data", "table.csv", "--schema", "table.toml", "--epsilon", "1",
                "--delta", "1e-6", "--rows-per-person", "4"});
  EXPECT_THAT(of_people.out, HasSubstr("people for 90 %")) << of_people.err;
  EXPECT_THAT(of_people.out, HasSubstr("any number of rows per person,\ncounted as at most 4"));
  EXPECT_THAT(of_people.out, Not(HasSubstr("rows for 90 %")));
  const Outcome of_rows = planned({"--epsilon", "1", "--delta", "1e-6"});
  EXPECT_THAT(of_rows.out, HasSubstr("rows for 90 %"));
  EXPECT_THAT(of_rows.out, HasSubstr("1 row per person"));
}

// A schema says all that is public of a table but how many rows there are.
TEST_F(Said, APlanNeedsASchemaAndANumberOfRows) {
  const Arguments budget{"--schema", "table.toml", "--epsilon", "1", "--delta", "1e-6", "--json"};
  const Outcome by_number = gibbsite(joined({"plan", "--rows", "300"}, budget));
  ASSERT_EQ(by_number.status, 0) << by_number.err;
  const Outcome by_table = gibbsite(joined({"plan", "--data", "table.csv"}, budget));
  ASSERT_EQ(by_table.status, 0) << by_table.err;
  auto a = nlohmann::json::parse(by_number.out), b = nlohmann::json::parse(by_table.out);
  EXPECT_EQ(a["constants"], b["constants"]);
  EXPECT_EQ(a["chosen"], b["chosen"]);
  EXPECT_NE(gibbsite(joined({"plan", "--rows", "300", "--features", "3"}, budget)).status, 0);
}

TEST_F(Said, PlansOfNetworksSayWhatWasAskedFor) {
  folder.write("table.toml", schema() + "[network]\nage = [\"job\"]\n");
  const Outcome network = gibbsite({"plan", "--model", "network", "--schema", "table.toml",
                                    "--rows", "5000", "--epsilon", "0.5,1", "--delta", "1e-6"});
  EXPECT_THAT(network.out, Not(HasSubstr("was not asked for")));
}

TEST_F(Said, ALedgerHasNoReport) {
  ASSERT_EQ(gibbsite({"ledger", "create", "l.ledger", "--epsilon", "1", "--delta", "1e-6"}).status,
            0);
  expect_error(gibbsite({"report", "l.ledger", "--out", "r.html"}), 2,
               "l.ledger: is a ledger, no model file");
}

TEST_F(Said, EveryScreenFitsALine) {
  const Outcome all = planned({"--epsilon", "1", "--delta", "1e-6", "--all"});
  ASSERT_EQ(all.status, 0) << all.err;
  EXPECT_LE(widest(all.out), 120U) << all.out;
  ASSERT_EQ(gibbsite({"ledger", "create", "l.ledger", "--epsilon", "1", "--delta", "1e-6"}).status,
            0);
  EXPECT_LE(widest(gibbsite({"ledger", "show", "l.ledger"}).out), 120U);
  const Outcome checked = gibbsite({"fit", "--data", "table.csv", "--label", "y", "--positive", "1",
                                    "--epsilon", "16", "--delta", "1e-6", "--check"});
  ASSERT_EQ(checked.status, 0) << checked.err;
  EXPECT_LE(widest(checked.out), 120U) << checked.out;
}

TEST_F(Said, ColumnsOfMomentsAreNamedByTheirOption) {
  expect_error(moments_of("age,nobody"), 2, "--columns: 'nobody' is not in the schema");
  for (const char* column : {"hired", "hired_year"})
    expect_error(moments_of(std::string("age,") + column), 2,
                 "is a date or a part of one, and moments are of numbers; leave it out, or write "
                 "its year into a column of the table");
  expect_error(fitted({"--model", "mean", "--column", "hired_year"}), 2,
               "or write its year into a column of the table, of type number in the schema");
  std::string many = "age";
  for (int i = 0; i < 64; ++i) many += ",c" + std::to_string(i);
  expect_error(moments_of(many), 2, "--columns: must be from 1 to 64 columns, got 65");
  folder.write("table.toml", schema("missing = \"?\"\n"));
  expect_error(moments_of("age"), 2,
               "take `missing` out of the schema if no cell is missing, or give --adjacency");
}

TEST_F(Said, ACellOfAPublicTableIsNotCalledPrivate) {
  folder.write("public.csv", "hired,age,job,y\n2011-05-01,30,a,1\n2011-05-01,old,b,1\n");
  const Outcome refused = fitted({"--model", "mean", "--column", "age", "--public", "public.csv"});
  expect_error(refused, 2, "column 'age': 'old' is not a finite number");
  EXPECT_THAT(refused.err, HasSubstr("public.csv:3 (the public table): column"));
  EXPECT_THAT(refused.err, Not(HasSubstr("private")));
  folder.write("table.csv", "hired,age,job,y\n2011-05-01,old,a,1\n2011-05-01,30,b,0\n");
  EXPECT_THAT(fitted({"--model", "mean", "--column", "age"}).err, HasSubstr("(private: this line"));
}

TEST_F(Said, WhatPublicIsFor) {
  folder.write("public.csv", "hired,age,job,y\n2011-05-01,30,a,1\n");
  for (const Arguments& model : {Arguments{}, {"--model", "covariance", "--columns", "age"}}) {
    expect_error(fitted(joined(model, {"--public", "public.csv"})), 2,
                 "--public: says ranges and levels where no --schema does, or beside one the prior "
                 "of a family, and --model is ");
  }
  expect_error(fitted({"--schema-share", "0.1"}), 2,
               "--schema-share: is for a schema that is bought or follows from --public");
}

TEST_F(Said, ARadiusThatIsNoneIsNotToBeLeftOut) {
  folder.write(
      "table.toml",
      "label = \"y\"\npositive = \"1\"\nnegative = \"0\"\n[columns]\nhired = {type = "
      "\"ignore\"}\nage = {type = \"number\", range = [15, 90]}\njob = {type = \"ignore\"}\n");
  for (const char* radius : {"0", "-1"}) {
    const Outcome refused =
        gibbsite({"select", "--ball", radius, "--schema", "table.toml", "--data", "table.csv",
                  "--epsilon", "1", "--out", "choice.json"});
    expect_error(refused, 2, "--ball: must be a radius from 1e-100 to 1e+100, got ");
    EXPECT_THAT(refused.err, Not(HasSubstr("leave")));
  }
}

TEST_F(Said, AuditSaysWhatHoldsSelect) {
  for (const char* name : {"select", "exponential"}) {
    expect_error(gibbsite({"audit", "--mechanism", name, "--epsilon", "1", "--delta", "1e-6"}), 2,
                 "tests/mechanism/select_test.cpp");
  }
}

// What it spends at 40 is what it spends at 200, with noise of the same size; a larger delta buys.
TEST_F(Said, WhatObjectivePerturbationLeavesUnspent) {
  if (support::sanitized) GTEST_SKIP() << "a release tells";
  const auto noise = [&](const char* name, const char* setting, const char* epsilon,
                         const char* delta) {
    const auto plan = nlohmann::json::parse(
        planned({"--mechanism", name, "--epsilon", epsilon, "--delta", delta, "--json"}).out);
    return candidate_of(plan, name)[setting].get<double>();
  };
  for (const auto& [name, setting, all, more] : {std::tuple{"objective", "noise_scale", "15", "40"},
                                                 {"objective-pure", "noise_rate", "30", "80"}}) {
    const std::string said = std::string(name) + " spends ";
    EXPECT_THAT(planned({"--mechanism", name, "--epsilon", all, "--delta", "1e-6"}).out,
                Not(HasSubstr("unspent")));
    const Outcome told = planned({"--mechanism", name, "--epsilon", more, "--delta", "1e-6"});
    EXPECT_THAT(told.out, HasSubstr(std::string("unspent: of ε = ") + more + ' ' + said));
    EXPECT_NEAR(noise(name, setting, "200", "1e-6") / noise(name, setting, more, "1e-6"), 1, 0.01);
    EXPECT_GT(
        std::abs(std::log(noise(name, setting, more, "1e-3") / noise(name, setting, more, "1e-6"))),
        0.05);
  }
  EXPECT_THAT(planned({"--mechanism", "path", "--epsilon", "200", "--delta", "1e-6"}).out,
              Not(HasSubstr("unspent")));
  EXPECT_THAT(
      gibbsite({"fit", "--data", "table.csv", "--schema", "table.toml", "--epsilon", "40",
                "--delta", "1e-6", "--mechanism", "objective", "--out", "out.json", "--check"})
          .out,
      HasSubstr("unspent: of ε = 40 objective spends "));
}

TEST_F(Said, PlanJsonHasTheExcessLoss) {
  const Arguments asked{"--epsilon", "1", "--delta", "1e-6", "--json"};
  const auto plan = nlohmann::json::parse(planned(asked).out);
  for (const char* name : {"output", "output-pure", "objective", "objective-pure"}) {
    const auto excess = candidate_of(plan, name)["excess_loss"];
    EXPECT_GT(excess["noise"].get<double>(), 0) << name;
    EXPECT_GT(excess["ridge"].get<double>(), 0) << name;
  }
  EXPECT_FALSE(candidate_of(plan, "path").contains("excess_loss"));
  const auto capped =
      nlohmann::json::parse(gibbsite(joined({"plan", "--features", "5", "--row-norm", "1",
                                             "--adjacency", "add-remove", "--rows-cap", "5000"},
                                            asked))
                                .out);
  EXPECT_FALSE(candidate_of(capped, "output").contains("excess_loss"));
}

TEST_F(Said, LongLinesOfCertificatesAreWrapped) {
  const Outcome moments =
      gibbsite(fit({"--out", "m.json", "--model", "covariance", "--columns", "age", "--verbose"}));
  EXPECT_EQ(moments.status, 0) << moments.err;
  EXPECT_LE(widest(moments.out), 120U) << moments.out;
  folder.write("network.csv", csv());
  folder.write("network.toml", Cli::schema());
  const Outcome network =
      gibbsite({"fit", "--data", "network.csv", "--schema", "network.toml", "--model", "network",
                "--epsilon", "1", "--delta", "1e-6", "--out", "n.json"});
  EXPECT_EQ(network.status, 0) << network.err;
  const std::string words = network.out.substr(network.out.find("(ε, δ) = "));
  EXPECT_THAT(words, HasSubstr("It rests on"));
  EXPECT_LE(widest(words), 120U) << words;
}

}  // namespace said_test
}  // namespace gibbsite::testing
