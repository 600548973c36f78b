#!/usr/bin/env python3
"""The C interface has the functions of tests/capi/symbols.txt, in the header and in the library, and shows nothing else.

symbols_test.py LIBRARY    A name in the list stays there until the SONAME changes; a new one is added by hand.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = "@@GIBBSITE_0"


def differences(listed, shown, where):
    return [f"{name}: is in tests/capi/symbols.txt and not in {where}; its callers would break: give it back" for name in listed - shown] + [
        f"{name}: is in {where} and not in tests/capi/symbols.txt; hide it, or add it there" for name in shown - listed
    ]


def exported(library):
    """Names that `nm -D` shows; those of the interface have its version."""
    lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout.split("\n")
    names = {line.split()[-1] for line in lines if line and line.split()[-2] != "A"}
    return {name.removesuffix(VERSION) if name.endswith(VERSION) else name.split("@")[0] + " without its version" for name in names}


def main():
    library = sys.argv[1]
    listed = set((ROOT / "tests/capi/symbols.txt").read_text().split())
    declared = set(re.findall(r"\b(gibbsite_[a-z_]+)\(", (ROOT / "include/gibbsite.h").read_text()))
    # Planted: a function that is gone, and one that nobody listed.
    assert len(differences({"a", "b"}, {"b", "c"}, "x")) == 2
    wrong = differences(listed, declared, "include/gibbsite.h") + differences(listed, exported(library), library)
    dynamic = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    if "Library soname: [libgibbsite.so.0]" not in dynamic:
        wrong.append(f"{library}: has another SONAME than libgibbsite.so.0")
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(listed)} functions")


main()
