// Top level of a PTX text: where its functions are, and its variables.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "support/ptx/global_memory.hpp"
#include "support/ptx/text.hpp"

namespace gibbsite::ptx {
namespace {

// Comments become spaces; lines keep their numbers.
void blank_comments(std::string& text) {
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != '/') continue;
    std::size_t end = i;
    if (text[i + 1] == '/') end = std::min(text.find('\n', i), text.size());
    if (text[i + 1] == '*') end = std::min(text.find("*/", i + 2), text.size() - 2) + 2;
    for (; i < end; ++i) {
      if (text[i] != '\n') text[i] = ' ';
    }
  }
}

// Where a statement of the top level ends: at its ';' or at the '{' of its body.
struct Statement {
  std::string head;
  std::size_t end = 0;
  bool has_body = false;
};
Statement read_statement(const std::string& text, std::size_t at) {
  Statement statement;
  int depth = 0;
  bool initializer = false;
  std::size_t end = at;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == '=') initializer = true;
    if (c == ';' && depth == 0) break;
    if (c == '{' && depth == 0 && !initializer) {
      statement.has_body = true;
      break;
    }
  }
  statement.head = text.substr(at, end - at);
  statement.end = end;
  return statement;
}

std::size_t body_end(const std::string& text, std::size_t brace) {
  int depth = 0;
  for (std::size_t i = brace; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i + 1;
  }
  throw std::runtime_error("ptx: a body without its end");
}

// The name in `.visible .entry name(...)` or `.func (.param ...) name(...)`.
std::string function_name(const std::string& head, bool entry) {
  std::size_t at = skip_space(head, head.find(entry ? ".entry" : ".func") + (entry ? 6 : 5));
  if (!entry && head[at] == '(') at = skip_space(head, head.find(')', at) + 1);
  return head.substr(at, word_end(head, at) - at);
}

void initialize(Module::Variable& variable, const Declaration& declared,
                const std::string& values) {
  u64 count = 0;
  for (const std::string& part : split(values, ',')) {
    std::string value = trimmed(part);
    std::erase_if(value, [](char c) { return c == '{' || c == '}'; });
    if (trimmed(value).empty()) continue;
    if (count == declared.count)
      throw std::runtime_error("ptx: too many initializers of " + declared.name);
    const long long number = std::stoll(value, nullptr, 0);
    std::memcpy(variable.memory + count * declared.element, &number, declared.element);
    ++count;
  }
}

Module::Variable read_variable(const std::string& head, std::string& name) {
  const std::size_t equals = head.find('=');
  const Declaration declared = read_declaration(head.substr(0, equals));
  name = declared.name;
  Module::Variable variable;
  variable.space = head.find(".shared") != std::string::npos ? Space::shared : Space::global;
  variable.external = head.find(".extern") != std::string::npos;
  variable.align = declared.align;
  variable.size = declared.size();
  if (variable.space == Space::shared || variable.size == 0) return variable;
  const std::size_t bytes = (variable.size + 511) / 256 * 256;
  variable.memory = static_cast<u8*>(std::aligned_alloc(256, bytes));
  std::memset(variable.memory, 0, bytes);
  if (equals != std::string::npos) initialize(variable, declared, head.substr(equals + 1));
  global_memory().add(reinterpret_cast<u64>(variable.memory), variable.size);
  return variable;
}

}  // namespace

Module::Module(std::string module_name, std::string ptx)
    : name(std::move(module_name)), text(std::move(ptx)) {
  blank_comments(text);
  line_starts.push_back(0);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') line_starts.push_back(i + 1);
  }
  for (std::size_t at = skip_space(text, 0); at < text.size(); at = skip_space(text, at)) {
    const std::string word = text.substr(at, word_end(text, at) - at);
    if (word == ".version" || word == ".target" || word == ".address_size" || word == ".file") {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (word == ".section") {
      at = text.find('}', at) + 1;
      continue;
    }
    const Statement statement = read_statement(text, at);
    if (statement.has_body) {
      const bool entry = statement.head.find(".entry") != std::string::npos;
      const std::size_t end = body_end(text, statement.end);
      (entry ? entries : functions)[function_name(statement.head, entry)] = {at, end};
      at = end;
      continue;
    }
    const auto has = [&](const char* w) { return statement.head.find(w) != std::string::npos; };
    if (!has(".func")) {  // not a forward declaration
      if (!has(".global") && !has(".const") && !has(".shared")) {
        throw std::runtime_error(
            fmt::format("ptx: {}:{}: not modelled: {}", name, line(at), statement.head));
      }
      std::string variable_name;
      const Variable variable = read_variable(statement.head, variable_name);
      variables[variable_name] = variable;
    }
    at = std::min(statement.end + 1, text.size());
  }
}

Module::~Module() {
  for (auto& [variable_name, variable] : variables) {
    if (variable.memory == nullptr) continue;
    global_memory().remove(reinterpret_cast<u64>(variable.memory));
    std::free(variable.memory);
  }
}

int Module::line(std::size_t at) const {
  return static_cast<int>(std::upper_bound(line_starts.begin(), line_starts.end(), at) -
                          line_starts.begin());
}

}  // namespace gibbsite::ptx
