"""Numbers in sentences."""


def counted(count: int, thing: str) -> str:
    """`1 session`, `2,000 sessions`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
