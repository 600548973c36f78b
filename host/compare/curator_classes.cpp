// The curator's page where the label has several classes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "compare/curator_parts.hpp"

namespace gibbsite::curator {

namespace {

constexpr std::size_t most_class_curves = 8, most_matrix = 8, most_pairs = 20, most_classes = 60;

// Places of classes, those with the most rows first, at most `most`, in the schema's order.
std::vector<std::size_t> largest_classes(const ClassesEvaluation& e, std::size_t most) {
  std::vector<std::size_t> out(e.classes);
  std::iota(out.begin(), out.end(), std::size_t{0});
  if (out.size() <= most) return out;
  std::ranges::stable_sort(out, std::greater{}, [&](std::size_t k) { return e.rows_of(k); });
  out.resize(most);
  std::ranges::sort(out);
  return out;
}

void matrix_table(Html& page, const ClassesEvaluation& e, const std::vector<std::string>& names,
                  const std::string& of) {
  if (e.classes > most_matrix) {
    std::vector<Line> lines;
    for (const std::size_t pair : e.most_confused(most_pairs)) {
      lines.push_back(
          {names[pair / e.classes], names[pair % e.classes], fmt::format("{}", e.confusion[pair])});
    }
    return table_of(page, "PRIVATE. Most often taken for another class by " + of,
                    {"is", "predicted", "rows"}, lines);
  }
  page.put(
      "<table class=\"wide names\"><caption>PRIVATE. Confusion of {}: rows by what is, columns by "
      "what "
      "is predicted</caption><thead><tr><th scope=\"col\">is</th>",
      of);
  for (const std::string& name : names) page.put("<th scope=\"col\">{}</th>", name);
  page.put("</tr></thead><tbody>\n");
  for (std::size_t is = 0; is < e.classes; ++is) {
    page.put("<tr><th scope=\"row\">{}</th>", names[is]);
    for (std::size_t k = 0; k < e.classes; ++k)
      page.put("<td{}>{}</td>", Markup{k == is ? " class=\"right\"" : ""}, e.rows_of(is, k));
    page.put("</tr>\n");
  }
  page.put("</tbody></table>\n");
}

void class_table(Html& page, const ClassesEvaluation& e, const std::vector<std::string>& names,
                 const std::string& of) {
  std::vector<Line> lines;
  for (const std::size_t k : largest_classes(e, most_classes)) {
    lines.push_back({names[k], fmt::format("{}", e.rows_of(k)), one_digit(e.recall(k)),
                     one_digit(e.precision(k)), four(e.auc[k])});
  }
  table_of(page, "PRIVATE. Each class against all others, by " + of,
           {"class", "rows", "recall", "precision", "AUC"}, lines);
}

}  // namespace

void classes_sections(Html& page, const Dataset& data, const Pair<const LinearModel*>& models) {
  const Schema& schema = models.model->schema;
  const std::vector<std::string> names = class_names(schema.label);
  const std::size_t classes = names.size();
  const auto probabilities =
      both(models, [&](const LinearModel* of) { return predict_classes(*of, data.view()); });
  const auto judged = both(probabilities, [&](const std::vector<double>& p) {
    return evaluate_classes(p, data.y, classes, data.weight);
  });
  const auto of = [&](auto f) { return both(judged, f); };
  const ClassesEvaluation& e = judged.model;
  summary(page, e.rows, judged.other.has_value(), "largest class",
          {{"accuracy", of([](const auto& one) { return percent_of(one.accuracy); })},
           {"log-loss", of([](const auto& one) { return four(one.log_loss); })},
           {"AUC, mean of the classes", of([](const auto& one) { return four(one.mean_auc); })}},
          {percent_of(e.majority), "", "0.5"});
  heading(page, "roc", "ROC curves, each class against the rest");
  std::vector<std::size_t> shown_classes;
  for (const std::size_t k : largest_classes(e, most_class_curves))
    if (!std::isnan(e.auc[k])) shown_classes.push_back(k);
  if (shown_classes.empty()) {
    page.put("<p>These rows are all of one class: there is no ROC curve and no AUC.</p>\n");
  } else if (classes > shown_classes.size()) {
    page.put("<p>Of {} of {} classes, those with the most rows.</p>\n", shown_classes.size(),
             classes);
  }
  page.put("{}", Markup{shown_classes.empty() ? "" : "<div class=\"grid\">\n"});
  std::vector<double> of_class(data.rows());
  for (const std::size_t k : shown_classes) {
    const auto scores = both(probabilities, [&](const std::vector<double>& p) {
      for (std::size_t i = 0; i < of_class.size(); ++i) of_class[i] = p[i * classes + k];
      return RankedScores(of_class,
                          [&](std::size_t i) { return static_cast<std::size_t>(data.y[i]) == k; });
    });
    page.put("<div>\n<h3>{}</h3>\n", names[k]);
    roc_figure(page, scores, of([&](const auto& one) { return one.auc[k]; }),
               schema.label_name + " = " + names[k], 200, std::nullopt);
    page.put("</div>\n");
  }
  page.put("{}", Markup{shown_classes.empty() ? "" : "</div>\n"});
  heading(page, "confusion", "Confusion");
  judged.each([&](const ClassesEvaluation& one, bool other) {
    matrix_table(page, one, names, whose(other));
  });
  judged.each([&](const ClassesEvaluation& one, bool other) {
    class_table(page, one, names, whose(other));
  });
  if (classes > most_classes)
    page.put("<p>The {} classes with the most rows, of {}.</p>\n", most_classes, classes);
  calibration_section(page, of([](const auto& one) { return one.calibration; }),
                      "mean probability of the class predicted", "share right", "right");
}

}  // namespace gibbsite::curator
