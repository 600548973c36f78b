#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "ptx.hpp"
namespace ptx {
using std::string;
using std::string_view;
bool decode(I& out, Kernel& k, const std::vector<string>& op, std::vector<Operand>& ops);

static bool ident(char c) {
  return std::isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

Module::Module(string n, string t) : name(std::move(n)), text(std::move(t)) {
  // strip comments, keep newlines
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '/' && text[i + 1] == '/') {
      while (i < text.size() && text[i] != '\n') text[i++] = ' ';
    } else if (text[i] == '/' && text[i + 1] == '*') {
      while (i + 1 < text.size() && !(text[i] == '*' && text[i + 1] == '/')) {
        if (text[i] != '\n') text[i] = ' ';
        ++i;
      }
      text[i] = text[i + 1] = ' ';
    }
  }
  line_at.push_back(0);
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') line_at.push_back(i + 1);
  // top level
  size_t i = 0;
  auto skip = [&] {
    while (i < text.size() && std::isspace((unsigned char)text[i])) ++i;
  };
  while (true) {
    skip();
    if (i >= text.size() || text[i] == 0) break;
    size_t from = i;
    if (text[i] == '\t') ++i;
    // a directive up to ';' , '\n' (version, target, address_size, file, section) or a body
    size_t e = i;
    while (e < text.size() && ident(text[e])) ++e;
    string word = text.substr(i, e - i);
    if (word == ".version" || word == ".target" || word == ".address_size" || word == ".file") {
      size_t nl = text.find('\n', i);
      if (word == ".target") target = text.substr(e, nl - e);
      i = nl;
      continue;
    }
    if (word == ".section") {
      size_t c = text.find('}', i);
      i = c + 1;
      continue;
    }
    // find end: ';' outside parens before '{' (declaration) or body with braces
    size_t j = i;
    int par = 0;
    bool body = false, init = false;
    for (; j < text.size(); ++j) {
      char c = text[j];
      if (c == '(')
        ++par;
      else if (c == ')')
        --par;
      else if (c == '=')
        init = true;
      else if (c == ';' && par == 0)
        break;
      else if (c == '{' && par == 0 && !init) {
        body = true;
        break;
      }
    }
    string head = text.substr(i, j - i);
    if (body) {
      int depth = 0;
      size_t b = j;
      for (; b < text.size(); ++b) {
        if (text[b] == '{') ++depth;
        if (text[b] == '}' && --depth == 0) break;
      }
      size_t at = head.find(".entry");
      bool entry = at != string::npos;
      if (!entry) at = head.find(".func");
      if (at == string::npos) throw std::runtime_error("ptx: what is this: " + head.substr(0, 200));
      size_t q = at + (entry ? 6 : 5);
      while (q < head.size() && std::isspace((unsigned char)head[q])) ++q;
      if (!entry && head[q] == '(') {
        q = head.find(')', q) + 1;
        while (std::isspace((unsigned char)head[q])) ++q;
      }
      size_t r = q;
      while (r < head.size() && ident(head[r])) ++r;
      string fn = head.substr(q, r - q);
      (entry ? entries : funcs)[fn] = {from, b + 1};
      i = b + 1;
      continue;
    }
    i = j + 1;
    if (head.find(".func") != string::npos) continue;  // forward declaration
    if (head.find(".global") != string::npos || head.find(".const") != string::npos ||
        head.find(".shared") != string::npos) {
      Var var{};
      var.space = head.find(".shared") != string::npos  ? Shared
                  : head.find(".const") != string::npos ? Const
                                                        : Global;
      var.external = head.find(".extern") != string::npos;
      string decl = head.substr(0, head.find('='));
      size_t a = decl.find(".align");
      var.align = a == string::npos ? 8 : (u32)std::stoul(decl.substr(a + 6));
      // last identifier [ size ]
      size_t br = decl.find('[');
      size_t e2 = br == string::npos ? decl.find_last_not_of(" \t\n") + 1 : br;
      size_t b2 = e2;
      while (b2 > 0 && ident(decl[b2 - 1])) --b2;
      string vn = decl.substr(b2, e2 - b2);
      u32 elem = 1;
      for (auto [s, sz] : {std::pair{".b8", 1u},
                           {".u8", 1u},
                           {".b16", 2u},
                           {".b32", 4u},
                           {".u32", 4u},
                           {".f32", 4u},
                           {".b64", 8u},
                           {".u64", 8u},
                           {".f64", 8u}})
        if (decl.find(string(s) + " ") != string::npos) elem = sz;
      u64 count = 1;
      if (br != string::npos) {
        string in = decl.substr(br + 1, decl.find(']', br) - br - 1);
        count = in.find_first_of("0123456789") == string::npos ? 0 : std::stoull(in);
      }
      var.size = count * elem;
      if (var.space != Shared) {
        var.host = (u8*)aligned_alloc(256, (var.size + 511) / 256 * 256);
        std::memset(var.host, 0, (var.size + 511) / 256 * 256);
        size_t eq = head.find('=');
        if (eq != string::npos) {
          string in = head.substr(eq + 1);
          u64 n = 0;
          size_t p = 0;
          while (p < in.size()) {
            if (std::isdigit((unsigned char)in[p]) || in[p] == '-') {
              size_t used;
              long long v = std::stoll(in.substr(p), &used, 0);
              std::memcpy(var.host + n * elem, &v, elem);
              ++n;
              p += used;
            } else if (std::isalpha((unsigned char)in[p]))
              throw std::runtime_error("ptx: initializer " + head.substr(0, 200));
            else
              ++p;
          }
          if (n > count) throw std::runtime_error("ptx: too many initializers " + vn);
        }
        if (var.size) add_allocation((u64)var.host, var.size);
      }
      vars[vn] = var;
      continue;
    }
    if (head.find_first_not_of(" \t\n") == string::npos) continue;
    throw std::runtime_error("ptx: top level: " + head.substr(0, 200));
  }
}
int Module::line(size_t at) const {
  return (int)(std::upper_bound(line_at.begin(), line_at.end(), at) - line_at.begin());
}

