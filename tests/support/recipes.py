"""Every switch of a recipe, flipped once."""

from dataclasses import fields, replace


def variants(recipe):
    """The recipe itself, then one copy for each other value a field also takes, and for each group of tied fields."""
    yield recipe
    for field in fields(recipe):
        for value in field.metadata.get("also", ()):
            yield replace(recipe, **{field.name: value})
    for values in getattr(recipe, "tied", ()):
        yield replace(recipe, **values)


def name_of(recipe):
    """A short name for a test id: what differs from the default."""
    default = type(recipe)()
    changed = [
        f"{f.name}={getattr(recipe, f.name)}"
        for f in fields(recipe)
        if getattr(recipe, f.name) != getattr(default, f.name)
    ]
    return f"{recipe.name}[{','.join(changed) or 'default'}]"[:80]
