// A kernel's body, with the functions that it calls laid into it, as a list of instructions.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "support/ptx/decode.hpp"
#include "support/ptx/memory.hpp"
#include "support/ptx/text.hpp"

namespace gibbsite::ptx {
namespace {

using Kind = Operand::Kind;

class KernelParser {
 public:
  KernelParser(Module& module, Kernel& kernel)
      : module_(module), kernel_(kernel), constants_(kernel.constants) {}
  void parse();

 private:
  struct Registers {
    int first, count;
    bool predicates;
  };
  // What a pair of braces declares.
  struct Scope {
    int id;
    bool of_function = false;                      // registers of the caller end there
    std::map<std::string, Registers> ranges = {};  // by prefix: .reg .b32 %r<10>
    std::map<std::string, Operand> names = {};
    std::map<std::string, u32> locals = {};  // local memory and call parameters: offset
  };
  struct Function {
    bool entry;
    std::map<std::string, u32> locals = {};      // parameters of a called function: local memory
    std::map<std::string, u32> parameters = {};  // of the kernel
    int scope = 0;
  };
  struct Branch {
    std::size_t instruction;
    std::string label;
    std::vector<int> scopes;  // that see the label, outermost first
  };

  [[noreturn]] void fail(std::size_t at, const std::string& why) const {
    throw std::runtime_error(fmt::format("ptx: {}:{}: {}", module_.name, module_.line(at), why));
  }
  void open_scope(bool of_function = false) {
    scopes_.push_back({.id = next_scope_++, .of_function = of_function});
  }
  [[nodiscard]] std::vector<int> scope_ids() const {
    std::vector<int> ids;
    for (const Scope& scope : scopes_) ids.push_back(scope.id);
    return ids;
  }

  // Names.
  [[nodiscard]] const Operand* find_register(const std::string& name);
  Operand symbol(const std::string& name, std::size_t at);
  Operand shared_symbol(Module::Variable& variable);
  int dynamic_shared();
  u32 allocate_local(u64 bytes, u32 align);
  u32 allocate_shared(u64 bytes, u32 align);

  // Operands.
  Operand operand(const std::string& text, std::size_t at);
  Operand value_operand(const std::string& text, std::size_t at);
  Operand address_operand(const std::string& inside, std::size_t at);
  Operand resolved(Operand operand, std::size_t at);

  // Statements.
  void function(const std::string& name, bool entry, const std::vector<std::string>& arguments,
                const std::string& result, std::size_t called_at);
  void take_parameters(const std::string& head, Function& function,
                       const std::vector<std::string>& arguments, const std::string& result,
                       std::size_t called_at);
  void take_bounds(const std::string& head);
  void body(std::size_t at, std::size_t end);
  void declare(const std::string& text, std::size_t at);
  void declare_registers(const std::string& text);
  void statement(const std::string& text, std::size_t at);
  void call(const std::string& operands, std::size_t at);
  std::string take_guard(const std::string& text, Instruction& instruction, std::size_t at);
  bool control(const Opcode& op, const std::vector<std::string>& operands,
               Instruction& instruction);
  void branch_to(const std::string& label, std::vector<int> scopes, Instruction& instruction);

  void resolve_branches();
  void place_dynamic_shared();
  void follow_wgmma_registers();

