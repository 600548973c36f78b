#pragma once
// `evaluate` of a network: figures, JSON and a picture.
#include <CLI/CLI.hpp>
#include <string>

#include "gibbsite/certificate/kinds.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/model/network_model.hpp"
#include "options.hpp"

namespace gibbsite::cli {

struct NetworkEvaluation {
  std::string target, plot;
  bool force = false;

  void add_to(CLI::App& app);
  /// Throws BadInput where an option was given that `model`, no network, does not take; --force it
  /// takes where it writes a page.
  void require_absent(const std::string& model, bool writes_page) const;
  /// `model` was read from that file.
  void run(const NetworkRelease& release, const std::string& model, const TableArguments& table,
           bool json) const;
};

}  // namespace gibbsite::cli
