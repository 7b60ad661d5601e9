"""A synthetic online role-playing game: humans who differ, and bots of several families.

personas (who) + routines (what a round logs) + games (which mix)  ->  World  ->  events, labels, profiles, truth
World in every week of a script  ->  Year (a patch, a new bot family, a ban wave, a holiday)
traffic (how clients send)  ->  sending (when and how much)  ->  packets, capture
"""

from gamewarden.lab.world.packets import write_packets
from gamewarden.lab.world.world import World
from gamewarden.lab.world.writing import write, write_year
from gamewarden.lab.world.year import Year

__all__ = ["World", "Year", "write", "write_packets", "write_year"]
