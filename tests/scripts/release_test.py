#!/usr/bin/env python3
"""What a release says of itself agrees: one version everywhere, and a licence for every library that the build asks for.

release_test.py         checks the files, and that each rule fails on a planted error

The version is that of project() in CMakeLists.txt. Files that were made by earlier versions keep theirs.
"""
import pathlib
import re
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
         "libopenmpi-dev"}


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


def main():
    wrong = versions(read) + notices(read("THIRD-PARTY.md"), read("scripts/install-deps"))
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
