#!/usr/bin/env python3
"""Pages of man and completions for bash, zsh and fish, made from what `gibbsite COMMAND --help` prints.

command_files.py PROGRAM FOLDER

FOLDER gets gibbsite.1.gz, gibbsite-COMMAND.1.gz, gibbsite.bash, _gibbsite (zsh) and gibbsite.fish.
"""
import gzip
import pathlib
import re
import subprocess
import sys


class Help:
    """One command's help: `purpose`, `usage`, `sections` of (what is written, description), and an example."""

    def __init__(self, program, words):
        run = subprocess.run([program, *words, "--help"], capture_output=True, text=True, encoding="utf-8", check=True)
        self.words, self.sections = words, {}
        lines = iter(run.stdout.splitlines())
        head = []
        title = None
        for line in lines:
            found = re.fullmatch(r"([A-Z][A-Za-z ]*):", line)
            if line.startswith("Usage:"):
                self.usage = line.removeprefix("Usage:").strip()
            elif found:
                title = found[1]
                self.sections[title] = []
            elif title is None:
                head.append(line.strip())
            elif title == "Example":
                self.sections[title].append(line)
            elif line.startswith("  ") and not line.startswith("   "):
                # A description starts in the thirtieth column, or in the next line behind a long name.
                beside = line[29:30] == " " and not line[30:].startswith("(required)")
                self.sections[title].append([line[:30].strip(), line[30:]] if beside else [line.strip(), ""])
            elif line.strip() and self.sections[title]:
                entry = self.sections[title][-1]
                entry[1] = f"{entry[1]} {line.strip()}".strip()
        self.purpose = " ".join(filter(None, head))
        self.commands = [(entry[0], Help(program, [*words, entry[0]]))
                         for title in ("Commands", "Subcommands") for entry in self.sections.get(title, [])]

    def options(self):
        """(names, value, description) of each option; the value is None of a flag, "" of a file, a list of known words."""
        for title, entries in self.sections.items():
            if title in ("Commands", "Subcommands", "Positionals", "Example"):
                continue
            for written, text in entries:
                names, _, kind = written.partition(" ")
                kind = kind.removesuffix("(required)").strip()
                yield names.split(","), None if not kind else "" if kind in ("FILE", "DIR") else words_of(text), text


def words_of(text):
    """What a description names as the values of its option: "auto, path or output; default auto" gives three words."""
    words = re.split(r", | or ", re.split(r"[;:]", text)[0].replace(" (default)", ""))
    return words if len(words) > 1 and all(re.fullmatch(r"[a-z][a-z0-9-]*", word) for word in words) else []


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def man_page(command, version):
    name = "-".join(["gibbsite", *command.words])
    out = [f'.TH {name.upper()} 1 "" "{version}" "gibbsite"', ".SH NAME", f"{roff(name)} \\- {roff(command.purpose)}",
           ".SH SYNOPSIS", roff(command.usage)]
    for title, entries in command.sections.items():
        out.append(f".SH {title.upper()}")
        if title == "Example":
            out += [".nf", *(roff(line.strip()) for line in entries), ".fi"]
            continue
        for written, text in entries:
            out += [".TP", f".B {roff(written)}", roff(text)]
    if command.commands:
        out += [".SH SEE ALSO", ", ".join(f"{roff(name)}\\-{roff(word)}(1)" for word, _ in command.commands)]
    return "\n".join(out) + "\n"


def all_of(command):
    yield command
    for _, below in command.commands:
        yield from all_of(below)


def bash(top):
    """Words before the cursor name the command; where no word is known the shell completes files."""
    cases, values = [], []
    for command in all_of(top):
        path = " ".join(command.words)
        words = [word for word, _ in command.commands]
        for names, value, _ in command.options():
            words += [name for name in names if name.startswith("--")] or names
            if value is not None:
                values += [f'    "{path} {name}") reply="{" ".join(value)}" ;;' for name in names]
        cases.append(f'    "{path}") reply="{" ".join(words)}" ;;')
    known = "|".join(f'"{" ".join(c.words)}"' for c in all_of(top) if c.words)
    return f"""# bash completion of gibbsite, made from its --help
_gibbsite() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} path="" next reply="" at
  for ((at = 1; at < COMP_CWORD; ++at)); do
    next="${{path:+$path }}${{COMP_WORDS[at]}}"
    case $next in
    {known}) path=$next ;;
    esac
  done
  COMPREPLY=()
  case "$path $before" in
{chr(10).join(values)}
  *)
    case $path in
{chr(10).join(cases)}
    esac
    [[ $word == -* || $path == "" ]] || reply=$(tr ' ' '\\n' <<<"$reply" | grep -v '^-')
    ;;
  esac
  COMPREPLY=($(compgen -W "$reply" -- "$word"))
}}
complete -o default -F _gibbsite gibbsite
"""


def quoted(text):
    return text.replace("'", "’").replace("[", "(").replace("]", ")").replace(":", "\\:")


def zsh(top):
    out = ["#compdef gibbsite", "# zsh completion of gibbsite, made from its --help"]
    for command in all_of(top):
        lines = [f"_gibbsite{''.join('_' + word for word in command.words)}() {{", "  local line", "  _arguments -C \\"]
        for names, value, text in command.options():
            value = "" if value is None else f":value:({' '.join(value)})" if value else ":file:_files" if value == "" else ":value: "
            lines += [f"    '{name}[{quoted(text)}]{value}' \\" for name in names]
        if not command.commands:
            lines.append("    '*:file:_files'")
        else:
            words = " ".join(f"'{word}\\:\"{quoted(below.purpose).replace(chr(34), '')}\"'" for word, below in command.commands)
            words = words.replace("'", "")
            lines += [f"    '1:command:(({words}))' \\", "    '*::argument:->more'", "  case $line[1] in"]
            lines += [f"    {word}) _gibbsite{''.join('_' + part for part in below.words)} ;;" for word, below in command.commands]
            lines.append("  esac")
        out += [*lines, "}"]
    return "\n".join([*out, '_gibbsite "$@"']) + "\n"


def fish(top):
    out = ["# fish completion of gibbsite, made from its --help"]
    for command in all_of(top):
        seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.words) or "__fish_use_subcommand"
        names_below = " ".join(word for word, _ in command.commands)
        for word, below in command.commands:
            free = seen if not command.words else f"{seen}; and not __fish_seen_subcommand_from {names_below}"
            out.append(f"complete -c gibbsite -n '{free}' -f -a {word} -d '{quoted(below.purpose)}'")
        for names, value, text in command.options():
            flags = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in names)
            value = "" if value is None else f" -x -a '{' '.join(value)}'" if value else " -r" if value == "" else " -x"
            out.append(f"complete -c gibbsite -n '{seen}' {flags}{value} -d '{quoted(text)}'")
    return "\n".join(out) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    top = Help(program, [])
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    for command in all_of(top):
        name = "-".join(["gibbsite", *command.words])
        (folder / f"{name}.1.gz").write_bytes(gzip.compress(man_page(command, version).encode(), mtime=0))
    for name, text in (("gibbsite.bash", bash(top)), ("_gibbsite", zsh(top)), ("gibbsite.fish", fish(top))):
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
