#!/usr/bin/env python3
"""Errors are typed: nobody reads a message to find out what it is about.

errors_test.py            checks the sources, and that each rule finds a planted offence

Rules
* A message of the library names an argument by Field{"rows_cap"} and a key of a file by Word{"classes"}: no text
  of host/ (but the command line), kernels/ or include/ has a backquote.
* Each Field is an option of the command line, spelled --rows-cap, and an argument of Python, spelled rows_cap; what
  one of the two lacks stands in LACKED_BY.
* No source of host/ or python/src searches or cuts what an error says.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)
FIELD = re.compile(r'Field\{(?:[\w. ]+\?\s*)?"(\w+)"(?:\s*:\s*"(\w+)")?\}')
PARSED = re.compile(r"(?:what\(\)|message\(\)(?:\.\w+\(\))?|(?:wrong|hint|about)\(\)\.\w+\(\))\s*(?:\)\s*)?"
                    r"\.(?:find|rfind|substr|starts_with|ends_with|erase|replace)\b")
# Names that one front end lacks: files and designs that Python does not choose, chains' starts and scales, threads
# (n_jobs in Python), bins of an evaluation, the text of an effect (unnamed in Python), seeds of compare.
LACKED_BY = {name: "Python" for name in ("cache", "cache_dir", "remove_cache", "design", "threads", "start", "scales",
                                         "bins", "effect", "seeds", "counts", "score")}


def sources(*folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".hpp", ".cpp", ".cu", ".cuh"):
                yield path.relative_to(ROOT).as_posix(), path.read_text()


def backquotes(text):
    """Lines whose texts have one; raw texts are files that are written, not messages."""
    return [text.count("\n", 0, found.start()) + 1 for found in TOKEN.finditer(text)
            if found[0][0] == '"' and "`" in found[0]]


def parsed(text):
    code = TOKEN.sub(lambda found: '""' if found[0][0] in "\"'R" else "", text)
    return [found[0] for found in PARSED.finditer(code)]


def fields(text):
    return {name for found in FIELD.finditer(text) for name in found.groups() if name}


def options():
    """Names of the options of the command line, as the library spells them."""
    text = "".join(text for _, text in sources("host/cli"))
    return {name.replace("-", "_") for name in re.findall(r'"(?:-\w,)?--([a-z-]+)"', text)}


def arguments():
    """Names of the arguments of Python's functions and estimators."""
    bound = "".join(text for _, text in sources("python/src"))
    request = (ROOT / "include/gibbsite/run/plan_request.hpp").read_text()
    written = "".join(path.read_text() for path in sorted((ROOT / "python/gibbsite").glob("*.py")))
    return {*re.findall(r'"(\w+)"_a', bound), *re.findall(r'(?:take|need)(?:<[^;(]*>)?\("(\w+)"', bound),
            *re.findall(r'visit\("(\w+)"', request), *re.findall(r"^\s*(\w+)(?:: [^=\n]+)?=", written, re.MULTILINE),
            *re.findall(r"[(,]\s*(\w+)=", written)}


def faults():
    out, known = [], {"command line": options(), "Python": arguments()}
    for name, text in sources("include", "host", "kernels"):
        if not name.startswith("host/cli/"):
            out += [f"{name}:{line}: a backquote in a text; name it by Field or Word" for line in backquotes(text)]
        for field in sorted(fields(text)):
            for where, names in known.items():
                if field not in names and LACKED_BY.get(field) != where:
                    out.append(f"{name}: Field {field} is no name of the {where}; spell it as both do, or use Word")
    for name, text in sources("include", "host", "python/src"):
        out += [f"{name}: {what}: a message is parsed; use the error's field, wrong or hint" for what in parsed(text)]
    return out


def planted():
    """Whether each rule finds what it is for, and nothing else."""
    return (backquotes('throw BadInput("`rows`: bad");  // `rows`\nf(R"(`a`)");') == [1]
            and parsed("if (error.what().find(x)) y;") and parsed("std::string(e.what()).substr(2)")
            and not parsed("say(error.message()); out.find(x);")
            and fields('Field{"a"}, Field{r.b ? "b_c" : "d"}') == {"a", "b_c", "d"}
            and "rows_cap" in options() and {"rows_cap", "prior_precision", "n_jobs"} <= arguments())


def main():
    if not planted():
        print("errors: a planted offence is not found")
        return 1
    found = faults()
    print("\n".join(found) if found else "errors: fields are typed, and both front ends have each")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
