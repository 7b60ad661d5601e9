"""Amounts of memory as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.core.sizes import GIB, KIB, MIB, TIB, parse_size, size_text
from gamewarden.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "size"), [("512MiB", 512 * MIB), ("1GiB", GIB), (" 64KiB ", 64 * KIB), ("2TiB", 2 * TIB)]
)
def test_a_number_and_a_unit_are_bytes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "1", "1GB", "1 GiB", "0MiB", "-1GiB", "1.5GiB", "GiB", "1gib", "١GiB", "9" * 99])
def test_what_is_not_a_number_and_a_unit_is_one_line(text):
    with pytest.raises(ConfigError, match="write for example 512MiB or 1GiB") as caught:
        parse_size(text)

    assert len(str(caught.value)) < 200


@given(st.integers(1, 10**9 - 1), st.sampled_from(["KiB", "MiB", "GiB", "TiB"]))
def test_what_was_written_is_read_as_the_same(number, unit):
    size = parse_size(f"{number}{unit}")

    assert parse_size(size_text(size)) == size if size < 10**9 * KIB else True
