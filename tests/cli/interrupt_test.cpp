// Ctrl-C leaves a checkpoint or nothing, never half a model; a checkpoint goes on to the same bits.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace interrupt_test {

using ::testing::HasSubstr;

class Interrupt : public Cli {
 protected:
  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& more) const {
    std::vector<std::string> out = fit(more);
    out.insert(out.begin(), GIBBSITE_CLI);
    out.emplace_back("--verbose");  // it says when it begins to fit
    return out;
  }
  /// Iterations that last about `seconds` on this machine, sanitizers included; no more than their
  /// rounding lets be certified.
  [[nodiscard]] std::string iterations_for(double seconds) const {
    const auto plan = nlohmann::json::parse(
        gibbsite({"plan", "--data", "table.csv", "--schema", "table.toml", "--epsilon", "1",
                  "--delta", "1e-6", "--iterations", "1000", "--json"})
            .out);
    const double pass = candidate_of(plan, "path")["seconds"].get<double>() / 1000;
    return std::to_string(std::clamp(static_cast<long>(seconds / pass), 1000L, 200'000'000L));
  }
  static bool sampling(const Process& process) {
    return process.out_so_far().find("\nbackend ") != std::string::npos;
  }
};

TEST_F(Interrupt, WithoutACheckpointLeavesNothing) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Process process(command({"--out", "model.json", "--iterations", iterations_for(120)}),
                    folder.path());
    ASSERT_TRUE(process.wait_until([&] { return sampling(process); })) << process.err_so_far();
    process.send(signal);
    expect_error(process.wait(), 130, "--checkpoint");
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"table.csv", "table.toml"}));
  }
}

// The look before the run was too early for it; the rename at the end is not.
TEST_F(Interrupt, AModelThatComesDuringARunIsNotReplaced) {
  Process process(command({"--out", "model.json", "--iterations", iterations_for(2)}),
                  folder.path());
  ASSERT_TRUE(process.wait_until([&] { return sampling(process); })) << process.err_so_far();
  folder.write("model.json", "of another program");
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("gibbsite: --out: model.json is there already; give another "
                                     "name, or --force to replace it\n"));
  EXPECT_EQ(folder.read("model.json"), "of another program");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"model.json", "table.csv", "table.toml"}));
}

TEST_F(Interrupt, WithACheckpointGoesOnToTheSameBits) {
  // Seeded, so that a run without interruption can be compared.
  const std::string iterations = iterations_for(1.5);
  const std::vector<std::string> options{"--out",    "model.json", "--force", "--iterations",
                                         iterations, "--seed",     "11"};
  std::vector<std::string> kept = options;
  kept.insert(kept.end(), {"--checkpoint", "run.ckpt"});
  {
    Process process(command(kept), folder.path());
    ASSERT_TRUE(process.wait_until([&] { return sampling(process); })) << process.err_so_far();
    ASSERT_TRUE(
        process.wait_until([&] { return std::filesystem::exists(folder.path("run.ckpt")); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    process.send(SIGINT);
    const Outcome outcome = process.wait();
    ASSERT_EQ(outcome.status, 130) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("run.ckpt"));
  }
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"run.ckpt", "table.csv", "table.toml"}));
  struct stat status {};
  ASSERT_EQ(stat(folder.path("run.ckpt").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);  // it holds the key

  ASSERT_EQ(run(command(kept), folder.path()).status, 0);
  const std::string resumed = folder.read("model.json");
  // The key is gone with the checkpoint.
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"model.json", "table.csv", "table.toml"}));
  ASSERT_EQ(run(command(options), folder.path()).status, 0);
  EXPECT_EQ(folder.read("model.json"), resumed);
}

TEST_F(Interrupt, ACertifiedRunGoesOnToAValidModel) {
  const std::vector<std::string> options{"--out",           "model.json",   "--iterations",
                                         iterations_for(1), "--checkpoint", "run.ckpt"};
  Process process(command(options), folder.path());
  ASSERT_TRUE(process.wait_until([&] { return sampling(process); })) << process.err_so_far();
  process.send(SIGINT);
  const Outcome outcome = process.wait();
  ASSERT_EQ(outcome.status, 130) << outcome.err;
  ASSERT_EQ(run(command(options), folder.path()).status, 0);
  EXPECT_EQ(gibbsite({"verify", "model.json"}).status, 0);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"model.json", "table.csv", "table.toml"}));
}

// A model that cannot be written leaves the checkpoint; the same command then writes it.
TEST_F(Interrupt, AFailedWriteCanBeTriedAgain) {
  std::vector<std::string> undisturbed =
      fit({"--out", "whole.json", "--seed", "11", "--quiet", "--mechanism", "path"});
  ASSERT_EQ(gibbsite(undisturbed).status, 0);
  const auto names = [&](std::vector<std::string> more) {
    for (const char* always : {"table.csv", "table.toml", "whole.json"}) more.emplace_back(always);
    std::sort(more.begin(), more.end());
    return more;
  };
  const std::vector<std::string> command = fit(
      {"--out", "model.json", "--seed", "11", "--checkpoint", "run.ckpt", "--mechanism", "path"});
  // A quota that the model exceeds and the checkpoint does not.
  const auto outcome = gibbsite(command, 1024);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("model.json: cannot write"));
  ASSERT_EQ(folder.names(), names({"run.ckpt"}));
  ASSERT_EQ(gibbsite(command).status, 0);
  EXPECT_EQ(folder.names(), names({"model.json"}));
  EXPECT_EQ(folder.read("model.json"), folder.read("whole.json"));

  // And for a run that is certified: what is on disk is the last state, so no second set of draws.
  const std::vector<std::string> certified =
      fit({"--out", "sure.json", "--checkpoint", "run.ckpt", "--mechanism", "path"});
  EXPECT_EQ(gibbsite(certified, 1024).status, 2);
  const std::string state = folder.read("run.ckpt");
  EXPECT_EQ(gibbsite(certified, 1024).status, 2);
  EXPECT_EQ(folder.read("run.ckpt"), state);
  ASSERT_EQ(gibbsite(certified).status, 0);
  EXPECT_EQ(gibbsite({"verify", "sure.json"}).status, 0);
  EXPECT_FALSE(std::filesystem::exists(folder.path("run.ckpt")));
}

// What a kill between opening and renaming leaves holds the key.
TEST_F(Interrupt, TheNextRunSweepsWhatAKillLeft) {
  folder.write("run.ckpt.tmp-1-0", "the key of a model");
  folder.write("model.json.tmp-1-0", "half a model");
  ASSERT_EQ(run(command({"--out", "model.json", "--checkpoint", "run.ckpt"}), folder.path()).status,
            0);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"model.json", "table.csv", "table.toml"}));
}

// A checkpoint of one table cannot carry its noise over to another.
TEST_F(Interrupt, ACheckpointOfAnotherTableIsRefused) {
  const std::vector<std::string> options{
      "--out", "model.json", "--iterations", iterations_for(120), "--checkpoint", "run.ckpt"};
  Process process(command(options), folder.path());
  ASSERT_TRUE(process.wait_until([&] { return sampling(process); })) << process.err_so_far();
  process.send(SIGINT);
  ASSERT_EQ(process.wait().status, 130);
  std::string other = csv();
  other.replace(other.find("18,Private"), 2, "19");
  folder.write("table.csv", other);
  expect_error(run(command(options), folder.path()), 2, "run.ckpt");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"run.ckpt", "table.csv", "table.toml"}));
}

}  // namespace interrupt_test
}  // namespace gibbsite::testing
