#!/usr/bin/env python3
"""What every page and comment promises its reader: short lines, plain beginnings, links and paths that exist.

docs_test.py            checks the pages, and the comments and docstrings of sources, and that each rule fails on a planted offence
docs_test.py --count    words, median and longest sentence, and long lines of every page

Rules
* README.md has at most 90 lines.
* A line has at most 120 characters. Tables, what a program prints and URLs are left out: they cannot be cut.
* Half of a page's sentences have at most 25 words.
* No sentence begins with "Of " or "The same ".
* A tutorial, how-to or reference page says in its first words for whom it is: "For people who ...".
* Sources that a page names in backquotes exist.
* Links, anchors and `docs/...` paths lead somewhere, here and in the comments of the sources.
* No comment or docstring of a source begins with "Of " or "The same": it must say alone what it is about.
* What Python offers has docstrings in sentences: public functions, classes and methods of python/gibbsite.
* A line of C++ with a comment has at most 100 columns: clang-format leaves comments as they are.
* A certificate names the page of its theorem as docs/NAME.md: that is docs/theory/NAME.md.
DEBTS and SOURCE_DEBTS list pages and sources that were written before the rules, with what they still may have.
A debt may only shrink: one that is paid, or paid in part, fails until its entry says so.
"""
import ast
import pathlib
import re
import statistics
import sys
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIDTH, WORDS, README_LINES, SOURCE_WIDTH = 120, 25, 90, 100

# page: (lines over the width, median of words of a sentence, forbidden beginnings), each where it is over the rule.
GENERATED = {"gibbsite/version.hpp"}
DEBTS = {
}
# beginning of a source's path: (forbidden beginnings, C++ lines with a comment over the width)
SOURCE_DEBTS = {
}