struct Parser {
  Module& m;
  Kernel& k;
  Parser(Module& a, Kernel& b) : m(a), k(b) {}
  struct Scope {
    std::map<string, std::pair<int, int>> ranges;  // prefix -> (base, count)
    std::map<string, int> names;                   // register
    std::map<string, bool> pred_range, pred_name;
    std::map<string, u32> params;  // call params: local storage offset (in "param" local area)
    std::map<string, int> labels;
  };
  std::vector<Scope> scopes;
  struct Fix {
    int instr;
    string label;
    std::vector<int> path;
  };
  std::vector<Fix> fixes;
  std::vector<std::map<string, int>*> dummy;
  // labels by scope id path
  std::map<std::pair<int, string>, int> label_of;
  std::vector<int> scope_ids;
  int next_scope = 0;
  struct Func {
    std::map<string, u32> param_local;
    u32 ret_local = 0;
    string ret_name;
    bool entry = true;
    int ret_label = -1;
    string ret_label_name;
    std::map<string, u32> param_entry;
  };
  std::vector<Func> funcs;
  std::map<u64, int> const_of;
  int constant(u64 v) {
    auto [it, fresh] = const_of.emplace(v, (int)k.constants.size());
    if (fresh) k.constants.push_back(v);
    return ~it->second;
  }
  [[noreturn]] void bad(size_t at, const string& why) {
    throw std::runtime_error("ptx parse: " + m.name + ":" + std::to_string(m.line(at)) + ": " +
                             why);
  }
};
static std::vector<string> split(const string& s, char c) {
  std::vector<string> r;
  size_t p = 0;
  while (true) {
    size_t q = s.find(c, p);
    r.push_back(s.substr(p, q - p));
    if (q == string::npos) return r;
    p = q + 1;
  }
}
static string trim(const string& s) {
  size_t a = s.find_first_not_of(" \t\r\n"), b = s.find_last_not_of(" \t\r\n");
  return a == string::npos ? "" : s.substr(a, b - a + 1);
}

