"""The command line: one command a room; an argument, a call and a presentation."""


def main() -> None:
    """Run the command that was typed."""