  Module& module_;
  Kernel& kernel_;
  Constants constants_;
  std::vector<Scope> scopes_;
  std::vector<Function> functions_;
  std::vector<Branch> branches_;
  std::map<std::pair<int, std::string>, int> labels_;  // scope and name: index of an instruction
  std::map<std::string, u32> static_shared_;
  int dynamic_constant_ = none;
  int next_scope_ = 0;
  Operand found_;  // by find_register
};

constexpr const char* end_of_function = " end";

// ---- Names

const Operand* KernelParser::find_register(const std::string& name) {
  std::size_t digits = name.size();
  while (digits > 0 && is_digit(name[digits - 1])) --digits;
  const std::string prefix = name.substr(0, digits);
  for (std::size_t i = scopes_.size(); i-- > 0;) {
    const Scope& scope = scopes_[i];
    if (const auto at = scope.names.find(name); at != scope.names.end()) return &at->second;
    const auto range = scope.ranges.find(prefix);
    if (digits < name.size() && range != scope.ranges.end()) {
      const int number = std::stoi(name.substr(digits));
      if (number < range->second.count) {
        found_ = {};
        found_.kind = range->second.predicates ? Kind::predicate : Kind::reg;
        found_.id = range->second.first + number;
        return &found_;
      }
    }
    if (scope.of_function) break;
  }
  return nullptr;
}

int KernelParser::dynamic_shared() {
  if (dynamic_constant_ == none) dynamic_constant_ = constants_.placeholder();
  return dynamic_constant_;
}

u32 KernelParser::allocate_local(u64 bytes, u32 align) {
  align = std::max(align, 8U);
  const u32 at = (kernel_.local_bytes + align - 1) / align * align;
  kernel_.local_bytes = at + static_cast<u32>(bytes);
  return at;
}

u32 KernelParser::allocate_shared(u64 bytes, u32 align) {
  const u32 at = (kernel_.static_shared + align - 1) / align * align;
  kernel_.static_shared = at + static_cast<u32>(bytes);
  return shared_base + at;
}

Operand KernelParser::shared_symbol(Module::Variable& variable) {
  Operand found;
  found.space = Space::shared;
  if (variable.external) {
    kernel_.dynamic_align = std::max(kernel_.dynamic_align, variable.align);
    found.kind = Kind::reg;  // a constant whose value is known at the end
    found.id = dynamic_shared();
    return found;
  }
  if (variable.shared_offset == 0) {
    variable.shared_offset = allocate_shared(variable.size, variable.align);
  }
  found.kind = Kind::immediate;
  found.value = variable.shared_offset;
  return found;
}

Operand KernelParser::symbol(const std::string& name, std::size_t at) {
  Operand found;
  found.kind = Kind::immediate;
  for (std::size_t i = scopes_.size(); i-- > 0;) {
    if (const auto local = scopes_[i].locals.find(name); local != scopes_[i].locals.end()) {
      found.value = local->second;
      found.space = Space::local;
      return found;
    }
    if (scopes_[i].of_function) break;
  }
  const Function& function = functions_.back();
  if (const auto local = function.locals.find(name); local != function.locals.end()) {
    found.value = local->second;
    found.space = Space::local;
    return found;
  }
  if (const auto parameter = function.parameters.find(name);
      parameter != function.parameters.end()) {
    found.value = parameter->second;
    found.space = Space::param;
    return found;
  }
  if (const auto shared = static_shared_.find(name); shared != static_shared_.end()) {
    found.value = shared->second;
    found.space = Space::shared;
    return found;
  }
  if (const auto variable = module_.variables.find(name); variable != module_.variables.end()) {
    if (variable->second.space == Space::shared) return shared_symbol(variable->second);
    found.value = reinterpret_cast<u64>(variable->second.memory);
    found.space = variable->second.space;
    return found;
  }
  fail(at, fmt::format("the name {} is not declared", name));
}

// ---- Operands

// A decimal or hexadecimal integer, or the bits of a float or a double (0f3F800000).
bool read_number(const std::string& text, u64& value) {
  if (text.empty()) return false;
  const bool is_float = text.size() == 10 && text[0] == '0' && (text[1] == 'f' || text[1] == 'F');
  const bool is_double = text.size() == 18 && text[0] == '0' && (text[1] == 'd' || text[1] == 'D');
  const bool is_negative = text[0] == '-';
  const std::string digits = text.substr(is_float || is_double ? 2 : is_negative ? 1 : 0);
  if (!is_float && !is_double && (digits.empty() || !is_digit(digits[0]))) return false;
  std::size_t read = 0;
  value = std::stoull(digits, &read, is_float || is_double ? 16 : 0);
  if (is_negative) value = u64{0} - value;
  return read == digits.size();
}

bool is_special(const std::string& name) {
  static const std::vector<std::string> prefixes = {
      "%tid.",       "%ntid.",     "%ctaid.",  "%nctaid.", "%laneid", "%warpid",
      "%envreg",     "%lanemask_", "%clock",   "%smid",    "%nsmid",  "%dynamic_smem",
      "%total_smem", "%gridid",    "%cluster", "%global"};
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return name.rfind(prefix, 0) == 0; });
}

