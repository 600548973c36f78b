#!/usr/bin/env python3
"""Licences and contents of what is shipped, from the table of THIRD-PARTY.md and what Debian installed here.

notices.py licences WHEEL FOLDER   licence texts of what a repaired wheel holds; fails for a library that the table lacks
notices.py copyright FILE          the copyright file of the Debian packages
notices.py sbom WHEEL FILE         a CycloneDX 1.6 bill of materials in JSON, of the versions that this machine has
"""
import datetime
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import uuid
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


def version():
    return re.search(r"project\(gibbsite VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]


def table():
    """(name, licence, way, Debian packages) of each row."""
    rows = re.findall(r"^\| (.+?) \| (.+?) \| ((?:bundled|the system's|compiled in)[^|]*?) \| ?(.*?) ?\|$",
                      (ROOT / "THIRD-PARTY.md").read_text(encoding="utf-8"), re.MULTILINE)
    return [(name, licence, way, packages.split()) for name, licence, way, packages in rows]


def asked(*command):
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"gibbsite: {' '.join(command)}: {run.stderr.strip()}; install what scripts/install-deps names")
    return run.stdout


def copyright_of(package):
    path = pathlib.Path("/usr/share/doc") / package / "copyright"
    if not path.exists():
        sys.exit(f"gibbsite: {path} is not there; install {package}, with its documentation")
    return path.read_text(encoding="utf-8")


def nanobind():
    """(folder, version) of the nanobind that makes the Python module, or None."""
    found = importlib.util.find_spec("nanobind")
    if found is None:
        return None
    return pathlib.Path(found.origin).parent, importlib.metadata.version("nanobind")


def bundled(wheel):
    """Names of the shared libraries in a wheel without what auditwheel adds: libfmt of libfmt-1a2b3c4d.so.9.1.0."""
    with zipfile.ZipFile(wheel) as archive:
        return sorted(re.match(r"(.+)-[0-9a-f]{8}[.-]", name.split("/")[1] + "-")[1]
                      for name in archive.namelist() if name.startswith("gibbsite.libs/lib"))


def libraries_of(packages):
    """Names of the shared libraries that packages hold or link to: libz of /usr/lib/x86_64-linux-gnu/libz.so."""
    files = asked("dpkg-query", "-L", *packages)
    return {found for found in re.findall(r"/(lib[^/]+?)(?:-[\d.]+)?\.so[\d.]*$", files, re.MULTILINE)}


def needs(file):
    """Names of the shared libraries that one asks the loader for: libz of libz.so.1."""
    return set(re.findall(r"\(NEEDED\).*\[(lib[^\]]+?)(?:-[0-9a-f]{8})?\.so", asked("readelf", "-d", str(file))))


def ways(libraries, shared, module, others):
    """How a component is there: `libraries` are its shared ones, if it has any, `shared` those in the wheel, `module` what
    the Python module asks for, `others` what the wheel's shared libraries do."""
    if libraries & shared:
        return ["bundled"]
    if libraries & module:
        return ["the system's"]
    return ["compiled in", "the system's"] if libraries & others else ["compiled in"]


def differs(name, said, portable, found):
    """What is wrong with a row of the table, or None."""
    allowed = said.removesuffix(" (Python)").split("; portable: ")
    allowed = allowed[-1] if portable else allowed[0]
    return None if found[0] == allowed else f"THIRD-PARTY.md: {name} is '{said}', and in the wheel it is '{found[0]}'"


def is_portable(wheel):
    return "manylinux_2_31_" in pathlib.Path(wheel).name


def ways_in(wheel):
    """{name: ways} of each row of the table in that wheel; ends where the table says another one."""
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(wheel) as archive:
        parts = [archive.extract(name, scratch) for name in archive.namelist() if ".so" in name]
        module = set().union(*(needs(part) for part in parts if "/gibbsite/" in part))
        others = set().union(*(needs(part) for part in parts if "/gibbsite.libs/" in part))
    shared = {re.sub(r"-[\d.]+$", "", name) for name in bundled(wheel)}
    found = {name: ways(libraries_of(packages) if packages else set(), shared, module, others)
             for name, _, _, packages in table()}
    wrong = [line for name, _, said, _ in table() if (line := differs(name, said, is_portable(wheel), found[name]))]
    if wrong:
        sys.exit("gibbsite: " + "\n".join(wrong))
    return found


