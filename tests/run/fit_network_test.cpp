// Networks from a table: the law of noisy counts and of structures that are chosen, and what a run
// refuses.
#include "gibbsite/run/fit_network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "certificate/model_json.hpp"
#include "engine/contingency.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/mechanism/noise_law.hpp"
#include "run/network_structure.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace fit_network_test {

constexpr const char* network_toml =
    "invalid = \"middle\"\n[columns]\na = {type = \"category\", levels = [\"x\", \"y\"], other = "
    "true}\n"
    "b = {type = \"number\", range = [0, 4], bins = 4}\n"
    "c = {type = \"category\", levels = [\"p\", \"q\"], other = true}\n"
    "[network]\nb = [\"a\"]\nc = [\"a\", \"b\"]\n";

// b follows a, c follows b.
Dataset small_table(const std::string& toml = network_toml, std::size_t rows = 300) {
  const ::gibbsite::testing::TempDir folder;
  std::ofstream file(folder.path("t.csv"));
  file << "a,b,c\n";
  std::mt19937_64 bits(11);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto a = bits() % 3;
    const auto b = bits() % 3 == 0 ? bits() % 4 : a + bits() % 2;
    const auto c = bits() % 4 == 0 ? bits() % 3 : b % 3;
    file << (a == 0   ? "x"
             : a == 1 ? "y"
                      : "?")
         << ',' << b << ".5,"
         << (c == 0   ? "p"
             : c == 1 ? "q"
                      : "z")
         << '\n';
  }
  file.close();
  return read_csv(folder.path("t.csv"), parse_network_schema(toml, "t.toml"),
                  {.labels = ReadOptions::Labels::optional});
}

NetworkProblem problem_of(const Dataset& data, bool given = true) {
  NetworkProblem out{.rows = data.rows(), .levels = network_levels(data.schema)};
  if (given) out.parents = network_parents(data.schema);
  return out;
}

std::vector<std::vector<std::uint64_t>> exact_counts(const Dataset& data, const Network& network) {
  const LevelRows rows = levels_of(data.view(), level_columns(data.schema));
  std::vector<std::vector<std::uint64_t>> out;
  for (std::uint32_t node = 0; node < network.size(); ++node) {
    std::vector<std::uint32_t> columns = network.parents[node];
    columns.push_back(node);
    out.push_back(contingency(rows, columns));
  }
  return out;
}

double upper_normal(double z) { return std::erfc(z / std::sqrt(2.0)) / 2; }

// Squares of normals, how they fall in 16 cells of equal mass, and how pairs of them go together.
struct Normals {
  double squares = 0, products = 0;
  std::size_t count = 0, pairs = 0;
  std::array<double, 16> cells{};

  void add(const std::vector<double>& z) {
    for (std::size_t i = 0; i < z.size(); ++i) {
      squares += z[i] * z[i];
      ++cells[std::min<std::size_t>(15, static_cast<std::size_t>(16 * upper_normal(z[i])))];
      ++count;
      for (std::size_t j = 0; j < i; ++j) products += z[i] * z[j], ++pairs;
    }
  }
  // How many deviations the worst of the three is off.
  [[nodiscard]] double worst() const {
    const auto n = static_cast<double>(count);
    double chi = 0;
    for (const double cell : cells) chi += std::pow(cell - n / 16, 2) / (n / 16);
    return std::max({std::abs(squares - n) / std::sqrt(2 * n),
                     std::abs(products) / std::sqrt(static_cast<double>(pairs)),
                     (chi - 15) / std::sqrt(30.0)});
  }
};

