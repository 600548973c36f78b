#!/usr/bin/env python3
"""The commands of README.md and of the tutorials run as they stand there and print what the page shows.

commands_test.py PROGRAM [PAGE...]      --update writes what was printed into the pages (look at the change before you keep it)

A ```console block holds commands after "$ " and their output. All commands of a page run in one folder with a copy of data/.
A ```toml block whose info line has title="FILE" is written to FILE first. A line "..." stands for any lines.
What does not depend on noise (`plan`, `schema`, `ledger`) must be the same but for times. Elsewhere a number stands for any number.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r'^```(console|toml title="(?P<file>[^"]+)")\n(?P<body>.*?)^```$', re.DOTALL | re.MULTILINE)
TIME = re.compile(r"(under |about |~)*\d[\d.,]* (ms|s|min|h)\b")
NUMBER = re.compile(r"[<~±×+-]*\d[\d.,]*(e[+-]?\d+)?")
WITHOUT_NOISE = re.compile(r"gibbsite (plan|schema|ledger create) ")


def bare(line, command):
    """A line without what may differ from run to run."""
    line = TIME.sub("TIME", line)
    if not WITHOUT_NOISE.match(command):
        line = NUMBER.sub("N", line)
    return " ".join(line.split())


def matches(shown, printed):
    """Whether printed lines are those shown, "..." standing for any."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(matches(shown[1:], printed[at:]) for at in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and matches(shown[1:], printed[1:])


def steps_of(body):
    """(command, lines shown) of a block; a command goes on after a backslash."""
    steps = []
    for line in body.splitlines():
        if steps and steps[-1][0].endswith("\\"):
            steps[-1][0] += "\n" + line
        elif line.startswith("$ "):
            steps.append([line[2:], []])
        else:
            assert steps, f"output without a command: {line}"
            steps[-1][1].append(line)
    return steps


def check(page, program, update):
    """Runs a page. Gives how many commands ran and what did not match."""
    text = page.read_text(encoding="utf-8")
    wrong, ran, written = [], 0, {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "here"
        shutil.copytree(ROOT / "data", folder / "data")
        tools = pathlib.Path(scratch) / "bin"
        tools.mkdir()
        (tools / "gibbsite").symlink_to(program)
        environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}", LC_ALL="C.UTF-8",
                           XDG_STATE_HOME=f"{scratch}/state", XDG_CACHE_HOME=f"{scratch}/cache")
        for block in FENCE.finditer(text):
            if block["file"]:
                (folder / block["file"]).write_text(block["body"], encoding="utf-8")
                continue
            new = ""
            for command, shown in steps_of(block["body"]):
                run = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, encoding="utf-8")
                ran += 1
                printed = run.stdout.splitlines()
                elided = "..." in shown
                new += f"$ {command}\n" + "".join(f"{line}".rstrip() + "\n" for line in (shown if elided else printed))
                if not matches([line if line == "..." else bare(line, command) for line in shown],
                               [bare(line, command) for line in printed]):
                    wrong.append(f"{page.name}: $ {command}\n  shown:\n" + "\n".join(shown) + "\n  printed:\n" + run.stdout)
            written[block.span("body")] = new
    if update:
        for (start, end), new in sorted(written.items(), reverse=True):
            text = text[:start] + new + text[end:]
        page.write_text(text, encoding="utf-8")
    return ran, wrong


def main():
    words = [word for word in sys.argv[1:] if word != "--update"]
    program = pathlib.Path(words[0]).resolve()
    pages = [pathlib.Path(word) for word in words[1:]]
    if not pages:
        pages = [ROOT / "README.md", *sorted((ROOT / "docs/tutorial").glob("*.md"))]
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        for target in re.findall(r"^make (\w+)", pages[0].read_text(encoding="utf-8"), flags=re.MULTILINE):
            assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), f"README.md: make {target}: no such target"
    failed = False
    for page in pages:
        ran, wrong = check(page, program, "--update" in sys.argv)
        assert ran, f"{page}: has lost its commands"
        print(f"{page.name}: {ran} commands, {len(wrong)} wrong")
        for one in wrong:
            print(one)
        failed |= bool(wrong)
    sys.exit(1 if failed and "--update" not in sys.argv else 0)


if __name__ == "__main__":
    main()
