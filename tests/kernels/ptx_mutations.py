#!/usr/bin/env python3
"""Plants defects in the PTX of the project's own kernels and holds the GPU in software to finding each.

ptx_mutations.py TEST_KERNELS_PTX [NAME...]

A mutation changes every line that contains KEY (or the N-th one of each kernel) by a regular expression. The tests
of FILTER must fail then, and say what FOUND names: a rule of PTX, or wrong numbers (EXPECT). The first run is
without a mutation: those tests pass."""
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

NUMBERS = r"Failure\b"
WARP_GROUP = "Shapes/WarpGroupOfShape.GradientsAreWithinTheirBounds/n129_d*"
PAIRS = "Shapes/WarpGroupPairOfShape.GradientsAreWithinTheirBounds/n257_d128_C64"
COOPERATIVE = "Shapes/CooperativeOfShape.EveryStepIsWithinItsBound/n1300_d17_C3"
LONG_RUNS = "Cooperative.EngineMovesChains"
TILED = "Shapes/TiledOfShape.*/n257_*"
DOUBLE = "Shapes/DoubleMatrixOfShape.GradientIsWithinTheCertificatesBoundInAnyOrder/n145_d32_C16"
RESIDENT = "Shapes/ResidentOfShape.OneStepIsWithinItsBound/n65_d64_C5"


@dataclass
class Mutation:
    name: str
    key: str
    pattern: str
    format: str
    filter: str
    found: str
    which: int = 0


def removed(name, key, tests, found, which=0):
    return Mutation(name, key, r"\S.*;", "", tests, found, which)


MUTATIONS = [
    # Fences
    removed("no wgmma.fence", "wgmma.fence", WARP_GROUP, r"wgmma: no wgmma\.fence came before"),
    removed("no second wgmma.fence", "wgmma.fence", PAIRS, r"written and no wgmma\.fence came after", 2),
    removed("no fence.proxy.async", "fence.proxy.async", WARP_GROUP, r"without fence\.proxy\.async between"),
    # Barriers
    removed("no barrier behind the rows, resident", "bar.sync", RESIDENT, r"read before it is written", 1),
    removed("no barrier behind the sums, resident", "bar.sync", RESIDENT, r"race: write of shared", 4),
    removed("no barrier before the step, resident", "bar.sync", RESIDENT, r"race: read of shared", 5),
    removed("no barrier behind the tiles, tiled", "bar.sync", TILED, r"copy under way", 1),
    removed("no barrier, finish", "bar.sync", "FinishTest.N*", r"read before it is written"),
    removed("no barrier of a warp", "bar.warp.sync", DOUBLE, r"race: .* of shared"),
    Mutation("a barrier of too many threads", "bar.sync", r"bar\.sync\s+0;", "bar.sync 0, 2048;", RESIDENT, "deadlock", 1),
    removed("no block barrier behind the first wait for the grid", "barrier.sync", COOPERATIVE, r"race: .* of global", 2),
    removed("no block barrier behind the second one", "barrier.sync", LONG_RUNS, r"race: .* of global", 4),
    # Order between blocks
    Mutation("a grid barrier that releases nothing", "atom.add.release", r"\.release", ".relaxed", COOPERATIVE,
             r"race: .* of global .* before by thread \d+ of block"),
    Mutation("a grid barrier that acquires nothing", "ld.acquire", r"\.acquire", ".relaxed", COOPERATIVE,
             r"race: .* of global .* before by thread \d+ of block"),
    # Waits
    Mutation("cp.async waits for one group less", "cp.async.wait_group", r"wait_group\s+1", "wait_group 2", TILED,
             r"copy under way"),
    removed("no wait for cp.async", "cp.async.wait_group", TILED, r"copy under way"),
    removed("no commit of cp.async", "cp.async.commit_group", TILED, r"copy under way"),
    removed("no wgmma.wait_group", "wgmma.wait_group", WARP_GROUP, r"an accumulator is read before wgmma\.wait_group"),
    Mutation("wgmma.wait_group waits for one group less", "wgmma.wait_group", r"aligned\s+0", "aligned 1", WARP_GROUP,
             r"an accumulator is read before wgmma\.wait_group"),
    removed("no wgmma.commit_group", "wgmma.commit_group", WARP_GROUP, r"read before wgmma\.wait_group|wgmma under way"),
    Mutation("an mbarrier's phase is not waited for", "mbarrier.try_wait", r"%r\d+;", "1;", WARP_GROUP,
             r"still being copied|never written|copy over|copy under way|deadlock"),
    removed("a stage is never given back", "mbarrier.arrive.shared", "WarpGroupTest.LongRangesGoRoundTheStages", "deadlock"),
    # Transaction counts and arrivals
    Mutation("16 bytes expected instead of a tile", "expect_tx", r"(\[%r\d+\]), %r\d+", "$1, 16", WARP_GROUP,
             r"still being copied|copy under way|copy over|deadlock"),
    Mutation("an mbarrier counts one arrival more", "mbarrier.init", r"(\[%r\d+\]), %r\d+", "$1, 129", WARP_GROUP, "deadlock"),
    Mutation("16 bytes copied instead of a tile", "cp.async.bulk.shared", r"\], %r\d+, \[", "], 16, [", WARP_GROUP, "deadlock"),
    removed("no bulk copy", "cp.async.bulk.shared", WARP_GROUP, "deadlock"),
    # Operands
    Mutation("registers of A in another order", "mma.sync", r"\{(%fd\d+), (%fd\d+)\},", "{$2, $1},", DOUBLE, NUMBERS),
    Mutation("A by columns", "mma.sync", r"\.row\.col", ".col.col", DOUBLE, r"SHAPE\.row\.col\.f64"),
    Mutation("B of wgmma not transposed", "wgmma.mma_async", r"1, 1, 1;", "1, 1, 0;", WARP_GROUP, NUMBERS),
    Mutation("A and B of wgmma exchanged", "wgmma.mma_async", r"(%rd\d+), (%rd\d+), p", "$2, $1, p", WARP_GROUP,
             NUMBERS + r"|never written|outside"),
    Mutation("a shuffle down instead of across", "shfl.sync.bfly", r"bfly", "down", RESIDENT, NUMBERS),
]


