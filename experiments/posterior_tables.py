"""Tables whose posterior gibbsite and others sample: what gibbsite is given, and the same rows encoded here by the rules of
docs/reference/data.md, so that its reader is part of what is compared."""

import csv
import pathlib
import tomllib

import numpy

import helpers

ROOT = helpers.ROOT
ADULT = ROOT.parent / "shared/data/adult-train.csv"
MADE_UP = (10_000, 25)


class Table:
    def __init__(self, name, arguments, x, y):
        self.name, self.arguments = name, [str(word) for word in arguments]
        self.x, self.y = x, y  # [n x d] float, [n] of 0 and 1


def feature(spec, cells):
    """[n] or [n x levels] of one column."""
    if spec["type"] == "number":
        low, high = spec["range"]
        values = numpy.array(cells, dtype=float)
        return ((numpy.clip(values, low, high) - low) / (high - low))[:, None]
    index = {level: k for k, level in enumerate(spec["levels"])}
    return numpy.eye(len(index))[[index[cell] for cell in cells]]


def of_csv(name, data, schema):
    """Columns without missing cells or other levels; no intercept."""
    rules = tomllib.loads(pathlib.Path(schema).read_text())
    with open(data, newline="") as file:
        rows = [row for row in csv.DictReader(file, skipinitialspace=True) if any(row.values())]
    columns = [feature(spec, [row[key].strip() for row in rows]) for key, spec in rules["columns"].items()
               if spec["type"] != "ignore"]
    x = numpy.hstack(columns).astype(numpy.float32)
    norm, limit = numpy.linalg.norm(x.astype(float), axis=1), rules["row_norm"]
    x = (x * numpy.minimum(1, limit / norm)[:, None]).astype(numpy.float32)
    y = numpy.array([row[rules["label"]].strip() == rules["positive"] for row in rows], dtype=numpy.int32)
    return Table(name, ["--data", data, "--schema", schema], x, y)


def berkeley():
    return of_csv("berkeley", ROOT / "data/berkeley.csv", ROOT / "data/berkeley.toml")


def adult(folder, data=ADULT):
    """Schema of the tests, without an intercept: d = 108."""
    path = folder / "adult.toml"
    path.write_text(helpers.adult_schema("false"))
    return of_csv("Adult", data, path)


def made_up(folder):
    """Columns uniform on [0, 1], labels by a coefficient vector from the prior."""
    n, d = MADE_UP
    noise = numpy.random.default_rng(5)
    x = noise.random((n, d), dtype=numpy.float32)
    margin = (x - 0.5) @ noise.standard_normal(d)
    y = (noise.random(n) < 1 / (1 + numpy.exp(-margin))).astype(numpy.int32)
    numpy.save(folder / "x.npy", x)
    numpy.save(folder / "y.npy", y.astype(numpy.float32))
    columns = "".join(f'x{k} = {{type = "number", range = [0, 1]}}\n' for k in range(d))
    (folder / "x.toml").write_text(f'label = "y"\npositive = "1"\nrow_norm = {float(d)}\nintercept = false\n[columns]\n{columns}')
    return Table("made up", ["--data", folder / "x.npy", "--labels", folder / "y.npy",
                                "--schema", folder / "x.toml"], x, y)
