"""What MkDocs does beside its plugins for `make docs`.

* A link to a file outside docs/ becomes the file's path: the site does not hold it. The file must exist.
* A list right below a paragraph gets its blank line.
* Formulas between dollar signs become MathML: no script, no network.
* What the compiled module offers Python gets a page from its stub, if `make check-python` has made one (scripts/docs copies it).
* Each public C++ header gets a place on the site (cpp_reference.py).
* Certificates name a theorem's page as docs/NAME.md, whatever shelf it is on: the site leads NAME.html there.
"""
import logging
import pathlib
import posixpath
import re
import sys

from latex2mathml.converter import convert
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import cpp_reference  # noqa: E402

log = logging.getLogger("mkdocs.hooks.gibbsite")
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(((?:\.\./)+[^)\s#]+)(#[^)]*)?\)")
ENGINE = ROOT / "build" / "docs-stubs" / "gibbsite_engine.py"
ENGINE_PAGE = """# Python API: the engine

For people who call the engine's functions from Python. They are in the package `gibbsite`: `gibbsite.fit`, `gibbsite.Schema`.

"""
made = {}


def on_config(config):
    redirects = config.plugins["redirects"].config["redirect_maps"]
    for page in sorted((ROOT / "docs" / "theory").glob("*.md")):
        redirects[page.name] = f"theory/{page.name}"
    made.update(cpp_reference.pages(ROOT))
    for part in config["nav"]:
        for shelf in part.get("Reference", []):
            if shelf.get("C++ API"):
                shelf["C++ API"] = ["reference/cpp.md"] + [f"reference/cpp/{module}.md" for module in made]
    return config


def on_files(files, config):
    for module, text in made.items():
        files.append(File.generated(config, f"reference/cpp/{module}.md", content=text))
    page = ENGINE_PAGE + ("::: gibbsite_engine\n    options: {show_root_heading: false, show_root_toc_entry: false}\n" if ENGINE.exists() else
                          "This page is made from the compiled module. Run `make check-python`, then `make docs` again.\n")
    files.append(File.generated(config, "reference/python-engine.md", content=page))
    return files


def apart(markdown):
    """A blank line before a list or a table that stands right below a paragraph: Python's Markdown needs one."""
    lines, fenced, before = [], False, ""
    for line in markdown.split("\n"):
        fenced ^= line.lstrip().startswith("```")
        begins = re.match(r"([-*]|\d+\.) |\|", line)
        goes_on = re.match(r"\s*(([-*]|\d+\.) |\|)|  ", before)
        if not fenced and begins and before.strip() and not goes_on:
            lines.append("")
        lines.append(line)
        before = line
    return "\n".join(lines)


def on_page_markdown(markdown, page, config, files):
    folder = posixpath.dirname(posixpath.join("docs", page.file.src_uri))

    def outside(found):
        path = posixpath.normpath(posixpath.join(folder, found[2]))
        if path.startswith("docs/"):
            return found[0]
        if not (ROOT / path).exists():
            log.warning("%s: link to %s, which does not exist", page.file.src_uri, path)
        words = found[1].strip("`")
        return f"`{path}`" if words in (path, posixpath.basename(path)) else f"{found[1]} (`{path}`)"

    markdown = apart(LINK.sub(outside, markdown))
    if page.file.src_uri == "reference/cpp.md":
        markdown += "\n".join(f"* [{module}](cpp/{module}.md)" for module in made) + "\n"
    return markdown


def on_page_content(html, page, config, files):
    def formula(found):
        display = "block" if found[1] == "div" else "inline"
        text = found[2].strip().removeprefix("\\(").removesuffix("\\)").removeprefix("\\[").removesuffix("\\]")
        return convert(text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"), display=display)

    return re.sub(r'<(span|div) class="arithmatex">(.*?)</\1>', formula, html, flags=re.DOTALL)