def licences(wheel, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    known = set()
    for _, _, way, packages in table():
        if way.startswith("bundled"):
            known |= libraries_of(packages)
        for package in packages:
            (folder / f"{package}.txt").write_text(copyright_of(package), encoding="utf-8")
    # Debian's texts refer to files of Debian for these: LGPL, GPL, Apache, MPL.
    texts = "".join(path.read_text(encoding="utf-8") for path in folder.glob("lib*.txt"))
    for name in set(re.findall(r"/usr/share/common-licenses/([A-Z][A-Za-z]*-[\d.]*\d)", texts)):
        whole = pathlib.Path("/usr/share/common-licenses") / name
        (folder / f"{name}.txt").write_text(whole.read_text(encoding="utf-8"), encoding="utf-8")
    unknown = [name for name in bundled(wheel) if re.sub(r"-[\d.]+$", "", name) not in known]
    if unknown:
        sys.exit(f"gibbsite: {wheel} holds {', '.join(unknown)}; give each a row in THIRD-PARTY.md")
    place = nanobind()
    if place is None:
        sys.exit("gibbsite: nanobind is not installed, and its licence belongs into the wheel; pip install nanobind")
    texts = [importlib.metadata.distribution("nanobind").read_text("licenses/LICENSE")]
    header = (place[0] / "ext/robin_map/include/tsl/robin_map.h").read_text(encoding="utf-8")
    texts.append(header[:header.index("*/") + 2])
    (folder / "nanobind.txt").write_text("\n".join(texts), encoding="utf-8")


def copyright_file(out):
    text = ("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: gibbsite\n\n"
            "Files: *\nCopyright: The gibbsite maintainers\nLicense: Apache-2.0\n"
            " On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n\n"
            "Compiled into the program, each with its own notice below:\n")
    compiled = [row for row in table() if row[2] == "compiled in"]
    text += "".join(f" {name}: {licence}\n" for name, licence, _, _ in compiled)
    for name, _, _, packages in compiled:
        for package in packages:
            text += f"\n{'-' * 78}\n{name} ({package})\n{'-' * 78}\n{copyright_of(package)}"
    pathlib.Path(out).write_text(text, encoding="utf-8")


def in_debs(said):
    if said.endswith("(Python)"):
        return "absent"
    return said if said == "compiled in" else "a dependency"


def sbom(wheel, out):
    """Its serial number and time follow from the version and the last commit: made twice, it has the same bytes."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or asked("git", "-C", str(ROOT), "log", "-1", "--format=%ct")
    time = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc)
    components, found = [], ways_in(wheel)
    for name, licence, said, packages in table():
        if packages == ["libgomp1"] and is_portable(wheel):
            what = (ROOT / "build/portable/libgomp1.version").read_text(encoding="utf-8").strip()
            purl = f"pkg:deb/debian/libgomp1@{what}?distro=debian-11"
        elif packages:
            what = asked("dpkg-query", "-W", "-f=${Version}", packages[-1])
            purl = f"pkg:deb/debian/{packages[-1]}@{what}?distro=debian-12"
        else:
            place = nanobind()
            what = place[1] if place else "unknown"
            purl = f"pkg:pypi/nanobind@{what}"
        components.append({"type": "library", "bom-ref": purl, "name": name, "version": what, "purl": purl,
                           "licenses": [{"expression": licence}],
                           "properties": [*({"name": "gibbsite:wheel", "value": way} for way in found[name]),
                                          {"name": "gibbsite:deb", "value": in_debs(said)}]})
    numpy = {"type": "library", "bom-ref": "pkg:pypi/numpy", "name": "numpy", "purl": "pkg:pypi/numpy",
             "licenses": [{"license": {"id": "BSD-3-Clause"}}],
             "properties": [{"name": "gibbsite:wheel", "value": "installed beside it, 1.26 or later"}]}
    components.append(numpy)
    itself = f"pkg:pypi/gibbsite@{version()}"
    text = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, itself + str(time))}",
            "metadata": {"timestamp": time.isoformat().replace("+00:00", "Z"),
                         "component": {"type": "application", "bom-ref": itself, "name": "gibbsite",
                                       "version": version(), "purl": itself,
                                       "licenses": [{"license": {"id": "Apache-2.0"}}],
                                       "properties": [{"name": "gibbsite:shared", "value": ", ".join(bundled(wheel))}]}},
            "components": components,
            "dependencies": [{"ref": itself, "dependsOn": [part["bom-ref"] for part in components]},
                             *({"ref": part["bom-ref"]} for part in components)]}
    pathlib.Path(out).write_text(json.dumps(text, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    commands = {"licences": licences, "copyright": copyright_file, "sbom": sbom}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])