// 1,500 keys: each count is off by a normal of its table's deviation, all of them independent; what
// the grid took away is put back at random, so that a cell's edge is nothing special. Both add at
// most 1/384 to the squares, half a deviation of 65,000 of them; 7 and more happen by chance with
// probability below 1e-6 (of chi-square's tail 3e-8). Three planted errors are seen: deviations 5 %
// too small, words that serve two tables, a table whose counts are off.
TEST(FitNetwork, CountsHaveTheNoiseOfTheirTables) {
  const Dataset data = small_table();
  const NetworkPlan plan = plan_network(problem_of(data), {1.0, 1e-6}, {.mechanism = "counts"});
  const auto exact = exact_counts(data, plan.problem.network());
  Normals right, small, twice, shifted;
  std::mt19937_64 bits(1);
  std::uniform_real_distribution<double> within(-0.5, 0.5);
  for (std::uint64_t seed = 0; seed < 1'500; ++seed) {
    const NetworkRelease release = fit_network(data, plan, Key::from_seed(seed));
    const NetworkModel& model = release.model();
    ASSERT_TRUE(release.certificate().is_void());
    ASSERT_EQ(model.network, plan.problem.network());
    std::vector<double> z, of_small, of_twice, of_shifted;
    for (std::size_t i = 0; i < model.counts.size(); ++i) {
      for (std::size_t cell = 0; cell < model.counts[i].size(); ++cell) {
        const double grid = answer_grid(model.noise[i]);
        EXPECT_EQ(std::remainder(model.counts[i][cell], grid), 0);
        const double off =
            model.counts[i][cell] - static_cast<double>(exact[i][cell]) + grid * within(bits);
        z.push_back(off / model.noise[i]);
        of_small.push_back(z.back() / 1.05);
        of_twice.push_back(i == 2 && cell < 12 ? z[3 + cell] : z.back());
        of_shifted.push_back((off + (i == 2 ? 8 : 0)) / model.noise[i]);
      }
    }
    right.add(z), small.add(of_small), twice.add(of_twice), shifted.add(of_shifted);
  }
  EXPECT_LT(right.worst(), 7);
  EXPECT_GT(small.worst(), 7);
  EXPECT_GT(twice.worst(), 7);
  EXPECT_GT(shifted.worst(), 7);
}

TEST(FitNetwork, CertifiesWhatItReleases) {
  const Dataset data = small_table();
  for (const bool given : {true, false}) {
    const NetworkPlan plan =
        plan_network(problem_of(data, given), {1.0, 1e-6}, {.mechanism = "counts"});
    std::vector<std::uint64_t> done;
    FitOptions options;
    options.progress = [&done](std::uint64_t now, std::uint64_t total) {
      EXPECT_LT(now, total);
      done.push_back(now);
    };
    const NetworkRelease release = fit_network(data, plan, Key::from_os(), options);
    const Verification check = verify(release);
    EXPECT_TRUE(check.valid) << (check.failures.empty() ? "" : check.failures.front());
    EXPECT_EQ(release.model().tables.size(), 1U);
    EXPECT_EQ(release.model().counts.size(), 3U);
    EXPECT_TRUE(std::ranges::is_sorted(done));
    EXPECT_EQ(done.size(), given ? 3U : 5U);
    EXPECT_NO_THROW(release.model().network.validate());
    EXPECT_TRUE(given || release.model().network.parents[2].empty());
  }
}

TEST(FitNetwork, DrawsTablesToo) {
  const Dataset data = small_table();
  for (const bool given : {true, false}) {
    NetworkProblem problem = problem_of(data, given);
    problem.trim = 0.05;
    const NetworkPlan plan =
        plan_network(problem, {2.0, 1e-6, Adjacency::replace_one, 1, 3}, {.mechanism = "trimmed"});
    const NetworkRelease release = fit_network(data, plan, Key::from_os());
    EXPECT_EQ(release.model().tables.size(), 3U);
    EXPECT_NE(release.model().tables[0], release.model().tables[1]);
    EXPECT_TRUE(release.model().counts.empty());
    EXPECT_TRUE(verify(release).valid);
  }
}

// Fits with a given structure: several draws, one draw, and neighbors under add/remove.
TEST(FitNetwork, DrawsConjugateTables) {
  const Dataset data = small_table();
  for (const Budget& budget : {Budget{2.0, 1e-6, Adjacency::replace_one, 1, 3}, Budget{2.0, 1e-6},
                               Budget{2.0, 1e-6, Adjacency::add_remove}}) {
    const NetworkPlan plan = plan_network(problem_of(data), budget, {.mechanism = "conjugate"});
    const NetworkRelease release = fit_network(data, plan, Key::from_os());
    const Verification check = verify(release);
    EXPECT_TRUE(check.valid) << (check.failures.empty() ? "" : check.failures.front());
    const NetworkModel& model = release.model();
    ASSERT_EQ(model.tables.size(), budget.draws);
    EXPECT_TRUE(model.counts.empty());
    for (std::size_t draw = 1; draw < model.tables.size(); ++draw) {
      EXPECT_NE(model.tables[draw], model.tables[0]);
    }
    for (const auto& tables : model.tables) {
      for (std::size_t node = 0; node < tables.size(); ++node) {
        double sum = 0;
        for (const double share : tables[node]) sum += share;
        const std::uint64_t rows = tables[node].size() / model.network.levels[node];
        EXPECT_NEAR(sum, static_cast<double>(rows), 1e-9);
      }
    }
    // Records of more weight than was planned: the certificate would not verify.
    NetworkPlan more = plan;
    std::get<NetworkConjugate>(more.candidates[more.chosen].mechanism).weight *= 1.1;
    EXPECT_THROW(fit_network(data, more, Key::from_os()), BadInput);
  }
  EXPECT_THROW(plan_network(problem_of(data, false), {2.0, 1e-6}, {.mechanism = "conjugate"}),
               Infeasible);
}