Operand KernelParser::address_operand(const std::string& inside, std::size_t at) {
  Operand address;
  address.kind = Kind::address;
  const std::size_t plus = inside.find('+');
  const std::string base = trimmed(inside.substr(0, plus));
  if (plus != std::string::npos) {
    const std::string offset = trimmed(inside.substr(plus + 1));
    u64 bytes = 0;
    if (!read_number(offset, bytes)) fail(at, fmt::format("{} is no number", offset));
    address.offset = static_cast<s64>(bytes);
  }
  u64 number = 0;
  if (read_number(base, number)) {
    address.offset += static_cast<s64>(number);
    return address;
  }
  const Operand* found = find_register(base);
  const Operand target = found != nullptr ? *found : symbol(base, at);
  address.space = target.space;
  if (target.kind == Kind::reg) {
    address.has_base = true;
    address.id = target.id;
  } else {
    address.offset += static_cast<s64>(target.value);
  }
  return address;
}

Operand KernelParser::value_operand(const std::string& text, std::size_t at) {
  Operand value;
  if (text == "_") return value;
  if (read_number(text, value.value)) {
    value.kind = Kind::immediate;
    return value;
  }
  if (text[0] == '-') fail(at, fmt::format("the operand {} is not modelled", text));
  if (is_special(text)) {
    value.kind = Kind::special;
    value.name = text;
    return value;
  }
  if (const Operand* found = find_register(text)) return *found;
  value.kind = Kind::symbol;
  value.name = text;
  return value;
}

Operand KernelParser::operand(const std::string& text, std::size_t at) {
  if (text.empty()) fail(at, "an operand is empty");
  const std::string inside = text.size() > 1 ? trimmed(text.substr(1, text.size() - 2)) : "";
  if (text[0] == '{') {
    Operand vector;
    vector.kind = Kind::vector;
    for (const std::string& part : split(inside, ',')) {
      vector.vector.push_back(resolved(operand(trimmed(part), at), at));
    }
    return vector;
  }
  if (text[0] == '[') return address_operand(inside, at);
  if (text[0] == '!') {
    Operand negated = operand(trimmed(text.substr(1)), at);
    negated.negated = true;
    return negated;
  }
  if (const std::size_t bar = text.find('|'); bar != std::string::npos) {
    Operand both = value_operand(trimmed(text.substr(0, bar)), at);
    both.vector.push_back(value_operand(trimmed(text.substr(bar + 1)), at));
    return both;
  }
  return resolved(value_operand(text, at), at);
}

// The address that a name stands for.
Operand KernelParser::resolved(Operand operand, std::size_t at) {
  if (operand.kind != Kind::symbol) return operand;
  Operand found = symbol(operand.name, at);
  if (found.space == Space::param) found.value += parameter_window;
  return found;
}

// ---- Functions

void KernelParser::take_bounds(const std::string& head) {
  const std::size_t at = head.find(".maxntid");
  if (at == std::string::npos) return;
  kernel_.most_threads = 1;
  for (const std::string& part : split(head.substr(at + 8, head.find('\n', at) - at - 8), ',')) {
    kernel_.most_threads *= static_cast<u32>(std::stoul(part));
  }
}

