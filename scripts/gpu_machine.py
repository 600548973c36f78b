"""What gpu-check and gpu-bench share: the card, steps with a time limit, the build, a table."""

import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

CARD_FIELDS = {
    "card": "name",
    "driver": "driver_version",
    "compute_capability": "compute_cap",
    "memory_mib": "memory.total",
    "sm_clock_mhz": "clocks.sm",
    "memory_clock_mhz": "clocks.mem",
    "largest_sm_clock_mhz": "clocks.max.sm",
    "power_limit_w": "power.limit",
}


class Outcome:
    """How a command ended: exit status (128 + signal when one ended it), output, seconds."""

    def __init__(self, status, output, seconds, timed_out=False):
        self.status, self.output, self.seconds, self.timed_out = status, output, seconds, timed_out

    def last_line(self, marker=""):
        lines = [line.strip() for line in self.output.splitlines() if line.strip() and marker in line]
        return lines[-1] if lines else ""


def run(command, limit, env=None, cwd=ROOT):
    """Runs a command of its own process group, both streams kept; ends the group after `limit` s."""
    begin = time.monotonic()
    command = [str(word) for word in command]
    try:
        process = subprocess.Popen(
            command, cwd=cwd, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    except OSError as error:
        return Outcome(127, f"{command[0]}: {error.strerror}", 0.0)
    timed_out = False
    try:
        output = process.communicate(timeout=max(limit, 0.1))[0]
    except subprocess.TimeoutExpired:
        timed_out = True
        os.killpg(process.pid, signal.SIGKILL)
        output = process.communicate()[0]
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return Outcome(status, output.decode(errors="replace"), time.monotonic() - begin, timed_out)


def number(text):
    try:
        return float(text)
    except ValueError:
        return None  # "[N/A]" and the like


def find_card():
    """The first card nvidia-smi lists and its clocks; None without one."""
    query = run(["nvidia-smi", "--query-gpu=" + ",".join(CARD_FIELDS.values()),
                 "--format=csv,noheader,nounits"], 20)
    lines = query.output.strip().splitlines()
    if query.status != 0 or not lines:
        return None
    words = [word.strip() for word in lines[0].split(",")]
    if len(words) != len(CARD_FIELDS):
        return None
    card = dict(zip(CARD_FIELDS, words))
    for field in card:
        if field not in ("card", "driver", "compute_capability"):
            card[field] = number(card[field])
    version = run([nvcc(), "--version"], 20)
    found = re.search(r"release (\S+),", version.output)
    card["cuda"] = found.group(1) if found else None
    return card


def card_or_exit(name):
    """The card; without one, one line and exit status 3."""
    card = find_card()
    if card is None:
        print(f"{name}: no GPU on this machine (nvidia-smi lists none); run it where there is one",
              file=sys.stderr)
        sys.exit(3)
    return card


def nvcc():
    for folder in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if folder and (path := pathlib.Path(folder) / "bin" / "nvcc").exists():
            return path
    return "nvcc"


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def today():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")


def prefix():
    """The folder that scripts/gpu-prefix made, where it was carried here."""
    return pathlib.Path(os.environ.get("GIBBSITE_PREFIX") or ROOT / "build/gpu-prefix").resolve()


TOOLKIT = "the same CUDA toolkit, or its package "
# What a build and a check need: what, where under a root of CUDA, what to carry when it is missing, whether nothing goes
# without it.
CUDA_FILES = (
    ("cuda_runtime.h", "include", TOOLKIT + "cuda-cudart-dev", True),
    ("cooperative_groups.h", "include", TOOLKIT + "cuda-cudart-dev or cuda-crt", True),
    ("cublasLt.h", "include", TOOLKIT + "libcublas-dev (headers)", True),
    ("curand.h", "include", TOOLKIT + "libcurand-dev (headers)", True),
    ("curand_kernel.h", "include", TOOLKIT + "libcurand-dev (headers)", True),
    ("thrust/version.h", "include", TOOLKIT + "cuda-cccl (headers)", True),
    ("cuda/std/version", "include", TOOLKIT + "cuda-cccl (headers)", True),
    ("libcudart_static.a", "lib", TOOLKIT + "cuda-cudart-dev", True),
    ("libcublasLt.so", "lib", "libcublasLt.so.N of the toolkit (0.5 GB), on LD_LIBRARY_PATH: design blocked needs it", True),
    ("libcurand.so", "lib", "libcurand.so.N of the toolkit, on LD_LIBRARY_PATH: cuRAND's noise needs it", True),
)
TOOLS = (
    ("cmake", "cmake 3.25 or later (one folder, no installation)", True),
    ("ninja", "the program ninja", True),
    ("g++", "g++ 12 or later", True),
    ("compute-sanitizer", "the toolkit's compute-sanitizer folder; else no sanitizers", False),
    ("ncu", "Nsight Compute; else no profiles", False),
)


def preflight(build):
    """[{what, at, carry, needed}] of everything that gpu-check and gpu-bench use; `at` is empty where it is missing."""
    found = []

    def add(what, at, carry, needed):
        found.append({"what": what, "at": str(at or ""), "carry": carry, "needed": needed})

    compiler = nvcc()
    compiler = pathlib.Path(compiler) if pathlib.Path(compiler).exists() else shutil.which(str(compiler))
    add("nvcc", compiler, "the CUDA toolkit, 12.4 or later; CUDA_HOME says where", True)
    roots = [pathlib.Path(compiler).resolve().parent.parent] if compiler else []
    folders = {"include": [], "lib": []}
    for root in roots:
        folders["include"] += [root / "include", root / "include/cccl", *root.glob("targets/*/include"),
                               *root.glob("targets/*/include/cccl")]
        folders["lib"] += [root / "lib64", root / "lib", *root.glob("targets/*/lib")]
    folders["lib"] += [pathlib.Path(path) for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path]
    for name, kind, carry, needed in CUDA_FILES:
        paths = [path for folder in folders[kind] for path in sorted(folder.glob(name + ("*" if name.endswith(".so") else "")))]
        add(name, paths[0] if paths else "", carry, needed)
    for name, carry, needed in TOOLS:
        beside = [root / "bin" / name for root in roots if (root / "bin" / name).exists()]
        add(name, shutil.which(name) or (beside[0] if beside else ""), carry, needed)
    built = list(pathlib.Path(build).glob("bin/test_*_cuda"))
    add("gpu-prefix", prefix() if prefix().is_dir() else "",
        "the folder that scripts/gpu-prefix makes, unless the system has the packages", False)
    add("programs", built[0].parent if built else "", "nothing: the stage `build` makes them", False)
    return found


def configure_command(build, card):
    """cmake for that card; dependencies from GIBBSITE_PREFIX, build/gpu-prefix, or the system."""
    capability = (card.get("compute_capability") or "").replace(".", "")
    command = ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
               "-DGIBBSITE_CUDA=ON",
               f"-DCMAKE_CUDA_ARCHITECTURES={capability if capability.isdigit() else '90'}"]
    if prefix().is_dir():
        command.append(f"-DCMAKE_PREFIX_PATH={prefix()}")
    return command


