// Tables that differ in one row, through the whole fit: the same kind of output for both, and a
// certificate that names what a schema still refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "certificate/model_json.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/gibbsite.hpp"
#include "run/example.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace one_row_test {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class OneRow : public ::testing::Test {
 protected:
  Schema schema = parse_schema(
      "label='y'\npositive='1'\ninvalid='middle'\nrow_norm=1.5\nintercept=false\n[columns]\n"
      "x={type='number',range=[0,1]}\nc={type='category',levels=['a','b']}\n",
      "s");

  [[nodiscard]] Plan planned(std::uint64_t rows) const {
    return plan(logistic_regression().constants(schema, rows), {.epsilon = 1, .delta = 1e-3},
                {.iterations = 5});
  }
  // 19 rows and one more.
  [[nodiscard]] Release fit(const std::string& last, const std::string& label = "0",
                            const Plan* ready = nullptr) const {
    std::string text = "x,c,y\n";
    for (int i = 0; i < 19; ++i) text += "0.5,a," + label + "\n";
    const Dataset data = read_csv(folder.write("t.csv", text + last + "\n"), schema);
    const Model model = logistic_regression();
    const auto backend = make_backend("reference");
    return gibbsite::fit(model, data, ready != nullptr ? *ready : planned(data.rows()), *backend,
                         Key::from_os());
  }
  testing::TempDir folder;
};

TEST_F(OneRow, DecidesNeitherWhetherNorWhatIsPublished) {
  const json one_class = to_json(fit("0.5,a,0")), two = to_json(fit("0.5,a,1"));
  for (const char* last : {"0.5,a,1", "0.5,a,2", "0.5,a,", "abc,a,1", ",,", "nan,\xff,\x1b"}) {
    const Release model = fit(last);
    json file = to_json(model);
    EXPECT_TRUE(verify(file).valid) << last;
    // All but the numbers that were drawn, and the digest of them.
    for (json* other : {&file}) {
      for (const json* beside : {&one_class, &two}) {
        EXPECT_EQ(other->at("model").at("preprocessing"), beside->at("model").at("preprocessing"));
        EXPECT_EQ(other->at("model").at("features"), beside->at("model").at("features"));
        for (const char* part : {"guarantee", "mechanism", "constants", "numerics", "assumptions"})
          EXPECT_EQ(other->at("certificate").at(part), beside->at("certificate").at(part)) << last;
      }
    }
  }
  EXPECT_NO_THROW(static_cast<void>(fit("0.5,a,1", "1")));  // one class, the other one
}

TEST_F(OneRow, OfHostileCellsNeverDecides) {
  const std::string cells[] = {"",         "nan", "-inf", "1e999",   "abc", "\"a,b\"",
                               "\xff\xfe", "0",   "b",    "(other)", "?",   "\"\x1b[2J\""};
  std::mt19937_64 random(3);
  const auto any = [&] { return cells[random() % std::size(cells)]; };
  const Plan made = planned(20);  // of public numbers; a row that is lost or added is not of it
  for (int trial = 0; trial < 60; ++trial) {
    const std::string last = any() + "," + any() + "," + any();
    SCOPED_TRACE(last);
    EXPECT_NO_THROW({ EXPECT_EQ(fit(last, "0", &made).model().draws.front().size(), 3U); });
  }
}

TEST_F(OneRow, ThatCannotBeReadIsRefusedOnlyUnderACertificateThatSaysSo) {
  const std::string sentence = "can be read under the schema";
  json open = to_json(fit("0.5,a,1"));
  EXPECT_THAT(open["certificate"]["assumptions"].dump(), Not(HasSubstr(sentence)));
  schema.invalid = Invalid::refuse;
  EXPECT_THROW(static_cast<void>(fit("abc,a,1")), BadInput);
  json named = to_json(fit("0.5,a,1"));
  EXPECT_THAT(named["certificate"]["assumptions"], Contains(HasSubstr(sentence)));
  EXPECT_TRUE(verify(named).valid);

  // The sentence goes with the schema: neither can be changed alone, whoever seals the file.
  const auto sealed = [](json file) {
    file["certificate"]["digest"] = file_digest(file);
    return verify(file).valid;
  };
  json changed = named;
  changed["certificate"]["assumptions"] = open["certificate"]["assumptions"];
  EXPECT_FALSE(sealed(changed));
  changed = named;
  changed["model"]["preprocessing"]["invalid"] = "middle";
  EXPECT_FALSE(sealed(changed));
  changed["certificate"]["assumptions"] = open["certificate"]["assumptions"];
  EXPECT_TRUE(sealed(changed));  // the certificate of another schema
  changed["model"]["preprocessing"].erase("invalid");
  EXPECT_FALSE(sealed(changed));
}

TEST_F(OneRow, SchemaKeysAreInTheModelFile) {
  TwoClasses& two = std::get<TwoClasses>(schema.label);
  two.negative = "0";
  for (const bool refuses : {false, true}) {
    two.refuses_unlisted = refuses;
    schema.invalid = refuses ? Invalid::refuse : Invalid::middle;
    const json written = schema_json(schema);
    EXPECT_EQ(written["unlisted_label"], refuses ? "refuse" : "negative");
    EXPECT_EQ(written["invalid"], refuses ? "refuse" : "middle");
    const Schema back = schema_from_json(written, "m");
    EXPECT_EQ(std::get<TwoClasses>(back.label).refuses_unlisted, refuses);
    EXPECT_EQ(back.invalid, schema.invalid);
  }
  two.negative.clear();
  two.refuses_unlisted = false;
  EXPECT_TRUE(schema_json(schema)["unlisted_label"].is_null());
  json bad = schema_json(schema);
  bad["invalid"] = "drop";
  EXPECT_THROW(schema_from_json(bad, "m"), BadInput);
}

