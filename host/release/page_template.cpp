// First the conditions choose lines, then the lines become HTML. A release's own texts are put in
// last, so that nothing in them is taken for Markdown.
#include "release/page_template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "release/page.hpp"

namespace gibbsite {
namespace {

constexpr std::string_view fence = "\x60\x60\x60";  // of a block of commands

struct TemplateLine {
  std::size_t number = 0;  // in the file, from 1
  std::string text;
};

class Chooser {
 public:
  Chooser(const ReportTemplate& words, const TemplateNames& names, const PageFacts& facts)
      : words_(words), names_(names), facts_(facts) {}

  // The lines whose conditions hold, without conditions and comments.
  std::vector<TemplateLine> lines() {
    const std::string& text = words_.text;
    std::size_t at = 0;
    begin_line();
    while (at < text.size()) {
      if (text.compare(at, 4, "<!--") == 0) {
        const std::size_t end = text.find("-->", at);
        if (end == std::string::npos) refuse(number_, "<!-- has no --> after it");
        skip(at, end + 3);
      } else if (text[at] == '\\' && at + 1 < text.size() && text[at + 1] != '\n') {
        keep(text.substr(at, 2));
        at += 2;
      } else if (text[at] == '{') {
        const std::size_t end = text.find_first_of("}\n", at);
        if (end == std::string::npos || text[end] == '\n')
          refuse(number_, "{ has no } on its line; write \\{ for the sign itself");
        const std::string inside = text.substr(at + 1, end - at - 1);
        if (is_control(inside)) {
          skip(at, end + 1);
        } else {
          if (!(inside.starts_with('#') && text[text.rfind('\n', at) + 1] == '#'))
            require_name(inside);
          keep("{" + inside + "}");
          at = end + 1;
        }
      } else if (text[at] == '\n') {
        end_line();
        ++at;
      } else {
        if (text[at] != '\r') keep(text.substr(at, 1));
        ++at;
      }
    }
    if (!line_.text.empty()) end_line();
    if (!open_.empty()) refuse(open_.back().line, "{if} has no {end}");
    return std::move(lines_);
  }

  [[noreturn]] void refuse(std::size_t line, const std::string& what) const {
    throw BadInput(fmt::format("{}:{}: {}", shown(words_.source), line, what));
  }

 private:
  struct Condition {
    std::size_t line;
    bool outer, holds, is_else = false;
  };