struct Build : Parser {
  Build(Module& m, Kernel& k) : Parser(m, k) {}
  Operand reg(const string& n, size_t at) {
    for (size_t i = scopes.size(); i-- > 0;) {
      auto& sc = scopes[i];
      if (auto it = sc.names.find(n); it != sc.names.end()) {
        Operand o;
        o.kind = sc.pred_name[n] ? Operand::Pred : Operand::Reg;
        o.id = it->second;
        return o;
      }
      size_t d = n.size();
      while (d > 0 && std::isdigit((unsigned char)n[d - 1])) --d;
      if (d < n.size()) {
        string pre = n.substr(0, d);
        if (auto it = sc.ranges.find(pre); it != sc.ranges.end()) {
          int q = std::stoi(n.substr(d));
          if (q < it->second.second) {
            Operand o;
            o.kind = sc.pred_range[pre] ? Operand::Pred : Operand::Reg;
            o.id = it->second.first + q;
            return o;
          }
        }
      }
      if (sc.names.count("\1function")) break;  // registers of the caller are not seen
    }
    Operand o;
    o.kind = Operand::Symbol;
    o.name = n;
    (void)at;
    return o;
  }
  Operand symbol(const string& n, size_t at) {
    Operand o;
    o.kind = Operand::Imm;
    for (size_t i = scopes.size(); i-- > 0;) {
      auto& sc = scopes[i];
      if (auto it = sc.params.find(n); it != sc.params.end()) {
        o.value = it->second;
        o.space = Local;
        return o;
      }
      if (sc.names.count("\1function")) break;
    }
    auto& f = funcs.back();
    if (auto it = f.param_local.find(n); it != f.param_local.end()) {
      o.value = it->second;
      o.space = Local;
      return o;
    }
    if (auto it = f.param_entry.find(n); it != f.param_entry.end()) {
      o.value = it->second;
      o.space = Param;
      return o;
    }
    if (auto it = m.vars.find(n); it != m.vars.end()) {
      auto& v = it->second;
      if (v.space == Shared) {
        o.space = Shared;
        if (v.external) {
          k.has_dynamic = true;
          k.dynamic_align = std::max(k.dynamic_align, v.align);
          o.kind = Operand::Symbol;
          o.name = "\1dynamic";
          return o;
        }
        if (v.offset == 0) {
          k.static_shared = (k.static_shared + v.align - 1) / v.align * v.align;
          v.offset = 1024 + k.static_shared;
          k.static_shared += (u32)v.size;
        }
        o.value = v.offset;
        return o;
      }
      o.value = (u64)v.host;
      o.space = v.space;
      return o;
    }
    if (auto it = static_shared.find(n); it != static_shared.end()) {
      o.value = it->second;
      o.space = Shared;
      return o;
    }
    bad(at, "unknown symbol '" + n + "'");
  }
  std::map<string, u32> static_shared;
  bool number(const string& t, u64& v, bool& fl) {
    if (t.empty()) return false;
    fl = false;
    if (t.size() == 10 && t[0] == '0' && (t[1] == 'f' || t[1] == 'F')) {
      v = std::stoull(t.substr(2), nullptr, 16);
      fl = true;
      return true;
    }
    if (t.size() == 18 && t[0] == '0' && (t[1] == 'd' || t[1] == 'D')) {
      v = std::stoull(t.substr(2), nullptr, 16);
      fl = true;
      return true;
    }
    if (std::isdigit((unsigned char)t[0])) {
      v = std::stoull(t, nullptr, 0);
      return true;
    }
    if (t[0] == '-' && t.size() > 1 && std::isdigit((unsigned char)t[1])) {
      v = (u64)std::stoll(t, nullptr, 0);
      return true;
    }
    return false;
  }
  Operand operand(string t, size_t at) {
    t = trim(t);
    if (t.empty()) bad(at, "empty operand");
    Operand o;
    if (t == "_") {
      o.kind = Operand::Under;
      return o;
    }
    if (t[0] == '{') {
      o.kind = Operand::Vec;
      for (auto& p : split(t.substr(1, t.size() - 2), ',')) o.vec.push_back(operand(p, at));
      return o;
    }
    if (t[0] == '[') {
      string in = trim(t.substr(1, t.size() - 2));
      o.kind = Operand::Addr;
      size_t plus = in.find('+');
      string base = trim(in.substr(0, plus));
      if (plus != string::npos) {
        o.off = std::stoll(trim(in.substr(plus + 1)), nullptr, 0);
      }
      u64 v;
      bool fl;
      if (number(base, v, fl)) {
        o.off += (s64)v;
        return o;
      }
      Operand r = reg(base, at);
      if (r.kind == Operand::Reg) {
        o.has_base = true;
        o.id = r.id;
        return o;
      }
      Operand s = symbol(base, at);
      if (s.kind == Operand::Symbol) {
        o.has_base = true;
        o.id = dynamic_constant();
        o.space = Shared;
        return o;
      }
      o.off += (s64)s.value;
      o.space = s.space;
      return o;
    }
    if (t[0] == '!') {
      o = operand(t.substr(1), at);
      o.neg = true;
      return o;
    }
    bool fl;
    if (number(t, o.value, fl)) {
      o.kind = Operand::Imm;
      o.isfloat = fl;
      return o;
    }
    if (t[0] == '-') {
      bad(at, "negated operand " + t);
    }
    if (t[0] == '%') {
      static const char* const specials[] = {
          "%tid.",         "%ntid.",      "%ctaid.", "%nctaid.",     "%laneid", "%warpid",
          "%envreg",       "%lanemask",   "%clock",  "%globaltimer", "%smid",   "%nsmid",
          "%dynamic_smem", "%total_smem", "%gridid", "%cluster"};
      for (auto* s : specials)
        if (t.rfind(s, 0) == 0) {
          o.kind = Operand::Special;
          o.name = t;
          return o;
        }
    }
    Operand r = reg(t, at);
    if (r.kind != Operand::Symbol) return r;
    o.kind = Operand::Symbol;
    o.name = t;
    return o;
  }
  int dynamic_slot = INT32_MIN;
  int dynamic_constant() {  // its value is set after parsing
    if (dynamic_slot == INT32_MIN) {
      k.constants.push_back(0);
      dynamic_slot = ~(int)(k.constants.size() - 1);
    }
    return dynamic_slot;
  }
  u32 local_alloc(u32 size, u32 align) {
    align = std::max(align, 8u);
    k.local_bytes = (k.local_bytes + align - 1) / align * align;
    u32 at = k.local_bytes;
    k.local_bytes += size;
    return at;
  }

