"""The house as docs/architecture.md draws it: who may import whom and what, and how long a file is.

python -m pytest tests/test_architecture.py
"""

import ast
import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
PACKAGES = ("app", "data", "models", "callbacks")
MAY_IMPORT = {"app": set(PACKAGES), "data": {"data"}, "models": {"models"}, "callbacks": {"callbacks"}}
MAX_LINES = 200  # 160 is the aim
SOURCES = [path for package in PACKAGES for path in sorted((PROJECT / package).rglob("*.py"))]
SCRIPTS = sorted((PROJECT / "benchmarks").glob("*.py"))


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not any(alias.name == "*" for alias in node.names), f"star import in {path}"
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_packages_do_not_meet(path):
    package = path.relative_to(PROJECT).parts[0]
    assert imports(path) & set(PACKAGES) <= MAY_IMPORT[package]
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


@pytest.mark.parametrize("path", SOURCES + SCRIPTS, ids=lambda path: str(path.relative_to(PROJECT)))
def test_what_a_file_keeps_to_itself_is_used_nowhere_else(path):
    nodes = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in nodes if node.module.partition(".")[0] in PACKAGES]
    assert [alias.name for node in ours for alias in node.names if alias.name.startswith("_")] == []


def test_torch_xla_has_one_place():
    users = {path.relative_to(PROJECT).parent for path in SOURCES if "torch_xla" in imports(path)}
    assert users == {Path("callbacks/xla")}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_every_file_is_in_the_picture(path):
    """With the first sentence of its docstring, in the table of its folder."""
    if path.name in ("__init__.py", "errors.py", "make_digits.py"):
        return
    folder = "callbacks/xla" if path.parent.name == "xla" else path.relative_to(PROJECT).parts[0]
    picture = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    _, _, section = picture.partition(f"\n### {folder}\n")
    first = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).split("\n\n")[0].replace("\n", " ")
    assert f"| `{path.relative_to(PROJECT / folder)}` | {first} |" in section.partition("\n### ")[0].splitlines()


def test_what_is_imported_is_required():
    """Every third-party module that the code imports is named in setup.cfg."""
    import configparser
    import sys

    setup = configparser.ConfigParser()
    setup.read(PROJECT / "setup.cfg")
    extras = setup["options.extras_require"]
    required = setup["options"]["install_requires"] + extras["test"] + extras["xla"]
    names = {re.split(r"[<>=; \[]", line)[0].replace("-", "_") for line in required.split("\n") if line}
    distribution = {"PIL": "pillow", "yaml": "pyyaml", "sklearn": "scikit_learn"}
    third_party = {name for path in SOURCES for name in imports(path)} - set(PACKAGES) - sys.stdlib_module_names
    optional = {"pillow_heif"}
    assert {distribution.get(name, name) for name in third_party} - optional <= names
