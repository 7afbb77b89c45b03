import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pvp_ml.documents.strict_yaml import MAX_BYTES, YamlError, read_yaml


def test_numbers_without_a_dot_are_numbers():
    assert read_yaml("a: 3e-4\nb: 1E5\nc: -2.5e+3\nd: 1e\ne: 7") == {
        "a": 3e-4,
        "b": 1e5,
        "c": -2500.0,
        "d": "1e",
        "e": 7,
    }


def test_words_stay_words():
    assert read_yaml("[off, on, yes, no, true, False, 2026-11-15]") == [
        "off",
        "on",
        "yes",
        "no",
        True,
        False,
        "2026-11-15",
    ]


def test_anchors_work():
    assert read_yaml("a: &x {k: 1}\nb: {<<: *x, l: 2}") == {"a": {"k": 1}, "b": {"k": 1, "l": 2}}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\nb: 2\na: 3", "line 3: key 'a' occurs twice"),
        ("a: [1, 2", "line 1: "),
        ("a: !!python/object/apply:os.system [ls]", "could not determine a constructor"),
        ("a: 1\n---\nb: 2", "but found another document"),
        ("x: " + "[" * 30 + "]" * 30, "nested more than 16 deep"),
        ("x" * (MAX_BYTES + 1), f"the limit is {MAX_BYTES}"),
        ("a: &a [*a]", "contains itself"),
        (b"\xff\xfe\x00", "unacceptable character"),
        ("a: *b", "found undefined alias"),
        ("? [1, 2]\n: 3", "unhashable"),
    ],
)
def test_bad_text_is_refused_in_one_line(text, says):
    with pytest.raises(YamlError) as caught:
        read_yaml(text)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_billion_laughs_is_refused_before_it_is_built():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    start = time.process_time()
    with pytest.raises(YamlError, match="more than 10000 items"):
        read_yaml("\n".join(lines))
    assert time.process_time() - start < 0.5


@given(st.binary(max_size=200) | st.text("&*{}[]:,-?!<|>'\"# \na1", max_size=80))
@settings(max_examples=300, deadline=None)
def test_fuzz(text):
    try:
        read_yaml(text)
    except YamlError as error:
        assert str(error)