def run(program, tests, mutation=None):
    environment = dict(os.environ)
    with tempfile.NamedTemporaryFile("w", suffix=".mutation") as file:
        environment["GIBBSITE_PTX_MOST"] = "20000000"  # a wait without end ends
        if mutation is not None:
            file.write(f"{mutation.key}\n{mutation.pattern}\n{mutation.format}\n{mutation.which}\n")
            file.flush()
            environment["GIBBSITE_PTX_MUTATION"] = file.name
        done = subprocess.run([program, f"--gtest_filter={tests}"], env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def complaint(program, mutation):
    """(what is wrong with that mutation or None, what found it)"""
    status, output = run(program, mutation.filter, mutation)
    faults = re.findall(r"PTX in software: (?!mutated)(.*?) \[", output) + re.findall(r"PTX in software: (ptx: .*)", output)
    said = (faults or re.findall(NUMBERS, output) or ["nothing"])[0]
    if "PTX in software: mutated" not in output:
        return "no line of the PTX was changed", said
    if status == 0:
        return "was not found", said
    if not re.search(mutation.found, output):
        return f"was found by something else: {said}", said
    return None, said


def main():
    program, names = sys.argv[1], sys.argv[2:]
    chosen = [m for m in MUTATIONS if not names or m.name in names]
    filters = sorted({m.filter for m in chosen})
    status, output = run(program, ":".join(filters))
    if status != 0 or "[  PASSED  ]" not in output:
        sys.exit(f"without a mutation: the tests fail\n{output[-3000:]}")
    wrong = 0

    def timed(mutation):
        begin = time.monotonic()
        return complaint(program, mutation), time.monotonic() - begin

    with ThreadPoolExecutor(2) as pool:
        for mutation, ((why, said), seconds) in zip(chosen, pool.map(timed, chosen)):
            wrong += why is not None
            print(f"{mutation.name}: {said[:150] if why is None else why} ({seconds:.1f} s)", flush=True)
    print(f"{len(chosen)} mutations, {wrong} not found")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
