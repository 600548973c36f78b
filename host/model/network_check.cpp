#include "model/network_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "gibbsite/core/text.hpp"
#include "model/column_type.hpp"

namespace gibbsite {
namespace {

using Parents = std::map<std::string, std::vector<std::string>>;

// Depth first; a cycle is told once, by the first of its columns that is met.
class Cycles {
 public:
  explicit Cycles(const Parents& parents) : parents_(parents) {}

  std::vector<NetworkFault> find() {
    for (const auto& [node, of] : parents_) visit(node);
    return std::move(found_);
  }

 private:
  // A network may be as deep as it has columns: no recursion.
  void visit(const std::string& root) {
    struct Step {
      const std::string* node;
      std::size_t next;
    };
    std::vector<Step> path{{&root, 0}};
    if (!done_.insert(root).second) return;
    while (!path.empty()) {
      const auto of = parents_.find(*path.back().node);
      if (of == parents_.end() || path.back().next == of->second.size()) {
        path.pop_back();
        continue;
      }
      const std::string& parent = of->second[path.back().next++];
      const auto met = std::find_if(path.begin(), path.end(),
                                    [&](const Step& step) { return *step.node == parent; });
      if (met != path.end()) {
        std::string words;
        for (auto step = met; step != path.end(); ++step) words += shown(*step->node) + " <- ";
        found_.push_back({*met->node, fmt::format("{} is a cycle; leave one of these parents out",
                                                  words + shown(parent))});
      } else if (done_.insert(parent).second) {
        path.push_back({&parent, 0});
      }
    }
  }

  const Parents& parents_;
  std::set<std::string> done_;
  std::vector<NetworkFault> found_;
};

}  // namespace

std::vector<NetworkFault> network_faults(const Schema& schema) {
  if (!schema.network) return {};
  std::vector<NetworkFault> out;
  const auto fault_of = [&](const std::string& name) -> std::string {
    if (name == schema.label_name) return {};
    const auto found = std::ranges::find(schema.columns, name, &Column::name);
    if (found == schema.columns.end())
      return quoted(name) + " is no column of the schema; give one of its columns, or its label";
    if (says_how_rows_count(found->type))
      return quoted(name) +
             " says how much rows count, or whose they are, and is no column of the network; leave "
             "it out";
    if (found->type == ColumnType::ignore)
      return quoted(name) + " is ignored by the schema; give it another type, or leave it out";
    return {};
  };
  for (const auto& [node, parents] : *schema.network) {
    if (const std::string fault = fault_of(node); !fault.empty()) out.push_back({node, fault});
    std::set<std::string> seen;
    for (const std::string& parent : parents) {
      const std::string unknown = fault_of(parent);
      const std::string fault =
          parent == node ? "is its own parent; leave it out"
          : !seen.insert(parent).second
              ? fmt::format("has the parent {} twice; leave one out", quoted(parent))
          : !unknown.empty() ? "parent " + unknown
                             : "";
      if (!fault.empty()) out.push_back({node, fmt::format("{}: {}", quoted(node), fault)});
    }
  }
  if (!out.empty()) return out;
  return Cycles(*schema.network).find();
}

}  // namespace gibbsite
