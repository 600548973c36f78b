"""Tables of experiments/check-small-budgets beyond those of two classes that the rule was found with.

`losses`: several classes, amounts and counts. `other_making`: two classes of twelve makings that the rule was not found on, the first
six for a search, the others held back. Each gives (name, loss, rows, schema, words of the train part, words of the test part)."""
import csv
import json
import pathlib
import re

import numpy as np

import helpers

ROOT = helpers.ROOT
TEST = 8000  # rows held out
HEADS = {"logistic": 'positive = "1"\nnegative = "0"', "huber": "range = [0, 10]\ntolerance = 1", "poisson": "range = [0, 20]\ncounts = true"}


def numbers(folder, key, name, loss, n, x, y, classes=0):
    """Numbers from -1 to 1; the first n rows are the train part."""
    head = f"classes = {json.dumps([str(k) for k in range(classes)])}" if classes else HEADS[loss]
    columns = "".join(f'x{j} = {{type = "number", range = [-1, 1]}}\n' for j in range(x.shape[1]))
    words = []
    for part, rows in (("train", slice(0, n)), ("test", slice(n, None))):
        places = [folder / f"{key}-{part}-{what}.npy" for what in "xy"]
        np.save(places[0], np.ascontiguousarray(np.clip(x[rows], -1, 1).astype(np.float32)))
        np.save(places[1], y[rows].astype(np.float32))
        words.append(["--data", str(places[0]), "--labels", str(places[1])])
    return name, loss, n, schema_of(folder, key, f'label = "y"\n{head}', columns), *words


def mixed(folder, key, name, loss, n, x, levels, y, classes=0):
    """Numbers and columns of levels, (level of each row, how many there are)."""
    head = f"classes = {json.dumps([str(k) for k in range(classes)])}" if classes else HEADS[loss]
    columns = "".join(f'x{j} = {{type = "number", range = [-1, 1]}}\n' for j in range(x.shape[1]))
    columns += "".join(f'c{j} = {{type = "category", levels = {json.dumps([str(k) for k in range(many)])}}}\n' for j, (_, many) in enumerate(levels))
    header = [f"x{j}" for j in range(x.shape[1])] + [f"c{j}" for j in range(len(levels))] + ["y"]
    cells = np.stack([of for of, _ in levels], 1)
    words = []
    for part, rows in (("train", slice(0, n)), ("test", slice(n, None))):
        with open(folder / f"{key}-{part}.csv", "w", newline="") as file:
            csv.writer(file).writerows([header, *([*(f"{v:.6g}" for v in np.clip(a, -1, 1)), *c, f"{label:g}"]
                                                  for a, c, label in zip(x[rows], cells[rows].tolist(), y[rows]))])
        words.append(["--data", str(folder / f"{key}-{part}.csv")])
    return name, loss, n, schema_of(folder, key, f'label = "y"\n{head}', columns), *words


def schema_of(folder, key, head, columns):
    (folder / f"{key}.toml").write_text(f'{head}\nrow_norm = "auto"\nintercept = true\n[columns]\n{columns}')
    return str(folder / f"{key}.toml")


def made(folder, name, loss, rows, columns, n, d, spec, seed):
    draw = np.random.default_rng(seed)
    cells = None
    if rows == "rotated":
        x = (draw.standard_normal((n + TEST, d)) / np.arange(1, d + 1)) @ np.linalg.qr(draw.standard_normal((d, d)))[0] / 2
    elif rows == "log-normal":
        x = np.minimum(np.exp(draw.standard_normal((n + TEST, d))) / 10, 2) - 1
    elif rows == "levels":  # d columns of so many levels each
        cells = np.stack([draw.choice(columns, n + TEST, p=draw.dirichlet(np.ones(columns))) for _ in range(d)], 1)
        x = np.hstack([np.eye(columns)[cells[:, j]] for j in range(d)])
    else:
        x = draw.standard_normal((n + TEST, d)) / 4
    if cells is None:
        x = np.clip(x, -1, 1)
    y = labels(draw, loss, x, spec)
    classes = spec[0] if loss == "softmax" else 0
    if cells is not None:
        return mixed(folder, f"s{seed}", name, loss, n, np.empty((n + TEST, 0)), [(cells[:, j], columns) for j in range(d)], y, classes)
    return numbers(folder, f"s{seed}", name, loss, n, x, y, classes)


