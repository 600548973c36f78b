#pragma once
// A small private table, its schema, and a folder to run the built program in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite::testing {

using Arguments = std::vector<std::string>;

inline Arguments joined(Arguments first, const Arguments& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

class Cli : public ::testing::Test {
 protected:
  static constexpr int rows = 120;

  static std::string csv() {
    std::string out = "age,work,income\n";
    for (int i = 0; i < rows; ++i) {
      const int age = 18 + (i * 37) % 60;
      const char* work = i % 3 == 0 ? "Private" : i % 3 == 1 ? "\"State, gov\"" : "?";
      out += std::to_string(age) + "," + work + "," + (age + 7 * (i % 5) > 55 ? ">50K" : "<=50K") +
             "\n";
    }
    return out;
  }
  static std::string schema() {
    return "label = \"income\"\npositive = \">50K\"\nnegative = \"<=50K\"\nrow_norm = 1.5\n"
           "intercept = true\nmissing = \"?\"\n\n[columns]\n"
           "age = {type = \"number\", range = [17, 90]}\n"
           "work = {type = \"category\", levels = [\"Private\", \"State, gov\"], missing = "
           "\"?\"}\n";
  }

  void SetUp() override {
    folder.write("table.csv", csv());
    folder.write("table.toml", schema());
  }

  [[nodiscard]] Outcome gibbsite(std::vector<std::string> arguments, rlim_t file_limit = 0) const {
    arguments.insert(arguments.begin(), GIBBSITE_CLI);
    return run(arguments, folder.path(), file_limit);
  }
  /// fit on the small table at epsilon 1, delta 1e-6, and more options.
  [[nodiscard]] static std::vector<std::string> fit(const std::vector<std::string>& more) {
    std::vector<std::string> out{"fit",       "--data", "table.csv", "--schema", "table.toml",
                                 "--epsilon", "1",      "--delta",   "1e-6"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  /// The offer of that mechanism in what `plan --json` printed.
  [[nodiscard]] static nlohmann::json candidate_of(const nlohmann::json& plan,
                                                   const std::string& name) {
    for (const auto& candidate : plan["offers"]) {
      if (candidate["name"] == name) return candidate;
    }
    ADD_FAILURE() << "no offer of " << name;
    return {};
  }
  /// That status, and one line on stderr that says `what`; warnings of few rows, or of a large
  /// epsilon, and the note of a column of ids, before it.
  static void expect_error(const Outcome& outcome, int status, const std::string& what) {
    std::string error = outcome.err;
    while (error.starts_with("gibbsite: warning: --epsilon: ") ||
           error.starts_with("gibbsite: note: column 'id' is named like an id") ||
           (error.starts_with("gibbsite: warning: ") &&
            error.find(" rows are few for ") < error.find('\n'))) {
      error.erase(0, error.find('\n') + 1);
    }
    EXPECT_EQ(outcome.status, status) << error;
    EXPECT_THAT(error, ::testing::StartsWith("gibbsite: "));
    EXPECT_THAT(error, ::testing::HasSubstr(what));
    EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1) << error;
    EXPECT_THAT(error, ::testing::EndsWith("\n"));
  }
  /// What was made beside the table and its schema.
  [[nodiscard]] std::vector<std::string> made() const {
    std::vector<std::string> out;
    for (const std::string& name : folder.names()) {
      if (name != "table.csv" && name != "table.toml") out.push_back(name);
    }
    return out;
  }
  /// That signal ends it with 130 and that last line, and nothing is made.
  Outcome expect_interruption(
      Process& process, int signal,
      const std::string& line = "gibbsite: interrupted; nothing was written\n") const {
    process.send(signal);
    Outcome out = process.wait();
    EXPECT_EQ(out.status, 130);
    EXPECT_THAT(out.err, ::testing::EndsWith(line));
    EXPECT_EQ(made(), std::vector<std::string>{});
    return out;
  }
  [[nodiscard]] nlohmann::json json(const std::string& name) const {
    return nlohmann::json::parse(folder.read(name));
  }

  TempDir folder;
};

}  // namespace gibbsite::testing
