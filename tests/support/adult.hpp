#pragma once
// The schema of UCI Adult, from its codebook: 6 numbers and 102 levels, "?" being a level of the
// three columns where the codebook allows it. 108 features, 109 with the intercept.
#include <string>

namespace gibbsite::testing {

inline std::string adult_toml(bool intercept) {
  std::string out = "label = \"income\"\npositive = \">50K\"\nnegative = \"<=50K\"\n";
  out += intercept ? "intercept = true\n" : "intercept = false\n";
  return out.append(R"toml(row_norm = 1.0
[columns]
age = {type = "number", range = [17, 90]}
workclass = {type = "category", levels = ["Private", "Self-emp-not-inc", "Self-emp-inc",
  "Federal-gov", "Local-gov", "State-gov", "Without-pay", "Never-worked", "?"]}
fnlwgt = {type = "number", range = [10000, 1500000]}
education = {type = "category", levels = ["Bachelors", "Some-college", "11th", "HS-grad",
  "Prof-school", "Assoc-acdm", "Assoc-voc", "9th", "7th-8th", "12th", "Masters", "1st-4th", "10th",
  "Doctorate", "5th-6th", "Preschool"]}
education_num = {type = "number", range = [1, 16]}
marital_status = {type = "category", levels = ["Married-civ-spouse", "Divorced", "Never-married",
  "Separated", "Widowed", "Married-spouse-absent", "Married-AF-spouse"]}
occupation = {type = "category", levels = ["Tech-support", "Craft-repair", "Other-service", "Sales",
  "Exec-managerial", "Prof-specialty", "Handlers-cleaners", "Machine-op-inspct", "Adm-clerical",
  "Farming-fishing", "Transport-moving", "Priv-house-serv", "Protective-serv", "Armed-Forces", "?"]}
relationship = {type = "category", levels = ["Wife", "Own-child", "Husband", "Not-in-family",
  "Other-relative", "Unmarried"]}
race = {type = "category", levels = ["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other",
  "Black"]}
sex = {type = "category", levels = ["Female", "Male"]}
capital_gain = {type = "number", range = [0, 100000]}
capital_loss = {type = "number", range = [0, 4500]}
hours_per_week = {type = "number", range = [1, 99]}
native_country = {type = "category", levels = ["United-States", "Cambodia", "England",
  "Puerto-Rico", "Canada", "Germany", "Outlying-US(Guam-USVI-etc)", "India", "Japan", "Greece",
  "South", "China", "Cuba", "Iran", "Honduras", "Philippines", "Italy", "Poland", "Jamaica",
  "Vietnam", "Mexico", "Portugal", "Ireland", "France", "Dominican-Republic", "Laos", "Ecuador",
  "Taiwan", "Haiti", "Columbia", "Hungary", "Guatemala", "Nicaragua", "Scotland", "Thailand",
  "Yugoslavia", "El-Salvador", "Trinadad&Tobago", "Peru", "Hong", "Holand-Netherlands", "?"]}
)toml");
}

}  // namespace gibbsite::testing