void KernelParser::take_parameters(const std::string& head, Function& function,
                                   const std::vector<std::string>& arguments,
                                   const std::string& result, std::size_t called_at) {
  std::size_t at =
      skip_space(head, head.find(function.entry ? ".entry" : ".func") + (function.entry ? 6 : 5));
  const auto local_of = [&](const std::string& name) {
    const Operand found = symbol(trimmed(name), called_at);
    if (found.space != Space::local) fail(called_at, "an argument is no local parameter");
    return static_cast<u32>(found.value);
  };
  if (!function.entry && head[at] == '(') {
    const std::size_t end = head.find(')', at);
    const Declaration returned = read_declaration(head.substr(at + 1, end - at - 1));
    function.locals[returned.name] = local_of(result);
    at = end + 1;
  }
  const std::size_t open = head.find('(', at);
  const std::size_t close = open == std::string::npos ? open : head.find(')', open);
  if (function.entry) take_bounds(close == std::string::npos ? head : head.substr(close));
  if (open == std::string::npos) return;
  const std::string list = trimmed(head.substr(open + 1, close - open - 1));
  if (list.empty()) return;
  std::size_t index = 0;
  for (const std::string& part : split(list, ',')) {
    const Declaration declared = read_declaration(part);
    if (function.entry) {
      const u32 offset =
          (kernel_.parameter_bytes + declared.align - 1) / declared.align * declared.align;
      const u32 size = static_cast<u32>(declared.size());
      function.parameters[declared.name] = offset;
      kernel_.parameters.push_back({offset, size});
      kernel_.parameter_bytes = offset + size;
    } else {
      if (index >= arguments.size()) fail(called_at, "a call has too few arguments");
      function.locals[declared.name] = local_of(arguments[index++]);
    }
  }
}

void KernelParser::function(const std::string& name, bool entry,
                            const std::vector<std::string>& arguments, const std::string& result,
                            std::size_t called_at) {
  const auto& known = entry ? module_.entries : module_.functions;
  const auto found = known.find(name);
  if (found == known.end()) fail(called_at, fmt::format("the function {} has no body", name));
  if (functions_.size() > 8) fail(called_at, "calls are too deep");
  const Module::Range range = found->second;
  std::size_t brace = range.begin;
  for (int depth = 0; module_.text[brace] != '{' || depth != 0; ++brace) {
    if (module_.text[brace] == '(') ++depth;
    if (module_.text[brace] == ')') --depth;
  }
  Function called{.entry = entry};
  take_parameters(module_.text.substr(range.begin, brace - range.begin), called, arguments, result,
                  called_at);
  open_scope(true);
  called.scope = scopes_.back().id;
  functions_.push_back(called);
  body(brace + 1, range.end - 1);
  labels_[{called.scope, end_of_function}] = static_cast<int>(kernel_.code.size());
  scopes_.pop_back();
  functions_.pop_back();
}

void KernelParser::body(std::size_t at, std::size_t end) {
  const std::string& text = module_.text;
  for (at = skip_space(text, at); at < end; at = skip_space(text, at)) {
    if (text[at] == '{' || text[at] == '}') {
      if (text[at] == '{')
        open_scope();
      else
        scopes_.pop_back();
      ++at;
      continue;
    }
    if (text[at] == ';') {
      ++at;
      continue;
    }
    const std::size_t word = word_end(text, at);
    const std::string first = text.substr(at, word - at);
    if (first == ".loc" || first == ".file") {
      at = text.find('\n', at);
      continue;
    }
    const std::size_t colon = skip_space(text, word);
    if (word > at && text[colon] == ':' && text[colon + 1] != ':') {
      const std::pair label(scopes_.back().id, first);
      if (!labels_.emplace(label, static_cast<int>(kernel_.code.size())).second)
        fail(at, "a label stands twice");
      at = colon + 1;
      continue;
    }
    const std::size_t semicolon = text.find(';', at);
    std::string one = trimmed(text.substr(at, semicolon - at));
    std::replace_if(one.begin(), one.end(), is_space, ' ');
    if (one[0] == '.')
      declare(one, at);
    else
      statement(one, at);
    at = semicolon + 1;
  }
}

