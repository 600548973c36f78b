// A network's file gives back what was written, and no edit that strengthens its claim passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "certificate/certify.hpp"
#include "certificate/model_json.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "support/repeats.hpp"

namespace gibbsite {
namespace network_file_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

Schema columns() {
  Schema whole;
  whole.label_name = "income";
  whole.label = TwoClasses{.positive = ">50K", .negative = "<=50K", .refuses_unlisted = true};
  whole.columns = {
      {.name = "age", .type = ColumnType::number, .lo = 17, .hi = 90, .edges = {30, 45, 60}},
      {.name = "sex", .type = ColumnType::category, .levels = {"Female", "Male"}}};
  return network_schema(whole);
}

NetworkProblem problem_of(const Schema& schema, bool given) {
  NetworkProblem p{.rows = 5000, .levels = network_levels(schema)};
  if (given) p.parents = {{}, {0}, {0, 1}};
  p.limits = {.parents = 2, .cells = 40};
  return p;
}

// As a run would: counts on their grid, or shares that keep to any trim.
NetworkRelease release_of(NetworkProblem p, const Budget& budget, const std::string& mechanism,
                          NoiseKind kind = NoiseKind::chacha20) {
  const Schema schema = columns();
  const NetworkPlan plan = plan_network(p, budget, {.mechanism = mechanism});
  const Network network{
      p.levels, p.parents.value_or(std::vector<std::vector<std::uint32_t>>{{}, {0}, {0, 1}})};
  NetworkModel model{.schema = schema, .network = network, .tables = {}};
  if (const auto* const counts = std::get_if<NetworkCounts>(&plan.candidate().mechanism)) {
    model.noise = table_deviations(counts->noise, network);
    std::mt19937 random(7);
    for (std::size_t i = 0; i < network.size(); ++i) {
      const double grid = answer_grid(model.noise[i]);
      std::vector<double> cells;
      for (std::uint64_t j = 0; j < network.cells(i); ++j) {
        const double exact = 5000.0 / static_cast<double>(network.cells(i));
        cells.push_back(grid *
                        std::round((exact + 0.01 * static_cast<double>(random() % 1000)) / grid));
      }
      model.counts.push_back(std::move(cells));
    }
    model.tables = {tables_of_counts(network, model.counts, model.noise)};
  } else {
    model.tables.resize(budget.draws);
    for (auto& draw : model.tables) {
      for (std::size_t i = 0; i < network.size(); ++i) {
        draw.emplace_back(network.cells(i), 1 / static_cast<double>(network.levels[i]));
      }
    }
  }
  return ReleaseAccess::make(std::move(model),
                             certify<GraphicalKind>(plan, {kind, "reference", true}));
}

NetworkRelease counted(NoiseKind kind = NoiseKind::chacha20) {
  return release_of(problem_of(columns(), true), {}, "counts", kind);
}
NetworkRelease chosen() {
  return release_of(problem_of(columns(), false),
                    {.adjacency = Adjacency::add_remove, .rows_per_person = 2}, "counts");
}
NetworkRelease trimmed(bool given = true) {
  NetworkProblem p = problem_of(columns(), given);
  p.trim = 0.02;
  return release_of(p, {.epsilon = 2, .draws = 2}, "trimmed");
}
NetworkRelease conjugate() {
  return release_of(problem_of(columns(), true), {.epsilon = 2}, "conjugate");
}
const std::vector<NetworkRelease>& releases() {
  static const std::vector<NetworkRelease> all{counted(), chosen(), trimmed(), trimmed(false),
                                               conjugate()};
  return all;
}

json resealed(json file) {
  file["certificate"]["digest"] = file_digest(file);
  return file;
}

void collect(const json& value, const json::json_pointer& at,
             std::vector<json::json_pointer>& out) {
  if (value.is_structured() && !value.empty()) {
    for (const auto& item : value.items()) {
      collect(item.value(), value.is_array() ? at / std::stoul(item.key()) : at / item.key(), out);
    }
  } else {
    out.push_back(at);
  }
}

std::vector<json> edits_of(const json& value) {
  std::vector<json> out{nullptr, "",  "inf", json::array(), json::object(), true,
                        false,   0.0, -1,    1e300,         1e-300};
  if (value.is_number()) {
    const double v = value.get<double>();
    for (const double factor : {0.5, 0.999, 1.001, 2.0, -1.0}) out.emplace_back(v * factor);
    out.emplace_back(std::nextafter(v, -INFINITY));
    out.emplace_back(std::nextafter(v, INFINITY));
  } else if (value.is_string()) {
    for (const char* text : {"replace-one", "add-remove", "given", "private", "network-counts",
                             "network-trimmed", "network-conjugate", "philox", "chacha20", "age"}) {
      out.emplace_back(text);
    }
  }
  std::erase_if(out, [&](const json& edit) { return edit == value; });
  return out;
}

// The claim may be weaker, never stronger.
bool is_weaker(const std::string& at, const json& before, const json& after) {
  if (!before.is_number() || !after.is_number()) return false;
  for (const char* name : {"mu", "pure", "reveal", "tv"}) {
    if (at == std::string("/certificate/guarantee/") + name) return after >= before;
  }
  // Either may be less by what rounding to the safe side has left.
  return (at == "/certificate/guarantee/epsilon" || at == "/certificate/guarantee/delta") &&
         after.get<double>() >= before.get<double>() * (1 - 1e-9);
}

// With the digest computed anew: another run that keeps the same promise.
bool is_same_promise(const std::string& at, const json& before, const json& after) {
  const bool numbers = before.is_number() && after.is_number();
  const double ratio = numbers ? after.get<double>() / before.get<double>() : 0;
  if (at == "/certificate/constants/rows") return numbers;  // nothing but sums' sizes follow
  if (at == "/certificate/constants/prior") return numbers;
  if (at == "/certificate/constants/trim") return std::abs(ratio - 1) < 1e-12;
  if (at == "/certificate/constants/limits/parents") return ratio > 1;
  if (at == "/certificate/mechanism/weight") return numbers && ratio < 1 + 1e-9;
  if (at == "/certificate/mechanism/prior_scale") return ratio > 1 - 1e-9;
  if (at == "/certificate/mechanism/epsilon") return numbers && std::abs(ratio - 1) < 1e-2;
  if (at == "/certificate/software/version") return after.is_string();
  return is_weaker(at, before, after);
}

TEST(NetworkFile, GivesBackWhatWasWritten) {
  for (const NetworkRelease& release : releases()) {
    const std::string text = to_json(release).dump(1);
    const NetworkRelease back = parse_release<GraphicalKind>(text, "network.json");
    EXPECT_EQ(to_json(back), json::parse(text));
    EXPECT_EQ(back.model().network, release.model().network);
    EXPECT_EQ(back.model().schema, release.model().schema);
    EXPECT_EQ(back.model().tables, release.model().tables);
    EXPECT_EQ(back.model().counts, release.model().counts);
    EXPECT_EQ(back.certificate().problem.parents, release.certificate().problem.parents);
    EXPECT_EQ(back.certificate().claimed.mu, release.certificate().claimed.mu);
    EXPECT_TRUE(holds<GraphicalKind>(text, "network.json"));
  }
}

TEST(NetworkFile, OthersReadersSayWhatToUse) {
  const std::string text = to_json(counted()).dump();
  EXPECT_THAT([&] { parse_release(text, "f.json"); },
              ThrowsMessage<BadInput>(HasSubstr("f.json: holds a network, not a model of rows")));
  EXPECT_THAT(
      [&] { parse_release<ConjugateKind>(text, "f.json"); },
      ThrowsMessage<BadInput>(HasSubstr(
          "holds a network, not draws of a family; query it as a network, or draw people")));
  Schema one = columns();
  one.columns = {one.columns[1]};
  FamilyProblem family = family_problem(one, Family::bernoulli, 100);
  family.prior = family.default_prior();
  const FamilyModel draws{Family::bernoulli, one, {{0.5, 0.5}}};
  const FamilyPlan plan = plan_family(family, {});
  const FamilyRelease other = ReleaseAccess::make(
      draws, certify<ConjugateKind>(plan, {NoiseKind::chacha20, "reference", true}));
  const std::string of_family = to_json(other).dump();
  EXPECT_THAT([&] { parse_release<GraphicalKind>(of_family, "f.json"); },
              ThrowsMessage<BadInput>(HasSubstr("holds draws of a family, not a network")));
  EXPECT_TRUE(holds<ConjugateKind>(of_family, "f.json"));
  json linear = json::parse(of_family);
  linear["certificate"]["constants"].erase("family");
  EXPECT_THAT([&] { parse_release<GraphicalKind>(resealed(linear).dump(), "f.json"); },
              ThrowsMessage<BadInput>(HasSubstr("holds a model of rows, not a network")));
  EXPECT_TRUE(holds<LinearKind>(linear.dump(), "f.json"));
}

TEST(VerifyNetwork, AcceptsWhatThePlannerMade) {
  for (const NetworkRelease& release : releases()) {
    const Verification whole = verify(json::parse(to_json(release).dump()));
    EXPECT_TRUE(whole.valid) << ::testing::PrintToString(whole.failures);
    EXPECT_FALSE(whole.void_run);
    EXPECT_GT(whole.checks.size(), 30U);
  }
}

void tamper(const NetworkRelease& release, bool seal, const char* part, const auto& allowed) {
  const json file = to_json(release);
  std::vector<json::json_pointer> leaves;
  const json::json_pointer within(part);
  collect(file.at(within), within, leaves);
  support::Thinned sweep(41);
  std::size_t tried = 0;
  for (const auto& at : leaves) {
    const json before = file.at(at);
    if (seal && at.to_string() == "/certificate/digest") continue;
    const auto check = [&](const json& changed, const json& after) {
      ++tried;
      EXPECT_TRUE(!verify(seal ? resealed(changed) : changed).valid ||
                  allowed(at.to_string(), before, after))
          << at.to_string() << " from " << before << " to " << after << " passes";
    };
    for (const json& edit : edits_of(before)) {
      if (sweep.skips()) continue;
      json changed = file;
      changed[at] = edit;
      check(changed, edit);
    }
    if (sweep.skips()) continue;
    json fewer = file;
    json& parent = fewer[at.parent_pointer()];
    parent.is_array() ? parent.erase(std::stoul(at.back())) : (parent.erase(at.back()), void());
    check(fewer, "nothing");
  }
  EXPECT_GT(tried, 5U);
}

TEST(VerifyNetwork, RejectsAnEditOfEveryLeaf) {
  for (std::size_t i = 0; i < 3; ++i) {  // of the others each takes seconds
    const NetworkRelease& release = releases()[i];
    tamper(release, false, "/certificate", is_weaker);
    tamper(release, false, "/model", [](const auto&...) { return false; });
  }
}

TEST(VerifyNetwork, RejectsAResealedEditThatStrengthensTheCertificate) {
  for (std::size_t i = 0; i < 3; ++i) tamper(releases()[i], true, "/certificate", is_same_promise);
  for (const NetworkRelease& release : releases()) {
    for (const char* claim : {"epsilon", "delta", "mu", "pure", "reveal", "tv"}) {
      json stronger = to_json(release);
      json& value = stronger["certificate"]["guarantee"][claim];
      if (value == 0) continue;
      value = value.get<double>() * 0.99;
      EXPECT_FALSE(verify(resealed(stronger)).valid) << claim;
    }
  }
}

// Less noise than is paid for, counts or tables that do not go together, another structure.
TEST(VerifyNetwork, RejectsATableThatTheNoiseDoesNotPayFor) {
  const json file = to_json(counted());
  const auto rejects = [&](const auto& change, const char* why) {
    json changed = file;
    change(changed);
    const Verification found = verify(resealed(changed));
    EXPECT_FALSE(found.valid);
    EXPECT_THAT(found.failures, ::testing::Contains(HasSubstr(why)));
  };
  rejects([](json& f) { f["model"]["nodes"][2]["noise"] = 1.0; }, "noise that follows");
  rejects(
      [](json& f) {
        json& count = f["model"]["nodes"][2]["counts"][0];
        count = count.get<double>() + 1e-3;
      },
      "off the grid");
  rejects(
      [](json& f) {
        json& count = f["model"]["nodes"][2]["counts"][0];
        count = count.get<double>() + 1024;
      },
      "do not follow");
  // Counts that no noise leads to make tables that are no numbers, to which nothing compares.
  rejects(
      [](json& f) {
        for (json& count : f["model"]["nodes"][1]["counts"]) count = 1.7e308;
        for (json& share : f["model"]["nodes"][2]["tables"][0]) share = 0.0;
        json& shares = f["model"]["nodes"][2]["tables"][0];
        const std::size_t levels = counted().model().network.levels[2];
        for (std::size_t first = 0; first < shares.size(); first += levels) shares[first] = 1.0;
      },
      "no noise leads to");
  rejects(
      [](json& f) {
        std::swap(f["model"]["nodes"][2]["tables"][0][0], f["model"]["nodes"][2]["tables"][0][1]);
      },
      "model");
  rejects(
      [](json& f) {
        f["certificate"]["constants"]["parents"] = {json::array(), {0}, {1}};
      },
      "constants.parents: claimed [[],[0],[1]], the model has [[],[0],[0,1]]");
  rejects(
      [](json& f) {
        f["certificate"]["constants"]["levels"] = {4, 2, 3};
      },
      "constants.levels: claimed [4,2,3], the model has [4,2,2]");
  // Every place of the file claims 1 % less noise than mu needs.
  json less = file;
  const double noise = 0.99 * file["certificate"]["mechanism"]["noise"].get<double>();
  less["certificate"]["mechanism"]["noise"] = noise;
  const auto deviations = table_deviations(noise, counted().model().network);
  for (std::size_t i = 0; i < 3; ++i) less["model"]["nodes"][i]["noise"] = deviations[i];
  EXPECT_THAT(verify(resealed(less)).failures, ::testing::Contains(HasSubstr("guarantee.mu")));
  json wide = to_json(chosen());
  wide["certificate"]["constants"]["limits"]["cells"] = 15;  // the last table has 16
  EXPECT_THAT(verify(resealed(wide)).failures, ::testing::Contains(HasSubstr("limits")));
  json narrow = to_json(trimmed());
  narrow["model"]["nodes"][1]["tables"][0] = {0.019, 0.981, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5};
  EXPECT_THAT(verify(resealed(narrow)).failures,
              ::testing::Contains(HasSubstr("outside of the trim")));
}

TEST(VerifyNetwork, ASeededRunIsVoid) {
  const NetworkRelease seeded = counted(NoiseKind::philox);
  const Verification found = verify(seeded);
  EXPECT_TRUE(found.void_run);
  EXPECT_FALSE(found.valid);
  EXPECT_THAT(in_words(seeded.certificate()), HasSubstr("No guarantee"));
  EXPECT_TRUE(to_json(seeded)["certificate"]["guarantee"]["mu"].is_null());
}

TEST(NetworkInWords, SayWhatAPersonMovesAndWhatTheStructureTakes) {
  const std::string given = in_words(counted().certificate());
  EXPECT_THAT(given, HasSubstr("Gaussian noise in every count of 3 tables"));
  EXPECT_THAT(given, HasSubstr("moves one row from one count to another in each table"));
  EXPECT_THAT(given, Not(HasSubstr("picks")));
  const std::string private_one = in_words(chosen().certificate());
  EXPECT_THAT(private_one, HasSubstr("2 random picks of parents"));
  EXPECT_THAT(private_one, HasSubstr("(which take 10 % of what is spent"));
  EXPECT_THAT(private_one, HasSubstr("adds 2 rows to one count of each table"));
  EXPECT_EQ(in_words(to_json(chosen())["certificate"]), private_one);
  EXPECT_THAT(in_words(trimmed().certificate()), HasSubstr("for all 2 released draws together"));
  EXPECT_THAT(in_words(trimmed(false).certificate()), HasSubstr("2 random picks of parents"));
}

TEST(NetworkPlanJson, HasEveryOfferAndTheTablesBesideTheirNoise) {
  const NetworkProblem p = problem_of(columns(), true);
  const json plan = plan_json(plan_network(p, {}, {.mechanism = "counts"}));
  EXPECT_EQ(plan["chosen"], "network-counts");
  ASSERT_EQ(plan["offers"].size(), 3U);
  EXPECT_TRUE(plan["offers"][0]["feasible"]);
  EXPECT_TRUE(plan["offers"][1]["deviation"].is_null());
  EXPECT_EQ(plan["constants"]["network"], "given");
  ASSERT_EQ(plan["tables"].size(), 3U);
  EXPECT_EQ(plan["tables"][2]["cells"], 16);
  EXPECT_EQ(plan["tables"][2]["rows_per_cell"], 5000.0 / 16);
  EXPECT_GT(plan["tables"][0]["deviation"], plan["tables"][2]["deviation"]);
}

TEST(NetworkFile, RefusesWhatIsNoNetwork) {
  const json file = to_json(counted());
  const auto refuses = [&](const auto& change, const char* why) {
    json changed = file;
    change(changed["model"]);
    EXPECT_THAT([&] { parse_release<GraphicalKind>(resealed(changed).dump(), "f.json"); },
                ThrowsMessage<BadInput>(HasSubstr(why)));
  };
  refuses([](json& m) { m["kind"] = "linear"; }, "kind: must be network");
  refuses([](json& m) { m["nodes"] = json::array(); }, "nodes: must be a list");
  refuses([](json& m) { m["nodes"].erase(2); }, "nodes: must be 3");
  refuses([](json& m) { m["nodes"][0]["column"] = "pay"; }, "nodes[0].column: must be 'age'");
  refuses([](json& m) { m["nodes"][0]["parents"] = {"pay"}; }, "names a column that there is not");
  refuses([](json& m) { m["nodes"][0]["parents"] = {"sex"}; }, "is a cycle");
  refuses([](json& m) { m["nodes"][2]["parents"] = {"sex", "age"}; }, "in order");
  refuses([](json& m) { m["nodes"][1]["tables"] = json::array(); }, "tables: must be a list");
  refuses([](json& m) { m["nodes"][1]["tables"][0][0] = -0.1; }, "shares of a configuration");
  refuses([](json& m) { m["nodes"][1].erase("counts"); }, "for all columns or for none");
  refuses([](json& m) { m["nodes"][1]["noise"] = 0; }, "noise");
}

}  // namespace network_file_test
}  // namespace gibbsite
