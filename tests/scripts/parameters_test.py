#!/usr/bin/env python3
"""No function takes more than six parameters: what is more is one struct, with a name for each.

parameters_test.py            checks include/, host/ and python/src/, and that a planted function is found
parameters_test.py --list     prints the functions that have more, as ALLOWED names them

ALLOWED is what was there before the rule: it can only shrink. Inner loops of host/engine/cpu and the functions that
MPI, NCCL or a C interface fixes may stay.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST = 6
ALLOWED = {
    "include/gibbsite/privacy/conjugate.hpp beta_renyi_delta_up": 7,
    "host/data/arrow_pieces.cpp put_cells": 7,
    "host/data/arrow_pieces.cpp fill": 8,
    "host/data/arrow_reader.hpp put_cells": 7,
    "host/data/arrow_reader.hpp fill": 8,
    "host/data/parquet_plugin.hpp gibbsite_parquet_open_1": 7,
    "host/engine/cpu/kernels.hpp held_derivatives": 7,
    "host/engine/cpu/kernels.hpp held_outputs": 7,
    "host/engine/cpu/losses.cpp HoldOutputs": 8,
    "host/engine/cpu/losses.cpp HeldOutputs": 7,
    "host/engine/cpu/losses.cpp HeldDerivatives": 8,
    "host/engine/cpu/losses.cpp held_outputs": 7,
    "host/engine/cpu/losses.cpp held_derivatives": 7,
    "host/engine/cpu/many_columns.cpp add_rows": 7,
    "host/engine/cpu/moments.cpp FindCaps": 7,
    "host/engine/cpu/moments.cpp find_caps": 7,
    "host/engine/cpu/moments.hpp find_caps": 7,
    "host/engine/cpu/whitened.cpp class_information": 8,
    "host/engine/cpu/whitened.hpp class_information": 8,
    "host/engine/cuda/blocked_source.cpp product": 15,
    "host/engine/cuda/metric_rows.hpp MetricRows": 8,
    "host/engine/exact_loss.cpp softmax_difference": 8,
    "host/engine/exact_loss.cpp exact_loss_difference": 7,
    "host/engine/exact_loss.hpp exact_loss_difference": 7,
    "host/engine/langevin.hpp langevin_coordinate": 8,
    "host/parquet/parquet.cpp gibbsite_parquet_open_1": 7,
    "host/privacy/conjugate.cpp beta_renyi_delta_up": 7,
    "host/run/network_draws.cpp tables_draw": 8,
    "host/run/network_draws.hpp tables_draw": 8,
}

BLANKED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)
NAME = re.compile(r"([A-Za-z_]\w*(?:::[A-Za-z_]\w*)*|operator\(\)|\[[^\[\]]*\])\s*\(")
PARAMETER = re.compile(r"^(?:\[\[\w+\]\]\s*)?(?:const\s+|unsigned\s+|struct\s+)*[A-Za-z_][\w:]*(?:<.*>)?(?:\s*::\w+)?"
                       r"(?:\s+const)?(?:\s*(?:\*|&|&&|const))*(?:\s+|(?<=[*&]))(?:\w+)?(?:\[\w*\])?(?:\s*=.*)?$", re.DOTALL)
STATEMENT = {"if", "while", "for", "switch", "return", "sizeof", "throw", "catch", "decltype", "defined"}


def parts_of(text, start):
    """The pieces between commas of the parentheses that open at start, and where they end."""
    depth, angle, parts, begin = 0, 0, [], start + 1
    for at in range(start, len(text)):
        c = text[at]
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                return [*parts, text[begin:at].strip()], at + 1
        elif c == "<":
            angle += 1
        elif c == ">" and text[at - 1] != "-":
            angle = max(0, angle - 1)
        elif c == "," and depth == 1 and angle == 0:
            parts.append(text[begin:at].strip())
            begin = at + 1
    return [], len(text)


def functions(text):
    """(name, number of parameters) of what is declared or defined with more than MOST."""
    text = BLANKED.sub(lambda found: re.sub(r"[^\n]", " ", found[0]) if found[0][0] == "/" else '""', text)
    for found in NAME.finditer(text):
        if found[1] in STATEMENT:
            continue
        parts, _ = parts_of(text, found.end() - 1)
        if len(parts) > MOST and all(PARAMETER.match(part) for part in parts):
            yield ("lambda" if found[1].startswith("[") else found[1].split("::")[-1]), len(parts)


def all_of(root):
    out = {}
    for folder in ("include", "host", "python/src"):
        for path in sorted([*(root / folder).rglob("*.hpp"), *(root / folder).rglob("*.cpp")]):
            for name, count in functions(path.read_text()):
                key = f"{path.relative_to(root)} {name}"
                out[key] = max(count, out.get(key, 0))
    return out


def main():
    found = all_of(ROOT)
    if "--list" in sys.argv:
        for key, count in found.items():
            print(f'    "{key}": {count},')
        return 0
    planted = "void f(int a, const std::map<int, int>& b, double c, bool d, char* e, long g,\n       Shape h = {1, 2});"
    if list(functions(planted)) != [("f", 7)] or list(functions("g(a, b, c, d, e, f, h);")):
        print("parameters: the planted functions are not told apart")
        return 1
    faults = [f"{key}: {count} parameters; give it a struct" for key, count in found.items() if count > ALLOWED.get(key, MOST)]
    faults += [f"{key}: has fewer parameters now; take it out of ALLOWED" for key, count in ALLOWED.items()
               if found.get(key, 0) < count]
    print("\n".join(faults) if faults else f"parameters: no function has more than {MOST}, but for {len(ALLOWED)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