def labels(draw, loss, x, spec):
    of, scale = spec[:2]
    z = (x - x.mean(0)) @ draw.standard_normal((x.shape[1], of if loss == "softmax" else 1))
    z *= scale / z.std()
    if loss == "softmax":
        z = z + np.array(spec[2] if len(spec) > 2 else np.zeros(of))
        p = np.exp(z - z.max(1, keepdims=True))
        return (draw.random((len(x), 1)) > np.cumsum(p / p.sum(1, keepdims=True), 1)).sum(1).clip(0, of - 1)
    z = z[:, 0]
    if loss == "poisson":
        return np.clip(draw.poisson(of * np.exp(z)), 0, 20).astype(float)
    noise = {"t2": lambda: draw.standard_t(2, len(z)), "skewed": None}.get(of, lambda: of * draw.standard_normal(len(z)))
    return np.clip(np.exp(z / 1.5 + 0.7 * draw.standard_normal(len(z))) if noise is None else 5 + z + noise(), 0, 10)


def losses(folder, adult):
    for one in (("softmax Gaussian, 2e3 x 6, 3 classes", "softmax", "Gaussian", 0, 2000, 6, (3, 2), 11),
                ("softmax rotated 1/k, 1e4 x 30, 5 classes", "softmax", "rotated", 0, 10000, 30, (5, 2), 12),
                ("softmax log-normal, 8e3 x 12, 4 classes", "softmax", "log-normal", 0, 8000, 12, (4, 1.5), 13),
                ("softmax near-separable, 4e3 x 10, 3 classes", "softmax", "Gaussian", 0, 4000, 10, (3, 12), 14),
                ("softmax one-hot, 6e3 x 36, 4 classes", "softmax", "levels", 6, 6000, 6, (4, 1.5), 15),
                ("softmax, rarer classes, 6e3 x 8, 4 classes", "softmax", "Gaussian", 0, 6000, 8, (4, 1.5, (1.5, .3, -1, -2)), 16),
                ("huber Gaussian, noise 0.3, 1e3 x 5", "huber", "Gaussian", 0, 1000, 5, (.3, 1.5), 21),
                ("huber Gaussian, noise 1, 5e3 x 20", "huber", "Gaussian", 0, 5000, 20, (1, 1.5), 22),
                ("huber t2, 5e3 x 20", "huber", "Gaussian", 0, 5000, 20, ("t2", 1.5), 23),
                ("huber skewed, 5e3 x 15", "huber", "Gaussian", 0, 5000, 15, ("skewed", 1.5), 24),
                ("huber rotated 1/k, noise 0.5, 1e4 x 50", "huber", "rotated", 0, 10000, 50, (.5, 1.5), 25),
                ("huber log-normal, noise 1, 8e3 x 12", "huber", "log-normal", 0, 8000, 12, (1, 1.5), 26),
                ("huber one-hot, noise 0.7, 5e3 x 60", "huber", "levels", 10, 5000, 6, (.7, 1.5), 27),
                ("poisson Gaussian, mean 1.3, 2e3 x 10", "poisson", "Gaussian", 0, 2000, 10, (1.3, .7), 31),
                ("poisson rotated 1/k, mean 2, 1e4 x 40", "poisson", "rotated", 0, 10000, 40, (2, .7), 32),
                ("poisson one-hot, mean 1.5, 5e3 x 24", "poisson", "levels", 6, 5000, 4, (1.5, .6), 33),
                ("poisson log-normal, mean 1, 6e3 x 12", "poisson", "log-normal", 0, 6000, 12, (1, .6), 34)):
        yield made(folder, *one)
    lines = (ROOT / "data/berkeley.csv").read_text().splitlines()
    order = np.random.default_rng(1).permutation(len(lines) - 1)
    cut = len(order) * 7 // 10
    for part, chosen in (("train", order[:cut]), ("test", order[cut:])):
        (folder / f"department-{part}.csv").write_text("\n".join([lines[0], *(lines[1 + i] for i in chosen)]) + "\n")
    schema = schema_of(folder, "department", 'label = "department"\nclasses = ["A", "B", "C", "D", "E", "F"]',
                       'gender = {type = "category", levels = ["Male", "Female"]}\nadmitted = {type = "category", levels = ["Admitted", "Rejected"]}\n')
    yield "Berkeley, department, 6 classes", "softmax", cut, schema, *(["--data", str(folder / f"department-{part}.csv")] for part in ("train", "test"))
    if not adult:
        return
    marital = re.search(r"marital_status = .*?levels = (\[.*?\])", helpers.adult_columns()).group(1)
    for label, loss, head, left_out in (("marital_status", "softmax", f"classes = {marital}", ()),
                                        ("hours_per_week", "huber", "range = [1, 99]\ntolerance = 9.8", ()),
                                        ("age", "huber", "range = [17, 90]\ntolerance = 7.3", ()),
                                        ("education_num", "poisson", "range = [0, 16]\ncounts = true", ("education",))):
        yield of_adult(folder, pathlib.Path(adult), label, loss, head, left_out)