  void declare(const string& st,
               size_t at) {  // .reg .b32 %r<10>, x;  .local ... ; .shared ...; .param ...
    if (st.rfind(".pragma", 0) == 0) return;
    if (st.rfind(".reg", 0) == 0) {
      size_t i = 4;
      while (std::isspace((unsigned char)st[i])) ++i;
      size_t e = i;
      while (!std::isspace((unsigned char)st[e])) ++e;
      bool pred = st.substr(i, e - i) == ".pred";
      for (auto& part : split(st.substr(e), ',')) {
        string n = trim(part);
        size_t lt = n.find('<');
        auto& sc = scopes.back();
        if (lt != string::npos) {
          int count = std::stoi(n.substr(lt + 1));
          string pre = n.substr(0, lt);
          int& next = pred ? k.predicates : k.registers;
          sc.ranges[pre] = {next, count};
          sc.pred_range[pre] = pred;
          next += count;
        } else {
          int& next = pred ? k.predicates : k.registers;
          sc.names[n] = next++;
          sc.pred_name[n] = pred;
        }
      }
      return;
    }
    u32 align = 8;
    size_t a = st.find(".align");
    if (a != string::npos) align = (u32)std::stoul(st.substr(a + 6));
    size_t br = st.find('[');
    size_t e2 = br == string::npos ? st.size() : br;
    while (std::isspace((unsigned char)st[e2 - 1])) --e2;
    size_t b2 = e2;
    while (b2 > 0 && ident(st[b2 - 1])) --b2;
    string n = st.substr(b2, e2 - b2);
    u32 elem = 1;
    for (auto [s, sz] : {std::pair{".b8", 1u},
                         {".b16", 2u},
                         {".b32", 4u},
                         {".u32", 4u},
                         {".f32", 4u},
                         {".b64", 8u},
                         {".u64", 8u},
                         {".f64", 8u}})
      if (st.find(string(s) + " ") != string::npos) elem = sz;
    u32 size = elem * (br == string::npos ? 1 : (u32)std::stoul(st.substr(br + 1)));
    if (st.rfind(".local", 0) == 0 || st.rfind(".param", 0) == 0)
      scopes.back().params[n] = local_alloc(size, align);
    else if (st.rfind(".shared", 0) == 0) {
      k.static_shared = (k.static_shared + align - 1) / align * align;
      static_shared[n] = 1024 + k.static_shared;
      k.static_shared += size;
    } else
      bad(at, "declaration " + st);
  }

