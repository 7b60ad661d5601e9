"""Where a star, a chain, a guild and a household begin: frozen, so that no group is typed by what else is in the game.

Those of a star are a rule drawn from Lee et al. (NDSS 2016, future work) and Kwon et al. (TIFS 2017): short-time bots
hand all they earn to a hub. The published work types communities by k-means with five clusters; its clusters move with
every week's graph, which no game master could be told the reason of.
"""

LEAST_MEMBERS = 10  # of a star, its hub included
CENTRALISATION = 0.7  # Freeman's, of degrees
MOST_CLUSTERING = 0.05
SHARE_TO_HUB = 0.8  # of what the leaves give
SHORT_HOURS = 10.0  # a week; the median leaf plays less
LOYAL = 0.8  # gives so much of all it gives to one account
PASSES_ON = 0.8  # gives on so much of what it got