TEST(FitNetwork, KeepsNothingWhenItIsStopped) {
  const Dataset data = small_table();
  const std::atomic<bool> stop = true;
  FitOptions options;
  options.stop = &stop;
  for (const bool given : {true, false}) {
    const NetworkPlan plan =
        plan_network(problem_of(data, given), {1.0, 1e-6}, {.mechanism = "counts"});
    Key key = Key::from_os();
    EXPECT_THROW(fit_network(data, plan, std::move(key), options), Interrupted);
    EXPECT_THROW(static_cast<void>(key.kind()), BadInput);  // NOLINT(bugprone-use-after-move)
  }
}

TEST(FitNetwork, RefusesOtherData) {
  const Dataset data = small_table();
  const NetworkPlan plan = plan_network(problem_of(data), {1.0, 1e-6}, {.mechanism = "counts"});
  const auto refuses = [&](const Dataset& other, const char* what) {
    try {
      fit_network(other, plan, Key::from_os());
      ADD_FAILURE() << what;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(what));
    }
  };
  refuses(small_table(network_toml, 299), "not the plan's");
  std::string fewer = network_toml;
  refuses(small_table(fewer.replace(fewer.find("bins = 4"), 8, "bins = 3")), "not the plan's");
  Dataset changed = data;
  changed.schema.intercept = true;
  refuses(changed, "network_schema()");
  changed = data;
  changed.schema.columns[1].edges.clear();
  refuses(changed, "network_schema()");
  changed = data;
  changed.y.assign(data.rows(), 1.0F);
  refuses(changed, "labels beside its columns");
}

// A cap under add-remove is no count of rows.
TEST(FitNetwork, TakesFewerRowsThanTheCap) {
  const Dataset data = small_table();
  NetworkProblem problem = problem_of(data);
  problem.rows = 500;
  const NetworkPlan plan =
      plan_network(problem, {1.0, 1e-6, Adjacency::add_remove}, {.mechanism = "counts"});
  EXPECT_TRUE(verify(fit_network(data, plan, Key::from_os())).valid);
  problem.rows = 200;
  const NetworkPlan small =
      plan_network(problem, {1.0, 1e-6, Adjacency::add_remove}, {.mechanism = "counts"});
  EXPECT_THROW(fit_network(data, small, Key::from_os()), BadInput);
}

TEST(NetworkStructure, DependenceIsExact) {
  std::mt19937_64 bits(3);
  for (int trial = 0; trial < 50; ++trial) {
    const std::uint64_t levels = 1 + bits() % 4, parents = 1 + bits() % 5;
    std::vector<std::uint64_t> counts(levels * parents);
    for (auto& count : counts) count = bits() % 50;
    const auto n = static_cast<double>(std::accumulate(counts.begin(), counts.end(), 0ULL));
    double sum = 0;
    for (std::size_t c = 0; c < parents; ++c)
      for (std::size_t l = 0; l < levels; ++l) {
        double row = 0, column = 0;
        for (std::size_t k = 0; k < levels; ++k) row += static_cast<double>(counts[c * levels + k]);
        for (std::size_t k = 0; k < parents; ++k)
          column += static_cast<double>(counts[k * levels + l]);
        sum += std::abs(n * static_cast<double>(counts[c * levels + l]) - row * column);
      }
    EXPECT_EQ(static_cast<double>(dependence(counts, levels)), sum);
  }
  // Beyond 2^64: two levels that go together in 2^37 rows each.
  const std::uint64_t half = 1ULL << 37;
  EXPECT_EQ(static_cast<double>(dependence(std::vector<std::uint64_t>{half, 0, 0, half}, 2)),
            0x1p76);
}