  void push_scope() {
    scopes.emplace_back();
    scope_ids.push_back(next_scope++);
  }
  void pop_scope() {
    scopes.pop_back();
    scope_ids.pop_back();
  }

  void function(const string& name, bool entry, const std::vector<string>& args,
                const string& retarg, size_t at0) {
    auto& table = entry ? m.entries : m.funcs;
    auto it = table.find(name);
    if (it == table.end()) bad(at0, "no function " + name);
    if (funcs.size() > 8) bad(at0, "calls too deep");
    auto [from, to] = it->second;
    size_t brace = from;
    {
      int par = 0;
      while (true) {
        char c = m.text[brace];
        if (c == '(') ++par;
        if (c == ')') --par;
        if (c == '{' && par == 0) break;
        ++brace;
      }
    }
    string head = m.text.substr(from, brace - from);
    Func f;
    f.entry = entry;
    // parameters
    size_t q = head.find(entry ? ".entry" : ".func") + (entry ? 6 : 5);
    while (std::isspace((unsigned char)head[q])) ++q;
    string retdecl;
    if (!entry && head[q] == '(') {
      size_t e = head.find(')', q);
      retdecl = head.substr(q + 1, e - q - 1);
      q = e + 1;
    }
    size_t lp = head.find('(', q), rp = string::npos;
    std::vector<string> decls;
    if (lp != string::npos) {
      rp = head.find(')', lp);
      string in = trim(head.substr(lp + 1, rp - lp - 1));
      if (!in.empty()) decls = split(in, ',');
    }
    u32 offset = 0;
    size_t index = 0;
    auto describe = [&](const string& dcl, string& n, u32& size, u32& align) {
      u32 elem = 1;
      for (auto [s, sz] : {std::pair{".b8", 1u},
                           {".u8", 1u},
                           {".s8", 1u},
                           {".b16", 2u},
                           {".u16", 2u},
                           {".b32", 4u},
                           {".u32", 4u},
                           {".s32", 4u},
                           {".f32", 4u},
                           {".b64", 8u},
                           {".u64", 8u},
                           {".s64", 8u},
                           {".f64", 8u}})
        if (dcl.find(string(s) + " ") != string::npos) elem = sz;
      size_t a = dcl.find(".align");
      align = a == string::npos ? elem : (u32)std::stoul(dcl.substr(a + 6));
      size_t br = dcl.find('[');
      size_t e2 = br == string::npos ? dcl.find_last_not_of(" \t\n") + 1 : br;
      size_t b2 = e2;
      while (b2 > 0 && ident(dcl[b2 - 1])) --b2;
      n = dcl.substr(b2, e2 - b2);
      size = elem * (br == string::npos ? 1 : (u32)std::stoul(dcl.substr(br + 1)));
    };
    for (auto& dcl : decls) {
      string n;
      u32 size, align;
      describe(dcl, n, size, align);
      if (entry) {
        offset = (offset + align - 1) / align * align;
        f.param_entry[n] = offset;
        k.params.push_back({offset, size});
        offset += size;
      } else {
        if (index >= args.size()) bad(at0, "arguments of " + name);
        Operand o = symbol(trim(args[index]), at0);
        if (o.space != Local) bad(at0, "argument");
        f.param_local[n] = (u32)o.value;
      }
      ++index;
    }
    if (entry) {
      k.param_bytes = offset;
      string tail = head.substr(rp == string::npos ? 0 : rp + 1);
      if (size_t p = tail.find(".maxntid"); p != string::npos) {
        auto parts = split(tail.substr(p + 8, tail.find('\n', p) - p - 8), ',');
        k.maxntid = 1;
        for (auto& x : parts) k.maxntid *= (u32)std::stoul(x);
      }
      if (size_t p = tail.find(".minnctapersm"); p != string::npos)
        k.minnctapersm = (u32)std::stoul(tail.substr(p + 13));
    } else if (!retdecl.empty()) {
      string n;
      u32 size, align;
      describe(retdecl, n, size, align);
      Operand o = symbol(trim(retarg), at0);
      f.param_local[n] = (u32)o.value;
    }
    funcs.push_back(f);
    push_scope();
    scopes.back().names["\1function"] = 0;
    scopes.back().pred_name["\1function"] = false;
    int my_scope = scope_ids.back();
    // statements
    size_t i = brace + 1;
    int depth = 0;
    while (true) {
      while (i < to && (std::isspace((unsigned char)m.text[i]))) ++i;
      if (i >= to) bad(i, "end of text");
      char c = m.text[i];
      if (c == '{') {
        push_scope();
        ++depth;
        ++i;
        continue;
      }
      if (c == '}') {
        if (depth == 0) break;
        pop_scope();
        --depth;
        ++i;
        continue;
      }
      if (c == ';') {
        ++i;
        continue;
      }
      if ((m.text.compare(i, 4, ".loc") == 0 && std::isspace((unsigned char)m.text[i + 4])) ||
          m.text.compare(i, 5, ".file") == 0) {
        i = m.text.find('\n', i);
        continue;
      }
      // label?
      size_t e = i;
      while (ident(m.text[e])) ++e;
      size_t e3 = e;
      while (m.text[e3] == ' ' || m.text[e3] == '\t') ++e3;
      if (e > i && m.text[e3] == ':' && m.text[e3 + 1] != ':') {
        string lab = m.text.substr(i, e - i);
        if (!label_of.emplace(std::pair{scope_ids.back(), lab}, (int)k.code.size()).second)
          bad(i, "label twice");
        i = e3 + 1;
        continue;
      }
      size_t semi = m.text.find(';', i);
      string st = trim(m.text.substr(i, semi - i));
      for (char& ch : st)
        if (ch == '\n' || ch == '\t' || ch == '\r') ch = ' ';
      size_t at = i;
      i = semi + 1;
      if (st[0] == '.') {
        declare(st, at);
        continue;
      }
      statement(st, at, name, my_scope);
    }
    // end of a function: label for its returns
    label_of[{my_scope, "\1end"}] = (int)k.code.size();
    pop_scope();
    funcs.pop_back();
  }
  void statement(string st, size_t at, const string& fname, int fscope) {
    I in;
    in.line = m.line(at);
    if (st[0] == '@') {
      size_t e = 1;
      bool neg = false;
      if (st[e] == '!') {
        neg = true;
        ++e;
      }
      size_t b = e;
      while (ident(st[e])) ++e;
      Operand o = reg(st.substr(b, e - b), at);
      if (o.kind != Operand::Pred) bad(at, "guard");
      in.guard = o.id;
      in.neg = neg;
      st = trim(st.substr(e));
    }
    size_t e = 0;
    while (e < st.size() && !std::isspace((unsigned char)st[e])) ++e;
    string opname = st.substr(0, e), rest = trim(st.substr(e));
    auto op = split(opname, '.');
    // "shared::cta" etc. contain no '.'
    if (op[0] == "call") {
      if (in.guard >= 0) bad(at, "guarded call");
      string ret, fn, args;
      string r = rest;
      if (r[0] == '(') {
        size_t q = r.find(')');
        ret = r.substr(1, q - 1);
        r = trim(r.substr(r.find(',', q) + 1));
      }
      size_t q = r.find(',');
      fn = trim(r.substr(0, q));
      std::vector<string> list;
      if (q != string::npos) {
        size_t l = r.find('(', q), rr = r.find(')', l);
        string inn = trim(r.substr(l + 1, rr - l - 1));
        if (!inn.empty()) list = split(inn, ',');
      }
      function(fn, false, list, ret, at);
      return;
    }
    // operands: split by ',' outside of braces and brackets
    std::vector<string> parts;
    {
      int d = 0;
      string cur;
      for (char ch : rest) {
        if (ch == '{' || ch == '[' || ch == '(') ++d;
        if (ch == '}' || ch == ']' || ch == ')') --d;
        if (ch == ',' && d == 0) {
          parts.push_back(cur);
          cur.clear();
        } else
          cur += ch;
      }
      if (!trim(cur).empty()) parts.push_back(cur);
    }
    if (op[0] == "bra") {
      in.kind = Bra;
      fixes.push_back({(int)k.code.size(), trim(parts[0]), scope_ids});
      k.code.push_back(std::move(in));
      return;
    }
    if (op[0] == "ret" || op[0] == "exit") {
      if (op[0] == "ret" && !funcs.back().entry) {
        in.kind = Bra;
        fixes.push_back({(int)k.code.size(), "\1end", {fscope}});
        k.code.push_back(std::move(in));
        return;
      }
      in.kind = Exit;
      k.code.push_back(std::move(in));
      return;
    }
    if (op[0] == "trap") {
      in.kind = Trap;
      k.code.push_back(std::move(in));
      return;
    }
    std::vector<Operand> ops;
    for (auto& p : parts) {
      string t = trim(p);
      size_t bar = t.find('|');
      if (bar != string::npos && t[0] != '{' && t[0] != '[') {
        Operand a = operand(t.substr(0, bar), at), b = operand(t.substr(bar + 1), at);
        a.vec.push_back(b);
        ops.push_back(a);
        continue;
      }
      Operand o = operand(t, at);
      auto fixsym = [&](Operand& x) {
        if (x.kind != Operand::Symbol) return;
        Operand s = symbol(x.name, at);
        if (s.kind == Operand::Symbol) {
          x.kind = Operand::Reg;
          x.id = dynamic_constant();
          return;
        }
        if (s.space == Param) {
          s.value += u64{1} << 58;
        }
        x = s;
      };
      fixsym(o);
      for (auto& x : o.vec) fixsym(x);
      ops.push_back(o);
    }
    try {
      if (!decode(in, k, op, ops)) bad(at, "unknown instruction: " + st.substr(0, 160));
    } catch (const std::runtime_error& er) {
      if (string(er.what()).rfind("ptx parse", 0) == 0) throw;
      bad(at, string(er.what()) + ": " + st.substr(0, 160));
    }
    (void)fname;
    k.code.push_back(std::move(in));
  }
  void resolve_constants();
};
// decode() needs constants: hand them over through a thread local
thread_local Build* building = nullptr;
int constant_of(u64 v) { return building->constant(v); }

