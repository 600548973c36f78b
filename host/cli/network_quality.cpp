#include "network_quality.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "gibbsite/compare/network_quality.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/release/predict.hpp"
#include "gibbsite/release/svg.hpp"
#include "interrupt.hpp"
#include "network.hpp"
#include "reading.hpp"
#include "standard_output.hpp"
#include "text.hpp"

namespace gibbsite::cli {
namespace {

std::string distance_text(double value) { return fmt::format("{:.4f}", value); }

// Farthest from the table first.
std::vector<MarginalDistance> worst(std::vector<MarginalDistance> of, std::size_t most) {
  std::ranges::stable_sort(of, std::greater{}, &MarginalDistance::network);
  of.resize(std::min(of.size(), most));
  return of;
}

std::string quality_tables(const NetworkModel& network, const NetworkQuality& quality) {
  constexpr std::size_t most = 8;
  const auto names = network.names();
  std::vector<std::vector<std::string>> lines{
      {fmt::format("{} rows", human_count(static_cast<double>(quality.rows))), "this network",
       "independent columns"},
      {"total variation of one column, mean", distance_text(quality.one_mean), "0"},
      {"total variation of two columns, mean", distance_text(quality.two_mean),
       distance_text(quality.two_mean_independent)},
      {"log-likelihood a row", fmt::format("{:.4f}", quality.log_likelihood),
       fmt::format("{:.4f}", quality.log_likelihood_independent)}};
  if (quality.two.empty()) lines.erase(lines.begin() + 2);
  std::string out = table(lines);
  if (quality.impossible_rows > 0) {
    out += fmt::format(
        "{} rows, not in the log-likelihoods, have probability 0 in this network: its "
        "noise left their combinations no share\n",
        human_count(static_cast<double>(quality.impossible_rows)));
  }
  lines = {{"farthest columns", "this network"}};
  for (const MarginalDistance& one : worst(quality.one, most))
    lines.push_back({names[one.first], distance_text(one.network)});
  out += "\n" + table(lines);
  if (quality.two.empty()) return out;
  lines = {{"farthest pairs", "", "this network", "independent columns"}};
  for (const MarginalDistance& pair : worst(quality.two, most))
    lines.push_back({names[pair.first], names[pair.second], distance_text(pair.network),
                     distance_text(pair.independent)});
  return out + "\n" + table(lines);
}

std::string of_bins(const NetworkModel& network) {
  const bool numbers = std::ranges::any_of(node_columns(network.schema), [](const Column& column) {
    return column.type == ColumnType::number;
  });
  return numbers
             ? "\nNumbers are compared by their bins: how they lie within one is not looked at.\n"
             : "";
}

std::string classifier_table(const SyntheticClassifier& c) {
  const auto percent = [](double share) { return fmt::format("{:.2f} %", 100 * share); };
  const auto area = [](double auc) {
    return std::isnan(auc) ? std::string("- (one class)") : fmt::format("{:.4f}", auc);
  };
  return fmt::format(
             "\nA logistic regression of {} = {} by the other columns, on {} rows held out:\n",
             shown(c.target), shown(c.positive),
             human_count(static_cast<double>(c.held_out_rows))) +
         table(
             {{fmt::format("trained on {} rows", human_count(static_cast<double>(c.training_rows))),
               "synthetic", "NOT PRIVATE, of the table", "majority class"},
              {"accuracy", percent(c.synthetic.accuracy), percent(c.real.accuracy),
               percent(c.real.majority)},
              {"AUC", area(c.synthetic.auc), area(c.real.auc), ""}});
}

nlohmann::json quality_json(const NetworkModel& network, const NetworkQuality& quality) {
  const auto names = network.names();
  nlohmann::json one = nlohmann::json::array(), two = nlohmann::json::array();
  for (const MarginalDistance& d : quality.one)
    one.push_back({{"column", names[d.first]}, {"network", d.network}});
  for (const MarginalDistance& d : quality.two) {
    two.push_back({{"columns", {names[d.first], names[d.second]}},
                   {"network", d.network},
                   {"independent", d.independent}});
  }
  return {{"rows", quality.rows},
          {"one_column", {{"mean", quality.one_mean}, {"each", one}}},
          {"two_columns",
           {{"mean", quality.two_mean},
            {"mean_independent", quality.two_mean_independent},
            {"each", two}}},
          {"log_likelihood", quality.log_likelihood},  // no number is written as null
          {"log_likelihood_independent", quality.log_likelihood_independent},
          {"impossible_rows", quality.impossible_rows}};
}

// Below the diagonal the network's distances, on it those of one column, above it those of
// independent columns: the darker the farther.
std::string heat_map(const NetworkModel& network, const NetworkQuality& quality) {
  constexpr double side = 34, gap = 8, beside = 20;
  constexpr std::size_t most_label = 26;
  const auto names = network.names();
  const auto n = static_cast<double>(names.size());
  const auto label = [&](std::size_t k) {
    std::string text = shown(names[k]);
    if (columns_of(text) <= most_label) return escaped_xml(text);
    std::string cut;  // whole signs of UTF-8
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool begins = (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U;
      if (begins && columns_of(cut) + 1 >= most_label) break;
      cut += text[i];
    }
    return escaped_xml(cut + "…");
  };
  const double left = 190, width = std::max(left + n * side + 40, 620.0);
  double most = 1e-9;
  for (const MarginalDistance& d : quality.one) most = std::max(most, d.network);
  for (const MarginalDistance& d : quality.two) most = std::max({most, d.network, d.independent});
  const double room = width - beside - 10;
  const std::vector<std::string> below =
      lines_that_fit(fmt::format("below the diagonal: pairs of columns, this network (mean {}); on "
                                 "it: one column",
                                 distance_text(quality.two_mean)),
                     room);
  const std::vector<std::string> above =
      lines_that_fit(fmt::format("above it: pairs, if columns were independent (mean {})",
                                 distance_text(quality.two_mean_independent)),
                     room);
  const double first = 46, second = first + svg_line * static_cast<double>(below.size()),
               top = second + svg_line * static_cast<double>(above.size()) + 14;
  Svg svg;
  svg.begin(width, top + n * side + 130, beside, "Total variation between a table and its network",
            "PRIVATE: computed from the table; for the curator only");
  svg.lines(beside, first, below);
  svg.lines(beside, second, above);
  const auto cell = [&](std::size_t row, std::size_t column, double value, const char* color) {
    const double x = left + static_cast<double>(column) * side,
                 y = top + static_cast<double>(row) * side;
    svg.put(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" fill-opacity=\"{:.3f}\" "
        "class=\"edge\"><title>{}{}{}: {}</title></rect>\n",
        x, y, side, side, color, value / most, escaped_xml(shown(names[row])),
        row == column ? "" : ", ", row == column ? "" : escaped_xml(shown(names[column])),
        distance_text(value));
    svg.put("<text class=\"middle\" style=\"font-size:9px\" x=\"{}\" y=\"{}\">.{:03.0f}</text>\n",
            x + side / 2, y + side / 2 + 3, std::min(999.0, 1000 * value));
  };
  for (const MarginalDistance& d : quality.one) cell(d.first, d.first, d.network, svg_colors[2]);
  for (const MarginalDistance& d : quality.two) {
    cell(d.second, d.first, d.network, svg_colors[0]);
    cell(d.first, d.second, d.independent, svg_colors[1]);
  }
  for (std::size_t k = 0; k < names.size(); ++k) {
    const double at = static_cast<double>(k) * side + side / 2;
    svg.put("<text class=\"end\" x=\"{}\" y=\"{}\">{}</text>\n", left - gap, top + at + 4,
            label(k));
    const double x = left + at, y = top + n * side + gap + 4;
    svg.put("<text class=\"end\" transform=\"rotate(-45 {} {})\" x=\"{}\" y=\"{}\">{}</text>\n", x,
            y, x, y, label(k));
  }
  return svg.end();
}

}  // namespace

void NetworkEvaluation::add_to(CLI::App& app) {
  app.add_option("--target", target,
                 "of a network: also train a classifier of this category on synthetic rows, and "
                 "judge it on the table's")
      ->type_name("NAME");
  add_output(app, "--plot", plot, "of a network: SVG to write, distances of all pairs of columns");
  add_force(app, force);
}

void NetworkEvaluation::require_absent(const std::string& model, bool writes_page) const {
  if (target.empty() && plot.empty() && (!force || writes_page)) return;
  throw BadInput(fmt::format("{}: is for a network, {} holds a model of rows; leave it out",
                             !target.empty() ? "--target"
                             : !plot.empty() ? "--plot"
                                             : "--force",
                             model));
}

void NetworkEvaluation::run(const NetworkRelease& release, const std::string& model,
                            const TableArguments& table, bool json) const {
  const NetworkModel& network = release.model();
  if (!plot.empty()) {
    require_other_file(plot, table.data, "--data", "--plot");
    require_other_file(plot, model, "--model", "--plot");
    require_new(plot, force, "--plot");
    require_writable(plot, "--plot");
  }
  ReadOptions reading = reading_to_evaluate(network.schema);
  reading.labels = ReadOptions::Labels::optional;
  reading.holds_people = true;
  Dataset data = table.read(network.schema, reading);
  tell_reading(data);
  if (network.schema.person() != nullptr)
    data.hold_people(release.certificate().claimed.who.rows_per_person);
  fmt::print(stderr, "{}", weighted_words(network.schema));
  static_cast<void>(warn_of_network_reading(data));
  fmt::print(stderr,
             "private: these figures read this table and the certificate does not cover them; they "
             "are for whoever may see it, publish them only if the table is public\n");
  const NetworkQuality quality = network_quality(network, data, &stop_flag());
  std::optional<SyntheticClassifier> classifier;
  if (!target.empty()) classifier = synthetic_classifier(network, data, target);
  if (json) {
    nlohmann::json out = quality_json(network, quality);
    if (classifier) {
      const auto figures = [](const Evaluation& e) {
        return nlohmann::json{{"accuracy", e.accuracy}, {"auc", e.auc}, {"log_loss", e.log_loss}};
      };
      out["classifier"] = {{"target", classifier->target},
                           {"positive", classifier->positive},
                           {"training_rows", classifier->training_rows},
                           {"held_out_rows", classifier->held_out_rows},
                           {"synthetic", figures(classifier->synthetic)},
                           {"real", figures(classifier->real)},
                           {"majority", classifier->real.majority}};
    }
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}{}{}", quality_tables(network, quality), of_bins(network),
               classifier ? classifier_table(*classifier) : "");
  }
  if (plot.empty()) return;
  const std::string picture = heat_map(network, quality);
  write_new(
      plot, force,
      [&](Existing existing) { write_file_atomically(plot, picture, private_file, existing); },
      "--plot");
}

}  // namespace gibbsite::cli