FENCE = re.compile(r"^(```|~~~).*?^\1[ ]*$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
FORBIDDEN = re.compile(r"^(Of |The same )")
SOURCES = ("include", "host", "kernels", "python", "tests", "scripts", "experiments", "examples", "bench", "cmake", "data", ".ci")
SOURCE_NAMES = re.compile(r"\.(hpp|cpp|cu|h|py|sh|cmake|txt|toml|ipynb|yaml|sbatch)$|^[a-z-]+$")
CHECKED_SOURCES = ("include", "host", "kernels", "python", "tests", "bench", "scripts", "experiments")
CPP = (".hpp", ".cpp", ".cu", ".cuh", ".h")
COMMENT = {True: re.compile(r"(?:^|\s)//+[<!]?\s*"), False: re.compile(r"(?:^|\s)#+\s*")}
FORBIDDEN_IN_SOURCES = re.compile(r"Of |The same\b")
FORBIDDEN_DOCSTRING = re.compile(r'^\s*[a-z]{0,2}"""(Of |The same\b)')
IN_CERTIFICATES = re.compile(r'\\?"docs/([a-z-]+)\.md\\?"')  # a text of the program without a shelf
PLANTED = {"dummy", "toy", "new-proof"}  # mechanisms of tests, whose pages are nowhere
IN_ASSUMPTIONS = re.compile(r'^ *(return )?"(every question was asked in the metric|the chains ran on rows of norm)')


def prose_of(text):
    """The text without code and formulas."""
    text = FENCE.sub("", text)
    return re.sub(r"\$\$.*?\$\$", "", text, flags=re.DOTALL)


def sentences(text):
    """The sentences of the paragraphs and list items."""
    paragraphs, lines = [], []
    for line in [*prose_of(text).splitlines(), ""]:
        line, indented = line.strip(), line.startswith("    ")
        item = re.match(r"([-*]|\d+\.)\s+", line)
        starts = not line or item or line.startswith(("#", "|", "![", "<", ":::"))
        if starts and lines:
            paragraphs.append(" ".join(lines))
            lines = []
        if line and not indented and not line.startswith(("#", "|", "![", "<", ":::")):
            lines.append(line[item.end():] if item else line)
    for paragraph in paragraphs:
        paragraph = LINK.sub(lambda found: re.sub(r"^!?\[(.*)\]\([^)]*\)$", r"\1", found[0]), paragraph)
        paragraph = re.sub(r"`[^`]*`", "x", paragraph).replace("**", "")
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z\[(x])", paragraph):
            if len(sentence.split()) > 2:
                yield sentence


def long_lines(text):
    return [line for line in prose_of(text).splitlines()
            if len(line) > WIDTH and not line.lstrip().startswith("|") and not line.startswith("    ") and "://" not in line]


def offences(text):
    """(lines that are too long, median of the words of a sentence, forbidden beginnings)"""
    all_sentences = list(sentences(text))
    median = statistics.median([len(one.split()) for one in all_sentences] or [0])
    return len(long_lines(text)), median, sum(bool(FORBIDDEN.match(one)) for one in all_sentences)


def allowed(page):
    return tuple(max(a, b) for a, b in zip(DEBTS.get(page, (0, 0, 0)), (0, WORDS, 0)))


def style_failures(page, text):
    failures = []
    for found, most, what in zip(offences(text), allowed(page),
                                 (f"lines over {WIDTH} characters", "words in the median sentence", "sentences that begin with Of or The same")):
        if found > most:
            failures.append(f"{page}: {found} {what}, at most {most} are allowed")
    shelf = re.match(r"docs/(tutorial|how-to|reference)/", page)
    if shelf and page not in DEBTS and not re.match(r"# .*\n\nFor people who ", text):
        failures.append(f"{page}: does not begin with its title and \"For people who ...\"")
    if page == "README.md" and len(text.splitlines()) > README_LINES:
        failures.append(f"{page}: {len(text.splitlines())} lines, at most {README_LINES} are allowed")
    if page in DEBTS and all(found <= most for found, most in zip(offences(text), (0, WORDS, 0))):
        failures.append(f"{page}: keeps every rule now; take its debt out of tests/scripts/docs_test.py")
    return failures


def anchor_of(heading):
    """The anchor that a heading gets on the hosting page."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "").strip().lower()
    kept = "".join(c for c in heading if c in " -_" or unicodedata.category(c)[0] in "LNM")
    return kept.replace(" ", "-")


def anchors_of(text):
    return {anchor_of(found) for found in re.findall(r"^#{1,6}\s+(.*)$", FENCE.sub("", text), flags=re.MULTILINE)}


def link_failures(page, text):
    failures = []
    for target in LINK.findall(re.sub(r"`[^`\n]*`", "", prose_of(text))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        at = (ROOT / page).parent / path if path else ROOT / page
        if not at.exists():
            failures.append(f"{page}: link to {target}, which does not exist")
        elif anchor and at.suffix == ".md" and anchor not in anchors_of(at.read_text(encoding="utf-8")):
            failures.append(f"{page}: link to {target}: the page has no such heading")
    return failures


def path_failures(name, text):
    """Paths of pages in comments and messages."""
    failures = []
    for line in text.splitlines():
        if IN_ASSUMPTIONS.match(line) or name.startswith(("tests/golden/", "tests/fuzz/corpus/")):
            continue
        for theorem in IN_CERTIFICATES.findall(line):
            if theorem not in PLANTED and not (ROOT / f"docs/theory/{theorem}.md").exists():
                failures.append(f"{name}: names the theorem docs/{theorem}.md: docs/theory/{theorem}.md does not exist")
        line = IN_CERTIFICATES.sub("", line)
        for path in re.findall(r"(?<![\w/.-])(?:\.\./)*(docs/[\w/-]+\.(?:md|svg))", line):
            if not {"NAME", *PLANTED} & set(re.split(r"[/.]", path)) and not (ROOT / path).exists():
                failures.append(f"{name}: {path} does not exist")
    return failures


def comment_of(line, cpp):
    """The text of the line's comment, or None. Marks within a text of the program are none."""
    for mark in COMMENT[cpp].finditer(line):
        if line.count('"', 0, mark.start()) % 2 == 0:
            return line[mark.end():]
    return None


def comment_offences(name, text):
    """(lines with a forbidden beginning of a comment, C++ lines with a comment that are too long)"""
    cpp = name.endswith(CPP)
    begins, long = [], []
    for number, line in enumerate(text.splitlines(), 1):
        may_begin = "Of " in line or "The same" in line
        if not may_begin and not (cpp and len(line) > SOURCE_WIDTH):
            continue
        comment = comment_of(line, cpp)
        if (comment and FORBIDDEN_IN_SOURCES.match(comment)) or (not cpp and FORBIDDEN_DOCSTRING.match(line)):
            begins.append(number)
        if cpp and len(line) > SOURCE_WIDTH and comment is not None:
            long.append(number)
    return begins, long


def comment_failures(texts, debts):
    """Sources, as (name, text), that break a rule of comments beyond their debt; debts that are paid."""
    failures, found = [], dict.fromkeys(debts, (0, 0))
    for name, text in texts:
        begins, long = comment_offences(name, text)
        room = next((room for room in debts if name.startswith(room)), None)
        if room:
            found[room] = (found[room][0] + len(begins), found[room][1] + len(long))
            continue
        failures += [f"{name}:{line}: a comment begins with \"Of\" or \"The same\": name its subject first" for line in begins]
        failures += [f"{name}:{line}: a comment ends after column {SOURCE_WIDTH}: wrap it" for line in long]
    for room, counts in found.items():
        if counts[0] > debts[room][0] or counts[1] > debts[room][1]:
            failures.append(f"{room}: {counts} comments that begin with Of or The same, or are too long; at most {debts[room]} are allowed")
        elif counts != debts[room]:
            what = f"lower its debt to {counts} in" if any(counts) else "take its debt out of"
            failures.append(f"{room}: has {counts} bad comments now, not {debts[room]}; {what} tests/scripts/docs_test.py")
    return failures


def docstring_failures(name, text, exported):
    """Public functions, classes and methods without a docstring that is a sentence; `exported` names those of a private module."""
    tree = ast.parse(text)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    is_private = pathlib.PurePath(name).name.startswith("_")
    named = [(node.name, node) for node in tree.body
             if isinstance(node, (ast.FunctionDef, ast.ClassDef))
             and (node.name in exported if is_private else not node.name.startswith("_"))]
    for of, node in list(named):
        bases = [node] if isinstance(node, ast.ClassDef) else []
        for base in bases:
            named += [(f"{of}.{one.name}", one) for one in base.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")]
            bases += [classes[one.id] for one in base.bases if isinstance(one, ast.Name) and one.id in classes]
    failures = []
    for of, node in named:
        first = (ast.get_docstring(node) or "").split("\n\n")[0]
        if not re.match(r"[A-Z].*[.:]", first, flags=re.DOTALL):
            failures.append(f"{name}:{node.lineno}: {of}: has no docstring that begins with a sentence")
    return sorted(set(failures))


def exported_by_python():
    """{module: its names that `import gibbsite` offers}"""
    tree = ast.parse((ROOT / "python/gibbsite/__init__.py").read_text(encoding="utf-8"))
    return {node.module: {one.name for one in node.names} for node in tree.body if isinstance(node, ast.ImportFrom) and node.level}


def source_names():
    """Every source's path."""
    return [path.relative_to(ROOT).as_posix() for folder in (*SOURCES, "docs") for path in (ROOT / folder).rglob("*") if path.is_file()] + [
        path.name for path in ROOT.iterdir() if path.is_file()]


def name_failures(page, text, names):
    """Sources that a page names in backquotes: a path, or the end of one."""
    named = set()
    for code in re.findall(r"`([^`\n]+)`", prose_of(text)):
        named |= set(re.findall(r"(?<![\w*…{<])([\w./-]+\.(?:hpp|cpp|cu|py|cmake|sh))(?![\w…*.])", code))
    return [f"{page}: `{name}`: there is no such source" for name in sorted(named - GENERATED)
            if "NAME" not in name and not any(one == name or one.endswith("/" + name.lstrip("./")) for one in names)]


def pages():
    beside_code = ("bench/README.md", "examples/cluster/README.md", "kernels/README.md", "tests/fuzz/README.md", "tests/statistical/README.md",
                   "tests/support/ptx/README.md")
    return [name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", *beside_code) if (ROOT / name).exists()] + [
        path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]


def sources():
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and SOURCE_NAMES.search(path.name) and path.name != pathlib.Path(__file__).name:
                yield path
    yield from (ROOT / name for name in ("CMakeLists.txt", "Makefile", "pyproject.toml", "mkdocs.yml"))


def is_checked_source(path):
    """Whether the rules of comments hold for the file: programs, not data or the records of runs."""
    folder = path.relative_to(ROOT).parts[0]
    return folder in CHECKED_SOURCES and (path.suffix in (*CPP, ".py", ".sh", ".cmake", "") or path.name == "CMakeLists.txt")


def site_failures(site, names):
    """Every page is in the site's navigation."""
    return [f"mkdocs.yml: {name} is not in nav" for name in names
            if name.startswith("docs/") and name.removeprefix("docs/") not in site]


def rules_fail_on_what_they_forbid():
    """Each rule sees an offence planted in a page that is clean."""
    clean = "# A page\n\nThis sentence is short and plain. So is this one here.\n"
    page = "docs/README.md"
    assert not style_failures("docs/x.md", clean) and not link_failures(page, clean) and not path_failures("host/x.cpp", clean)
    planted = {
        "a long line": style_failures("docs/x.md", clean + "word " * 30 + "\n"),
        "long sentences": style_failures("docs/x.md", ("# A page\n\n" + "one more word\nand another " * 13 + "end.\n")),
        "Of": style_failures("docs/x.md", clean + "\nOf two classes the second one.\n"),
        "The same": style_failures("docs/x.md", clean + "\n* The same for rows of counts.\n"),
        "lines of README": style_failures("README.md", clean + "\n" * README_LINES),
        "no reader": style_failures("docs/how-to/x.md", clean),
        "a link": link_failures(page, clean + "[page](theory/no-such.md)\n"),
        "an anchor": link_failures(page, clean + "[page](theory/path.md#no-such)\n"),
        "a path": path_failures("host/x.cpp", "// docs/no-such.md, \"Title\""),
        "a theorem": path_failures("host/x.hpp", 'theorem = "docs/no-such.md";'),
        "a theorem of another law": path_failures("include/gibbsite/mechanism/x.hpp", 'pure ? "docs/no-such.md" : "docs/output.md";'),
        "a source": name_failures(page, clean + "See `host/no_such.cpp`.\n", ["host/core/ball.cpp"]),
        "a page outside of nav": site_failures("nav:\n", ["docs/x.md"]),
    }
    def comments(text, name="host/x.cpp", debts=None):
        return comment_failures([(name, text)], debts or {})

    planted |= {
        "a comment's Of": comments("// Of two rows the longer one.\n"),
        "a comment's The same": comments("  /// The same for counts.\n"),
        "a comment behind code": comments('f("a");  ///< Of a row.\n'),
        "a comment of Python": comments("x = 1  # Of a row\n", "python/x.py"),
        "a docstring": comments('    """The same of counts."""\n', "scripts/x"),
        "a long comment": comments("// " + "word " * 20 + "\n"),
        "a long comment behind code": comments("x = 1;  // " + "word " * 20 + "\n"),
        "a comment beyond the debt": comments("// Of x.\n// Of y.\n", debts={"host/": (1, 0)}),
        "a long comment beyond the debt": comments("// " + "word " * 20 + "\n", debts={"host/": (1, 0)}),
        "a debt that is paid": comments("// Rows.\n", debts={"host/": (1, 0)}),
        "a debt that is paid in part": comments("// Of x.\n", debts={"host/": (2, 0)}),
        "a debt of no source": comment_failures([], {"host/": (0, 1)}),
    }
    documented = 'class A:\n    """A table of counts."""\n    def f(self):\n        """Returns the sum."""\n'
    planted |= {
        "a function without a docstring": docstring_failures("x.py", "def f():\n    pass\n", ()),
        "a method without a docstring": docstring_failures("_x.py", documented + "    def g(self):\n        pass\n", {"A"}),
        "a base's method": docstring_failures("x.py", "class _B:\n    def g(self):\n        pass\n" + documented.replace("A:", "A(_B):"), ()),
        "a docstring that is no sentence": docstring_failures("x.py", documented.replace("Returns the sum.", "of all the sum"), ()),
    }
    assert not docstring_failures("x.py", documented, ()) and not docstring_failures("_x.py", "def f():\n    pass\n", {"g"})
    for what, failures in planted.items():
        assert failures, f"the rule does not see {what}"
    plain = '// Offers of rows. Of them most are long.\nf("// Of a row");\n// ' + "a" * 97 + '\nf("' + "a" * 120 + '");\n'
    assert not comments(plain) and not comments('x = "# Of a row"\n', "python/x.py"), "texts of the program are no comments"
    assert not comments("// Of x.\n", debts={"host/": (1, 0)}), "a debt is allowed"
    assert not style_failures("docs/x.md", clean + "```\n" + "word " * 40 + "\n```\n"), "output is no prose"


def count():
    words, all_lengths, lines = 0, [], 0
    for page in pages():
        text = (ROOT / page).read_text(encoding="utf-8")
        lengths = [len(one.split()) for one in sentences(text)] or [0]
        long, median, forbidden = offences(text)
        print(f"{len(text.split()):6} words, median {median:4}, longest {max(lengths):4}, {long:3} long lines, "
              f"{forbidden} Of/The same  {page}")
        if page == "README.md" or page.startswith("docs/"):
            words, lines = words + len(text.split()), lines + long
            all_lengths += lengths
    print(f"README and docs: {words} words, median {statistics.median(all_lengths)}, longest {max(all_lengths)}, {lines} long lines")


def main():
    if "--count" in sys.argv:
        count()
        return
    rules_fail_on_what_they_forbid()
    names = source_names()
    failures = site_failures((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), pages())
    for page in pages():
        text = (ROOT / page).read_text(encoding="utf-8")
        failures += style_failures(page, text) + link_failures(page, text) + path_failures(page, prose_of(text)) + name_failures(page, text, names)
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    failures += link_failures("CHANGELOG.md", changes) + path_failures("CHANGELOG.md", changes)
    checked = []
    for path in sources():
        name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8", errors="replace")
        failures += path_failures(name, text)
        if is_checked_source(path):
            checked.append((name, text))
    failures += comment_failures(checked, SOURCE_DEBTS)
    offered = exported_by_python()
    for name, text in checked:
        module = re.fullmatch(r"python/gibbsite/(\w+)\.py", name)
        if module:
            failures += docstring_failures(name, text, offered.get(module[1], ()))
    for failure in failures:
        print(failure)
    print(f"{len(pages())} pages, {len(checked)} sources, {len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
