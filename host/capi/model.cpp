// What is done with a released model.
#include <fmt/format.h>

#include <memory>
#include <span>

#include "capi/call.hpp"
#include "capi/stream.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/data/arrow.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/data/reading_warnings.hpp"
#include "gibbsite/release/coefficients.hpp"
#include "gibbsite/release/evaluation.hpp"
#include "gibbsite/release/hypothesis.hpp"
#include "gibbsite/release/joint_test.hpp"
#include "gibbsite/release/predict.hpp"
#include "gibbsite/release/query_json.hpp"

namespace gibbsite::capi {
namespace {

gibbsite_model parsed(const std::string& text, const std::string& source) {
  if (holds<GraphicalKind>(text, source)) return {parse_release<GraphicalKind>(text, source)};
  return {parse_release(text, source)};
}

const Release& rows_of(const gibbsite_model& model) {
  if (const auto* const release = std::get_if<Release>(&model.release)) return *release;
  throw BadInput(Field{"model"}, "is a network", "give a model of rows");
}
const NetworkRelease& network_of(const gibbsite_model& model) {
  if (const auto* const release = std::get_if<NetworkRelease>(&model.release)) return *release;
  throw BadInput(Field{"model"}, "is a model of rows", "give a network");
}

void judge(const nlohmann::json& file, int* valid, char** report) {
  int& out = out_given(valid, "valid");
  if (report != nullptr) *report = nullptr;
  const Verification found = verify(file);
  if (report != nullptr) {
    *report = json_copied(nlohmann::json{{"valid", found.valid},
                                         {"void", found.void_run},
                                         {"checks", found.checks},
                                         {"failures", found.failures}});
  }
  out = found.valid && !found.void_run ? 1 : 0;
}

// Tells the model's log of cells that it cannot read, and of what looks wrong with the table: with
// its labels where they count.
void tell(const gibbsite_model& model, const Dataset& data, bool labels_count) {
  if (model.log == nullptr) return;
  const auto say = [&](const Message& line) {
    model.log(model.log_user, shown(("private: " + line).plain()).c_str());
  };
  TableRead read = table_read(data);
  if (!labels_count) {
    read.labeled = false;
    read.classes.clear();
  }
  for (const Message& line : reading_warnings(read)) say(line);
  if (const std::string words = unreadable_words(data); !words.empty())
    say(words + ": predicted as of another level or a missing cell");
}

// read(schema, options) gives the rows.
template <class Read>
gibbsite_status predicted(const gibbsite_model* model, int what, gibbsite_numbers* numbers,
                          char** error, const Read& read) {
  return call(error, [&] {
    gibbsite_numbers& out = out_given(numbers, "out");
    const gibbsite_model& by = given(model, "model");
    const LinearModel& of = rows_of(by).model();
    if (what != GIBBSITE_RESPONSE && what != GIBBSITE_INTERVALS) {
      throw BadInput(Word{"what"}, fmt::format("{} is none", what),
                     "give GIBBSITE_RESPONSE or GIBBSITE_INTERVALS");
    }
    const Dataset data = read(of.schema, reading_to_predict());
    tell(by, data, false);
    Predictions made = predict(of, data.view(), what == GIBBSITE_INTERVALS);
    if (what == GIBBSITE_INTERVALS) {
      made.columns *= 2;
      made.values.clear();
      for (const auto& [low, high] : made.intervals)
        made.values.insert(made.values.end(), {low, high});
    }
    const std::size_t bytes = made.values.size() * sizeof(double);
    auto* const values = static_cast<double*>(std::malloc(bytes + 1));  // NOLINT: for C
    if (values == nullptr) throw std::bad_alloc();
    if (bytes > 0) std::memcpy(values, made.values.data(), bytes);
    out = {values, data.rows(), made.columns};
  });
}

// Likewise.
template <class Read>
gibbsite_status evaluated(const gibbsite_model* model, double threshold, char** json, char** error,
                          const Read& read) {
  return call(error, [&] {
    char*& out = out_given(json, "json");
    const gibbsite_model& by = given(model, "model");
    const LinearModel& of = rows_of(by).model();
    const Label& label = of.schema.label;
    const double least = is<TwoClasses>(label) ? decision_threshold(threshold, label, "model") : 0;
    ReadOptions options = reading_to_evaluate(of.schema);
    options.holds_people = true;
    Dataset data = read(of.schema, options);
    if (of.schema.person() != nullptr) data.hold_people(1);
    tell(by, data, true);
    out = json_copied(to_json(evaluate_model(of, data, least), of.schema));
  });
}

}  // namespace
}  // namespace gibbsite::capi

using namespace gibbsite;
using namespace gibbsite::capi;

gibbsite_status gibbsite_model_read(const char* path, gibbsite_model** model, char** error) {
  return call(error, [&] {
    gibbsite_model*& out = out_given(model, "model");
    const std::string file = text_given(path, "path");
    out = new gibbsite_model(parsed(read_release_text(file), file));
  });
}

gibbsite_status gibbsite_model_parse(const char* json, gibbsite_model** model, char** error) {
  return call(error, [&] {
    gibbsite_model*& out = out_given(model, "model");
    out = new gibbsite_model(parsed(text_given(json, "json"), "model"));
  });
}

gibbsite_status gibbsite_model_write(const gibbsite_model* model, const char* path, int replace,
                                     char** error) {
  return call(error, [&] {
    const std::string file = text_given(path, "path");
    std::visit(
        [&](const auto& release) {
          write_release(file, release, replace != 0 ? Existing::replaced : Existing::kept);
        },
        given(model, "model").release);
  });
}

gibbsite_status gibbsite_model_json(const gibbsite_model* model, char** json, char** error) {
  return call(error, [&] {
    char*& out = out_given(json, "json");
    std::visit([&](const auto& release) { out = copied(to_json(release).dump(2) + "\n"); },
               given(model, "model").release);
  });
}

