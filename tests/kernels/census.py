#!/usr/bin/env python3
"""Compares the kernels that tests have launched with all that there are, and names each one that no test runs.

census.py registers.txt emulated|gpu FILE...

registers.txt (kernels/) lists every kernel that nvcc compiles; the test kernel_registers holds it to what there is. Each FILE
is what a test program wrote under GIBBSITE_KERNELS_RUN (tests/support/kernel_notes.hpp): a line for each
kernel, `emulated` or `gpu` and the mangled type of its body, of which those count that the second argument names; and
`card 90` where there was a GPU of that compute capability, on which only the kernels that are made for it count. Exit
status 77, skipped, where none of those lines is in any file: there is no GPU."""
import pathlib
import re
import subprocess
import sys

# Kernels that no test need run, each with the reason.
EXEMPT = {}


def compiled(table):
    """{body: its architectures} of the kernels in registers.txt."""
    kernels = {}
    for line in table.read_text().splitlines()[1:]:
        architecture, _, kernel = line.split(" ", 2)
        kernels.setdefault(spelled(re.fullmatch(r"run_body<(.*)>", kernel)[1]), set()).add(architecture)
    return kernels


def architectures(card):
    """Those whose kernels a GPU of that compute capability runs: sm_90a is for 9.0 alone."""
    return {"sm_80"} if card < 90 else {"sm_90", "sm_90a"} if card == 90 else {"sm_90"}


def launched(path):
    """What a test program wrote: {first word of a line: what follows it}."""
    plain = subprocess.run(["c++filt"], input=path.read_text(), capture_output=True, text=True, check=True)
    words = {"emulated": set(), "gpu": set(), "card": set()}
    for word, rest in (line.split(" ", 1) for line in plain.stdout.splitlines()):
        words[word].add(int(rest) if word == "card" else spelled(rest))
    return words


def spelled(name):
    """One spelling for what two demanglers say: no namespaces, casts, suffixes or spaces; true and false as 1 and 0."""
    name = re.sub(r"gibbsite::kernels::|\((bool|unsigned int)\)| ", "", name)
    name = re.sub(r"\btrue\b", "1", re.sub(r"\bfalse\b", "0", name))
    return re.sub(r"\b(\d+)u\b", r"\1", name)


def main():
    table, where, files = pathlib.Path(sys.argv[1]), sys.argv[2], [pathlib.Path(name) for name in sys.argv[3:]]
    if missing := [str(path) for path in files if not path.exists()]:
        sys.exit(f"{missing[0]}: no such file; run the tests that write it, with GIBBSITE_KERNELS_RUN")
    listed, lists = compiled(table), [launched(path) for path in files]
    run = set().union(*(words[where] for words in lists))
    run_on = set().union(*(architectures(card) for words in lists for card in words["card"])) if where == "gpu" else set()
    known = {body for body, made_for in listed.items() if not run_on or made_for & run_on}
    if not run:
        print(f"no test launched a kernel ({where}): is there no GPU?")
        sys.exit(77)
    wrong = [f"no test runs {name}" for name in sorted(known - run - EXEMPT.keys())]
    wrong += [f"{name} was run, but is not in {table.name}" for name in sorted(run - listed.keys())]
    wrong += [f"{name} is exempt, but {'a test runs it' if name in run else 'there is no such kernel'}; take it out of EXEMPT"
              for name in sorted(EXEMPT) if name in run or name not in listed]
    print("\n".join([*wrong, f"{len(known)} kernels compiled, {len(known & run)} run by tests, {len(wrong)} complaints"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
