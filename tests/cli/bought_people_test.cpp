// Visits of patients on the command line: no codebook, and a guarantee for patients.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace bought_people_test {

using ::testing::HasSubstr;
using ::testing::Not;

class BoughtPeopleCli : public Cli {
 protected:
  BoughtPeopleCli() { setenv("XDG_STATE_HOME", state.path().c_str(), 1); }
  ~BoughtPeopleCli() override { unsetenv("XDG_STATE_HOME"); }

  void SetUp() override {
    std::string out = "patient,age,ward,survey,well\n";
    for (int i = 0; i < 4000; ++i) {
      const int age = 18 + (i * 37) % 60;
      for (int visit = 0; visit <= i % 5; ++visit)
        out += "p" + std::to_string(i) + "," + std::to_string(age) + "," +
               ((i + visit) % 3 == 0 ? "surgery" : "medicine") + "," + std::to_string(1 + i % 4) +
               "," + (age + i % 11 > 45 ? "yes" : "no") + "\n";
    }
    folder.write("visits.csv", out);
  }
  [[nodiscard]] Outcome fit_visits(const Arguments& more, const std::string& epsilon = "4") const {
    return gibbsite(joined({"fit", "--data", "visits.csv", "--label", "well", "--positive", "yes",
                            "--epsilon", epsilon, "--delta", "1e-6"},
                           more));
  }

  TempDir state;
};

// A column that is dropped for its name may be what holds a person's rows together.
TEST_F(BoughtPeopleCli, AnIdThatIsIgnoredIsSaidToHoldPeople) {
  std::string table = folder.read("visits.csv");
  table.replace(0, 7, "patient_id");
  folder.write("visits.csv", table);
  const std::string note = "if a person may have several rows, give --person 'patient_id'";
  EXPECT_THAT(fit_visits({"--check"}).err, HasSubstr(note));
  EXPECT_THAT(fit_visits({"--out", "m.json"}).err, HasSubstr(note));
  const Arguments bought{"schema",  "visits.csv", "--epsilon",  "4",   "--delta", "1e-6",
                         "--label", "well",       "--positive", "yes", "--out"};
  EXPECT_THAT(gibbsite(joined(bought, {"a.toml"})).err, HasSubstr(note));
  EXPECT_THAT(gibbsite(joined(bought, {"b.toml", "--person", "patient_id"})).err,
              Not(HasSubstr(note)));
  EXPECT_THAT(fit_visits({"--check", "--person", "patient_id"}).err, Not(HasSubstr(note)));
  EXPECT_THAT(gibbsite({"schema", "visits.csv"}).out, HasSubstr("{type = \"person\"}"));
}

// A refusal names a public epsilon at which it would not refuse; a warning comes once.
TEST_F(BoughtPeopleCli, WhatIsSeenIsSaidOnceAndWithABudgetThatDoes) {
  const auto schema = [&](const std::string& epsilon) {
    return gibbsite({"schema", "visits.csv", "--epsilon", epsilon, "--delta", "1e-7", "--person",
                     "patient", "--label", "well", "--positive", "yes", "--out", "s.toml",
                     "--force"});
  };
  const Outcome refused = schema("0.05");
  EXPECT_EQ(refused.status, 4) << refused.err;
  const std::string words = "give --epsilon ";
  const std::size_t at = refused.err.find(words);
  ASSERT_NE(at, std::string::npos) << refused.err;
  const double enough = std::stod(refused.err.substr(at + words.size()));
  EXPECT_GT(enough, 0.05);
  EXPECT_LT(enough, 5);
  const Outcome made = schema(std::to_string(enough));
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(schema(std::to_string(0.9 * enough)).status, 4);
  const std::string warning = "go into (other)";
  const std::size_t first = made.err.find(warning);
  ASSERT_NE(first, std::string::npos) << made.err;
  EXPECT_EQ(made.err.find(warning, first + 1), std::string::npos) << made.err;
}

// Few people, so that curves of a bought schema would widen intervals.
TEST_F(BoughtPeopleCli, CurvesThatWidenIntervalsAreSaidBefore) {
  const std::string warning = "numbers of a bought schema become curves";
  EXPECT_THAT(fit_visits({"--check", "--intervals"}, "1").err, HasSubstr(warning));
  EXPECT_THAT(fit_visits({"--check"}, "1").err, Not(HasSubstr(warning)));
  EXPECT_THAT(fit_visits({"--check", "--intervals"}).err, Not(HasSubstr(warning)));
}