  void begin_line() {
    line_ = {number_, ""};
    held_only_controls_ = false;
  }
  void end_line() {
    if (!part_.empty() && line_.text != part_)
      refuse(line_.number, part_ + " is a table or a picture; give it a line of its own");
    part_.clear();
    // A line of conditions alone is no empty line, which would end a paragraph.
    if (taken_ && !(held_only_controls_ && line_.text.empty())) lines_.push_back(line_);
    if (!taken_ && !line_.text.empty()) lines_.push_back(line_);
    ++number_;
    begin_line();
  }
  void keep(const std::string& piece) {
    if (taken_) line_.text += piece;
  }
  // Over a condition or a comment, which may end some lines further down.
  void skip(std::size_t& at, std::size_t end) {
    number_ += static_cast<std::size_t>(
        std::count(words_.text.begin() + static_cast<std::ptrdiff_t>(at),
                   words_.text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    if (line_.text.empty()) line_.number = number_;
    held_only_controls_ = true;
    at = end;
  }

  bool is_control(const std::string& inside) {
    if (inside.starts_with("if ")) {
      const bool negated = inside.starts_with("if not ");
      const std::string name = inside.substr(negated ? 7 : 3);
      require_known(name, true);
      const auto found = facts_.conditions.find(name);
      const bool holds = (found != facts_.conditions.end() && found->second) != negated;
      open_.push_back({number_, taken_, holds});
      taken_ = taken_ && holds;
      return true;
    }
    if (inside == "else") {
      if (open_.empty() || open_.back().is_else)
        refuse(number_, "{else} belongs to no {if}; put {if NAME} before it");
      open_.back().is_else = true;
      taken_ = open_.back().outer && !open_.back().holds;
      return true;
    }
    if (inside == "end") {
      if (open_.empty()) refuse(number_, "{end} belongs to no {if}; leave it out");
      taken_ = open_.back().outer;
      open_.pop_back();
      return true;
    }
    return false;
  }

  void require_known(const std::string& name, bool is_condition) const {
    const std::vector<std::string>& known = is_condition ? names_.conditions : names_.texts;
    if (std::ranges::count(known, name) > 0) return;
    const std::string list = fmt::format("{}", fmt::join(known, ", "));
    refuse(number_,
           is_condition
               ? fmt::format("{{if {}}} asks for what is not known{}; known are {}", shown(name),
                             did_you_mean(name, known), list)
               : fmt::format("{{{}}} is no name of a report{}; known are {}; write \\{{ for the "
                             "sign itself",
                             shown(name), did_you_mean(name, known), list));
  }

  void require_name(const std::string& name) {
    require_known(name, false);
    if (taken_ && !facts_.texts.contains(name) && !facts_.lists.contains(name) &&
        !facts_.parts.contains(name))
      refuse(number_, fmt::format("{{{}}} says nothing of this release; put {{if}} and {{end}} "
                                  "around it, as in the template that gibbsite has",
                                  name));
    if (taken_ && facts_.parts.contains(name)) part_ = "{" + name + "}";
  }

  const ReportTemplate& words_;
  const TemplateNames& names_;
  const PageFacts& facts_;
  std::vector<TemplateLine> lines_;
  TemplateLine line_;
  std::size_t number_ = 1;
  std::vector<Condition> open_;
  std::string part_;  // of the line
  bool taken_ = true, held_only_controls_ = false;
};

// Text of the template itself: quotes stay, as between tags they mean nothing.
std::string escaped_words(std::string_view text) {
  std::string out;
  for (const char c : shown(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

constexpr std::string_view blank_mark = "____", box_mark = "- [ ] ", item_mark = "- ";

class Writer {
 public:
  Writer(std::vector<TemplateLine> lines, const PageFacts& facts)
      : lines_(std::move(lines)), facts_(facts) {}

  // {title, body}; no title: nothing.
  std::optional<TemplatePage> page() {
    blocks("");
    if (!title_) return std::nullopt;
    return TemplatePage{*title_, page_.markup()};
  }

 private:
  [[nodiscard]] bool ended() const { return at_ == lines_.size(); }
  // The line at hand without `prefix`; nothing where it has none, or at the end.
  [[nodiscard]] std::optional<std::string> line(const std::string& prefix) const {
    if (ended()) return std::nullopt;
    const std::string& text = lines_[at_].text;
    if (prefix.empty()) return text;
    if (!text.starts_with(prefix)) return std::nullopt;
    std::string rest = text.substr(prefix.size());
    if (rest.starts_with(' ')) rest.erase(0, 1);
    return rest;
  }

  // Lines that begin with `prefix`: all, or those of small print.
  void blocks(const std::string& prefix) {
    const bool small = !prefix.empty();
    while (const auto text = line(prefix)) {
      if (text->find_first_not_of(' ') == std::string::npos) {
        ++at_;
      } else if (text->starts_with(fence)) {
        commands(prefix);
      } else if (!small && text->starts_with(">")) {
        blocks(">");
      } else if (text->starts_with("#")) {
        heading_line(*text);
        ++at_;
      } else if (text->starts_with(item_mark)) {
        text->starts_with(box_mark) ? boxes(prefix) : items(prefix);
      } else if (const auto part = part_of(*text)) {
        ++at_;
        (*part)(page_, Markup{line(prefix).value_or("").starts_with(": ")
                                  ? inlined(after(paragraph(prefix), ": "))
                                  : ""});
      } else {
        words(paragraph(prefix), small);
      }
    }
  }

  [[nodiscard]] static bool begins_block(const std::string& text) {
    return text.find_first_not_of(' ') == std::string::npos || text.starts_with("#") ||
           text.starts_with(">") || text.starts_with(fence) || text.starts_with(item_mark);
  }

  // What comes after a mark, whose last space may be gone.
  [[nodiscard]] static std::string after(const std::string& text, std::string_view mark) {
    return text.substr(std::min(mark.size(), text.size()));
  }

  // The line at hand and those that go on with it, as one.
  std::string paragraph(const std::string& prefix) {
    std::string out;
    for (bool first = true; const auto text = line(prefix); first = false, ++at_) {
      if (!first && (begins_block(*text) || part_of(*text) != nullptr)) break;
      const std::size_t begin = text->find_first_not_of(' ');
      if (!first) out += ' ';
      out += text->substr(begin, text->find_last_not_of(' ') - begin + 1);
    }
    return out;
  }

  [[nodiscard]] const PageFacts::Part* part_of(const std::string& text) const {
    if (!text.starts_with('{') || text.find('}') + 1 != text.size()) return nullptr;
    const auto found = facts_.parts.find(text.substr(1, text.size() - 2));
    return found == facts_.parts.end() ? nullptr : &found->second;
  }

  void commands(const std::string& prefix) {
    ++at_;
    page_.put("<pre>");
    for (bool first = true; const auto text = line(prefix); first = false) {
      ++at_;
      if (text->starts_with(fence)) break;
      page_.put("{}{}", Markup{first ? "" : "\n"}, Markup{inlined(*text, true)});
    }
    page_.put("</pre>\n");
  }

  void heading_line(const std::string& text) {
    const std::size_t level = std::min(text.find_first_not_of('#'), text.size());
    std::string title =
        text.substr(text.find_first_not_of(' ', level) == level + 1 ? level + 1 : level);
    std::string id;
    if (const std::size_t at = title.rfind(" {#");
        title.ends_with('}') && at != std::string::npos) {
      id = title.substr(at + 3, title.size() - at - 4);
      title.erase(at);
    }
    if (level == 1) {
      title_ = plain(title);
      page_.put("<h1>{}</h1>\n", *title_);
    } else if (level == 2 && !id.empty()) {
      heading(page_, id, plain(title));
    } else {
      page_.put("<h{}>{}</h{}>\n", std::min<std::size_t>(level, 6), plain(title),
                std::min<std::size_t>(level, 6));
    }
  }

  void items(const std::string& prefix) {
    page_.put("<ul{}>\n", Markup{prefix.empty() ? "" : " class=\"note\""});
    while (line(prefix).value_or("").starts_with(item_mark) && !line(prefix)->starts_with(box_mark))
      page_.put("<li>{}</li>\n", Markup{inlined(after(paragraph(prefix), item_mark))});
    page_.put("</ul>\n");
  }

  void boxes(const std::string& prefix) {
    page_.put("<ul class=\"list\">\n");
    while (line(prefix).value_or("").starts_with(box_mark)) {
      std::string text = after(paragraph(prefix), box_mark);
      const auto list = facts_.lists.find(std::string_view(text).substr(
          text.starts_with('{') ? 1 : 0, text.size() - (text.starts_with('{') ? 2 : 0)));
      if (text.starts_with('{') && list != facts_.lists.end()) {
        for (const std::string& one : list->second) box(Markup{escaped_html(one)}, false);
        continue;
      }
      const bool blank = text.ends_with(blank_mark);
      if (blank) text.erase(text.find_last_not_of("_ ") + 1);
      box(Markup{inlined(text)}, blank);
    }
    page_.put("</ul>\n");
  }
  void box(const Markup& text, bool blank) {
    ++boxes_;
    page_.put("<li><input type=\"checkbox\" id=\"a{}\"><label for=\"a{}\">{}</label>{}</li>\n",
              boxes_, boxes_, text, Markup{blank ? blank_html : ""});
  }

  void words(std::string text, bool small) {
    if (text.find(blank_mark) == std::string::npos) {
      page_.put("<p{}>{}</p>\n", Markup{small ? " class=\"note\"" : ""}, Markup{inlined(text)});
      return;
    }
    page_.put("<div class=\"sign\">");
    for (std::size_t at = 0; (at = text.find(blank_mark)) != std::string::npos;) {
      const std::string name = text.substr(0, at);
      page_.put("<p>{}{}</p>", Markup{inlined(name.substr(0, name.find_last_not_of(' ') + 1))},
                Markup{blank_html});
      at += blank_mark.size();
      text.erase(0, std::min(text.find_first_not_of(" _", at), text.size()));
    }
    page_.put("</div>\n");
  }

  // The text of a name; several items with commas between.
  [[nodiscard]] std::string value_of(const std::string& name) const {
    if (const auto text = facts_.texts.find(name); text != facts_.texts.end()) return text->second;
    if (const auto list = facts_.lists.find(name); list != facts_.lists.end())
      return fmt::format("{}", fmt::join(list->second, ", "));
    return "";  // a table or a picture stands in a line of its own
  }

  // A title, with nothing raised and no link.
  // The end of the name in braces that begins there; `at` where none does.
  [[nodiscard]] static std::size_t end_of_name(const std::string& text, std::size_t at) {
    const std::size_t end = text[at] == '{' ? text.find('}', at) : std::string::npos;
    return end == std::string::npos ? at : end;
  }
  [[nodiscard]] std::string plain(const std::string& text) const {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '\\' && at + 1 < text.size()) {
        out += text[++at];
      } else if (const std::size_t end = end_of_name(text, at); end > at) {
        out += value_of(text.substr(at + 1, end - at - 1));
        at = end;
      } else {
        out += text[at];
      }
    }
    return out;
  }

  // HTML of a line. `literal`: names alone mean something.
  [[nodiscard]] std::string inlined(const std::string& text, bool literal = false) const {
    std::string out, plain_text;
    const auto flush = [&] {
      out += escaped_words(plain_text);
      plain_text.clear();
    };
    std::vector<std::string> open;  // the tags that are not closed yet
    const auto toggle = [&](const std::string& tag) {
      flush();
      const bool closes = !open.empty() && open.back() == tag;
      out += fmt::format("<{}{}>", closes ? "/" : "", tag);
      if (closes)
        open.pop_back();
      else
        open.push_back(tag);
    };
    for (std::size_t at = 0; at < text.size(); ++at) {
      const bool code = !open.empty() && open.back() == "code";
      if (const std::size_t end = end_of_name(text, at); end > at) {
        flush();
        out += escaped_html(value_of(text.substr(at + 1, end - at - 1)));
        at = end;
      } else if (text[at] == '\\' && at + 1 < text.size() && !(literal && text[at + 1] != '{')) {
        plain_text += text[++at];
      } else if (!literal && text[at] == '`') {
        toggle("code");
      } else if (!literal && !code && text.compare(at, 2, "**") == 0) {
        toggle("strong");
        ++at;
      } else if (!literal && !code && text[at] == '^') {
        toggle("sup");
      } else if (const auto link = literal || code ? Link{} : link_at(text, at); link.end > 0) {
        flush();
        out +=
            fmt::format("<a href=\"{}\">{}</a>", escaped_html(link.to), escaped_words(link.text));
        at = link.end - 1;
      } else {
        plain_text += text[at];
      }
    }
    flush();
    for (; !open.empty(); open.pop_back()) out += fmt::format("</{}>", open.back());
    return out;
  }

  struct Link {
    std::string text, to;
    std::size_t end = 0;  // 0: none
  };
  // [text](https://...), nowhere else: a page loads nothing and runs nothing.
  [[nodiscard]] static Link link_at(const std::string& text, std::size_t at) {
    if (text[at] != '[') return {};
    const std::size_t middle = text.find("](", at), end = text.find(')', at);
    if (middle == std::string::npos || end == std::string::npos || end < middle) return {};
    Link out{text.substr(at + 1, middle - at - 1), text.substr(middle + 2, end - middle - 2),
             end + 1};
    return out.to.starts_with("https://") || out.to.starts_with("mailto:") ? out : Link{};
  }

  static constexpr const char* blank_html = "<span class=\"blank\">&nbsp;</span>";
  std::vector<TemplateLine> lines_;
  const PageFacts& facts_;
  Html page_;
  std::optional<std::string> title_;
  std::size_t at_ = 0, boxes_ = 0;
};

}  // namespace

TemplatePage page_of(const ReportTemplate& words, const TemplateNames& names,
                     const PageFacts& facts) {
  Chooser chooser(words, names, facts);
  auto page = Writer(chooser.lines(), facts).page();
  if (!page) chooser.refuse(1, "has no title; begin a line with '# '");
  return *page;
}

}  // namespace gibbsite