// ---- Declarations

void KernelParser::declare_registers(const std::string& text) {
  const std::size_t type = skip_space(text, 4);
  const std::size_t end = word_end(text, type);
  const bool predicates = text.substr(type, end - type) == ".pred";
  int& next = predicates ? kernel_.predicates : kernel_.registers;
  Scope& scope = scopes_.back();
  for (const std::string& part : split(text.substr(end), ',')) {
    const std::string name = trimmed(part);
    const std::size_t bracket = name.find('<');
    if (bracket == std::string::npos) {
      Operand& declared = scope.names[name];
      declared.kind = predicates ? Kind::predicate : Kind::reg;
      declared.id = next++;
    } else {
      const int count = std::stoi(name.substr(bracket + 1));
      scope.ranges[name.substr(0, bracket)] = {next, count, predicates};
      next += count;
    }
  }
}

void KernelParser::declare(const std::string& text, std::size_t at) {
  const std::string word = text.substr(0, word_end(text, 0));
  if (word == ".pragma") return;
  if (word == ".reg") {
    declare_registers(text);
    return;
  }
  const Declaration declared = read_declaration(text);
  if (word == ".local" || word == ".param") {
    scopes_.back().locals[declared.name] = allocate_local(declared.size(), declared.align);
  } else if (word == ".shared") {
    static_shared_[declared.name] = allocate_shared(declared.size(), declared.align);
  } else {
    fail(at, fmt::format("the declaration {} is not modelled", text));
  }
}

// ---- Instructions

std::string KernelParser::take_guard(const std::string& text, Instruction& instruction,
                                     std::size_t at) {
  if (text[0] != '@') return text;
  instruction.guard_negated = text[1] == '!';
  const std::size_t begin = instruction.guard_negated ? 2 : 1;
  const std::size_t end = word_end(text, begin);
  const Operand* guard = find_register(text.substr(begin, end - begin));
  if (guard == nullptr || guard->kind != Kind::predicate) fail(at, "a guard is no predicate");
  instruction.guard = guard->id;
  return trimmed(text.substr(end));
}

void KernelParser::branch_to(const std::string& label, std::vector<int> scopes,
                             Instruction& instruction) {
  instruction.control = Control::branch;
  branches_.push_back({kernel_.code.size(), label, std::move(scopes)});
}

// Whether it is an instruction that the scheduler executes.
bool KernelParser::control(const Opcode& op, const std::vector<std::string>& operands,
                           Instruction& instruction) {
  if (op.name() == "bra") {
    branch_to(operands.at(0), scope_ids(), instruction);
  } else if (op.name() == "ret" && !functions_.back().entry) {
    branch_to(end_of_function, {functions_.back().scope}, instruction);
  } else if (op.name() == "ret" || op.name() == "exit") {
    instruction.control = Control::exit;
  } else if (op.name() == "trap") {
    instruction.control = Control::trap;
  } else {
    return false;
  }
  return true;
}

void KernelParser::call(const std::string& operands, std::size_t at) {
  const std::vector<std::string> parts = split_operands(operands);
  const auto inside = [](const std::string& text) {
    return trimmed(text.substr(1, text.size() - 2));
  };
  std::size_t next = 0;
  std::string result;
  if (parts.at(0)[0] == '(') result = inside(parts[next++]);
  const std::string name = parts.at(next++);
  std::vector<std::string> arguments;
  if (next < parts.size() && !inside(parts[next]).empty())
    arguments = split(inside(parts[next]), ',');
  function(name, false, arguments, result, at);
}

