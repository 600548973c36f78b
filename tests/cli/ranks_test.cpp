// fit by several ranks under mpirun: one model, the bits of one process, and nothing where a rank
// fails. Skipped where mpirun or libgibbsite_mpi.so is not there.
#include <dirent.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace {

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
    // OpenMPI asks for each: as root, more ranks than cores, no network but the loopback.
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
  static void expect_one_error(const Outcome& outcome, const std::string& what) {
    EXPECT_NE(outcome.status, 0);
    const auto lines = said(outcome.err);
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
  static std::vector<std::string> seeded(const std::vector<std::string>& more,
                                         const std::string& out = "model.json") {
    std::vector<std::string> words = fit({"--out", out, "--force", "--seed", "7"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(Ranks, OneModelOfTheSameBits) {
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"--mechanism", "whitened"}, {"--mechanism", "path"}, {"--mechanism", "output"}}) {
    const Outcome alone = gibbsite(seeded(more, "one.json"));
    ASSERT_EQ(alone.status, 0) << alone.err;
    for (const int count : {2, 4, 7}) {
      SCOPED_TRACE(more.back() + " on " + std::to_string(count));
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

TEST_F(Ranks, ARunGoesOnWithAnotherNumberOfThem) {
  const std::vector<std::string> path{"--mechanism", "path", "--iterations", "200000"};
  std::vector<std::string> kept = path;
  kept.insert(kept.end(), {"--checkpoint", "run.ckpt"});
  Process process(command(3, seeded(kept)), folder.path());
  ASSERT_TRUE(process.wait_until([&] { return folder.read("run.ckpt").size() > 100; }));
  process.send(SIGINT);
  EXPECT_NE(process.wait().status, 0);
  ASSERT_EQ(made(), (std::vector<std::string>{"run.ckpt"}));
  ASSERT_EQ(gibbsite(seeded(kept)).status, 0);
  EXPECT_EQ(made(), (std::vector<std::string>{"model.json"}));
  ASSERT_EQ(gibbsite(seeded(path, "one.json")).status, 0);
  EXPECT_EQ(folder.read("model.json"), folder.read("one.json"));
}

TEST_F(Ranks, WhatTheyCannotDoIsRefusedOnce) {
  expect_one_error(on_ranks(2, {"plan", "--data", "table.csv"}), "is done by one process");
  expect_one_error(on_ranks(2, seeded({"--cache", "always"})), "without a cache");
  expect_one_error(on_ranks(2, fit({"--out", "m.json", "--model", "network"})),
                   "is fitted by one process");
  expect_one_error(on_ranks(2, fit({"--out", "no/folder/m.json"})), "--out");
  expect_one_error(on_ranks(2, {}), "no command given");
  expect_one_error(on_ranks(2, {"ledger", "create", "l.db", "--", "-h"}), "is done by one process");
  std::filesystem::create_directory(folder.path("table.csv.gibbsite-cache"));
  expect_one_error(on_ranks(2, {"fit", "--data", "table.csv", "--remove-cache"}), "remove-cache");
  EXPECT_TRUE(std::filesystem::remove(folder.path("table.csv.gibbsite-cache")));
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
  expect_one_error(moved(), "rank 1: table.csv: cannot open");
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
  EXPECT_EQ(said(outcome.err).size(), 1U) << outcome.err;
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

// Ten times: within 10 s nobody is left, there is no model and no torn checkpoint.
TEST_F(Ranks, ARankThatIsKilled) {
  std::mt19937 random(11);
  const auto words =
      seeded({"--mechanism", "path", "--iterations", "100000000", "--checkpoint", "run.ckpt"});
  for (int k = 0; k < 10; ++k) {
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
    EXPECT_TRUE(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
    EXPECT_TRUE(processes().empty());
    EXPECT_FALSE(std::filesystem::exists(folder.path("model.json")));
    const std::string saved = folder.read("run.ckpt");
    if (!saved.empty()) {
      EXPECT_TRUE(saved.starts_with("gibbsite-checkpoint/1\n"));
    }
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

}  // namespace
}  // namespace gibbsite::testing