def of_adult(folder, adult, label, loss, head, left_out):
    """The first 8,000 rows of each of Adult's files."""
    columns = [line for line in helpers.adult_columns().splitlines() if line.split(" ")[0] not in (label, *left_out, "row_norm", "[columns]")]
    columns += [f'{name} = {{type = "ignore"}}' for name in left_out]
    columns.append('income = {type = "category", levels = ["<=50K", ">50K"], other = true}')
    words = []
    for part in ("train", "test"):
        lines = (adult / f"adult-{part}.csv").read_text().splitlines()[:8001]
        (folder / f"{label}-{part}.csv").write_text("\n".join(line.replace(", ", ",").replace("K.", "K") for line in lines) + "\n")
        words.append(["--data", str(folder / f"{label}-{part}.csv")])
    return f"Adult, {label}, 8e3 rows", loss, 8000, schema_of(folder, label, f'label = "{label}"\n{head}', "\n".join(columns) + "\n"), *words


def other_making(folder):
    def two_classes(draw, z, scale):
        z = scale * (z - z.mean()) / z.std()
        low, high = -9.0, 9.0
        for _ in range(40):  # as many rows of one class as of the other
            shift = (low + high) / 2
            low, high = (shift, high) if (1 / (1 + np.exp(-(z + shift)))).mean() < 0.5 else (low, shift)
        return (draw.random(len(z)) < 1 / (1 + np.exp(-(z + shift)))).astype(float)

    def zipf(draw, n, levels):
        p = 1 / np.arange(1, levels + 1) ** 1.1
        return draw.choice(levels, n, p=p / p.sum())

    def table(k, name, n, x, y, levels=None):
        words = (folder, f"other-{k}", name, "logistic", n, x)
        return numbers(*words, y) if levels is None else mixed(*words, levels, y)

    draw, n = np.random.default_rng(9001), 4000
    x = np.clip(draw.standard_t(1.5, (n + TEST, 10)) / 12, -1, 1)
    yield table(1, "heavy tails, 4e3 x 10", n, x, two_classes(draw, x @ draw.standard_normal(10), 2))
    draw, n = np.random.default_rng(9002), 5000
    of_block = draw.standard_normal((n + TEST, 4))
    x = np.hstack([.95 * of_block[:, [b]] + .31 * draw.standard_normal((n + TEST, 5)) for b in range(4)]) / 4
    yield table(2, "blocks of correlation 0.9, 5e3 x 20", n, x, two_classes(draw, x @ draw.standard_normal(20), 2.5))
    draw, n = np.random.default_rng(9003), 6000
    x, c = draw.uniform(-1, 1, (n + TEST, 3)), zipf(draw, n + TEST, 40)
    yield table(3, "40 levels, most of them rare, 6e3 x 43", n, x,
                two_classes(draw, x @ draw.standard_normal(3) + 1.2 * draw.standard_normal(40)[c], 2), [(c, 40)])
    draw, n = np.random.default_rng(9004), 3000
    group, middle = draw.integers(0, 3, n + TEST), draw.standard_normal((3, 8)) * .35
    x = middle[group] + draw.standard_normal((n + TEST, 8)) * .15
    yield table(4, "mixture of three groups, 3e3 x 8", n, x, two_classes(draw, x @ draw.standard_normal(8) + .6 * (group == 1), 3))
    draw, n = np.random.default_rng(9005), 4000
    x = draw.uniform(-1, 1, (n + TEST, 12))
    y = two_classes(draw, x @ draw.standard_normal(12), 4)
    yield table(5, "a fifth of the labels wrong, 4e3 x 12", n, x, np.where(draw.random(n + TEST) < .2, 1 - y, y))
    draw, n = np.random.default_rng(9006), 3000
    x = draw.standard_normal((n + TEST, 10)) / 3
    yield table(6, "interactions, 3e3 x 10", n, x, two_classes(draw, x @ draw.standard_normal(10) + 6 * x[:, 0] * x[:, 1] - 6 * x[:, 2] * x[:, 3], 2.5))
    draw, n = np.random.default_rng(9101), 8000
    x = np.clip(draw.standard_t(3, (n + TEST, 30)) / 6, -1, 1)
    yield table(7, "held: t3, 2 of 30 columns matter, 8e3 x 30", n, x, two_classes(draw, x[:, 3] - 1.5 * x[:, 17], 2.5))
    draw, n = np.random.default_rng(9102), 5000
    x = draw.standard_normal((n + TEST, 15))
    for j in range(1, 15):
        x[:, j] = .7 * x[:, j - 1] + .714 * x[:, j]
    x = x / 5 - .5
    yield table(8, "held: a chain of 0.7 off the middle, 5e3 x 15", n, x, two_classes(draw, x @ draw.standard_normal(15), 2))
    draw, n = np.random.default_rng(9103), 6000
    x = 2.0 * (draw.random((n + TEST, 20)) < draw.uniform(.02, .3, 20)) - 1
    yield table(9, "held: rare ones, 6e3 x 20", n, x, two_classes(draw, x @ draw.standard_normal(20), 1.5))
    draw, n = np.random.default_rng(9104), 5000
    x = draw.exponential(.25, (n + TEST, 6)) - .8
    a, b = zipf(draw, n + TEST, 12), zipf(draw, n + TEST, 12)
    yield table(10, "held: exponential numbers and levels, 5e3 x 30", n, x, two_classes(
        draw, x @ draw.standard_normal(6) * 3 + draw.standard_normal(12)[a] + draw.standard_normal(12)[b], 2), [(a, 12), (b, 12)])
    draw, n = np.random.default_rng(9105), 2000
    y = (draw.random(n + TEST) < .5) * 1.0
    spread = draw.standard_normal((6, 6)) * .2
    x = np.where(y[:, None] > 0, draw.standard_normal((n + TEST, 6)) @ spread + .12, draw.standard_normal((n + TEST, 6)) * .2 - .12)
    yield table(11, "held: two spreads, 2e3 x 6", n, x, y)
    draw, n = np.random.default_rng(9106), 10000
    x = draw.uniform(-1, 1, (n + TEST, 15))
    z = x @ draw.standard_normal(15) + 1.5 * x[:, 0] ** 2
    yield table(12, "held: probit with a square, 20 % positive, 1e4 x 15", n, x, (draw.standard_normal(n + TEST) < 1.5 * (z - z.mean()) / z.std() - 1.4) * 1.0)