TEST(NetworkStructure, PicksWhereTheUniformFalls) {
  // Shares 1/7, 2/7, 4/7.
  const Wide two = log(Wide(2));
  const std::vector<Wide> scores{Wide(0), two / Wide(0.5), Wide(2) * two / Wide(0.5)};
  const Wide tiny("1e-30");
  for (const auto& [share, below, above] :
       {std::tuple{Wide(1) / Wide(7), 0U, 1U}, {Wide(3) / Wide(7), 1U, 2U}}) {
    EXPECT_EQ(exponential_pick(scores, 0.5, share - tiny), below);
    EXPECT_EQ(exponential_pick(scores, 0.5, share + tiny), above);
  }
  EXPECT_EQ(exponential_pick(scores, 0.5, tiny), 0U);
  EXPECT_EQ(exponential_pick(scores, 0.5, Wide(1) - tiny), 2U);
  // Far apart, nothing overflows.
  EXPECT_EQ(exponential_pick(std::vector<Wide>{Wide(0), Wide(1e12)}, 1e3, Wide(0.5)), 1U);
}

// What a schema says of networks comes back from a file, and is not there where it says nothing.
TEST(NetworkSchemaJson, ReadsBackEqual) {
  const std::string columns =
      "[columns]\na = {type = \"number\", range = [0, 1], bins = [0.25, 0.5], decimals = 3}\n"
      "b = {type = \"category\", levels = [\"p\", \"q\"], other = true, unlisted = \"q\"}\n";
  const std::string label = "label = \"y\"\nrange = [0, 9]\nbins = 3\ndecimals = 1\n";
  for (const std::string& text :
       {label + columns + "[network]\nb = [\"a\", \"y\"]\n", label + columns + "[network]\n",
        "label = \"y\"\npositive = \"1\"\n" + columns}) {
    const Schema schema = parse_schema(text, "s.toml");
    const nlohmann::json written = schema_json(schema);
    EXPECT_EQ(written.contains("network"), schema.network.has_value());
    EXPECT_TRUE(schema_from_json(nlohmann::json::parse(written.dump()), "m") == schema) << written;
    const Schema columns_alone = network_schema(schema);
    EXPECT_TRUE(schema_from_json(schema_json(columns_alone), "m") == columns_alone);
  }
  const nlohmann::json plain = schema_json(parse_schema(
      "label = \"y\"\nrange = [0, 9]\n[columns]\na = {type = \"number\", range = [0, 1]}\n", "s"));
  for (const char* name : {"network", "edges", "decimals", "unlisted"}) {
    EXPECT_THAT(plain.dump(), ::testing::Not(::testing::HasSubstr(name)));
  }
  struct Fault {
    const char *at, *value, *what;
  };
  const nlohmann::json good =
      schema_json(parse_schema(label + columns + "[network]\nb = [\"a\", \"y\"]\n", "s.toml"));
  for (const Fault& fault :
       std::vector<Fault>{{"/columns/0/edges", "[0.5, 0.25]", "bins meet at 0.25"},
                          {"/columns/0/edges", "[]", "edges"},
                          {"/columns/0/edges", "[null]", "edges"},
                          {"/columns/0/decimals", "16", "decimals"},
                          {"/columns/0/decimals", "-1", "decimals"},
                          {"/columns/1/edges", "[0.5]", "edges"},
                          {"/columns/1/unlisted", "\"z\"", "unlisted"},
                          {"/network", "[]", "network"},
                          {"/network/b", "[1]", "b"},
                          {"/network/b", "[\"c\"]", "'c' is no column"},
                          {"/edges", "[99]", "bins meet at 99"}}) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(fault.at)] = nlohmann::json::parse(fault.value);
    try {
      static_cast<void>(schema_from_json(bad, "m"));
      ADD_FAILURE() << fault.at << fault.value;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(fault.what));
    }
  }
}

using Parents = std::vector<std::vector<std::uint32_t>>;