TEST_F(BoughtPeopleCli, FromATableOfVisitsToAModelOfPatients) {
  ASSERT_EQ(gibbsite({"ledger", "create", "patients.ledger", "--epsilon", "20", "--delta", "1e-4",
                      "--people"})
                .status,
            0);
  const Outcome checked = fit_visits({"--person", "patient", "--check"});
  ASSERT_EQ(checked.status, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr(" people"));
  const Outcome made =
      fit_visits({"--person", "patient", "--rows-per-person", "2", "--weight", "survey",
                  "--weight-range", "0,4", "--ledger", "patients.ledger", "--out", "model.json"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("4000 people, 2 columns asked about"));
  EXPECT_THAT(made.out, HasSubstr("says whose a row is"));
  EXPECT_THAT(made.out, HasSubstr("any number of rows per person, counted as at most 2"));
  EXPECT_THAT(made.out, Not(HasSubstr("12000"))) << "rows are private";
  const Outcome verified = gibbsite({"verify", "model.json"});
  EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
  EXPECT_THAT(folder.read("model.json"), Not(HasSubstr("\"p1")));
  // Whoever predicts says of no row whose it is.
  folder.write("new.csv", "age,ward\n20,surgery\n70,medicine\n");
  const Outcome predicted = gibbsite({"predict", "--model", "model.json", "--data", "new.csv"});
  EXPECT_EQ(predicted.status, 0) << predicted.err;
  const Outcome page = gibbsite({"report", "model.json", "--out", "page.html"});
  EXPECT_EQ(page.status, 0) << page.err;
}

TEST_F(BoughtPeopleCli, ANetworkBuysTheSchemaOfPatients) {
  const Outcome made =
      gibbsite({"fit", "--data", "visits.csv", "--model", "network", "--person", "patient",
                "--rows-per-person", "2", "--epsilon", "4", "--delta", "1e-6", "--out", "n.json"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("4000 people, 4 columns asked about"));
  EXPECT_THAT(made.out, HasSubstr("any number of rows per person, counted as at most 2"));
  EXPECT_THAT(made.out, Not(HasSubstr("12000"))) << "rows are private";
  EXPECT_EQ(gibbsite({"verify", "n.json"}).status, 0);
  EXPECT_EQ(gibbsite({"query", "--model", "n.json", "P(ward = surgery)"}).status, 0);
  const Outcome planned =
      gibbsite({"plan", "--no-schema", "--people", "--model", "network", "--rows", "4000",
                "--columns", "4", "--epsilon", "4", "--delta", "1e-6"});
  EXPECT_EQ(planned.status, 0) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr(" people"));
}

TEST_F(BoughtPeopleCli, ASchemaAloneLeadsToFitsOfPatients) {
  for (const char* const name : {"patients", "rows"}) {
    Arguments made{"ledger",  "create", std::string(name) + ".ledger", "--epsilon", "8",
                   "--delta", "1e-4"};
    if (std::string(name) == "patients") made.emplace_back("--people");
    ASSERT_EQ(gibbsite(made).status, 0);
  }
  const auto schema = [&](const std::string& ledger, const Arguments& more) {
    return gibbsite(joined({"schema", "visits.csv", "--epsilon", "4", "--delta", "1e-6", "--person",
                            "patient", "--ledger", ledger, "--out", "visits.toml"},
                           more));
  };
  const Arguments label{"--label", "well", "--positive", "yes", "--rows-per-person", "2"};
  const Outcome of_rows = schema("rows.ledger", label);
  EXPECT_EQ(of_rows.status, 2) << of_rows.err;
  EXPECT_THAT(of_rows.err, HasSubstr("counts rows"));
  const Outcome bought = schema("patients.ledger", label);
  ASSERT_EQ(bought.status, 0) << bought.err;
  EXPECT_THAT(bought.out, HasSubstr("says whose a row is"));
  EXPECT_THAT(bought.out, HasSubstr("any number of rows per person, counted as at most 2"));
  EXPECT_THAT(bought.out, Not(HasSubstr("12000"))) << "rows are private";
  EXPECT_EQ(gibbsite({"verify", "visits.toml.json"}).status, 0);
  EXPECT_EQ(gibbsite({"report", "visits.toml.json", "--out", "page.html"}).status, 0);
  EXPECT_THAT(folder.read("page.html"), HasSubstr("<td>patient</td><td>person</td>"));
  EXPECT_THAT(folder.read("page.html"), HasSubstr("private table of 4,000 people"));
  EXPECT_THAT(bought.out, HasSubstr("even knowing all rows of everybody else"));
  const std::string toml = folder.read("visits.toml");
  EXPECT_THAT(toml, HasSubstr("patient = {type = \"person\"}"));
  EXPECT_THAT(toml,
              HasSubstr("person = \"patient\", rows_per_person = 2, adjacency = \"replace-one\"}"));
  EXPECT_THAT(toml, Not(HasSubstr("p17")));
  const auto fit_by = [&](const std::string& by, const Arguments& more) {
    return gibbsite(joined({"fit", "--data", "visits.csv", "--schema", by, "--epsilon", "2",
                            "--delta", "1e-6", "--force", "--out", "model.json"},
                           more));
  };
  const Outcome fitted = fit_by("visits.toml", {"--ledger", "patients.ledger"});
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  EXPECT_THAT(fitted.out, HasSubstr("any number of rows per person"));
  EXPECT_THAT(fitted.out, HasSubstr("apart by 'patient' and counted as at most 2"));
  EXPECT_EQ(gibbsite({"verify", "model.json"}).status, 0);
  EXPECT_THAT(gibbsite({"ledger", "show", "patients.ledger"}).out,
              HasSubstr("schema bought-schema"));
  // Tables of counts are of them too; families, whose records count alike, are refused.
  EXPECT_EQ(gibbsite({"fit", "--data", "visits.csv", "--schema", "visits.toml", "--model",
                      "network", "--epsilon", "2", "--delta", "1e-6", "--out", "n.json"})
                .status,
            0);
  EXPECT_EQ(gibbsite({"verify", "n.json"}).status, 0);
  expect_error(
      gibbsite({"fit", "--data", "visits.csv", "--schema", "visits.toml", "--model", "mean",
                "--column", "age", "--epsilon", "2", "--delta", "1e-6", "--out", "f.json"}),
      2, "says whose a row is");
  // What this schema cannot be changed to is not advised; what works is.
  const auto refused_with = [&](const Arguments& arguments, const char* advice) {
    const Outcome outcome = gibbsite(arguments);
    expect_error(outcome, 2, advice);
    EXPECT_THAT(outcome.err, Not(HasSubstr("\"ignore\" here")));
  };
  const char* const other = "give a schema that was written without looking at the table";
  refused_with({"fit", "--data", "visits.csv", "--schema", "visits.toml", "--model", "mean",
                "--column", "age", "--epsilon", "2", "--delta", "1e-6", "--out", "f.json"},
               "count by it in a cross table or a network");
  refused_with({"select", "--ball", "1", "--schema", "visits.toml", "--data", "visits.csv",
                "--epsilon", "1", "--out", "b.json"},
               other);
  refused_with({"evaluate", "--model", "model.json", "--data", "visits.csv", "--epsilon", "1",
                "--delta", "1e-6", "--out", "e.json"},
               "leave it out for private figures");
  ASSERT_EQ(
      gibbsite({"fit", "--data", "visits.csv", "--schema", "visits.toml", "--model", "covariance",
                "--columns", "age", "--epsilon", "2", "--delta", "1e-6", "--out", "c.json"})
          .status,
      0);
  EXPECT_EQ(gibbsite({"verify", "c.json"}).status, 0);
  const std::string line = "patient = {type = \"person\"}";
  std::string edited = toml;
  edited.replace(edited.find(line), line.size(), "patient = {type = \"ignore\"}");
  folder.write("edited.toml", edited);
  expect_error(fit_by("edited.toml", {}), 2, "a fit would protect rows");
}

// Person-years without a codebook: a rate over years of 0.5 to 4, log-linear in age, where years go
// with age.
TEST_F(BoughtPeopleCli, CountsAreOverAnExposureThatIsNamed) {
  std::mt19937_64 draw(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::string out = "age,years,events\n";
  for (int i = 0; i < 20000; ++i) {
    const int age = 20 + static_cast<int>(60 * uniform(draw));
    const double part = (age - 20) / 60.0, years = 0.5 + 3.5 * (1 - part) * uniform(draw);
    std::poisson_distribution<int> events(0.5 * years * std::exp(part));
    out += fmt::format("{},{:.3f},{}\n", age, years, events(draw));
  }
  folder.write("visits.csv", out);
  const Arguments over{"--exposure", "years", "--exposure-range", "0.5,4"};
  const Arguments fit{"fit",     "--data", "visits.csv", "--label",   "events",
                      "--range", "0,10",   "--counts",   "--epsilon", "8",
                      "--delta", "1e-6",   "--intervals"};
  const Outcome made = gibbsite(joined(joined(fit, over), {"--out", "m.json"}));
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("1 column asked about"));
  EXPECT_THAT(made.out, HasSubstr("says what a count is over"));
  EXPECT_EQ(gibbsite({"verify", "m.json"}).status, 0);
  // One year each: exp(40/60) = 1.95 times as many events at 70 as at 30.
  folder.write("new.csv", "age,years\n30,1\n70,1\n30,2\n");
  const Outcome found = gibbsite({"predict", "--model", "m.json", "--data", "new.csv"});
  ASSERT_EQ(found.status, 0) << found.err;
  std::istringstream lines(found.out);
  std::string header;
  double at_30 = 0, at_70 = 0, of_two_years = 0;
  lines >> header >> at_30 >> at_70 >> of_two_years;
  EXPECT_NEAR(at_70 / at_30, std::exp(40.0 / 60), 0.3);
  EXPECT_NEAR(of_two_years / at_30, 2, 1e-4);
  ASSERT_EQ(
      gibbsite(joined({"schema", "visits.csv", "--label", "events", "--range", "0,10", "--counts",
                       "--epsilon", "8", "--delta", "1e-6", "--header", "yes", "--out", "s.toml"},
                      over))
          .status,
      0);
  EXPECT_THAT(folder.read("s.toml"), HasSubstr("years = {type = \"exposure\", range = [0.5, 4"));
  expect_error(fit_visits({"--exposure", "years", "--exposure-range", "0.5,4", "--out", "n.json"}),
               2, "--exposure: is what a count is over");
  expect_error(gibbsite(joined(fit, {"--exposure", "years", "--out", "n.json"})), 2,
               "--exposure-range: is missing");
  expect_error(gibbsite(joined(fit, {"--exposure-range", "1,2", "--out", "n.json"})), 2,
               "--exposure-range: is of an exposure");
  expect_error(
      gibbsite(joined(fit, {"--exposure", "years", "--exposure-range", "0,4", "--out", "n.json"})),
      2, "--exposure-range: is none; give two numbers above 0");
  expect_error(gibbsite({"fit", "--data", "visits.csv", "--label", "events", "--range", "0,10",
                         "--epsilon", "8", "--delta", "1e-6", "--exposure", "years",
                         "--exposure-range", "0.5,4", "--out", "n.json"}),
               2, "--exposure: is what a count is over");
  expect_error(
      gibbsite({"fit", "--data", "visits.csv", "--model", "network", "--epsilon", "8", "--delta",
                "1e-6", "--exposure", "years", "--exposure-range", "0.5,4", "--out", "n.json"}),
      2, "--exposure: is what a count is over");
}

TEST_F(BoughtPeopleCli, RefusesInOneLine) {
  expect_error(fit_visits({"--person", "patients", "--out", "m.json"}), 2, "--person");
  expect_error(fit_visits({"--person", "well", "--out", "m.json"}), 2, "--person");
  expect_error(fit_visits({"--weight", "survey", "--out", "m.json"}), 2, "--weight-range");
  expect_error(fit_visits({"--weight-range", "0,4", "--out", "m.json"}), 2, "--weight");
  expect_error(fit_visits({"--weight", "survey", "--weight-range", "4,0", "--out", "m.json"}), 2,
               "--weight-range");
  expect_error(
      gibbsite({"fit", "--data", "visits.csv", "--model", "mean", "--column", "age", "--person",
                "patient", "--epsilon", "4", "--delta", "1e-6", "--out", "m.json"}),
      2, "--person: draws of --model mean");
  const auto bought = [&](const Arguments& more) {
    Outcome out = gibbsite(joined({"schema", "visits.csv", "--label", "well", "--positive", "yes",
                                   "--epsilon", "4", "--header", "yes", "--out", "s.toml"},
                                  more));
    while (out.err.starts_with("gibbsite: note: ")) out.err.erase(0, out.err.find('\n') + 1);
    return out;
  };
  expect_error(bought({"--person", "patients"}), 2, "--person");
  expect_error(bought({"--person", "well"}), 2, "--person");
  expect_error(bought({"--person", "patient", "--rows-per-person", "1000", "--adjacency",
                       "add-remove", "--rows-cap", "9000000"}),
               2, "--rows-per-person: 9000000 people of 1000 rows each");
  expect_error(
      bought({"--person", "patient", "--adjacency", "add-remove", "--rows-cap", "9000000000"}), 2,
      "--rows-cap: 9000000000 people");
  expect_error(bought({"--person", "patient", "--adjacency", "add-remove"}), 2, "or of people");
  expect_error(bought({"--weight", "survey"}), 2, "--weight-range");
  folder.write("s.toml",
               "label = \"well\"\npositive = \"yes\"\nrow_norm = 1\n\n[columns]\n"
               "age = {type = \"number\", range = [0, 99]}\n");
  expect_error(gibbsite({"fit", "--data", "visits.csv", "--schema", "s.toml", "--person", "patient",
                         "--epsilon", "4", "--delta", "1e-6", "--out", "m.json"}),
               2, "--person");
}

}  // namespace bought_people_test
}  // namespace gibbsite::testing