gibbsite_status gibbsite_model_words(const gibbsite_model* model, char** words, char** error) {
  return call(error, [&] {
    char*& out = out_given(words, "words");
    std::visit([&](const auto& release) { out = copied(in_words(release.certificate())); },
               given(model, "model").release);
  });
}

gibbsite_status gibbsite_model_kind(const gibbsite_model* model, int* kind, char** error) {
  return call(error, [&] {
    int& out = out_given(kind, "kind");
    out = std::holds_alternative<Release>(given(model, "model").release) ? GIBBSITE_ROWS
                                                                         : GIBBSITE_NETWORK;
  });
}

void gibbsite_model_free(gibbsite_model* model) { delete model; }

gibbsite_status gibbsite_verify(const char* json, int* valid, char** report, char** error) {
  return call(error,
              [&] { judge(parse_release_json(text_given(json, "json"), "model"), valid, report); });
}

gibbsite_status gibbsite_verify_file(const char* path, int* valid, char** report, char** error) {
  return call(error, [&] { judge(read_release_json(text_given(path, "path")), valid, report); });
}

gibbsite_status gibbsite_effects(const gibbsite_model* model, const char* const* references,
                                 size_t count, char** csv, char** error) {
  return call(error, [&] {
    char*& out = out_given(csv, "csv");
    const Release& release = rows_of(given(model, "model"));
    const LinearModel& of = release.model();
    References against;
    if (count > 0) static_cast<void>(given(references, "references"));
    for (std::size_t i = 0; i < count; ++i)
      add_reference(of.schema, text_given(references[i], "references"), against);
    out = copied(effects_csv(effect_table(of, release.certificate(), against)));
  });
}

gibbsite_status gibbsite_column_tests(const gibbsite_model* model, char** csv, char** error) {
  return call(error, [&] {
    char*& out = out_given(csv, "csv");
    const LinearModel& of = rows_of(given(model, "model")).model();
    require_testable(of);
    out = copied(column_tests_csv(of));
  });
}

gibbsite_status gibbsite_interval_words(const gibbsite_model* model, char** words, char** error) {
  return call(error, [&] {
    char*& out = out_given(words, "words");
    const Release& release = rows_of(given(model, "model"));
    const std::uint64_t rows = release.certificate().claimed.who.rows_per_person;
    out = copied(release.model().estimates ? interval_meaning_of(release.model(), rows) : "");
  });
}

gibbsite_status gibbsite_query(const gibbsite_model* model, const char* question,
                               const char* of_class, const char* against, char** json,
                               char** error) {
  return call(error, [&] {
    char*& out = out_given(json, "json");
    const gibbsite_model& asked = given(model, "model");
    const std::string text = text_given(question, "question");
    const EffectClasses classes{of_class == nullptr ? "" : of_class,
                                against == nullptr ? "" : against};
    if (const auto* const release = std::get_if<Release>(&asked.release)) {
      out = json_copied(effect_json(release->model(), text, classes));
    } else {
      const NetworkModel& network = network_of(asked).model();
      const NetworkQuestion question_of = parse_question(network, text);
      nlohmann::json found = question_json(network, question_of);
      if (auto said = question_warnings(network, question_of); !said.empty())
        found["warnings"] = std::move(said);
      out = json_copied(found);
    }
  });
}

gibbsite_status gibbsite_synthesize(const gibbsite_model* model, uint64_t rows,
                                    const uint64_t* seed, char** csv, char** error) {
  return call(error, [&] {
    char*& out = out_given(csv, "csv");
    const NetworkRelease& release = network_of(given(model, "model"));
    const auto given_or_none = [](bool is_given, std::uint64_t number) {
      return is_given ? std::optional(number) : std::nullopt;
    };
    const Synthesis with =
        synthesis_of(release, given_or_none(rows != 0, rows),
                     given_or_none(seed != nullptr, seed != nullptr ? *seed : 0));
    std::string text;
    synthesize(release.model(), with, [&](std::string_view piece) { text += piece; });
    out = copied(text);
  });
}

gibbsite_status gibbsite_model_log(gibbsite_model* model, gibbsite_log log, void* user,
                                   char** error) {
  return call(error, [&] {
    gibbsite_model& of = given(model, "model");
    of.log = log;
    of.log_user = user;
  });
}

gibbsite_status gibbsite_predict_file(const gibbsite_model* model, const char* path, int what,
                                      gibbsite_numbers* out, char** error) {
  return predicted(model, what, out, error, [&](const Schema& schema, const ReadOptions& options) {
    return read_table(text_given(path, "path"), schema, options);
  });
}

gibbsite_status gibbsite_predict_arrow(const gibbsite_model* model, ArrowArrayStream* table,
                                       int what, gibbsite_numbers* out, char** error) {
  OwnedStream stream(table);
  return predicted(model, what, out, error, [&](const Schema& schema, const ReadOptions& options) {
    return read_arrow(stream.get(), schema, options);
  });
}

gibbsite_status gibbsite_evaluate_file(const gibbsite_model* model, const char* path,
                                       double threshold, char** json, char** error) {
  return evaluated(model, threshold, json, error,
                   [&](const Schema& schema, const ReadOptions& options) {
                     return read_table(text_given(path, "path"), schema, options);
                   });
}

gibbsite_status gibbsite_evaluate_arrow(const gibbsite_model* model, ArrowArrayStream* table,
                                        double threshold, char** json, char** error) {
  OwnedStream stream(table);
  return evaluated(model, threshold, json, error,
                   [&](const Schema& schema, const ReadOptions& options) {
                     return read_arrow(stream.get(), schema, options);
                   });
}
