#!/usr/bin/env python3
"""Holds what nvcc made of the warp-group kernels to the PTX ISA's rule: between a `wgmma.fence` and the first
`wgmma.mma_async` behind it nothing writes a register that this instruction reads or adds to. Such a write
is not ordered before the matrix unit's reads, and what is summed is then undefined.

fences.py BUILD_FOLDER

Reads the PTX that lies in the objects of the sm_90a kernels. Exit status 77, skipped: there are none."""
import pathlib
import re
import sys


def modules(build):
    for path in sorted(pathlib.Path(build).rglob("*_sm90a.cu.o")):
        for text in re.findall(rb"\.version [0-9.]+\n[^\0]*", path.read_bytes()):
            yield path.name, text.decode()


def registers(text):
    return set(re.findall(r"%[a-z]+\d+", text))


def complaints(ptx):
    """(kernels, fences, what is wrong) of a module."""
    kernel, kernels, fences, wrong = None, set(), 0, []
    pending = None  # written since the last fence: register -> line
    for number, line in enumerate(ptx.splitlines(), 1):
        if entry := re.search(r"\.entry (\w+)", line):
            kernel, pending = entry[1], None
        statement = line.strip()
        if statement.startswith("wgmma.fence"):
            fences, pending = fences + 1, {}
            kernels.add(kernel)
        elif statement.startswith("wgmma.mma_async") and pending is not None:
            # Everything in its first braces is an accumulator; a fragment of A is in the second ones.
            read = registers(" ".join(re.findall(r"\{([^}]*)\}", statement)))
            for register in sorted(read & pending.keys()):
                wrong.append(f"{kernel}, line {number}: {register} is written in line {pending[register]}, behind the fence")
            pending = None
        elif pending is not None and (written := re.match(r"(?:@!?%p\d+\s+)?[a-z][\w.:]*\s+(%[a-z]+\d+)", statement)):
            pending[written[1]] = number
    return kernels, fences, wrong


def main():
    kernels, fences, wrong = set(), 0, []
    for name, ptx in modules(sys.argv[1]):
        found = complaints(ptx)
        kernels |= {(name, kernel) for kernel in found[0]}
        fences += found[1]
        wrong += [f"{name}: {line}" for line in found[2]]
    if not kernels:
        print(f"{sys.argv[1]}: no sm_90a kernels with PTX in this build")
        sys.exit(77)
    print("\n".join(wrong[:20] + ([f"and {len(wrong) - 20} more"] if len(wrong) > 20 else [])))
    print(f"{len(kernels)} kernels, {fences} fences, {len(wrong)} writes behind them")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
