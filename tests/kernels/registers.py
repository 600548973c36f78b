#!/usr/bin/env python3
"""Holds every kernel to its registers: fails on a spill, a stack frame or more registers than
kernels/registers.txt allows, and on a kernel that is missing there or here.

registers.py BUILD_FOLDER registers.txt NVCC_VERSION [--write]

The reports are what ptxas said when the kernels were compiled (scripts/keep-ptxas). The first line
of registers.txt names the compiler, a line is `ARCHITECTURE REGISTERS KERNEL`; --write makes the file
anew. Another compiler gives other numbers: then they are printed and the exit status is 77, skipped.
"""
import pathlib
import re
import subprocess
import sys


def reports(build):
    """{(architecture, kernel): (registers, stack, spilled)} of every OBJECT.ptxas under `build`."""
    found = {}
    for path in sorted(pathlib.Path(build).rglob("*.ptxas")):
        kernel, stack, spilled = None, 0, 0
        for line in path.read_text().splitlines():
            if warning := re.search(r"\((C75\d+)\)", line):
                sys.exit(f"{path.name}: ptxas warns {warning[1]}: {line}")
            if m := re.search(r"Compiling entry function '(\w+)' for '(\w+)'", line):
                kernel = (m[2], m[1])
            elif m := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+)", line):
                stack, spilled = int(m[1]), int(m[2]) + int(m[3])
            elif (m := re.search(r"Used (\d+) registers", line)) and kernel:
                found[kernel] = (int(m[1]), stack, spilled)
                kernel = None
    names = sorted({name for _, name in found})
    plain = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True,
                           check=True).stdout.splitlines()
    short = {n: re.sub(r"gibbsite::kernels::|\(bool\)|\(unsigned int\)|^void |\(.*\)$", "",
                       re.sub(r"\(T1::Params\)$", "", p)) for n, p in zip(names, plain)}
    return {(arch, short[name]): of for (arch, name), of in found.items()}


def main():
    build, table, compiler = sys.argv[1], pathlib.Path(sys.argv[2]), "nvcc " + sys.argv[3]
    found = reports(build)
    if not found:
        sys.exit(f"{build}: no ptxas report; build the kernels first")
    if "--write" in sys.argv[4:]:
        table.write_text(compiler + "\n" + "".join(f"{a} {r} {k}\n" for (a, k), (r, _, _) in sorted(found.items())))
    allowed = {}
    measured_with, *lines = table.read_text().splitlines()
    for line in lines:
        architecture, registers, kernel = line.split(" ", 2)
        allowed[architecture, kernel] = int(registers)
    wrong = []
    known = {arch for arch, _ in allowed}
    for (arch, kernel), (registers, stack, spilled) in sorted(found.items()):
        if arch not in known:
            continue  # built for another card
        if spilled or stack:
            wrong.append(f"{arch} {kernel}: {stack} bytes of stack, {spilled} bytes spilled")
        limit = allowed.get((arch, kernel))
        if limit is None:
            wrong.append(f"{arch} {kernel}: not in {table.name}; run this again with --write")
        elif registers > limit:
            wrong.append(f"{arch} {kernel}: {registers} registers, {limit} before")
    wrong += [f"{a} {k}: in {table.name}, not in this build" for a, k in allowed.keys() - found.keys()
              if a in {arch for arch, _ in found}]
    for line in wrong:
        print(line)
    print(f"{len(found)} kernels, {len(wrong)} complaints, "
          f"most registers {max(r for r, _, _ in found.values())}")
    if compiler != measured_with:
        print(f"{table.name} is of {measured_with}, this is {compiler}: nothing to compare")
        sys.exit(77)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
