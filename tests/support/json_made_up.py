"""JSON values to put into stored models in place of the right ones."""

from hypothesis import strategies as st


def places(values, path=()):
    """Every place in nested JSON values."""
    parts = values.items() if isinstance(values, dict) else enumerate(values[:3]) if isinstance(values, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from places(part, (*path, key))


json_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=4)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=4,
)
