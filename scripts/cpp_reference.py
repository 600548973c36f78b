"""Pages on the public C++ headers, made from their declarations and comments by libclang.

`pages(root)` gives {module: Markdown}. A header that libclang cannot read raises; a missing system header does not matter, because
declarations keep their text.
"""
import html
import pathlib
import re
import subprocess

import clang.cindex as clang

KINDS = clang.CursorKind
SCOPES = {KINDS.NAMESPACE, KINDS.LINKAGE_SPEC}
TYPES = {KINDS.CLASS_DECL, KINDS.STRUCT_DECL, KINDS.CLASS_TEMPLATE}
OTHERS = {KINDS.FUNCTION_DECL, KINDS.FUNCTION_TEMPLATE, KINDS.VAR_DECL, KINDS.ENUM_DECL, KINDS.TYPE_ALIAS_DECL,
          KINDS.TYPE_ALIAS_TEMPLATE_DECL, KINDS.CONCEPT_DECL}
MEMBERS = {KINDS.CXX_METHOD, KINDS.CONSTRUCTOR, KINDS.FIELD_DECL, KINDS.FUNCTION_TEMPLATE, KINDS.ENUM_DECL, KINDS.VAR_DECL,
           KINDS.CLASS_DECL, KINDS.STRUCT_DECL, KINDS.CONVERSION_FUNCTION}


def include_folders():
    """The compiler's own folders of headers."""
    said = subprocess.run(["c++", "-E", "-x", "c++", "-v", "/dev/null"], capture_output=True, text=True).stderr
    part = re.search(r"search starts here:\n(.*?)End of search", said, re.DOTALL)
    return [line.strip() for line in part[1].splitlines() if line.startswith(" ")] if part else []


def comment_of(cursor):
    """The words of a /// comment, without its marks."""
    lines = (cursor.raw_comment or "").splitlines()
    return "\n".join(re.sub(r"^\s*(///?<?|/\*\*?|\*/?) ?", "", line) for line in lines).strip()


def declaration_of(cursor, text):
    """The declaration as the header has it, without a body."""
    start, end = cursor.extent.start.offset, cursor.extent.end.offset
    source = text[start:end].decode()
    if cursor.kind not in (KINDS.ENUM_DECL, KINDS.VAR_DECL, KINDS.FIELD_DECL, KINDS.CONCEPT_DECL):
        depth = 0
        for at, letter in enumerate(source):
            depth += letter in "(<"
            depth -= letter in ")>" and depth > 0
            if letter == "{" and depth == 0:
                source = source[:at]
                break
    lines = source.rstrip().splitlines()
    indent = cursor.extent.start.column - 1
    return "\n".join(line[indent:] if line[:indent].isspace() else line for line in lines)


def words(text):
    """A comment as Markdown: its letters stay what they are, pages that it names become links."""
    text = html.escape(" ".join(text.split()), quote=False)
    text = re.sub(r"([\\*_\[\]|$~^])", r"\\\1", text)
    return re.sub(r"docs/([a-z-]+)/([a-z-]+)\.md", r"[\2](../../\1/\2.md)", text)


def entry(cursor, text, level):
    out = [f"{'#' * level} {html.escape(cursor.spelling or 'enum')}", "", "```cpp", declaration_of(cursor, text), "```", ""]
    if comment_of(cursor):
        out += [words(comment_of(cursor)), ""]
    return out


def is_public(cursor):
    return cursor.access_specifier in (clang.AccessSpecifier.PUBLIC, clang.AccessSpecifier.INVALID)


def declarations(cursor, path, text):
    """Markdown of what a scope of this file declares, in its order."""
    out = []
    for child in cursor.get_children():
        if child.location.file is None or child.location.file.name != path:
            continue
        if child.kind in SCOPES:
            if child.spelling != "detail":
                out += declarations(child, path, text)
        elif child.kind in TYPES and child.is_definition():
            out += entry(child, text, 3)
            for member in child.get_children():
                if member.kind in MEMBERS and is_public(member) and member.spelling and comment_of(member):
                    out += ["```cpp", declaration_of(member, text), "```", "", words(comment_of(member)), ""]
        elif child.kind in OTHERS and child.spelling:
            out += entry(child, text, 3)
    return out


def head_of(text):
    """The comment at a header's top."""
    found = re.search(r"\A#pragma once\n((?://.*\n)+)", text)
    return re.sub(r"^// ?", "", found[1], flags=re.MULTILINE) if found else ""


def pages(root):
    root = pathlib.Path(root)
    include = root / "include"
    arguments = ["-x", "c++", "-std=c++20", "-fparse-all-comments", f"-I{include}"]
    arguments += [f"-isystem{folder}" for folder in include_folders()]
    index = clang.Index.create()
    modules = {}
    for header in sorted((include / "gibbsite").rglob("*.hpp")):
        text = header.read_bytes()
        unit = index.parse(str(header), arguments, options=clang.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES)
        inside = declarations(unit.cursor, str(header), text)
        module = header.relative_to(include / "gibbsite").parts[0].removesuffix(".hpp")
        name = header.relative_to(include).as_posix()
        page = modules.setdefault(module, [f"# {module}", "", f"Public headers of `include/gibbsite/{module}`.", ""])
        page += [f"## {name}", "", words(head_of(text.decode())), "", *inside]
    return {module: "\n".join(page) for module, page in modules.items()}
