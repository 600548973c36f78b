"""What the experiments share: the places of the checkout, a run of gibbsite, Adult's schema, files of numbers, the AUC."""
import array
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))  # gpu_machine.py: commands with a time limit, what the machine is


def experiment(name):
    """The functions of another experiment, by the name of its file."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(ROOT / "experiments" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Failed(SystemExit):
    """A command of gibbsite that ended with an error: its first word and its last line. Uncaught, it ends the experiment with them."""


def run(program, *words):
    """What a command prints. Raises Failed."""
    words = [str(word) for word in words]
    done = subprocess.run([str(program), *words], text=True, capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"]
        raise Failed(f"{words[0]}: {said[-1]}")
    return done.stdout


def fitted(program, model, train, schema, epsilon, delta, seed, *more):
    """Fits `model` (a path) on `train`, the words of a table; what was there is overwritten. Raises Failed."""
    epsilon, delta = (repr(float(number)).removesuffix(".0") for number in (epsilon, delta))
    run(program, "fit", *train, "--schema", schema, "--epsilon", epsilon, "--delta", delta, "--seed", seed, "--quiet", "--force",
        "--out", model, *more)


def evaluated(program, model, test):
    """The figures of a model on rows that it has not seen. Raises Failed."""
    return json.loads(run(program, "evaluate", "--model", model, *test, "--json"))


def adult_columns():
    """`[columns]` and `row_norm` of the schema of the tests, a column a line: TOML asks that of inline tables before version 1.1."""
    text = (ROOT / "tests/support/adult.hpp").read_text()
    return re.sub(r",\n\s+", ", ", re.search(r'R"toml\((.*?)\)toml"', text, re.DOTALL).group(1))


def adult_schema(intercept):
    """The schema of the tests for income; `intercept` is "true", "false" or a word in quotes."""
    return f'label = "income"\npositive = ">50K"\nnegative = "<=50K"\nintercept = {intercept}\n{adult_columns()}'


def machine_words():
    """The processor and how many cores of it, for the first line of a page."""
    return f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def write_npy(path, blocks, shape):
    """float32 numbers in C order, version 1.0 of the format; `blocks` are arrays of type "f"."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode())
        for block in blocks:
            (block if isinstance(block, array.array) else array.array("f", block)).tofile(file)


def auc(y, scores):
    """The share of pairs of classes in their order; equal scores count half. NaN of one class."""
    order = sorted(range(len(y)), key=scores.__getitem__)
    total, k = 0.0, 0
    while k < len(order):
        end = k
        while end < len(order) and scores[order[end]] == scores[order[k]]:
            end += 1
        total += sum(float(y[order[j]]) for j in range(k, end)) * (k + 1 + end) / 2
        k = end
    positive = float(sum(y))
    return (total - positive * (positive + 1) / 2) / (positive * (len(y) - positive)) if 0 < positive < len(y) else float("nan")