void KernelParser::statement(const std::string& text, std::size_t at) {
  Instruction instruction;
  instruction.line = module_.line(at);
  const std::string plain = take_guard(text, instruction, at);
  const std::size_t end = std::min(plain.find(' '), plain.size());
  const Opcode op(plain.substr(0, end));
  const std::string rest = trimmed(plain.substr(end));
  if (op.name() == "call") {
    if (instruction.guard >= 0) fail(at, "a call under a predicate is not modelled");
    call(rest, at);
    return;
  }
  const std::vector<std::string> parts = split_operands(rest);
  if (!control(op, parts, instruction)) {
    std::vector<Operand> operands;
    for (const std::string& part : parts) operands.push_back(operand(part, at));
    try {
      decode({op, operands, constants_, instruction});
    } catch (const std::exception& error) {
      fail(at, fmt::format("{}: {}", error.what(), plain.substr(0, 160)));
    }
  }
  kernel_.code.push_back(std::move(instruction));
}

// ---- The end

void KernelParser::resolve_branches() {
  for (const Branch& branch : branches_) {
    int& target = kernel_.code[branch.instruction].target;
    for (std::size_t i = branch.scopes.size(); i-- > 0 && target < 0;) {
      const auto label = labels_.find({branch.scopes[i], branch.label});
      if (label != labels_.end()) target = label->second;
    }
    if (target < 0)
      throw std::runtime_error(
          fmt::format("ptx: {}: the label {} is missing", module_.name, branch.label));
  }
}

void KernelParser::place_dynamic_shared() {
  const u32 align = kernel_.dynamic_align;
  kernel_.dynamic_at = (shared_base + kernel_.static_shared + align - 1) / align * align;
  if (dynamic_constant_ != none) {
    kernel_.constants[static_cast<std::size_t>(~dynamic_constant_)] = kernel_.dynamic_at;
  }
}

// Marks the registers of wgmma and those that they are copied from and to.
void KernelParser::follow_wgmma_registers() {
  kernel_.of_wgmma.assign(static_cast<std::size_t>(kernel_.registers), 0);
  const auto marked = [&](int r) {
    return r >= 0 && kernel_.of_wgmma[static_cast<std::size_t>(r)] != 0;
  };
  bool more = false;
  const auto mark = [&](int r) {
    if (r < 0 || marked(r)) return;
    kernel_.of_wgmma[static_cast<std::size_t>(r)] = 1;
    more = true;
  };
  for (const Instruction& in : kernel_.code) {
    if (in.role != Role::wgmma) continue;
    kernel_.uses_wgmma = true;
    for (const int r : in.v) mark(r);
    for (const int r : in.w) mark(r);
  }
  while (more) {
    more = false;
    for (const Instruction& in : kernel_.code) {
      if (in.role != Role::move || in.s[0] < 0) continue;
      if (marked(in.s[0])) mark(in.d);
      if (marked(in.d)) mark(in.s[0]);
    }
  }
  for (Instruction& in : kernel_.code) {
    if (in.role == Role::wgmma || in.role == Role::predicates) continue;
    in.tracked = (!in.sets_predicate && marked(in.d)) ||
                 std::any_of(in.s.begin(), in.s.end(), marked) ||
                 std::any_of(in.v.begin(), in.v.end(), marked) ||
                 std::any_of(in.w.begin(), in.w.end(), marked);
  }
}

void KernelParser::parse() {
  for (auto& [name, variable] : module_.variables) variable.shared_offset = 0;
  function(kernel_.name, true, {}, "", 0);
  Instruction end;
  end.control = Control::exit;
  kernel_.code.push_back(end);
  resolve_branches();
  place_dynamic_shared();
  follow_wgmma_registers();
  kernel_.executed.assign(kernel_.code.size(), 0);
  for (const u64 value : kernel_.constants) {
    kernel_.lane_constants.insert(kernel_.lane_constants.end(), warp_size, value);
  }
}

}  // namespace

Kernel& Module::kernel(const std::string& entry) {
  std::unique_ptr<Kernel>& slot = kernels[entry];
  if (slot != nullptr) return *slot;
  auto kernel = std::make_unique<Kernel>();
  kernel->name = entry;
  kernel->module = this;
  KernelParser(*this, *kernel).parse();
  slot = std::move(kernel);
  return *slot;
}

}  // namespace gibbsite::ptx