Kernel& Module::kernel(const string& n) {
  auto& slot = kernels[n];
  if (slot) return *slot;
  auto k = std::make_unique<Kernel>();
  k->name = n;
  k->module = this;
  for (auto& [vn, v] : vars)
    if (v.space == Shared) v.offset = 0;
  Build b{*this, *k};
  building = &b;
  b.function(n, true, {}, "", 0);
  I end;
  end.kind = Exit;
  end.line = -1;
  k->code.push_back(end);
  for (auto& f : b.fixes) {
    bool found = false;
    for (size_t s = f.path.size(); s-- > 0 && !found;) {
      auto it = b.label_of.find({f.path[s], f.label});
      if (it != b.label_of.end()) {
        k->code[f.instr].target = it->second;
        found = true;
      }
    }
    if (!found) throw std::runtime_error("ptx parse: label " + f.label);
  }
  k->dynamic_at =
      1024 + (k->static_shared + k->dynamic_align - 1) / k->dynamic_align * k->dynamic_align;
  k->dynamic_at = (k->dynamic_at + k->dynamic_align - 1) / k->dynamic_align * k->dynamic_align;
  if (b.dynamic_slot != INT32_MIN) k->constants[~b.dynamic_slot] = k->dynamic_at;
  k->count.assign(k->code.size(), 0);
  // registers of wgmma
  k->wgmma_reg.assign(k->registers, 0);
  for (auto& in : k->code)
    if (in.flag == 77) {
      k->uses_wgmma = true;
      for (int r : in.v) k->wgmma_reg[r] = 1;
      for (int r : in.w) k->wgmma_reg[r] = 1;
    }
  if (k->uses_wgmma) {
    // copies of them are followed too
    bool more = true;
    while (more) {
      more = false;
      for (auto& in : k->code)
        if (in.flag == 78 && in.d >= 0 && in.s[0] >= 0) {
          if (k->wgmma_reg[in.s[0]] && !k->wgmma_reg[in.d]) {
            k->wgmma_reg[in.d] = 1;
            more = true;
          }
          if (k->wgmma_reg[in.d] && !k->wgmma_reg[in.s[0]]) {
            k->wgmma_reg[in.s[0]] = 1;
            more = true;
          }
        }
    }
    for (auto& in : k->code)
      if (in.flag != 77) {
        auto is = [&](int r) { return r >= 0 && k->wgmma_reg[r]; };
        bool t = is(in.d);
        for (int s : in.s) t |= is(s);
        for (int r : in.v) t |= is(r);
        for (int r : in.w) t |= is(r);
        in.tracked = t;
      }
  }
  building = nullptr;
  slot = std::move(k);
  return *slot;
}
}  // namespace ptx