TEST_F(OneRow, ClassesAreInTheModelFile) {
  schema.label = Classes{{"b", "a \"quoted\"", "ü", "3"}};
  for (const Invalid invalid : {Invalid::refuse, Invalid::middle}) {
    schema.invalid = invalid;
    const json written = schema_json(schema);
    EXPECT_EQ(written["classes"], json(class_names(schema.label)));
    for (const char* key : {"positive", "negative", "unlisted_label", "range", "tolerance"})
      EXPECT_FALSE(written.contains(key)) << key;
    EXPECT_TRUE(schema_from_json(json::parse(written.dump()), "m") == schema);
  }
  // Every edit is another schema, or none.
  const auto edited = [&](const json& classes) {
    json out = schema_json(schema);
    out["classes"] = classes;
    return out;
  };
  EXPECT_FALSE(schema_from_json(edited({"a", "b", "c"}), "m") == schema);
  EXPECT_FALSE(schema_from_json(edited({"a \"quoted\"", "b", "ü", "3"}), "m") == schema);
  for (const json& bad : {json("b"), json(), json::array(), json{"b"}, json{"b", "c", 3},
                          json{"b", "c", "b"}, json{"b", "c", ""}, json{{"b", 1}, {"c", 2}}}) {
    SCOPED_TRACE(bad.dump());
    EXPECT_THROW(schema_from_json(edited(bad), "m"), BadInput);
  }
  const json beside = {{"positive", "b"}, {"negative", nullptr}, {"unlisted_label", "refuse"},
                       {"range", {0, 1}}, {"tolerance", 1},      {"counts", true}};
  for (const auto& [key, value] : beside.items()) {
    SCOPED_TRACE(key);
    json bad = schema_json(schema);
    bad[key] = value;
    EXPECT_THROW(schema_from_json(bad, "m"), BadInput);
  }
  json none = schema_json(schema);
  none.erase("classes");
  EXPECT_THROW(schema_from_json(none, "m"), BadInput);
}

// Names are texts of any bytes that TOML can write: none ends at a NUL.
TEST_F(OneRow, ClassWeightsAreInTheModelFileByTheirWholeNames) {
  schema = parse_schema(
      "label='y'\nclasses=[\"a\\u0000b\", \"a\\u0000c\", \"a\"]\n"
      "class_weights={\"a\\u0000b\" = 1, \"a\\u0000c\" = 2, a = 3}\n[columns]\n"
      "x={type='number',range=[0,1]}\n",
      "s");
  const std::vector<std::string> names = class_names(schema.label);
  ASSERT_EQ(names[0].size(), 3U);
  const json written = schema_json(schema);
  EXPECT_TRUE(schema_from_json(json::parse(written.dump()), "m") == schema);
  json bad = written;
  bad["class_weights"].erase(names[1]);
  EXPECT_THROW(schema_from_json(bad, "m"), BadInput);
  bad["class_weights"]["d"] = 2;
  EXPECT_THROW(schema_from_json(bad, "m"), BadInput);
  bad = written;
  bad["class_weights"][names[1]] = "2";
  EXPECT_THROW(schema_from_json(bad, "m"), BadInput);
}

TEST_F(OneRow, AddRemoveNamesTheRowsThatMayBe) {
  for (const auto& example : testing::examples()) {
    const bool add_remove = example.plan.budget.adjacency == Adjacency::add_remove;
    const std::string text = testing::certificate_of(example)["assumptions"].dump();
    EXPECT_EQ(text.find("from 1 to constants.rows rows") != std::string::npos, add_remove);
  }
}

// predict and evaluate read a file as fit wrote it, or with a weaker claim.
TEST_F(OneRow, AChangedModelFileIsNotRead) {
  const Release model = fit("0.5,a,1");
  const std::string path = folder.path("m.json");
  write_release(path, model);
  EXPECT_NO_THROW(read_release(path));
  const auto error_of = [&](const json& file) -> std::string {
    folder.write("m.json", file.dump());
    try {
      read_release(path);
    } catch (const BadInput& error) {
      return error.what();
    }
    return "";
  };
  json file = to_json(model);
  file["certificate"]["guarantee"]["epsilon"] = 2.0;
  file["certificate"]["guarantee"]["delta"] = 0.25;
  file["certificate"]["guarantee"]["mu"] = 5.0;
  EXPECT_EQ(error_of(file), "");
  for (const char* at : {"/model/coefficients/0", "/model/preprocessing/columns/0/range/1",
                         "/certificate/mechanism/beta", "/certificate/constants/rows"}) {
    json changed = to_json(model);
    changed[json::json_pointer(at)] = 0.25;
    EXPECT_THAT(error_of(changed), HasSubstr("was changed after fit wrote it")) << at;
  }
  json changed = to_json(model);
  changed["certificate"].erase("digest");
  EXPECT_THAT(error_of(changed), HasSubstr("digest: is missing"));
  for (const char* part : {"guarantee", "mechanism", "constants", "numerics", "software"}) {
    changed = to_json(model);
    changed["certificate"][part] = 7;
    changed["certificate"]["digest"] = file_digest(changed);
    EXPECT_THAT(error_of(changed), HasSubstr(std::string("certificate.") + part)) << part;
  }
}

}  // namespace one_row_test
}  // namespace gibbsite
