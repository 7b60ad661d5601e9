"""Model files changed by hand: every value replaced by a hostile one."""

from gamewarden.contracts import Recipe, model_id


def places(values, path=()):
    """Every place in nested JSON values."""
    parts = values.items() if isinstance(values, dict) else enumerate(values[:2]) if isinstance(values, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from places(part, (*path, key))


NASTY = (
    *(None, True, False, 0, -1, 1, 2.5, 1e308, -1e308, 5e-324, 10**20, -(10**20)),
    *("", "x", "NaN", "../../x", "\x00", [], [None], [[]], [0, 1], ["a"], [1e308] * 3, {}, {"a": None}, {"": {}}),
)


def renamed(values):
    """The values under the name that they make, as someone who knows the format would write them."""
    trained_on = values.get("details") or values.get("feature")
    try:
        recipe = Recipe(trained_on["name"], trained_on["options"])
        return {**values, "id": model_id(values["detector"], values["recipe"], recipe, values["data"])}
    except (KeyError, TypeError, ValueError, AttributeError):
        return values
