#!/usr/bin/env python3
"""Compares the kernels that tests have launched with all that there are, and names each one that no test runs.

census.py registers.txt FILE...

registers.txt (kernels/) lists every kernel that nvcc compiles; the test kernel_registers holds it to what there is. Each FILE
is what a test program wrote under GIBBSITE_KERNELS_RUN (tests/support/kernel_notes.hpp): one mangled type of a body a line.
Exit status 77, skipped, where none of the files has a line: there is no GPU."""
import pathlib
import re
import subprocess
import sys

# Kernels that no test need run, each with the reason.
EXEMPT = {}


def compiled(table):
    """The bodies of the kernels in registers.txt, whatever their architecture."""
    lines = table.read_text().splitlines()[1:]
    return {spelled(re.fullmatch(r"run_body<(.*)>", line.split(" ", 2)[2])[1]) for line in lines}


def launched(path):
    """The bodies in a file of a test program."""
    plain = subprocess.run(["c++filt"], input=path.read_text(), capture_output=True, text=True, check=True)
    return {spelled(line) for line in plain.stdout.splitlines()}


def spelled(name):
    """One spelling for what two demanglers say: no namespaces, casts, suffixes or spaces; true and false as 1 and 0."""
    name = re.sub(r"gibbsite::kernels::|\((bool|unsigned int)\)| ", "", name)
    name = re.sub(r"\btrue\b", "1", re.sub(r"\bfalse\b", "0", name))
    return re.sub(r"\b(\d+)u\b", r"\1", name)


def main():
    table, files = pathlib.Path(sys.argv[1]), [pathlib.Path(name) for name in sys.argv[2:]]
    if missing := [str(path) for path in files if not path.exists()]:
        sys.exit(f"{missing[0]}: no such file; run the tests that write it, with GIBBSITE_KERNELS_RUN")
    known = compiled(table)
    run = set().union(*map(launched, files))
    if not run:
        print("no test launched a kernel: there is no GPU")
        sys.exit(77)
    wrong = [f"no test runs {name}" for name in sorted(known - run - EXEMPT.keys())]
    wrong += [f"{name} was run, but is not in {table.name}" for name in sorted(run - known)]
    wrong += [f"{name} is exempt, but {'a test runs it' if name in run else 'there is no such kernel'}; take it out of EXEMPT"
              for name in sorted(EXEMPT) if name in run or name not in known]
    print("\n".join([*wrong, f"{len(known)} kernels compiled, {len(known & run)} run by tests, {len(wrong)} complaints"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
