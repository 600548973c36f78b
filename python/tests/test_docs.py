"""The code of docs/reference/python.md and of README's section on Python runs as it stands there.

README's code prints what README shows, where a number stands for any number: the noise is new each time."""

import pathlib
import re
import shutil
import tomllib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.skipif(not (ROOT / "docs/reference/python.md").exists(), reason="no checkout: no docs here"),
    pytest.mark.filterwarnings("ignore"),
]


def blocks(text):
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["docs/reference/python.md", "README.md"])
def test_the_code_runs(page, tmp_path, monkeypatch, capsys):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pytest.importorskip("sklearn")
    code = blocks((ROOT / page).read_text(encoding="utf-8"))
    assert code
    (tmp_path / "data").mkdir()
    for name in ("berkeley.csv", "berkeley.toml"):
        shutil.copy(ROOT / "data" / name, tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    checked = []  # test_check_estimator.py does that
    monkeypatch.setattr("sklearn.utils.estimator_checks.check_estimator", checked.append)
    space = {}
    for block in code:
        exec(compile(block, page, "exec"), space)
    out = capsys.readouterr().out
    assert "True" in out  # verified
    if page == "README.md":
        shown = re.search(r"^```text\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        assert without_numbers(out) == without_numbers(shown[1])
    assert space["model"].verify().valid
    if page == "docs/reference/python.md":
        from test_check_estimator import model

        assert [repr(one) for one in checked] == [repr(model())]


def test_the_first_example_names_what_it_needs():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {re.match(r"[a-z]+", one)[0] for one in extras["pandas"]}
    assert {"pandas", "pyarrow"} <= named
    for page in ("docs/reference/python.md", "README.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert "pip install '.[pandas]'" in text[: text.index("```python")], page


def test_few_lines_from_installing_to_a_verified_model():
    for page, most in (("docs/reference/python.md", 6), ("README.md", 9)):
        text = (ROOT / page).read_text(encoding="utf-8")
        python = blocks(text)[0].strip().splitlines()
        assert "pip install ." in text
        assert 1 + len(python) <= most, page
        assert "verify()" in python[-1]


def without_numbers(text):
    return [" ".join(re.sub(r"\d[\d.,]*(e-?\d+)?", "N", line).split()) for line in text.strip().splitlines()]
