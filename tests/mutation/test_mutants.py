"""What the mutants of a text are, and what is left alone."""

import ast
from random import Random

import pytest
from mutation.mutants import mutants_of
from problems.instances import ROOT


def changed(source, operator=None):
    """Returns the texts that mutants of an operator make of a source."""
    return {
        one.applied_to(source) for one in mutants_of(source, "a.py") if operator is None or one.operator == operator
    }


@pytest.mark.parametrize(
    ("source", "operator", "others"),
    [
        ("a < b", "comparison", {"a <= b"}),
        ("a <= b < c", "comparison", {"a < b < c", "a <= b <= c"}),
        ("a == b", "comparison", {"a != b"}),
        ("a not in b", "comparison", {"a in b"}),
        ("a is None", "comparison", {"a is not None"}),
        ("x = 3", "constant", {"x = 4"}),
        ("x = 1e-3", "constant", {"x = 0.01"}),
        ("x = 0.0", "constant", {"x = 1.0"}),
        ("x = 2.0", "constant", {"x = 2.2"}),
        ("x = True", "constant", {"x = False"}),
        ("x = None", "constant", set()),
        ("max(a, b)", "function", {"min(a, b)"}),
        ("np.ceil(a)", "function", {"np.floor(a)"}),
        ("x.max", "function", set()),
        ("a and b", "and/or", {"(a or b)"}),
        ("a or b and c", "and/or", {"(a and (b and c))", "a or (b or c)"}),
        ("a and b", "clause dropped", {"(a)", "(b)"}),
        ("a or b or c", "clause dropped", {"(a or b)", "(a or c)", "(b or c)"}),
        ("[a for a in b if c]", "clause dropped", {"[a for a in b if True]"}),
        ("a if b else c", "condition negated", {"a if not (b) else c"}),
        ("a if b < d else c", "condition negated", {"a if not (b < d) else c"}),
        ("a if b == d else c", "condition negated", set()),
        ("while a:\n    b()", "condition negated", {"while not (a):\n    b()"}),
        ("f(a)", "statement deleted", {"pass"}),
        ("a += 1", "statement deleted", {"pass"}),
        ("a.b = 1", "statement deleted", {"pass"}),
        ("a = 1", "statement deleted", set()),
        ("if a:\n    raise B", "statement deleted", {"if a:\n    pass"}),
        (
            "def f():\n    if a:\n        return 1\n    return 2",
            "statement deleted",
            {"def f():\n    if a:\n        pass\n    return 2"},
        ),
    ],
)
def test_each_operator_makes_its_changes_and_no_others(source, operator, others):
    made = changed(source, operator)
    assert {ast.dump(ast.parse(text)) for text in made} == {ast.dump(ast.parse(text)) for text in others}


@pytest.mark.parametrize(
    "source",
    [
        '"""A text."""\nx: int | None\n',
        "import a\nfrom b import c\n",
        "if TYPE_CHECKING:\n    f(1)\n",
        "@cache(1)\ndef f(a: Literal[1]) -> Literal[2]: ...\n",
        'x = f"{a or 1}"\n',
        "match a:\n    case 1: x\n",
        "assert a < 1\n",
        "zip(a, b, strict=True)\n",
    ],
)
def test_what_changes_no_result_is_left_alone(source):
    assert changed(source, "constant") | changed(source, "and/or") | changed(source, "function") == set()


def test_the_columns_of_a_syntax_tree_are_bytes_and_lines_may_go_on():
    source = 'x = f("§é", a <\n      b)  # é\n'
    (mutant,) = [one for one in mutants_of(source, "a.py") if one.operator == "comparison"]
    assert mutant.applied_to(source) == 'x = f("§é", a <= b)  # é\n'
    assert (mutant.first_line, mutant.last_line) == (1, 2)


def test_what_is_outside_functions_is_carried_out_when_the_module_is_imported():
    source = "LIMIT = 3\n\n\ndef f(a=4):\n    return a < 5\n\n\nclass A:\n    b = 6\n"
    found = {one.text: one.is_import_time for one in mutants_of(source, "a.py")}
    assert found == {"4": True, "5": True, "7": True, "a <= 5": False, "6": False}


def test_a_patch_says_what_changed():
    source = "a = 1\nb = 2\nc = 3\nd = 4\n"
    patch = mutants_of(source, "folder/a.py")[2].diff(source)
    assert patch.splitlines()[:2] == ["--- a/folder/a.py", "+++ b/folder/a.py"]
    assert [line for line in patch.splitlines()[2:] if line[0] in "+-"] == ["-c = 3", "+c = 4"]


def test_mutants_of_this_tree_can_be_read_say_something_else_and_keep_their_names():
    """Property: of random mutants of the modules that are tried most, nearly all are Python, and none says the same."""
    files = [path for folder in ("solver/check", "agent/transition") for path in sorted((ROOT / folder).glob("*.py"))]
    drawn = [(path, one) for path in files for one in mutants_of(path.read_text(), path.name)]
    assert len({(path, one.id) for path, one in drawn}) == len(drawn) > 500
    wrong = 0
    for path, one in Random(0).sample(drawn, 60):
        source = path.read_text()
        if not one.is_python(source):
            wrong += 1
            continue
        assert ast.dump(ast.parse(one.applied_to(source))) != ast.dump(ast.parse(source)), one
    assert wrong <= 2