def targets(build):
    """Names that this build folder can build."""
    listed = run(["cmake", "--build", build, "--target", "help"], 60)
    return set(re.findall(r"^(?:\.\.\. )?([\w-]+)(?::|$)", listed.output, re.MULTILINE))


def build_command(build, names):
    """Keeps going after a file that does not compile, so that the rest can be looked at."""
    return ["cmake", "--build", build, "--parallel", os.cpu_count() or 1, "--target", *sorted(names),
            "--", "-k", "0"]


def compile_error(output):
    """The first line that says what did not build."""
    for line in output.splitlines():
        if re.search(r"error:|error :|fatal error|FAILED:|CMake Error|undefined reference", line):
            return line.strip()
    return output.strip().splitlines()[-1] if output.strip() else ""


def table(rows, right=()):
    """Columns of plain text; those numbered in `right` are right-aligned."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.rjust(width) if k in right else cell.ljust(width)
                  for k, (cell, width) in enumerate(zip(row, widths))).rstrip()
        for row in rows)


def read_results(path):
    """What Google Benchmark wrote; cut at its last whole case when the program was ended."""
    try:
        text = path.read_text()
    except OSError:
        return None
    for end in ("", "]}", "}]}"):
        try:
            return json.loads(text.rstrip().rstrip(",") + end)
        except ValueError:
            continue
    return None


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")
