#!/usr/bin/env python3
"""Holds the registers that the GPU in software reads from the machine code of a program to those that ptxas
said when it was compiled (scripts/keep-ptxas): occupancy follows from them.

ptx_registers.py BUILD_FOLDER TEST_KERNELS_PTX"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def reported(build):
    """{kernel: registers} of the latest architecture, of every OBJECT.ptxas."""
    found = {}
    for path in pathlib.Path(build).rglob("*.ptxas"):
        kernel = None
        for line in path.read_text().splitlines():
            if entry := re.search(r"Compiling entry function '(\w+)' for 'sm_(\d+)", line):
                kernel = entry[1], int(entry[2])
            elif kernel and (used := re.search(r"Used (\d+) registers", line)):
                name, architecture = kernel
                found[name] = max(found.get(name, (0, 0)), (architecture, int(used[1])))
    return {name: registers for name, (_, registers) in found.items()}


def main():
    build, program = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "coverage"
        subprocess.run([program, "--gtest_filter=SharedNoise.*"], check=True, capture_output=True,
                       env={**os.environ, "GIBBSITE_PTX_COVERAGE": str(path)})
        read = {name: int(registers) for name, _, _, registers in map(str.split, path.read_text().splitlines())}
    said = reported(build)
    wrong = [f"{name}: {read.get(name)} read, ptxas said {registers}" for name, registers in said.items()
             if read.get(name) != registers]
    print("\n".join(wrong))
    print(f"{len(said)} kernels, {len(wrong)} with other registers")
    sys.exit(1 if wrong or not said else 0)


if __name__ == "__main__":
    main()
