"""gamewarden finds game bots in online role-playing games and responds to them justly.

The data's path:  readers -> features -> detectors -> verdicts -> response
"""

__version__ = "0.1.0"
