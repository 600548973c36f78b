// People drawn from a released network, as a table.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>

#include "command.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/release/network_query.hpp"
#include "interrupt.hpp"
#include "network.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "standard_output.hpp"
#include "streams.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

struct SynthesizeCommand {
  std::string model, out;
  std::optional<std::uint64_t> rows, seed, threads;
  bool force = false, quiet = false, progress = false;

  void run() const {
    const bool to_file = !out.empty();
    if (to_file) {
      require_other_file(out, model, "--model");
      require_new(out, force);
      require_writable(out, "--out");
    }
    const NetworkRelease release = read_release<GraphicalKind>(model);
    if (!quiet) fmt::print(stderr, "{}", weighted_words(release.model().schema));
    Synthesis with = synthesis_of(release, rows, seed);
    const std::string people = human_count(static_cast<double>(with.rows));
    catch_interrupts();
    Progress bar("drawing", quiet || (!progress && !to_file), progress ? 1 : 5);
    with.options.threads = threads.value_or(0);
    with.options.progress = [&bar](std::uint64_t done, std::uint64_t total) {
      bar.update(done, total);
      return !stop_flag().load();
    };
    if (!to_file) {
      synthesize(release.model(), with, print);
      if (!quiet)
        fmt::print(stderr, "{} people written; the same again with --seed {}\n", people, with.seed);
      return;
    }
    write_new(out, force, [&](Existing existing) {
      StreamedFile file(out, public_file);
      synthesize(release.model(), with, [&](std::string_view text) { file.append(text); });
      stop_if_asked();
      file.commit(existing);
    });
    if (!quiet) {
      fmt::print(stderr, "{} people written to {}; the same again with --seed {}\n", people,
                 StandardOutput::named(out), with.seed);
    }
  }

 private:
  static void print(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail_output(errno);
  }
};

void define_synthesize(CLI::App& app) {
  const auto command = std::make_shared<SynthesizeCommand>();
  app.add_option("--model", command->model, "network that fit wrote")
      ->type_name("FILE")
      ->required();
  add_count(app, "--rows", command->rows,
            "how many people; default: as many as the certificate counts");
  add_output(app, "--out", command->out, "CSV to write; standard output when absent or -");
  add_force(app, command->force);
  add_count(app, "--seed", command->seed, "of the draws: the same table for the same one", 0);
  add_count(app, "--threads", command->threads,
            "at most so many; the table is the same for any number of them");
  add_progress(app, command->quiet, command->progress, "no progress and no last line");
  app.callback([command] { command->run(); });
}

const Register synthesize_command{
    {4, "synthesize", "Draw a table of people from a released network; costs no privacy",
     "gibbsite synthesize --model network.json --rows 100000 --out people.csv", define_synthesize}};

}  // namespace
}  // namespace gibbsite::cli
