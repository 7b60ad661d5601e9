"""A synthetic online role-playing game: humans who differ, and bots of several families.

personas (who) + routines (what a round logs) + games (which mix)  ->  World  ->  events, labels, profiles, truth
traffic (how clients send)  ->  sending (when and how much)  ->  packets, capture
"""

from gamewarden.world.packets import write_packets
from gamewarden.world.world import World
from gamewarden.world.writing import write

__all__ = ["World", "write", "write_packets"]
