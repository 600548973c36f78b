#!/usr/bin/env python3
"""The R code of docs/how-to/r.md runs as it stands there, prints what the page shows, and leaves no copy of the rows.

r_test.py BUILD [PAGE]    BUILD has bin/gibbsite and lib/libgibbsite.so, which the package r/ is installed against in a scratch folder
(apt-get install r-base-core r-cran-jsonlite; exits with 77, a skip, where they are not there)
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Run after the page's code, in its session.
CHECKS = r"""
check <- function(what, holds) if (!isTRUE(holds)) stop("check: ", what, call. = FALSE)
check("the file", verify("model.json")$valid && identical(coef(read_model("model.json")), coef(fit)))
check("a prediction for each row", length(chances) == nrow(people) && identical(classes == "Admitted", chances >= 0.5))
check("accuracy above 0.66", mean(classes == people$admitted) > 0.66)  # 0.612: the commoner class; for less a department has to change sides, 7 standard deviations
check("bands", all(bands[, "lwr"] < bands[, "fit"] & bands[, "fit"] < bands[, "upr"]))
check("a bought schema", verify(bought)$valid && verify(by_path)$valid)
check("one release", nrow(ledger_show("people.ledger")$releases) == 1)
check("draws of four chains", length(chains) == 4 && length(men) == 4000 && all(is.finite(men)))
check("people", nrow(synthetic) == 10000 && identical(names(synthetic), names(people)[1:3]))
graphics.off()
left <- list.files(tempdir(), all.files = TRUE, no.. = TRUE)
check(paste(c("left in R's temporary folder:", left), collapse = " "), length(left) == 0)
cat("checked\n")
"""


def blocks(text, language):
    every = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [block for name, block in every if name == language]


def skip(why):
    print(f"skipped: {why}; apt-get install r-base-core r-cran-jsonlite")
    sys.exit(77)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    page = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs/how-to/r.md"
    if shutil.which("Rscript") is None:
        skip("no Rscript")
    if subprocess.run(["Rscript", "-e", "library(jsonlite)"], capture_output=True).returncode != 0:
        skip("R has no jsonlite")
    text = page.read_text(encoding="utf-8")
    code = blocks(text, "r")
    shown = blocks(text, "")
    assert len(code) >= 8 and len(shown) >= 2, f"{page}: lost its code or what it prints"

    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        here, temporary, library = scratch / "here", scratch / "tmp", scratch / "library"
        for folder in (here / "data", temporary, library):
            folder.mkdir(parents=True)
        for name in ("berkeley.csv", "berkeley.toml"):
            shutil.copy(ROOT / "data" / name, here / "data")
        shutil.copytree(ROOT / "r", scratch / "gibbsite")
        env = dict(os.environ, TMPDIR=str(temporary), LC_ALL="C.UTF-8", XDG_STATE_HOME=str(scratch / "state"),
                   R_LIBS=str(library), PATH=f"{build}/bin:{os.environ['PATH']}", GIBBSITE_CFLAGS=f"-I{ROOT}/include", GIBBSITE_LIBS=f"-L{build}/lib -lgibbsite")
        made = subprocess.run(["R", "CMD", "INSTALL", "--no-docs", f"--library={library}", str(scratch / "gibbsite")], env=env,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if made.returncode != 0:
            sys.exit(f"r/: cannot be installed:\n{made.stdout}")
        (here / "page.R").write_text("\n".join(code) + CHECKS, encoding="utf-8")
        run = subprocess.run(["Rscript", "--vanilla", "page.R"], cwd=here, env=env, text=True, encoding="utf-8",
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(run.stdout)
        if run.returncode != 0 or not run.stdout.endswith("checked\n"):
            sys.exit(f"{page}: its code, or a check after it, failed")
        for block in shown:
            if block not in run.stdout:
                sys.exit(f"{page}: this is shown and was not printed:\n{block}")
        rows = (here / "data/berkeley.csv").read_bytes()[:200]
        left = [str(file) for file in temporary.rglob("*") if file.is_file()]
        copies = [str(file) for file in here.glob("*") if file.is_file() and rows in file.read_bytes()]
        if left or copies:
            sys.exit(f"{page}: left behind: {left + copies}")


if __name__ == "__main__":
    main()
