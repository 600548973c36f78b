#!/usr/bin/env python3
"""The pages of man and completions of scripts/command_files.py hold every command and option, and bash completes by them.

command_files_test.py PROGRAM
"""
import gzip
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPLETED = {"gibbsite ver": {"verify"}, "gibbsite fit --epsi": {"--epsilon"}, "gibbsite ledger ": {"create", "show", "export"},
             "gibbsite fit --mechanism metric": {"metric-path", "metric-proximal"}, "gibbsite verify mod": set(),
             "gibbsite ledger create --adjacency add": {"add-remove"}, "gibbsite plan --data ": set()}


def main():
    program, wrong, pages = sys.argv[1], [], 0
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([sys.executable, "-B", ROOT / "scripts/command_files.py", program, scratch], check=True)
        folder = pathlib.Path(scratch)
        shells = {name: (folder / name).read_text(encoding="utf-8") for name in ("gibbsite.bash", "_gibbsite", "gibbsite.fish")}
        for page in sorted(folder.glob("*.1.gz")):
            pages += 1
            words = page.name.removesuffix(".1.gz").split("-")[1:]
            text = gzip.decompress(page.read_bytes()).decode("utf-8").replace("\\-", "-")
            printed = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True).stdout
            names = re.findall(r"^  (?:-h,)?(--[a-z-]+)", printed, re.MULTILINE)
            if not names:
                wrong.append(f"{page.name}: no option is in its help")
            wrong += [f"{page.name}: {name} is missing" for name in names if f".B {name}" not in text and f",{name}" not in text]
            for shell, script in shells.items():
                wrong += [f"{shell}: {name} of {words} is missing" for name in names
                          if (f" -l {name[2:]} " if shell.endswith("fish") else name) not in script]
        for line, expected in COMPLETED.items():
            words = line.split(" ")
            said = subprocess.run(["bash", "-c", 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gibbsite; '
                                   'echo "${COMPREPLY[*]}"', "bash", folder / "gibbsite.bash", *words],
                                  capture_output=True, text=True, check=True)
            if set(said.stdout.split()) != expected or said.stderr:
                wrong.append(f"bash completes '{line}' by {said.stdout.split()}, not {expected} {said.stderr}")
        for shell, name in (("zsh", "_gibbsite"), ("fish", "gibbsite.fish")):
            if shutil.which(shell):
                read = subprocess.run([shell, "-n", folder / name], capture_output=True, text=True)
                wrong += [f"{shell}: {read.stderr}"] if read.returncode else []
    print("\n".join(wrong) if wrong else f"command files: {pages} pages, three shells")
    return 1 if wrong or pages < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
