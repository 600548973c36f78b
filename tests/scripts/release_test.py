#!/usr/bin/env python3
"""What a release says of itself agrees: one version everywhere, and a licence for every library that the build asks for.

release_test.py         checks the files, and that each rule fails on a planted error

Licences are held against the copyright files of Debian's packages, and ways against the shared libraries in them, where
they are installed.

The version is that of project() in CMakeLists.txt. Files that were made by earlier versions keep theirs.
"""
import importlib.util
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACES = {  # file: where its version stands; each must be there
    "CITATION.cff": r"^version: (.*)$",
    "CHANGELOG.md": r"\A# Changelog\n+## (\S+) \((?:unreleased|\d{4}-\d\d-\d\d)\)$",
    "README.md": r"^Version (\S+?),? ",
    "docs/reference/formats.md": r'"software": \{"name": "gibbsite", "version": "([^"]*)"\}',
    "r/DESCRIPTION": r"^Version: (.*)$",
    "examples/cluster/Dockerfile": r"gibbsite:([\d.]+)",
    "examples/container/Dockerfile": r"gibbsite:([\d.]+)",
    "examples/cluster/gibbsite-mpijob.yaml": r"gibbsite:([\d.]+)",
}
# Packages of scripts/install-deps that are tools of a build or of tests: nothing of them is shipped.
TOOLS = {"libclang-rt-14-dev", "libomp-14-dev", "libboost-context-dev", "libgtest-dev", "libgmock-dev", "libbenchmark-dev",
         "libopenmpi-dev", "dpkg-dev"}


# What a copyright file says where the licence is this one of SPDX.
WORDS = {"MIT": "Expat|MIT|Permission is hereby granted, free of charge", "ISC": "ISC", "blessing": "public-domain", "Zlib": "zlib|Zlib|misrepresented",
         "LGPL-3.0-or-later": r"LGPL-3|Lesser\s+General\s+Public\s+License.*version\s+3", "GPL-2.0-or-later": r"GPL-2\+",
         "LGPL-2.1-or-later": r"LGPL-2\.1\+", "BSD-3-Clause": "BSD-3|neither the name", "GPL-2.0-only": "GPL-2",
         "Unicode-DFS-2016": "Unicode", "Apache-2.0": "Apache", "MPL-2.0": "MPL-2", "BSL-1.0": "Boost",
         "GPL-3.0-or-later": r"either version 3|version 3 or later|GPL-3|version\s+3,? or",
         "GCC-exception-3.1": "GCC Runtime Library Exception"}
spec = importlib.util.spec_from_file_location("notices", ROOT / "scripts/notices.py")
of_notices = importlib.util.module_from_spec(spec)
spec.loader.exec_module(of_notices)


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def versions(text_of):
    """What is wrong with the versions of the files that text_of(name) gives."""
    wanted = re.search(r"project\(gibbsite VERSION (\S+)", text_of("CMakeLists.txt"))[1]
    wrong = []
    for name, place in PLACES.items():
        said = re.findall(place, text_of(name), re.MULTILINE)
        if not said:
            wrong.append(f"{name}: no version where '{place}' looks for it")
        wrong += [f"{name}: version {found}, and CMakeLists.txt has {wanted}" for found in said if found != wanted]
    return wrong


def notices(table, asked):
    """Libraries that scripts/install-deps brings and THIRD-PARTY.md does not name, and rows without a licence."""
    packages = set(re.findall(r"[a-z0-9.+-]+-dev\b", asked)) - TOOLS - {"python3-dev"}
    named = set(re.findall(r"[a-z0-9.+-]+-dev\b", table))
    return [f"THIRD-PARTY.md: {package} has no row" for package in sorted(packages - named)]


def licences(rows):
    """Licences of rows that the package's own copyright file does not name."""
    wrong = []
    for name, licence, _, packages in rows:
        file = pathlib.Path("/usr/share/doc", packages[-1] if packages else "none", "copyright")
        if not file.exists():
            continue
        text = file.read_text(encoding="utf-8")
        for word in re.split(r" (?:AND|OR|WITH) ", licence):
            if word not in WORDS or not re.search(WORDS[word], text, re.DOTALL):
                wrong.append(f"THIRD-PARTY.md: {name} is not under {word} by {file}")
    return wrong


def ways(rows, libraries_of):
    """Header-only libraries that a row calls shared, and shared ones that it calls compiled in."""
    return [f"THIRD-PARTY.md: {name} is '{way}', and {packages[-1]} has {'a' if libraries_of(packages) else 'no'} shared library"
            for name, _, way, packages in rows if packages and bool(libraries_of(packages)) == (way == "compiled in")]


def planted_ways():
    """What a component is called in a wheel, and that each other word of the table is refused."""
    rows = [({"libgmp"}, "bundled"), ({"libz"}, "the system's"), (set(), "compiled in"), ({"libfmt"}, "compiled in")]
    wrong = []
    for libraries, right in rows:
        found = of_notices.ways(libraries, {"libgmp"}, {"libgmp", "libz"}, set())
        for said in ("bundled", "the system's", "compiled in"):
            if (of_notices.differs("x", said, False, found) is None) != (said == right):
                wrong.append(f"{libraries} called {said} was not judged right")
    if of_notices.differs("x", "bundled; portable: compiled in", True, ["compiled in"]) or not of_notices.differs(
            "x", "bundled; portable: compiled in", False, ["compiled in"]):
        wrong.append("a portable wheel's library was not judged right")
    return wrong


def main():
    rows = of_notices.table()
    wrong = versions(read) + planted_ways() + licences(rows)
    if len(rows) != len(re.findall(r"^\| (?!library|-)", read("THIRD-PARTY.md"), re.MULTILINE)):
        wrong.append("THIRD-PARTY.md: a row cannot be read")
    # Planted: MPL-2.0 for all that is not under it, and Eigen as a shared library.
    installed = [row for row in rows if row[3] and pathlib.Path("/usr/share/doc", row[3][-1], "copyright").exists()]
    for name, licence, way, packages in installed:
        if licence != "MPL-2.0" and not licences([(name, "MPL-2.0", way, packages)]):
            wrong.append(f"a wrong licence of {name} was not seen")
    if shutil.which("dpkg-query") and len(installed) == len([row for row in rows if row[3]]):
        wrong += ways(rows, of_notices.libraries_of)
        if not ways([("Eigen", "MPL-2.0", "bundled", ["libeigen3-dev"])], of_notices.libraries_of):
            wrong.append("a header-only library that is called bundled was not seen")
    wrong += notices(read("THIRD-PARTY.md"), read("scripts/install-deps"))
    for name in PLACES:  # planted: another version in one file
        planted = {name: re.sub(r"\d+\.\d+\.\d+", "9.9.9", read(name))}
        if not any(line.startswith(name) for line in versions(lambda file: planted.get(file) or read(file))):
            wrong.append(f"a wrong version in {name} was not seen")
    if not notices(read("THIRD-PARTY.md").replace("libcsv-dev", ""), read("scripts/install-deps")):
        wrong.append("a library without a notice was not seen")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
