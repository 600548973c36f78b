#!/usr/bin/env python3
"""The R code of docs/how-to/r.md runs as it stands there, prints what the page shows, and leaves no copy of the rows.

r_test.py PROGRAM [PAGE]    (apt-get install r-base-core r-cran-jsonlite; exits with 77, a skip, where they are not there)
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Run after the page's code, in its session.
CHECKS = r"""
check <- function(what, holds) if (!isTRUE(holds)) stop("check: ", what, call. = FALSE)
condition <- function(call) tryCatch({ call; NULL }, gibbsite_error = identity)

check("accuracy above 0.66", accuracy > 0.66)  # 0.612: the commoner class; for less a department has to change sides, 7 standard deviations
check("a prediction for each row", nrow(predicted) == nrow(people))
check("probabilities", all((predicted$probability >= 0.5) == (predicted$prediction == "Admitted")))
check("half width", half_width > 0.05 && half_width < 0.5)
check("the second release is refused", !file.exists("second.json"))
check("the pipe's model", valid("piped.json"))
check("figures of every row", judged$rows == nrow(people))
check("the report", any(grepl("admitted", readLines("report.html"))))
check("the second release", valid("table.json") && identical(ledger$releases$command, c("fit whitened", "fit network-counts")))
total <- counts[counts$gender == "(all)" & counts$admitted == "(all)", ]
check("the counts", nrow(counts) == 9 && total$count == nrow(people) && sum(counts$count[1:4]) == nrow(people))
check("the network's people", valid("network.json") && nrow(synthetic) == 10000 && identical(names(synthetic), names(people)[1:3]))
check("the parts' model", valid("parts.json") && fromJSON("parts.json")$certificate$constants$rows == nrow(people))
check("neither cache nor checkpoint is left", identical(list.files(pattern = "cache|checkpoint"), character()))
check("draws of four chains", length(chains) == 4 && length(men) == 4000 && all(is.finite(men)))
forged <- sub('"epsilon": 1.0', '"epsilon": 0.5', readLines("model.json"), fixed = TRUE)
writeLines(forged, "forged.json")
check("a forged certificate", identical(valid("forged.json"), FALSE))
check("no file is not a verdict", condition(valid("nowhere.json"))$status == 2)
check("the line and nothing else", identical(conditionMessage(condition(valid("nowhere.json"))),
                                             "gibbsite: nowhere.json: there is no such file; give the path of a model file that fit wrote"))

# A number, a factor, a missing cell, names that a shell would read: the score in the columns' units gives the classes.
set.seed(1)
n <- 2000
other <- data.frame(`the age, $HOME` = round(runif(n, 20, 60), 3), town = factor(sample(c("Z\u00fcrich", "a \"b\", c"), n, TRUE)),
                    bought = sample(c("NA", "TRUE"), n, TRUE), check.names = FALSE)
