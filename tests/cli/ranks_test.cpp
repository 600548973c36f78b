// Commands by several ranks under mpirun: one model, the bits of one process, and nothing where a
// rank fails. Skipped where mpirun or libgibbsite_mpi.so is not there.
#include <dirent.h>
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace ranks_test {

using ::testing::HasSubstr;

class Ranks : public Cli {
 protected:
  void SetUp() override {
    const std::filesystem::path program = GIBBSITE_CLI;
    if (!std::filesystem::exists(program.parent_path() / "libgibbsite_mpi.so"))
      GTEST_SKIP() << "libgibbsite_mpi.so is not built: no MPI was found";
    if (run({"sh", "-c", "command -v mpirun"}).status != 0) GTEST_SKIP() << "mpirun is not there";
    Cli::SetUp();
    std::string rows = "age,work,income\n";
    std::mt19937 random(5);
    for (int i = 0; i < 5000; ++i) {
      const auto age = 17 + random() % 70;
      rows += std::to_string(age) + (i % 3 == 0 ? ",Private," : ",\"State, gov\",") +
              (age + random() % 40 > 60 ? ">50K\n" : "<=50K\n");
    }
    folder.write("table.csv", rows);
  }
  static std::vector<std::string> mpirun(int count) {
    // OpenMPI asks for each: as root, more ranks than cores, no network but the loopback. Where it
    // counts a core for each rank it would spin, though other tests have the cores.
    return {"env",
            "OMP_NUM_THREADS=1",
            "OMPI_ALLOW_RUN_AS_ROOT=1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
            "mpirun",
            "-q",
            "--oversubscribe",
            "--bind-to",
            "none",
            "--mca",
            "btl",
            "self,vader",
            "--mca",
            "mpi_yield_when_idle",
            "1",
            "-n",
            std::to_string(count)};
  }
  [[nodiscard]] std::vector<std::string> command(int count, std::vector<std::string> words) const {
    std::vector<std::string> out = mpirun(count);
    out.emplace_back(GIBBSITE_CLI);
    out.insert(out.end(), words.begin(), words.end());
    return out;
  }
  [[nodiscard]] Outcome on_ranks(int count, const std::vector<std::string>& words) const {
    return run(command(count, words), folder.path());
  }
  /// Several programs as the ranks of one job.
  [[nodiscard]] Outcome apart(const std::vector<std::vector<std::string>>& each) const {
    std::vector<std::string> out = mpirun(1);
    for (std::size_t rank = 0; rank < each.size(); ++rank) {
      if (rank > 0) out.insert(out.end(), {":", "-n", "1"});
      out.emplace_back(GIBBSITE_CLI);
      out.insert(out.end(), each[rank].begin(), each[rank].end());
    }
    return run(out, folder.path());
  }
  /// The lines that gibbsite says; mpirun may add its own.
  static std::vector<std::string> said(const std::string& err) {
    std::vector<std::string> out;
    std::istringstream lines(err);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("gibbsite: ") && !line.starts_with("gibbsite: warning"))
        out.push_back(line);
    return out;
  }
  /// One line; a rank that a busy machine is slow to end may say it again.
  static void expect_one_error(const Outcome& outcome, const std::string& what) {
    EXPECT_NE(outcome.status, 0);
    auto lines = said(outcome.err);
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    ASSERT_EQ(lines.size(), 1U) << outcome.err;
    EXPECT_THAT(lines[0], HasSubstr(what));
  }
  /// Processes of this program that belong to the job, by the folder they work in.
  [[nodiscard]] std::vector<pid_t> processes() const {
    std::vector<pid_t> out;
    std::error_code gone;
    const auto home = std::filesystem::canonical(folder.path());
    for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      if (std::filesystem::read_symlink(entry.path() / "cwd", gone) != home) continue;
      if (std::filesystem::read_symlink(entry.path() / "exe", gone) !=
          std::filesystem::canonical(GIBBSITE_CLI))
        continue;
      out.push_back(static_cast<pid_t>(std::stol(name)));
    }
    return out;
  }
  /// The process of that rank; 0 where it is not there.
  [[nodiscard]] pid_t process_of(int rank) const {
    for (const pid_t pid : processes()) {
      std::ifstream file(fmt::format("/proc/{}/environ", pid));
      for (std::string variable; std::getline(file, variable, '\0');)
        if (variable == fmt::format("OMPI_COMM_WORLD_RANK={}", rank)) return pid;
    }
    return 0;
  }
  static std::vector<std::string> seeded(const std::vector<std::string>& more,
                                         const std::string& out = "model.json") {
    std::vector<std::string> words = fit({"--out", out, "--force", "--seed", "7", "--verbose"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(Ranks, OneModelOfTheSameBits) {
  for (const auto& [mechanism, counts] : std::vector<std::pair<std::string, std::vector<int>>>{
           {"whitened", {2, 7}}, {"path", {4}}, {"output", {7}}}) {
    std::vector<std::string> more{"--mechanism", mechanism};
    if (mechanism == "path") more.insert(more.end(), {"--iterations", "300"});
    const Outcome alone = gibbsite(seeded(more, "one.json"));
    ASSERT_EQ(alone.status, 0) << alone.err;
    for (const int count : counts) {
      SCOPED_TRACE(mechanism + " on " + std::to_string(count));
      const Outcome outcome = on_ranks(count, seeded(more));
      ASSERT_EQ(outcome.status, 0) << outcome.err;
      EXPECT_EQ(folder.read("model.json"), folder.read("one.json"));
      const std::string first = "Written: model.json";
      EXPECT_EQ(outcome.out.find(first), outcome.out.rfind(first)) << outcome.out;
      EXPECT_EQ(made(), (std::vector<std::string>{"model.json", "one.json"}));
      std::filesystem::remove(folder.path("model.json"));
    }
  }
}

TEST_F(Ranks, MadeUpRowsHaveOneModelToo) {
  const std::vector<std::string> words{"bench", "--ranks",    "--fit", "--rows",
                                       "30000", "--features", "4",     "--epsilon",
                                       "1",     "--delta",    "1e-6",  "--json"};
  const auto alone = nlohmann::json::parse(gibbsite(words).out)["fit"];
  for (const int count : {2, 3}) {
    const Outcome outcome = on_ranks(count, words);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const auto fit = nlohmann::json::parse(outcome.out)["fit"];
    EXPECT_EQ(fit["bits"], alone["bits"]);
    EXPECT_EQ(fit["ranks"], count);
  }
  EXPECT_TRUE(made().empty());
  // Messages and rows are measured, and a table follows.
  const Outcome outcome =
      on_ranks(2, {"bench", "--ranks", "--rows", "20000", "--features", "4", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto out = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(out["step"]["rows"], 20000);
  for (const auto& constant : out["constants"]) EXPECT_GT(constant.get<double>(), 0);
  expect_one_error(on_ranks(2, {"bench", "--rows", "9", "--features", "3"}),
                   "is done by one process");
}

// Five blocks of rows, so that of 7 ranks some have none.
TEST_F(Ranks, SharesInFilesAreOfTheSameBits) {
  const std::vector<std::string> mechanism{"--mechanism", "whitened"};
  std::vector<std::string> cached = mechanism;
  cached.insert(cached.end(), {"--cache", "always"});
  ASSERT_EQ(gibbsite(seeded(mechanism, "one.json")).status, 0);
  for (const int count : {2, 7}) {
    SCOPED_TRACE(count);
    const Outcome outcome = on_ranks(count, seeded(cached));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(folder.read("model.json"), folder.read("one.json"));
    EXPECT_THAT(outcome.err, HasSubstr("on disk"));
    const std::string of = std::to_string(count);
    EXPECT_THAT(outcome.err,
                HasSubstr("private: table.csv.gibbsite-cache.K-of-" + of + " of each rank K"));
    std::vector<std::string> caches;
    for (int rank = 1; rank <= std::min(count, 5); ++rank)
      caches.push_back("table.csv.gibbsite-cache." + std::to_string(rank) + "-of-" + of);
    auto all = made();
    std::erase_if(all, [](const std::string& name) { return name.ends_with(".json"); });
    if (count < 5) {
      EXPECT_EQ(all, caches);
    }
    EXPECT_LE(all.size(), 5U);  // none of an empty share
    // They are used again without a word of them, and go on request.
    const std::string description = folder.read(all[0] + "/cache.json");
    const auto before = std::filesystem::last_write_time(folder.path(all[0] + "/cache.json"));
    std::filesystem::remove(folder.path("model.json"));
    EXPECT_EQ(std::filesystem::status(folder.path(all[0])).permissions(),
              std::filesystem::perms::owner_all);
    ASSERT_EQ(on_ranks(count, seeded(mechanism)).status, 0);
    EXPECT_EQ(folder.read("model.json"), folder.read("one.json"));
    EXPECT_EQ(std::filesystem::last_write_time(folder.path(all[0] + "/cache.json")), before);
    EXPECT_EQ(folder.read(all[0] + "/cache.json"), description);
    std::vector<std::string> removing = mechanism;
    removing.emplace_back("--remove-cache");
    ASSERT_EQ(on_ranks(count, seeded(removing)).status, 0);
    EXPECT_EQ(made(), (std::vector<std::string>{"model.json", "one.json"}));
    std::filesystem::remove(folder.path("model.json"));
  }
}

TEST_F(Ranks, AShareInFilesIsCheckedBeforeItIsUsed) {
  const std::vector<std::string> cached{"--mechanism", "output", "--cache", "always"};
  ASSERT_EQ(gibbsite(seeded({"--mechanism", "output"}, "one.json")).status, 0);
  ASSERT_EQ(on_ranks(2, seeded(cached)).status, 0);
  const std::string array = "table.csv.gibbsite-cache.2-of-2/x.f32";
  std::string bytes = folder.read(array);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  folder.write(array, bytes);
  namespace fs = std::filesystem;
  fs::permissions(folder.path("table.csv.gibbsite-cache.1-of-2"), fs::perms::group_all,
                  fs::perm_options::add);
  const Outcome damaged = on_ranks(2, seeded(cached));
  ASSERT_EQ(damaged.status, 0) << damaged.err;
  EXPECT_THAT(damaged.out,
              HasSubstr("rank 1: table.csv.gibbsite-cache.2-of-2: x.f32 is damaged; it "
                        "is made anew"));
  EXPECT_THAT(damaged.out,
              HasSubstr("rank 0: table.csv.gibbsite-cache.1-of-2: others than its owner may open "
                        "it; it is made anew"));
  EXPECT_EQ(folder.read("model.json"), folder.read("one.json"));
  EXPECT_NE(folder.read(array), bytes);
  // One row, of the same length, in the share of the first.
  std::string rows = folder.read("table.csv");
  const std::size_t cell = rows.find('\n') + 1;
  rows[cell] = rows[cell] == '7' ? '6' : '7';
  folder.write("table.csv", rows);
  ASSERT_EQ(gibbsite(seeded({"--mechanism", "output"}, "one.json")).status, 0);
  const Outcome changed = on_ranks(2, seeded(cached));
  ASSERT_EQ(changed.status, 0) << changed.err;
  EXPECT_THAT(changed.out,
              HasSubstr("rank 0: table.csv.gibbsite-cache.1-of-2: the table has changed"));
  EXPECT_EQ(folder.read("model.json"), folder.read("one.json"));
  // A fit that fails after its rows were read, and one of another number of ranks: none stays.
  ASSERT_EQ(on_ranks(3, seeded(cached)).status, 0);
  const Outcome removed = on_ranks(2, {"fit", "--data", "table.csv", "--remove-cache"});
  EXPECT_EQ(removed.out, "Removed: the cache of table.csv\n") << removed.err;
  EXPECT_EQ(made(), (std::vector<std::string>{"model.json", "one.json"}));
  auto failing = fit({"--out", "m.json", "--cache", "always", "--remove-cache", "--rows-cap", "5",
                      "--adjacency", "add-remove"});
  expect_one_error(on_ranks(3, failing), "--rows-cap");
  EXPECT_EQ(made(), (std::vector<std::string>{"model.json", "one.json"}));
  // A bad cell is found on the way to the files, of which none is left.
  rows.replace(rows.rfind("\n", rows.size() - 2) + 1, 2, "xx");
  folder.write("table.csv", rows);
  expect_one_error(on_ranks(2, seeded(cached, "m.json")), "rank 1: table.csv:5001: column 'age'");
  auto left = made();
  std::erase(left, "table.csv.gibbsite-cache.1-of-2");  // whole, of another share
  EXPECT_EQ(left, (std::vector<std::string>{"model.json", "one.json"}));
}

// A folder of parts, by one process and by ranks; entries that are not zero behind each other.
TEST_F(Ranks, PartsInFiles) {
  std::filesystem::create_directory(folder.path("parts"));
  std::mt19937 random(9);
  for (int part = 0; part < 3; ++part) {
    std::string rows;
    for (int i = 0; i < 1500 + part; ++i) {
      rows += random() % 2 == 0 ? "+1" : "-1";
      for (int j = 1; j <= 40; ++j)
        if (random() % 10 == 0)
          rows += " " + std::to_string(j) + ":0." + std::to_string(random() % 9 + 1);
      rows += "\n";
    }
    folder.write("parts/p" + std::to_string(part) + ".svm", rows);
  }
  folder.write("parts.toml",
               "label = \"label\"\npositive = \"1\"\nrow_norm = 1\n[columns]\nx = {type = "
               "\"number\", range = [0, 1], count = 40}\n");
  const auto words = [](const std::string& out, std::vector<std::string> more) {
    std::vector<std::string> all{"fit",       "--data",      "parts",    "--schema", "parts.toml",
                                 "--epsilon", "1",           "--delta",  "1e-6",     "--seed",
                                 "3",         "--mechanism", "whitened", "--force",  "--out",
                                 out,         "--verbose"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const Outcome alone = gibbsite(words("one.json", {}));
  ASSERT_EQ(alone.status, 0) << alone.err;
  EXPECT_THAT(alone.err, HasSubstr("entries that are not zero"));
  for (const int count : {1, 4}) {
    SCOPED_TRACE(count);
    const auto cached = words("model.json", {"--cache", "always"});
    for (int time = 0; time < 2; ++time) {
      const Outcome outcome = count == 1 ? gibbsite(cached) : on_ranks(count, cached);
      ASSERT_EQ(outcome.status, 0) << outcome.err;
      EXPECT_THAT(outcome.err, HasSubstr("on disk"));
      EXPECT_EQ(folder.read("model.json"), folder.read("one.json"));
    }
  }
  ASSERT_EQ(gibbsite({"fit", "--data", "parts/", "--remove-cache"}).status, 0);
  EXPECT_EQ(made(), (std::vector<std::string>{"model.json", "one.json", "parts", "parts.toml"}));
}

// A person has rows on several ranks and in several files; ids are numbers and texts.
TEST_F(Ranks, CountAPersonsRowsTogether) {
  std::filesystem::create_directory(folder.path("parts"));
  const std::string head = "who,age,income\n";
  std::string all = head, part = head;
  std::mt19937 random(9);
  for (int i = 0; i < 5000; ++i) {
    const auto who = i < 800 ? static_cast<unsigned>(i) : random() % 800, age = 17 + random() % 70;
    const std::string row = fmt::format(
        "{},{},{}\n",
        who % 2 == 0 ? fmt::format("{}{}", who, i % 2 == 0 ? "" : ".0") : fmt::format("p {}", who),
        age, age + random() % 40 > 60 ? ">50K" : "<=50K");
    all += row, part += row;
    if (i % 1700 == 1699 || i == 4999) {
      folder.write(fmt::format("parts/{}.csv", i), part);
      part = head;
    }
  }
  folder.write("visits.csv", all);
  folder.write(
      "visits.toml",
      "label = \"income\"\npositive = \">50K\"\n[columns]\nwho = {type = \"person\"}\nage = "
      "{type = \"number\", range = [17, 90]}\n");
  const auto words = [](const std::string& out, const std::string& data,
                        std::vector<std::string> more) {
    std::vector<std::string> command{
        "fit",       "--data",  data,      "--schema", "visits.toml",
        "--epsilon", "1",       "--delta", "1e-6",     "--rows-per-person",
        "2",         "--force", "--out",   out};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  };
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"--seed", "7", "--intervals"},
           {"--seed", "7", "--mechanism", "path", "--iterations", "200"}}) {
    SCOPED_TRACE(more[2]);
    const Outcome alone = gibbsite(words("one.json", "visits.csv", more));
    ASSERT_EQ(alone.status, 0) << alone.err;
    EXPECT_THAT(folder.read("one.json"), HasSubstr("\"people\": 800"));
    std::vector<std::string> cached = more;
    cached.insert(cached.end(), {"--cache", "always"});
    const auto expect_same = [&](const Outcome& outcome) {
      ASSERT_EQ(outcome.status, 0) << outcome.err;
      EXPECT_EQ(folder.read("model.json"), folder.read("one.json"));
      std::filesystem::remove(folder.path("model.json"));
    };
    for (const char* const data : {"visits.csv", "parts"}) {
      expect_same(on_ranks(2, words("model.json", data, more)));
      expect_same(on_ranks(7, words("model.json", data, cached)));
      expect_same(gibbsite(words("model.json", data, cached)));
      expect_same(gibbsite(words("model.json", data, more)));
    }
  }
  // What is said of the table, and figures of a model.
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           words("x.json", "visits.csv", {"--check"}),
           {"evaluate", "--model", "one.json", "--data", "visits.csv", "--json"}}) {
    const Outcome alone = gibbsite(command), outcome = on_ranks(3, command);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out, alone.out);
    if (command[0] != "fit") continue;
    const auto at = [](const std::string& err) { return err.substr(err.find("private:   800")); };
    EXPECT_THAT(at(alone.err), HasSubstr("effective sample size"));
    EXPECT_EQ(at(outcome.err), at(alone.err));
  }
}

TEST_F(Ranks, PosteriorDraws) {
  for (const auto& [more, count] : std::vector<std::pair<std::vector<std::string>, int>>{
           {{"--warm-up", "20", "--draws", "20", "--mode"}, 4},
           {{"--chains", "64", "--draws", "4"}, 3},
           {{"--sampler", "proximal", "--tv", "0.2", "--chains", "1", "--draws", "4"}, 2}}) {
    const auto words = [&options = more](const std::string& out) {
      std::vector<std::string> all{"sample",     "--data", "table.csv", "--schema",
                                   "table.toml", "--seed", "4",         "--prior-precision",
                                   "1000",       "--npy",  "--out",     out};
      all.insert(all.end(), options.begin(), options.end());
      return all;
    };
    const Outcome alone = gibbsite(words("one"));
    ASSERT_EQ(alone.status, 0) << alone.err;
    SCOPED_TRACE(more[0] + " on " + std::to_string(count));
    const Outcome outcome = on_ranks(count, words("draws"));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(folder.read("draws/draws.npy"), folder.read("one/draws.npy"));
    EXPECT_EQ(folder.read("draws/summary.csv"), folder.read("one/summary.csv"));
    const std::string verdict = "NOT PRIVATE";
    EXPECT_EQ(outcome.out.find(verdict), outcome.out.rfind(verdict)) << outcome.out;
    EXPECT_EQ(made(), (std::vector<std::string>{"draws", "one"}));
    std::filesystem::remove_all(folder.path("draws"));
    std::filesystem::remove_all(folder.path("one"));
  }
  std::filesystem::create_directory(folder.path("there"));
  folder.write("there/file", "");
  expect_one_error(on_ranks(2, {"sample", "--data", "table.csv", "--schema", "table.toml",
                                "--prior-precision", "1", "--out", "there"}),
                   "there");
}

TEST_F(Ranks, EvaluationsAndAudits) {
  ASSERT_EQ(gibbsite(fit({"--out", "model.json", "--mechanism", "whitened"})).status, 0);
  for (const auto& [words, count] : std::vector<std::pair<std::vector<std::string>, int>>{
           {{"evaluate", "--model", "model.json", "--data", "table.csv", "--json"}, 7},
           {{"evaluate", "--model", "model.json", "--data", "table.csv", "--beside-non-private"},
            3},
           {{"verify", "model.json", "--verbose"}, 2}}) {
    const Outcome alone = gibbsite(words);
    ASSERT_EQ(alone.status, 0) << alone.err;
    SCOPED_TRACE(words[0] + words.back());
    const Outcome outcome = on_ranks(count, words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out, alone.out);
  }
  const Outcome released = on_ranks(3, {"evaluate", "--model", "model.json", "--data", "table.csv",
                                        "--epsilon", "1", "--out", "figures.json"});
  ASSERT_EQ(released.status, 0) << released.err;
  EXPECT_EQ(gibbsite({"verify", "figures.json"}).status, 0);
  // All rows are in it: noise of some tens beside 5000.
  double sum = 0;
  const nlohmann::json figures_file = json("figures.json");
  for (const auto& count : figures_file.at("model").at("counts")) sum += count.get<double>();
  EXPECT_NEAR(sum, 5000, 500);
  expect_one_error(on_ranks(2, {"evaluate", "--model", "model.json", "--data", "table.csv",
                                "--report", "page.html"}),
                   "takes all rows in one process");
  std::string text = folder.read("model.json");
  const std::size_t digit = text.find_first_of("12345678", text.find("\"coefficients\""));
  ASSERT_NE(digit, std::string::npos);
  text[digit] = static_cast<char>(text[digit] + 1);
  folder.write("forged.json", text);
  const Outcome forged = on_ranks(3, {"verify", "forged.json"});
  EXPECT_NE(forged.status, 0);
  EXPECT_THAT(forged.out + forged.err, HasSubstr("forged.json"));

  const std::vector<std::string> audit{"audit", "--mechanism", "output", "--epsilon",
                                       "1",     "--delta",     "1e-6",   "--pairs",
                                       "5000",  "--quiet",     "--json"};
  const auto figures = [](const Outcome& outcome) {
    auto out = nlohmann::json::parse(outcome.out);
    const std::function<void(nlohmann::json&)> drop = [&](nlohmann::json& at) {
      if (!at.is_structured()) return;
      if (at.is_object()) at.erase("seconds");
      for (auto& inner : at) drop(inner);
    };
    drop(out);
    return out;
  };
  const Outcome alone = gibbsite(audit);
  ASSERT_EQ(alone.status, 0) << alone.err;
  const Outcome several = on_ranks(3, audit);
  ASSERT_EQ(several.status, 0) << several.err;
  EXPECT_EQ(figures(several), figures(alone));
}

// A program that ends before it meets the others, or never does.
TEST_F(Ranks, ARankThatDoesNotCome) {
  const std::string what = "ranks: not all have met within 4 s: one has ended, or is another";
  for (const auto& program : std::vector<std::vector<std::string>>{{"true"}, {"sleep", "30"}}) {
    SCOPED_TRACE(program[0]);
    std::vector<std::string> words = command(1, seeded({}));
    words.insert(words.begin(), {"env", "GIBBSITE_MEETING_SECONDS=4"});
    words.insert(words.end(), {":", "-n", "1"});
    words.insert(words.end(), program.begin(), program.end());
    words.insert(words.end(), {":", "-n", "1", GIBBSITE_CLI});
    const auto same = seeded({});
    words.insert(words.end(), same.begin(), same.end());
    const auto start = std::chrono::steady_clock::now();
    expect_one_error(run(words, folder.path()), what);
    EXPECT_TRUE(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
    EXPECT_TRUE(made().empty());
  }
}

// Made by a Python with pyarrow, where there is one.
TEST_F(Ranks, SharesOfParquetFiles) {
  const std::filesystem::path program = GIBBSITE_CLI;
  if (!std::filesystem::exists(program.parent_path() / "libgibbsite_parquet.so"))
    GTEST_SKIP() << "libgibbsite_parquet.so is not built: Arrow's C++ library was not found";
  folder.write("write.py",
               "import pyarrow.csv, pyarrow.parquet as p\n"
               "t = pyarrow.csv.read_csv('table.csv')\n"
               "p.write_table(t, 'table.parquet', row_group_size=700)\n"
               "p.write_table(t[:1800], 'parts/a.parquet', row_group_size=500)\n"
               "p.write_table(t[1800:], 'parts/b.parquet')\n");
  std::filesystem::create_directory(folder.path("parts"));
  const char* const python = std::getenv("GIBBSITE_TEST_PYTHON");  // NOLINT: one thread
  if (run({python != nullptr ? python : "python3", "write.py"}, folder.path()).status != 0)
    GTEST_SKIP() << "no Python with pyarrow writes such files; GIBBSITE_TEST_PYTHON names one";
  ASSERT_EQ(gibbsite(seeded({"--mechanism", "whitened"}, "one.json")).status, 0);
  struct Case {
    const char *table, *cache;
    int count;
  };
  for (const Case& c :
       {Case{"table.parquet", "never", 1}, Case{"table.parquet", "never", 7},
        Case{"table.parquet", "always", 2}, Case{"parts", "never", 1}, Case{"parts", "always", 1},
        Case{"parts", "never", 4}, Case{"parts", "always", 7}}) {
    SCOPED_TRACE(fmt::format("{} on {}, cache {}", c.table, c.count, c.cache));
    auto words = seeded({"--mechanism", "whitened", "--cache", c.cache});
    words[2] = c.table;
    const Outcome outcome = c.count == 1 ? gibbsite(words) : on_ranks(c.count, words);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(folder.read("model.json"), folder.read("one.json"));
    std::filesystem::remove(folder.path("model.json"));
  }
}

TEST_F(Ranks, ARunGoesOnWithAnotherNumberOfThem) {
  const std::vector<std::string> path{"--mechanism", "path", "--iterations", "60000"};
  std::vector<std::string> kept = path;
  kept.insert(kept.end(), {"--checkpoint", "run.ckpt"});
  Process process(command(3, seeded(kept)), folder.path());
  ASSERT_TRUE(process.wait_until([&] { return folder.read("run.ckpt").size() > 100; }));
  const pid_t last = process_of(2);
  ASSERT_NE(last, 0);
  ::kill(last, SIGINT);  // to mpirun it would take a second
  EXPECT_EQ(process.wait().status, 130);
  ASSERT_EQ(made(), (std::vector<std::string>{"run.ckpt"}));
  ASSERT_EQ(gibbsite(seeded(kept)).status, 0);
  EXPECT_EQ(made(), (std::vector<std::string>{"model.json"}));
  ASSERT_EQ(gibbsite(seeded(path, "one.json")).status, 0);
  EXPECT_EQ(folder.read("model.json"), folder.read("one.json"));
}

TEST_F(Ranks, WhatTheyCannotDoIsRefusedOnce) {
  expect_one_error(on_ranks(2, {"plan", "--data", "table.csv"}), "is done by one process");
  expect_one_error(on_ranks(2, fit({"--out", "m.json", "--model", "network"})),
                   "is fitted by one process");
  expect_one_error(on_ranks(2, fit({"--out", "no/folder/m.json"})), "--out");
  expect_one_error(on_ranks(2, {}), "no command given");
  EXPECT_EQ(said(on_ranks(2, {}).err).size(), 1U);
  expect_one_error(on_ranks(2, {"ledger", "create", "l.db", "--", "-h"}), "is done by one process");
  expect_one_error(on_ranks(2, {"audit", "--backend", "cuda", "--epsilon", "1", "--delta", "1e-6"}),
                   "is for the CPU");
  EXPECT_TRUE(made().empty());
}

// On a machine with no GPU for each of them.
TEST_F(Ranks, WithoutAGpuEachEndInOneLine) {
  const Outcome outcome = on_ranks(2, seeded({"--backend", "cuda"}));
  if (outcome.status == 0) GTEST_SKIP() << "each has a card";
  expect_one_error(outcome, "--backend cuda: ");
  EXPECT_THAT(outcome.err, ::testing::ContainsRegex("gibbsite: rank [01]: --backend cuda: "));
  EXPECT_TRUE(made().empty());
}

TEST_F(Ranks, WhatDiffersIsNamed) {
  const auto one = seeded({"--mechanism", "path"});
  auto other = one;
  other.back() = "whitened";
  expect_one_error(apart({one, other}),
                   "rank 1: was started with other words: 'whitened' where rank 0 has 'path'");
  // A file that one of them does not see.
  folder.write("rank0.sh", "exec " GIBBSITE_CLI " \"$@\"\n");
  folder.write("run.sh",
               "if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then cd away; fi\nexec " GIBBSITE_CLI
               " \"$@\"\n");
  std::filesystem::create_directory(folder.path("away"));
  const auto moved = [&] {
    std::vector<std::string> words = mpirun(2);
    words.insert(words.end(), {"sh", "run.sh"});
    words.insert(words.end(), one.begin(), one.end());
    return run(words, folder.path());
  };
  expect_one_error(moved(), "rank 1: table.toml");
  std::ofstream(folder.path("away/table.toml")) << schema();
  expect_one_error(moved(), "rank 1: table.csv: there is no such file");
  std::ofstream(folder.path("away/table.csv")) << folder.read("table.csv");
  std::ofstream(folder.path("away/table.toml")) << "# other\n" << schema();
  EXPECT_EQ(moved().status, 0);  // words that mean the same
  std::string wider = schema();
  wider.replace(wider.find("90"), 2, "95");
  std::ofstream(folder.path("away/table.toml")) << wider;
  expect_one_error(moved(), "rank 1: table.toml: the schema differs");
  std::ofstream(folder.path("away/table.toml")) << schema();
  std::string rows = folder.read("table.csv");
  rows[rows.size() / 2] = rows[rows.size() / 2] == '1' ? '2' : '1';
  std::ofstream(folder.path("away/table.csv")) << rows;
  const Outcome outcome = moved();
  EXPECT_NE(outcome.status, 0);
  // On a busy machine the other rank says the same line before it is ended.
  std::vector<std::string> lines = said(outcome.err);
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  EXPECT_EQ(lines.size(), 1U) << outcome.err;
}

TEST_F(Ranks, ABadCellEndsAll) {
  std::string rows = folder.read("table.csv");
  rows.replace(rows.rfind("\n", rows.size() - 2) + 1, 2, "xx");
  folder.write("table.csv", rows);
  expect_one_error(on_ranks(4, seeded({})), "rank 3: table.csv:5001: column 'age'");
  EXPECT_TRUE(made().empty());
}

TEST_F(Ranks, ALedgerIsEnteredOnce) {
  ASSERT_EQ(gibbsite({"ledger", "create", "l.db", "--epsilon", "3", "--delta", "1e-5"}).status, 0);
  const Outcome outcome =
      on_ranks(2, fit({"--out", "model.json", "--ledger", "l.db", "--mechanism", "path"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(gibbsite({"verify", "model.json"}).status, 0);
  const Outcome shown = gibbsite({"ledger", "show", "l.db"});
  EXPECT_EQ(shown.out.find("fit path"), shown.out.rfind("fit path")) << shown.out;
}

// Six times: soon nobody is left, there is no model and no torn checkpoint.
TEST_F(Ranks, ARankThatIsKilled) {
  std::mt19937 random(11);
  const auto words =
      seeded({"--mechanism", "path", "--iterations", "100000000", "--checkpoint", "run.ckpt"});
  for (int k = 0; k < 6; ++k) {
    SCOPED_TRACE(k);
    std::filesystem::remove(folder.path("run.ckpt"));
    Process process(command(3, words), folder.path());
    if (k % 3 != 0) {
      ASSERT_TRUE(
          process.wait_until([&] { return std::filesystem::exists(folder.path("run.ckpt")); }));
    } else {
      ASSERT_TRUE(process.wait_until([&] { return processes().size() == 3; }));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 300));
    const auto ranks = processes();
    ASSERT_EQ(ranks.size(), 3U);
    ::kill(ranks[random() % 3], SIGKILL);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_NE(process.wait().status, 0);
    // A rank may outlive its mpirun by as long as it takes to die on a busy machine.
    while (!processes().empty() &&
           std::chrono::steady_clock::now() - start < std::chrono::seconds(40))
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(std::chrono::steady_clock::now() - start < std::chrono::seconds(40));
    EXPECT_TRUE(processes().empty());
    EXPECT_FALSE(std::filesystem::exists(folder.path("model.json")));
    const std::string saved = folder.read("run.ckpt");
    if (!saved.empty()) {
      EXPECT_TRUE(saved.starts_with("gibbsite-checkpoint/1\n"));
    }
  }
}

// All end by it, as the first one says: in questions, and where each is at runs of its own.
TEST_F(Ranks, ASignalToOneOfThem) {
  for (const auto& [words, begun] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"sample", "--data", "table.csv", "--schema", "table.toml", "--prior-precision", "10",
             "--draws", "10000000", "--out", "draws"},
            "backend cpu"},
           {{"audit", "--mechanism", "path", "--rows", "20000", "--pairs", "1000000", "--epsilon",
             "1", "--delta", "1e-6", "--progress"},
            "auditing path"}}) {
    SCOPED_TRACE(words[0]);
    Process process(command(3, words), folder.path());
    ASSERT_TRUE(process.wait_until([&process, &said_then = begun] {
      return (process.out_so_far() + process.err_so_far()).find(said_then) != std::string::npos;
    })) << process.err_so_far();
    const pid_t last = process_of(2);
    ASSERT_NE(last, 0);
    ::kill(last, SIGTERM);
    const auto start = std::chrono::steady_clock::now();
    static_cast<void>(process.wait_until([] { return false; }, 20));  // or until it has ended
    const auto took = std::chrono::steady_clock::now() - start;
    if (took > std::chrono::seconds(19)) process.send(SIGTERM);  // it would go on
    const Outcome outcome = process.wait();
    EXPECT_TRUE(took < std::chrono::seconds(15));
    EXPECT_EQ(outcome.status, 130);
    expect_one_error(outcome, "rank 0: interrupted; nothing was written");
    EXPECT_TRUE(processes().empty());
    EXPECT_TRUE(made().empty());
  }
}

TEST_F(Ranks, ARankThatHangs) {
  Process process(command(3, seeded({"--mechanism", "path", "--iterations", "100000000",
                                     "--checkpoint", "run.ckpt"})),
                  folder.path());
  ASSERT_TRUE(process.wait_until([&] { return std::filesystem::exists(folder.path("run.ckpt")); }));
  auto ranks = processes();
  ASSERT_EQ(ranks.size(), 3U);
  ::kill(ranks[1], SIGSTOP);
  const Outcome outcome = process.wait();
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("has said nothing for 8 s"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("model.json")));
}

}  // namespace ranks_test
}  // namespace gibbsite::testing
