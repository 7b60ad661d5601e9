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
PASSES_ON = 0.4  # gives on so much of what it got: of what came late in a week much goes on in the next

FEWEST = 3  # accounts in a group that is told of; a household has two
SMALL_STAR = 6  # members from which on a star that is too small to be one is told of
SECOND_HUB = 0.3  # of the accounts of a group give to a second hub, too
HUB_GIVERS = 3  # accounts that give to a hub, at least
TIED = 0.5  # of the leaves have other ties among each other: such accounts know each other, as in a guild
CHAIN = 4  # accounts that pass things on, one to the next
GIANT = 300  # accounts in a community of consumers
GUILD = 6  # accounts that trade and play with each other
BANK = 0.4  # of a guild's members exchange with its bank
HOUSEHOLD = 6  # accounts at one address, at most; more are a café, a dormitory or a network behind one address
