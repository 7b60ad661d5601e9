"""A small workspace whose policy lets evidence of fifty players carry every rung of its ladder."""

from workspaces_made_up import SETTINGS

LADDER = """
[coverage]
least = 0.0  # the log of this small game covers minutes of each day
[verdict]
watch = 0.2
act = 0.2
agree = 2

[[response.ladder]]
name = "watched"
enter = -3.5
steps = ["watch"]
fpr = 1.0
agree = 0

[[response.ladder]]
name = "suspect"
enter = -2.6
steps = ["limit"]

[[response.ladder]]
name = "review"
enter = -2.0
steps = ["freeze", "review"]
"""
ARMED = """
[response]
armed = true
wave = "1s"
evidence_for = "30d"
actions_per_hour = 1000
"""


def settings(*, armed=False, more=""):
    """The settings of such a workspace."""
    return SETTINGS + (ARMED if armed else "") + LADDER + more