// The law of whole structures, by trying every way, in double.
std::map<Parents, double> structure_law(const LevelRows& rows, const NetworkProblem& p, double b,
                                        double penalty, std::uint32_t first = 3) {
  std::map<Parents, double> law;
  const std::size_t K = p.levels.size();
  const auto score = [&](std::uint32_t column, const std::vector<std::uint32_t>& parents) {
    std::map<std::vector<std::uint16_t>, double> joint, of_parents, of_column;
    for (std::size_t i = 0; i < rows.rows; ++i) {
      std::vector<std::uint16_t> key;
      for (const auto k : parents) key.push_back(rows.columns[k][i]);
      ++of_parents[key];
      ++of_column[{rows.columns[column][i]}];
      key.push_back(rows.columns[column][i]);
      ++joint[key];
    }
    double sum = 0, cells = static_cast<double>(p.levels[column]);
    for (const auto& [key, count] : of_parents)
      for (const auto& [own, of_own] : of_column) {
        auto both = key;
        both.push_back(own[0]);
        const auto at = joint.find(both);
        sum += std::abs((at == joint.end() ? 0 : at->second) -
                        count * of_own / static_cast<double>(rows.rows));
      }
    for (const auto k : parents) cells *= static_cast<double>(p.levels[k]);
    return cells > static_cast<double>(p.limits.cells) ? std::optional<double>{}
                                                       : std::optional(sum - penalty * cells);
  };
  const std::function<void(std::vector<std::uint32_t>, Parents, double)> grow =
      [&](const std::vector<std::uint32_t>& placed, const Parents& so_far, double mass) {
        if (placed.size() == K) {
          law[so_far] += mass;
          return;
        }
        struct Way {
          std::uint32_t column;
          std::vector<std::uint32_t> parents;
          double weight;
        };
        std::vector<Way> ways;
        double sum = 0;
        for (std::uint32_t column = 0; column < K; ++column) {
          if (std::ranges::find(placed, column) != placed.end()) continue;
          for (std::uint32_t set = 0; set < 1U << K; ++set) {
            std::vector<std::uint32_t> parents;
            bool is_placed = true;
            for (std::uint32_t k = 0; k < K; ++k) {
              if ((set >> k & 1) == 0) continue;
              parents.push_back(k);
              is_placed = is_placed && std::ranges::find(placed, k) != placed.end();
            }
            if (!is_placed || parents.size() > p.limits.parents) continue;
            if (const auto s = score(column, parents)) {
              ways.push_back({column, parents, std::exp(b * *s)});
              sum += ways.back().weight;
            }
          }
        }
        for (const Way& way : ways) {
          auto next = placed;
          next.push_back(way.column);
          Parents with = so_far;
          with[way.column] = way.parents;
          grow(next, with, mass * way.weight / sum);
        }
      };
  grow({first}, Parents(K), 1);
  return law;
}

// Chi-square of structures against a law, cells of less than 8 expected together: as deviations.
double off_by(const std::map<Parents, int>& seen, const std::map<Parents, double>& law, int draws) {
  double chi = 0, rest_expected = 0, rest_seen = 0;
  int cells = 0;
  const auto add = [&](double expected, double count) {
    chi += (count - expected) * (count - expected) / expected;
    ++cells;
  };
  for (const auto& [parents, mass] : law) {
    const auto at = seen.find(parents);
    const double count = at == seen.end() ? 0 : at->second, expected = mass * draws;
    if (expected >= 8) {
      add(expected, count);
    } else {
      rest_expected += expected, rest_seen += count;
    }
  }
  if (rest_expected > 0) add(std::max(rest_expected, 1.0), rest_seen);
  for (const auto& [parents, count] : seen) EXPECT_TRUE(law.contains(parents));
  return (chi - (cells - 1)) / std::sqrt(2.0 * (cells - 1));
}

// 6,000 keys. Among four columns, two parents at most, one triple too wide for the limit. 8
// deviations of a chi-square of so many cells happen by chance with probability below 1e-7; a
// weight that is 30 % off, and a penalty that is left out, are seen.
TEST(NetworkStructure, PicksByTheLaw) {
  const Dataset data = small_table();
  LevelRows rows = levels_of(data.view(), level_columns(data.schema));
  rows.levels.push_back(2);
  rows.columns.emplace_back();
  for (std::size_t i = 0; i < rows.rows; ++i)
    rows.columns.back().push_back(static_cast<std::uint16_t>((rows.columns[1][i] + i % 3) % 2));
  NetworkProblem problem{.rows = rows.rows, .levels = rows.levels};
  problem.limits = {.parents = 2, .cells = 24};
  constexpr double weight = 0.012, penalty = 1.5;
  constexpr int draws = 6'000;
  std::map<Parents, int> seen;
  for (int seed = 0; seed < draws; ++seed) {
    ++seen[choose_structure(rows, problem, weight, penalty,
                            StreamKey::from_seed(static_cast<std::uint64_t>(seed)), {})];
  }
  EXPECT_GT(seen.size(), 20U);
  EXPECT_EQ(first_placed(problem.levels), 3U);
  EXPECT_EQ(first_placed(std::vector<std::uint64_t>{2, 5, 2, 3}), 2U);
  EXPECT_LT(off_by(seen, structure_law(rows, problem, weight, penalty), draws), 8);
  EXPECT_GT(off_by(seen, structure_law(rows, problem, 1.3 * weight, penalty), draws), 8);
  EXPECT_GT(off_by(seen, structure_law(rows, problem, weight, 0), draws), 8);
}

}  // namespace fit_network_test
}  // namespace gibbsite
