// What a statistician does with `sample`: its files read back, say what the summary says, and come
// whole or not at all.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>

#include "cli/cli.hpp"
#include "gibbsite/chains/potential.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/data/schema_file.hpp"
#include "gibbsite/posterior/diagnostics.hpp"

namespace gibbsite::testing {
namespace sample_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Strings = std::vector<std::string>;

Strings split(const std::string& text, char separator) {
  Strings out;
  std::string part;
  for (std::istringstream in(text); std::getline(in, part, separator);) out.push_back(part);
  return out;
}

/// The cells of a line of CSV; quotes stay on.
Strings cells(const std::string& line) {
  Strings out(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

/// A file of draws or a summary.
struct Table {
  Strings columns;
  std::vector<Strings> rows;
  std::map<std::string, std::string> facts;  ///< "key = value" of the comments

  [[nodiscard]] std::vector<double> numbers(const std::string& column) const {
    const auto at = std::find(columns.begin(), columns.end(), column) - columns.begin();
    std::vector<double> out;
    for (const Strings& row : rows) {
      out.push_back(std::strtod(row.at(static_cast<std::size_t>(at)).c_str(), nullptr));
    }
    return out;
  }
};

Table parse(const std::string& text) {
  Table out;
  for (const std::string& line : split(text, '\n')) {
    if (line.starts_with("#")) {
      const auto equals = line.find(" = ");
      const auto key = line.find_first_not_of("# ");
      if (equals != std::string::npos)
        out.facts[line.substr(key, equals - key)] = line.substr(equals + 3);
    } else if (out.columns.empty()) {
      out.columns = cells(line);
    } else {
      out.rows.push_back(cells(line));
      EXPECT_EQ(out.rows.back().size(), out.columns.size()) << line;
    }
  }
  return out;
}

/// Whether every element is closed in its order and no '&' or '<' stands alone; names its fault.
std::string xml_fault(const std::string& text) {
  Strings open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) < 32 && text[i] != '\n') return "control character";
    if (text[i] == '&') {
      const std::string entity = text.substr(i, text.find(';', i) - i);
      if (entity != "&amp" && entity != "&lt" && entity != "&gt" && entity != "&quot")
        return "bare & at " + text.substr(i, 20);
    }
    if (text[i] == '>') return "bare > at " + text.substr(i, 20);
    if (text[i] != '<') continue;
    const std::size_t end = text.find('>', i);
    if (end == std::string::npos) return "no end of " + text.substr(i, 20);
    const std::string tag = text.substr(i + 1, end - i - 1);
    if (tag.find('<') != std::string::npos) return "bare < in " + tag;
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return "quotes of " + tag;
    if (tag.starts_with("/")) {
      if (open.empty() || open.back() != tag.substr(1)) return "closes " + tag;
      open.pop_back();
    } else if (!tag.ends_with("/")) {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
    i = end;
  }
  return open.empty() ? "" : "open: " + open.back();
}

class Sample : public Cli {
 protected:
  [[nodiscard]] static Strings command(const Strings& more) {
    Strings out{"sample", "--data", "table.csv", "--schema", "table.toml", "--prior-precision",
                "1"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  [[nodiscard]] Outcome sample(const Strings& more) const { return gibbsite(command(more)); }
  [[nodiscard]] Table table(const std::string& name) const { return parse(folder.read(name)); }

  /// values [N x C x d] of the files of a run.
  [[nodiscard]] std::vector<double> values(const std::string& out, std::size_t chains) const {
    std::vector<Table> files;
    for (std::size_t c = 1; c <= chains; ++c)
      files.push_back(table(out + "/chain-" + std::to_string(c) + ".csv"));
    std::vector<double> all;
    for (std::size_t n = 0; n < files[0].rows.size(); ++n) {
      for (const Table& file : files) {
        for (std::size_t j = 7; j < file.columns.size(); ++j)
          all.push_back(std::strtod(file.rows[n][j].c_str(), nullptr));
      }
    }
    return all;
  }
  /// A file without what depends on the clock.
  [[nodiscard]] std::string timeless(const std::string& name) const {
    std::string out;
    for (const std::string& line : split(folder.read(name), '\n')) {
      if (line.find(" seconds (") == std::string::npos) out += line + "\n";
    }
    return out;
  }
  void expect_untouched() const { EXPECT_EQ(folder.names(), (Strings{"table.csv", "table.toml"})); }
};

// Bayesian ridge: N(A^-1 beta X^T y, A^-1), A = beta X^T X + m I. Without a ball: not private.
// 4,000 draws that are as good as independent; the bounds are beyond five deviations of either.
TEST_F(Sample, OfTheSquaredLossIsBayesianRidge) {
  std::string text = "x,wage\n";
  for (int i = 0; i < 60; ++i) {
    const double x = i % 11 / 10.0;
    text += fmt::format("{},{}\n", x, 1000 + 3000 * x * x + 400 * (i % 7));
  }
  folder.write("wage.csv", text);
  folder.write("wage.toml",
               "label = 'wage'\nrange = [0, 6000]\ntolerance = 500\n[columns]\nx = {type = "
               "'number', range = [0, 1]}\n");
  const Outcome run = gibbsite({"sample", "--data", "wage.csv", "--schema", "wage.toml", "--model",
                                "squared", "--beta", "0.8", "--prior-precision", "0.5", "--seed",
                                "3", "--out", "draws", "--json"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Dataset people = read_csv(folder.path("wage.csv"), read_schema(folder.path("wage.toml")));
  ASSERT_EQ(people.schema.features(), 2U);  // and the intercept
  double a[2][2] = {{0.5, 0}, {0, 0.5}}, b[2] = {0, 0};
  for (std::size_t i = 0; i < people.rows(); ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      const double x = static_cast<double>(people.view()(i, j));
      b[j] += 0.8 * x * static_cast<double>(people.y[i]);
      for (std::size_t k = 0; k < 2; ++k)
        a[j][k] += 0.8 * x * static_cast<double>(people.view()(i, k));
    }
  }
  const double det = a[0][0] * a[1][1] - a[0][1] * a[1][0];
  const double mean[2] = {(a[1][1] * b[0] - a[0][1] * b[1]) / det,
                          (a[0][0] * b[1] - a[1][0] * b[0]) / det};
  const double variance[2] = {a[1][1] / det, a[0][0] / det};
  const std::vector<double> drawn = values("draws", 4);
  for (std::size_t j = 0; j < 2; ++j) {
    double sum = 0, squares = 0;
    const double n = static_cast<double>(drawn.size()) / 2;
    for (std::size_t i = j; i < drawn.size(); i += 2) sum += drawn[i];
    for (std::size_t i = j; i < drawn.size(); i += 2) squares += std::pow(drawn[i] - sum / n, 2);
    EXPECT_EQ(n, 4000);
    EXPECT_NEAR(sum / n, mean[j], 0.1 * std::sqrt(variance[j])) << j;
    EXPECT_NEAR(squares / n, variance[j], 0.15 * variance[j]) << j;
  }
  EXPECT_GT(std::fabs(mean[1]), 0.4);  // zeros would not pass
  const Outcome proximal =
      gibbsite({"sample", "--data", "wage.csv", "--schema", "wage.toml", "--model", "squared",
                "--sampler", "proximal", "--prior-precision", "0.5", "--out", "no"});
  EXPECT_EQ(proximal.status, 2);
  EXPECT_THAT(proximal.err, HasSubstr("--sampler proximal: what rounding does"));
}

TEST_F(Sample, OfBerkeleySaysWhatItsOwnFilesSay) {
  const std::string data = std::string(GIBBSITE_SOURCE_DIR) + "/data/berkeley.csv";
  const std::string domain = std::string(GIBBSITE_SOURCE_DIR) + "/data/berkeley.toml";
  const Outcome run = gibbsite(
      {"sample", "--data",   data,      "--schema", domain, "--prior-precision", "2",   "--beta",
       "0.5",    "--chains", "3",       "--draws",  "300",  "--warm-up",         "200", "--seed",
       "7",      "--npy",    "--plots", "--out",    "draws"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("NOT PRIVATE"));
  EXPECT_EQ(run.err.find("warning"), std::string::npos);
  for (const char* word :
       {"4,526 rows, 8 parameters", "β = 0.5, prior precision 2; seed 7", "backend cpu",
        "gender=Female", "department=F", "ESS bulk", "transitions/s", "effective draws/s",
        "split: warm-up", "kicks and a rotation by 0.55 π about the mode", "controlled mean",
        "chain-1.csv to chain-3.csv, summary.csv, draws.npy, chains.svg", "arviz.from_cmdstan"}) {
    EXPECT_THAT(run.out, HasSubstr(word));
  }
  Strings names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("draws")))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (Strings{"chain-1.csv", "chain-2.csv", "chain-3.csv", "chains.svg", "draws.npy",
                            "summary.csv"}));
  struct stat status {};
  ASSERT_EQ(stat(folder.path("draws").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);  // they tell about the rows

  const Table second = table("draws/chain-2.csv");
  EXPECT_EQ(second.columns, (Strings{"lp__", "accept_stat__", "stepsize__", "treedepth__",
                                     "n_leapfrog__", "divergent__", "energy__", "gender_Female",
                                     "gender_Male", "department_A", "department_B", "department_C",
                                     "department_D", "department_E", "department_F"}));
  ASSERT_EQ(second.rows.size(), 300U);
  for (const auto& [key, value] : std::map<std::string, std::string>{{"id", "2"},
                                                                     {"num_samples", "300"},
                                                                     {"num_warmup", "200"},
                                                                     {"thin", "1"},
                                                                     {"seed", "7"},
                                                                     {"beta", "0.5"},
                                                                     {"prior_precision", "2"},
                                                                     {"save_warmup", "0 (Default)"},
                                                                     {"delta", "0"}}) {
    EXPECT_EQ(second.facts.at(key), value) << key;
  }
  EXPECT_THAT(folder.read("draws/chain-2.csv"),
              AllOf(HasSubstr("\n# Adaptation terminated\n# Step size = "),
                    HasSubstr("\n#  Elapsed Time: "), HasSubstr(" seconds (Total)\n")));

  // lp__ is -U of the same line. Two sums of n losses, each within n u of the sum of its terms, all
  // of one sign; a few u for a loss.
  const Schema space = read_schema(domain);
  const Dataset applicants = read_csv(data, space);
  const auto backend = make_backend("reference");
  const Potential potential{
      .engine = backend->load(applicants.view(), applicants.y, loss_named("logistic")),
      .beta = 0.5,
      .prior_precision = 2,
      .center = {}};
  const std::vector<double> drawn = values("draws", 3);
  const std::vector<double> lp = second.numbers("lp__");
  for (const std::size_t n : {std::size_t{0}, std::size_t{150}, std::size_t{299}}) {
    const double u = potential.value(std::span(drawn).subspan((n * 3 + 1) * 8, 8));
    EXPECT_LE(std::fabs(-lp[n] - u), 2 * (4526 + 10) * 0x1p-53 * u) << n;
  }

  const Table summary = table("draws/summary.csv");
  const auto said = summarize({drawn, 300, 3, 8}, std::vector<double>{0.05, 0.5, 0.95});
  ASSERT_EQ(summary.rows.size(), 8U);
  double largest = 0;
  for (std::size_t j = 0; j < 8; ++j) {
    const Summary& s = said[j];
    const auto is = [&](const char* column, double value) {
      EXPECT_EQ(summary.numbers(column)[j], value) << column << " of " << summary.rows[j][0];
    };
    is("mean", s.mean);
    is("sd", s.deviation);
    is("q5", s.quantiles[0].value);
    is("q50", s.quantiles[1].value);
    is("q95", s.quantiles[2].value);
    is("mcse_mean", s.mean_standard_error);
    is("mcse_q5", s.quantiles[0].standard_error);
    is("mcse_q50", s.quantiles[1].standard_error);
    is("mcse_q95", s.quantiles[2].standard_error);
    is("r_hat", s.r_hat);
    is("ess_bulk", s.ess_bulk);
    is("ess_tail", s.ess_tail);
    const double off = summary.numbers("controlled_mean")[j] - s.mean;
    EXPECT_LT(std::fabs(off), 6 * s.mean_standard_error);
    EXPECT_LT(summary.numbers("mcse_controlled_mean")[j], s.mean_standard_error / 5);
    EXPECT_EQ(summary.rows[j][0], second.columns[7 + j]);
    EXPECT_EQ(summary.rows[j][1], space.feature_names()[j]);
    largest = std::max(largest, s.r_hat);
  }
  EXPECT_GT(largest, 0.99);

  // draws.npy, format 1.0: [C x N x d].
  const std::string npy = folder.read("draws/draws.npy");
  ASSERT_THAT(npy, StartsWith(std::string("\x93NUMPY\x01\x00", 8)));
  const std::size_t header =
      static_cast<unsigned char>(npy[8]) + 256U * static_cast<unsigned char>(npy[9]);
  EXPECT_EQ((10 + header) % 64, 0U);
  EXPECT_THAT(npy.substr(10, header),
              StartsWith("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 300, 8), }"));
  ASSERT_EQ(npy.size(), 10 + header + drawn.size() * sizeof(double));
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t n = 0; n < 300; ++n) {
      const char* row = npy.data() + 10 + header + (c * 300 + n) * 8 * sizeof(double);
      ASSERT_EQ(std::memcmp(row, &drawn[(n * 3 + c) * 8], 8 * sizeof(double)), 0) << c << " " << n;
    }
  }
  const std::string svg = folder.read("draws/chains.svg");
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_THAT(svg,
              AllOf(HasSubstr(">department=F<"), HasSubstr(">chain 3<"), Not(HasSubstr("nan"))));
}

TEST_F(Sample, ShowsTheMode) {
  const Outcome run = sample({"--draws", "4", "--warm-up", "20", "--seed", "3", "--beta", "0.5",
                              "--mode", "--out", "draws"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr(" mode "));
  const std::vector<double> mode = table("draws/summary.csv").numbers("mode");
  const Schema space = read_schema(folder.path("table.toml"));
  const Dataset people = read_csv(folder.path("table.csv"), space);
  const Potential potential{
      .engine = make_backend("reference")->load(people.view(), people.y, loss_named("logistic")),
      .beta = 0.5,
      .prior_precision = 1,
      .center = {}};
  std::vector<double> gradient(mode.size());
  potential.gradient(mode, gradient);
  for (const double slope : gradient) EXPECT_LE(std::fabs(slope), 1e-8);

  const Outcome again = sample({"--draws", "4", "--warm-up", "20", "--seed", "3", "--beta", "0.5",
                                "--mode", "--json", "--out", "again"});
  ASSERT_EQ(again.status, 0) << again.err;
  const auto said = nlohmann::json::parse(again.out)["parameters"];
  for (std::size_t j = 0; j < mode.size(); ++j) EXPECT_EQ(said[j]["mode"], mode[j]);
  ASSERT_EQ(sample({"--draws", "4", "--warm-up", "20", "--out", "without"}).status, 0);
  EXPECT_THAT(folder.read("without/summary.csv"), Not(HasSubstr("mode")));
}

TEST_F(Sample, TheSameSeedIsTheSameRun) {
  ASSERT_EQ(sample({"--draws", "20", "--seed", "3", "--out", "a", "--plots"}).status, 0);
  ASSERT_EQ(sample({"--draws", "20", "--seed", "3", "--out", "b", "--plots"}).status, 0);
  ASSERT_EQ(sample({"--draws", "20", "--seed", "4", "--out", "c"}).status, 0);
  for (const char* name : {"/chain-1.csv", "/chain-4.csv", "/summary.csv", "/chains.svg"}) {
    EXPECT_EQ(timeless(std::string("a") + name), timeless(std::string("b") + name)) << name;
  }
  EXPECT_NE(values("a", 4), values("c", 4));
  // Without one the system's is said, and repeats the run.
  const Outcome fresh = sample({"--draws", "20", "--out", "d", "--json"});
  ASSERT_EQ(fresh.status, 0) << fresh.err;
  const auto seed = nlohmann::json::parse(fresh.out)["run"]["seed"].get<std::uint64_t>();
  EXPECT_LT(seed, std::uint64_t{1} << 31);  // R reads it
  ASSERT_EQ(sample({"--draws", "20", "--seed", std::to_string(seed), "--out", "e"}).status, 0);
  EXPECT_EQ(values("d", 4), values("e", 4));
}

TEST_F(Sample, ThinningKeepsEveryKthTransition) {
  ASSERT_EQ(sample({"--draws", "12", "--seed", "3", "--out", "all"}).status, 0);
  ASSERT_EQ(sample({"--draws", "4", "--thinning", "3", "--seed", "3", "--out", "some"}).status, 0);
  const Table all = table("all/chain-2.csv"), some = table("some/chain-2.csv");
  ASSERT_EQ(some.rows.size(), 4U);
  for (std::size_t n = 0; n < 4; ++n) {
    EXPECT_EQ(Strings(some.rows[n].begin() + 7, some.rows[n].end()),
              Strings(all.rows[3 * n + 2].begin() + 7, all.rows[3 * n + 2].end()));
  }
  EXPECT_EQ(some.facts.at("thin"), "3");
  EXPECT_EQ(some.facts.at("num_samples"), "12");  // before thinning, as CmdStan counts
}

TEST_F(Sample, JsonKeepsItsContract) {
  const Outcome run = sample({"--out", "draws", "--json", "--sampler", "mala", "--metric",
                              "diagonal", "--target-acceptance", "0.7"});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["private"], false);
  EXPECT_EQ(json["run"]["sampler"], "mala");
  EXPECT_EQ(json["run"]["metric"], "diagonal");
  EXPECT_EQ(json["run"]["target_acceptance"], 0.7);
  EXPECT_EQ(json["run"]["leapfrog_steps"], 1);
  EXPECT_EQ(json["run"]["draws"], 1000);
  EXPECT_EQ(json["out"], "draws");
  EXPECT_EQ(json["files"].size(), 5U);
  ASSERT_EQ(json["parameters"].size(), 5U);
  const auto& first = json["parameters"][0];
  EXPECT_EQ(first["variable"], "age");
  EXPECT_EQ(json["parameters"][3]["variable"], "work_missing");
  EXPECT_EQ(json["parameters"][3]["feature"], "work=(missing)");
  EXPECT_EQ(json["parameters"][4]["variable"], "intercept");
  const Table summary = table("draws/summary.csv");
  EXPECT_EQ(summary.numbers("mean")[0], first["mean"].get<double>());
  EXPECT_EQ(summary.numbers("ess_tail")[0], first["ess_tail"].get<double>());
  EXPECT_TRUE(json["verdict"]["usable"].is_boolean());
  EXPECT_GT(json["speed"]["transitions_per_second"].get<double>(), 0);
}

TEST_F(Sample, ProximalDrawsNameTheirGap) {
  const Outcome run = sample({"--out", "draws", "--sampler", "proximal", "--tv", "1e-6", "--chains",
                              "8", "--draws", "20"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("every draw is within 1e-06 (total variation) of the posterior"));
  EXPECT_THAT(folder.read("draws/chain-1.csv"), HasSubstr("gibbsite_tv_gap = 1e-06"));
  EXPECT_THAT(run.err, HasSubstr("each draw keeps to its gap"));
}

// R-hat and effective sizes decide; the message says what to do.
TEST_F(Sample, SaysWhenTheDrawsAreNotToBeReliedOn) {
  const Outcome good = sample({"--out", "good", "--seed", "1"});
  ASSERT_EQ(good.status, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("Verdict: the chains agree: every R-hat is below 1.01"));
  EXPECT_THAT(good.err, Not(HasSubstr("warning")));

  const Outcome few = sample({"--out", "few", "--seed", "1", "--draws", "50", "--quiet"});
  ASSERT_EQ(few.status, 0);
  EXPECT_EQ(few.out, "");
  EXPECT_THAT(few.err, StartsWith("NOT PRIVATE"));
  EXPECT_THAT(few.err, HasSubstr("gibbsite: warning: do not rely on these draws yet: "));
  EXPECT_THAT(few.err, HasSubstr("fewer than 100 effective draws a chain"));

  // Slow moves and no warm-up: chains stay where they started.
  const Outcome apart = sample({"--out", "apart", "--seed", "1", "--draws", "20", "--warm-up", "0",
                                "--sampler", "mala", "--metric", "unit", "--json"});
  ASSERT_EQ(apart.status, 0) << apart.err;
  EXPECT_THAT(apart.err, HasSubstr("an R-hat that is not below 1.01"));
  EXPECT_EQ(nlohmann::json::parse(apart.out)["verdict"]["usable"], false);

  const Outcome one = sample({"--out", "one", "--chains", "1", "--plots"});
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(one.err, HasSubstr("give --chains 4"));
  EXPECT_EQ(xml_fault(folder.read("one/chains.svg")), "");
}

// Levels as people write them: names for readers, escapes in CSV and XML, the worst first.
TEST_F(Sample, ManyParametersWithOddNames) {
  std::string levels, csv = "shop,kind,income\n";
  for (int i = 0; i < 25; ++i) levels += ", \"L" + std::to_string(i) + "\"";
  for (int i = 0; i < 100; ++i) {
    csv += std::string(i % 3 == 0   ? "\"<a & \"\"b\"\", c>\""
                       : i % 3 == 1 ? "-1"
                                    : "1") +
           ",L" + std::to_string(i % 25) + "," + (i % 7 < 3 ? ">50K" : "<=50K") + "\n";
  }
  folder.write("table.csv", csv);
  folder.write("table.toml",
               "label = \"income\"\npositive = \">50K\"\nrow_norm = 1.5\nintercept = false\n"
               "[columns]\nshop = {type = \"category\", levels = [\"<a & \\\"b\\\", c>\", \"-1\", "
               "\"1\"]}\nkind = {type = \"category\", levels = [" +
                   levels.substr(2) + "]}\n");
  const Outcome run = sample({"--out", "draws", "--draws", "900", "--chains", "9", "--plot",
                              "shop=<a & \"b\", c>", "--plot", "shop_1_2", "--seed", "1"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("the 20 that mixed worst; the other 8 are in draws/summary.csv"));
  const Table chain = table("draws/chain-9.csv");
  EXPECT_EQ(Strings(chain.columns.begin() + 7, chain.columns.begin() + 11),
            (Strings{"shop_a_b_c", "shop_1", "shop_1_2", "kind_L0"}));
  EXPECT_THAT(folder.read("draws/summary.csv"),
              HasSubstr("\nshop_a_b_c,\"shop=<a & \"\"b\"\", c>\","));
  const std::string svg = folder.read("draws/chains.svg");
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_THAT(svg,
              AllOf(HasSubstr(">shop=&lt;a &amp; &quot;b&quot;, c&gt;<"), HasSubstr(">shop=1<"),
                    Not(HasSubstr(">shop=-1<")), HasSubstr("the 8 of 9")));
}

TEST_F(Sample, MoreFeaturesThanRows) {
  folder.write("table.csv", "age,work,income\n20,Private,>50K\n30,?,<=50K\n");
  const Outcome run = sample({"--out", "draws", "--seed", "1"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("2 rows, 5 parameters"));
}

TEST_F(Sample, StartsAndScalesComeFromFiles) {
  folder.write("start.txt", "0.5\n-1\n\n0.25\r\n0\n1e-3\n");
  folder.write("scales.txt", "1\n1\n1\n1\n1\n");
  const Strings options{"--draws", "8", "--seed", "2", "--warm-up", "0"};
  const auto with = [&](const Strings& more) {
    Strings all = options;
    all.insert(all.end(), more.begin(), more.end());
    const Outcome run = sample(all);
    EXPECT_EQ(run.status, 0) << run.err;
  };
  with({"--out", "unit", "--metric", "unit", "--start", "start.txt"});
  with({"--out", "scales", "--metric", "scales", "--scales", "scales.txt", "--start", "start.txt"});
  with({"--out", "elsewhere", "--metric", "unit"});
  EXPECT_EQ(values("unit", 4), values("scales", 4));
  EXPECT_NE(values("unit", 4), values("elsewhere", 4));
}

TEST_F(Sample, PriorsByNameAreSaidAndFollowed) {
  folder.write("priors.txt", "# of one column\nage = normal(2, 0.001)\n");
  const Outcome byname = gibbsite(command(
      {"--out", "tight", "--priors", "priors.txt", "--prior", "normal(0, 0.001)", "--seed", "1"}));
  EXPECT_EQ(byname.status, 0) << byname.err;
  EXPECT_THAT(byname.out, HasSubstr("prior age = normal(2, 0.001)\n"));
  const Table draws = parse(folder.read("tight/chain-1.csv"));
  EXPECT_EQ(draws.facts.at("prior age"), "normal(2, 0.001)");
  EXPECT_EQ(draws.facts.at("prior *"), "normal(0, 0.001)");
  for (const double value : draws.numbers("age")) EXPECT_NEAR(value, 2, 0.01);
  const Outcome wrong = gibbsite(command({"--out", "d", "--prior", "aeg=normal(0, 1)"}));
  expect_error(wrong, 2, "--prior: no column or feature is called 'aeg'; the first is 'age'");
  folder.write("priors.txt", "# two\nage = cauchy(0, 1)\n");
  expect_error(gibbsite(command({"--out", "d", "--priors", "priors.txt"})), 2,
               "priors.txt:2: 'cauchy(0, 1)' is no prior");
}

TEST_F(Sample, ManyShortChainsAreOneArray) {
  const Outcome out = gibbsite(command({"--out", "many", "--chains", "256", "--draws", "2"}));
  EXPECT_EQ(out.status, 0) << out.err;
  EXPECT_EQ(folder.read("many/draws.npy").size() % 64, 0U);
  EXPECT_THAT(out.out, HasSubstr("numpy.load"));
}

TEST_F(Sample, BadInputIsOneLineAndLeavesNothing) {
  struct Case {
    const char* what;
    Strings options;
  };
  const std::vector<Case> cases{
      {"--prior-precision: must be a finite number above 0", {"--prior-precision", "0"}},
      {"--prior-precision: must be a finite number above 0", {"--prior-precision=-1"}},
      {"--prior-precision: nan", {"--prior-precision", "nan"}},
      {"--beta: must be a finite number above 0", {"--beta", "0"}},
      {"--beta: must be a finite number above 0", {"--beta=-1"}},
      {"--beta: nan", {"--beta", "nan"}},
      {"--beta: inf", {"--beta", "inf"}},
      {"--chains: must be a whole number, 1 or above", {"--chains", "0"}},
      {"--chains: must be from 1 to ", {"--chains", "1e12"}},
      {"--draws: must be 4 or more, or fewer of 64 chains or more", {"--draws", "3"}},
      {"--draws: must be from 1 to ", {"--draws", "1e15"}},
      {"GiB of memory that are free; give fewer --draws, or a larger --thinning",
       {"--draws", "1e11"}},
      {"--warm-up: must be at most ", {"--warm-up", "1e15"}},
      {"--thinning: must be a whole number, 1 or above", {"--thinning", "0"}},
      {"--target-acceptance", {"--target-acceptance", "1"}},
      {"'euclid'", {"--metric", "euclid"}},
      {"'gibbs'", {"--sampler", "gibbs"}},
      {"--tv: belongs to", {"--tv", "1e-9"}},
      {"--tv: ", {"--sampler", "proximal", "--tv", "0.5"}},
      {"--warm-up", {"--sampler", "proximal", "--warm-up", "9"}},
      {"'abacus'", {"--backend", "abacus"}},
      {"--scales: ", {"--metric", "scales"}},
      {"--scales: ", {"--scales", "table.csv"}},
      {"absent.csv", {"--data", "absent.csv"}},
      {"absent.toml", {"--schema", "absent.toml"}},
      {"absent.txt", {"--start", "absent.txt"}},
      {"--plot: no parameter is called 'height'", {"--plot", "height"}},
      {"table.csv: is a file; give a new folder", {"--out", "table.csv"}},
      {"no/draws: cannot write: ", {"--out", "no/draws"}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    Strings options = one.options;
    if (options[0] != "--out") options.insert(options.end(), {"--out", "draws"});
    // The last of an option given twice is the error of CLI11, so the good one is taken out.
    Strings all = command({});
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      if (all[i] == options[0].substr(0, options[0].find('='))) {
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(i),
                  all.begin() + static_cast<std::ptrdiff_t>(i) + 2);
      }
    }
    all.insert(all.end(), options.begin(), options.end());
    expect_error(gibbsite(all), 2, one.what);
    expect_untouched();
  }
  expect_error(gibbsite({"sample", "--data", "table.csv", "--schema", "table.toml", "--out", "d"}),
               2, "--prior-precision");
  expect_untouched();
}

TEST_F(Sample, BadFilesOfNumbersAreNamedWithTheirLine) {
  const auto refuse = [&](const std::string& text, const std::string& what) {
    folder.write("start.txt", text);
    expect_error(sample({"--out", "draws", "--start", "start.txt"}), 2, what);
    EXPECT_FALSE(std::filesystem::exists(folder.path("draws")));
  };
  refuse("1\n2\n", "start.txt: 2 numbers, the schema makes 5 features");
  refuse("", "start.txt: 0 numbers");
  refuse("1\n2\nnan\n4\n5\n", "start.txt:3: nan is not a finite number");
  refuse("1\n2\n3\nfour\n5\n", "start.txt:4: 'four' is not a number");
  folder.write("scales.txt", "1\n1\n0\n1\n1\n");
  expect_error(sample({"--out", "draws", "--metric", "scales", "--scales", "scales.txt"}), 2,
               "scales.txt: must be a finite number above 0, got 0");
}

TEST_F(Sample, AFolderThatHoldsSomethingIsKept) {
  ASSERT_EQ(sample({"--out", "draws", "--draws", "8"}).status, 0);
  const std::string before = folder.read("draws/chain-1.csv");
  expect_error(sample({"--out", "draws", "--draws", "8"}), 2, "draws: is there and not empty");
  EXPECT_EQ(folder.read("draws/chain-1.csv"), before);
  std::filesystem::create_directory(folder.path("empty"));
  EXPECT_EQ(sample({"--out", "empty/", "--draws", "8"}).status, 0);
  EXPECT_NE(folder.read("empty/summary.csv"), "");
  EXPECT_EQ(folder.names(), (Strings{"draws", "empty", "table.csv", "table.toml"}));
  // A rename over the folder that a shell stands in would leave it nowhere.
  const TempDir here;
  const Outcome run =
      testing::run({GIBBSITE_CLI, "sample", "--data", folder.path("table.csv"), "--schema",
                    folder.path("table.toml"), "--prior-precision", "1", "--out", "."},
                   here.path());
  expect_error(run, 2, ".: is the current folder; give a new one in it");
}

TEST_F(Sample, AFullQuotaLeavesNothing) {
  expect_error(gibbsite(command({"--out", "draws", "--draws", "200"}), 8192), 2,
               "chain-1.csv: cannot write: File too large; free space");
  expect_untouched();
}

TEST_F(Sample, AnInterruptionLeavesNothing) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Strings all = command({"--out", "draws", "--warm-up", "1e11"});
    all.insert(all.begin(), GIBBSITE_CLI);
    Process process(all, folder.path());
    ASSERT_TRUE(process.wait_until([&] {
      return process.out_so_far().find("\nbackend ") != std::string::npos;
    })) << process.err_so_far();
    expect_error(expect_interruption(process, signal, "; nothing was kept, run the same again\n"),
                 130, "interrupted");
  }
}

}  // namespace sample_test
}  // namespace gibbsite::testing