other$bought[other[[1]] > 40] <- "TRUE"
writeLines('
label = "bought"
positive = "TRUE"
negative = "NA"
[columns]
"the age, $HOME" = {type = "number", range = [20, 60], missing = ""}
town = {type = "category", levels = ["Z\u00fcrich", "a \\"b\\", c"]}
', "other.toml")
name <- "a person's $HOME `model`.json"
gibbsite("fit", "--data", other, "--schema", "other.toml", "--epsilon", 20, "--delta", 1e-6, "--quiet", "--out", name)
check("the name of the file", file.exists(name))
units <- fromJSON(name)$model$original_units
classes <- read.csv(text = gibbsite("predict", "--model", name, "--data", other), colClasses = c(prediction = "character"),
                    na.strings = character())
score <- units$intercept + units$slopes[["the age, $HOME"]] * other[[1]] +
         unlist(units$slopes)[paste0("town=", other$town)]
check("classes with hostile names", setequal(classes$prediction, c("NA", "TRUE")))
check("slopes in the columns' units", all((score >= 0) == (classes$prediction == "TRUE") | abs(score) < 1e-4))
other[1, 1] <- NA
gibbsite("predict", "--model", name, "--data", other)

few <- tryCatch(gibbsite("plan", "--rows", 50, "--features", 20, "--row-norm", 1, "--epsilon", 0.1, "--delta", 1e-6), warning = identity)
check("a warning of the program is one of R", inherits(few, "warning") && grepl("^gibbsite: warning: 50 rows are few", conditionMessage(few)))
# Ctrl-C strikes the shell too: no verdict may come of it.
dir.create("struck")
writeLines(c("#!/bin/sh", "kill -INT $PPID $$"), "struck/gibbsite")
Sys.chmod("struck/gibbsite", "0755")
path <- Sys.getenv("PATH")
Sys.setenv(PATH = paste0(file.path(getwd(), "struck"), ":", path))
check("an interrupted program is an error", inherits(condition(valid("model.json")), "gibbsite_error"))
Sys.setenv(PATH = path)
check("nothing is left in R's temporary folder", length(list.files(tempdir(), all.files = TRUE, no.. = TRUE)) == 0)
cat("checked\n")
"""


def blocks(text, language):
    every = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [block for name, block in every if name == language]


def skip(why):
    print(f"skipped: {why}; apt-get install r-base-core r-cran-jsonlite")
    sys.exit(77)


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    page = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs/how-to/r.md"
    if shutil.which("Rscript") is None:
        skip("no Rscript")
    if subprocess.run(["Rscript", "-e", "library(jsonlite)"], capture_output=True).returncode != 0:
        skip("R has no jsonlite")
    text = page.read_text(encoding="utf-8")
    # A transcript follows its code; one with "..." is shortened, and one with figures of the noise has a point in it.
    code = blocks(text, "r")
    shown = [block for block in blocks(text, "") if "..." not in block and "half_width" not in block]
    assert code and len(shown) >= 3, f"{page}: lost its code or what it prints"

    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        here, temporary, path = scratch / "here", scratch / "tmp", scratch / "bin"
        for folder in (here / "data", temporary, path):
            folder.mkdir(parents=True)
        shutil.copy(ROOT / "data/berkeley.csv", here / "data")
        (here / "page.R").write_text("\n".join(code) + CHECKS, encoding="utf-8")
        # Notes where each copy of the rows is and who may look into that folder, then is the program.
        seen = scratch / "seen"
        seen.touch()
        (path / "gibbsite").write_text(
            "#!/bin/sh\nfor word; do\n  case $word in\n"
            f"    {shlex.quote(str(temporary))}/*.csv) stat -c %a \"$(dirname \"$word\")\" >>{shlex.quote(str(seen))} ;;\n"
            f"  esac\ndone\nexec {shlex.quote(str(program))} \"$@\"\n")
        (path / "gibbsite").chmod(0o755)
        env = dict(os.environ, PATH=f"{path}:{os.environ['PATH']}", TMPDIR=str(temporary), LC_ALL="C.UTF-8",
                   XDG_STATE_HOME=str(scratch / "state"))
        run = subprocess.run(["Rscript", "--vanilla", "page.R"], cwd=here, env=env, umask=0, text=True, encoding="utf-8",
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(run.stdout)
        if run.returncode != 0 or not run.stdout.endswith("checked\n"):
            sys.exit(f"{page}: its code, or a check after it, failed")
        for block in shown:
            if block not in run.stdout:
                sys.exit(f"{page}: this is shown and was not printed:\n{block}")
        modes = seen.read_text().split()
        if len(modes) < 8 or set(modes) != {"700"}:
            sys.exit(f"{page}: modes of the folders that copies of the rows were in: {modes}")
        left = [str(file) for file in temporary.rglob("*")]
        if left:
            sys.exit(f"{page}: left behind: {left}")


if __name__ == "__main__":
    main()
