"""Six groups of people that look like a farm from afar, and six farms: EDGES of a week, made up by hand."""

from edges_made_up import edges, gave, got, hours


def guild_bank():
    """Twenty casual players share through a bank; six of them only gave this week, and some only took."""
    names = [f"member{number:02}" for number in range(20)]
    shared = [row for name in names[:12] for row in (gave(name, "bank", 3, 400), gave("bank", name, 2, 350))]
    only_gave = [gave(name, "bank", 2, 250) for name in names[12:18]]
    only_took = [gave("bank", name, 1, 300) for name in names[18:]]
    parties = [(names[number], names[(number + step) % 20], "party", 4) for number in range(20) for step in (1, 2, 3)]
    return edges(*shared, *only_gave, *only_took, *parties), hours(8.0, "bank", *names)


def family():
    """Two parents and two children behind one address: the parents give."""
    rows = [(name, "203.0.113.7", "address") for name in ("mother", "father", "daughter", "son")]
    gifts = [gave("mother", "daughter", 3, items=5), gave("father", "daughter", 1, 200), gave("father", "son", 4, 500)]
    return edges(*rows, *gifts, ("son", "daughter", "party", 6)), hours(9.0, "mother", "father", "daughter", "son")


def cafe():
    """Twelve strangers in an internet café; two of them play together."""
    names = [f"guest{number:02}" for number in range(12)]
    rows = [(name, "198.51.100.20", "address") for name in names]
    return edges(*rows, (names[0], names[1], "party", 2)), hours(6.0, *names)


def veteran():
    """A veteran equips eight newcomers and plays with some of them."""
    names = [f"newcomer{number}" for number in range(8)]
    gifts = [gave("veteran", name, 2, 150, items=3) for name in names]
    parties = [("veteran", name, "party", 2) for name in names[:5]]
    return edges(*gifts, *parties), hours(4.0, *names, veteran=30.0)


def market_trader():
    """A trader buys from fifteen and sells to fifteen, on the market and hand to hand; one customer tips."""
    sellers, buyers = [f"seller{number:02}" for number in range(15)], [f"buyer{number:02}" for number in range(15)]
    bought = [row for name in sellers for row in (gave(name, "trader", 4, items=40), gave("trader", name, 4, 900))]
    sold = [row for name in buyers[:8] for row in (gave("trader", name, 2, items=20), gave(name, "trader", 2, 600))]
    market = [("trader", name, "market.sell", 3, 500.0, -9.0) for name in buyers]
    return edges(*bought, *sold, *market, gave("buyer14", "trader", 1, 50)), hours(12.0, "trader", *sellers, *buyers)


def raid_group():
    """Twenty-five raid together on fixed evenings; the leader hands out the loot, and some chip in for potions."""
    names = [f"raider{number:02}" for number in range(24)]
    parties = [(name, "leader", "party", 3) for name in names]
    parties += [(names[number], names[(number + 1) % 24], "party", 2) for number in range(24)]
    loot = [gave("leader", name, 1, items=1) for name in names[:10]]
    chipped_in = [gave(name, "leader", 1, 100) for name in names[10:]]
    return edges(*parties, *loot, *chipped_in), hours(9.0, "leader", *names)


def star():
    """Twenty-four short-time bots hand all to a hub, which sells to six."""
    leaves = [f"leaf{number:02}" for number in range(24)]
    handed = [row for name in leaves for row in (gave(name, "hub", 3, 400), got("hub", name, 3, 400))]
    sold = [gave("hub", f"customer{number}", 1, 1500, kind="mail.send") for number in range(6)]
    return edges(*handed, *sold), hours(6.0, *leaves, hub=3.0)


def two_hubs():
    """Twenty bots hand to two hubs in turn, and the second passes on to the first."""
    leaves = [f"leaf{number:02}" for number in range(20)]
    handed = [row for name in leaves for row in (gave(name, "hub1", 2, 300), gave(name, "hub2", 2, 250))]
    return edges(*handed, gave("hub2", "hub1", 5, 4800)), hours(7.0, *leaves, hub1=2.0, hub2=2.0)


def chain():
    """Six accounts pass an asset round; one goes to market with it."""
    names = [f"link{number}" for number in range(6)]
    steps = [gave(names[number], names[number + 1], 2, 9000 - 50 * number) for number in range(5)]
    return edges(*steps, ("link5", "somebody", "market.sell", 2, 9100.0)), hours(3.0, *names)


def mules():
    """Fifteen bots, a hub that meets no buyer, and three mules that do."""
    leaves, carriers = [f"leaf{number:02}" for number in range(15)], [f"mule{number}" for number in range(3)]
    handed = [gave(name, "hub", 4, 500) for name in leaves]
    carried = [gave("hub", name, 2, 2400, kind="mail.send") for name in carriers]
    sold = [gave(carriers[number % 3], f"customer{number:02}", 1, 590) for number in range(12)]
    return edges(*handed, *carried, *sold), hours(8.0, *leaves, hub=2.0, **dict.fromkeys(carriers, 1.0))


def one_address():
    """Nine bots and their hub at one address, dropping all on the floor for it."""
    bots = [f"bot{number}" for number in range(9)]
    rows = [(name, "192.0.2.44", "address") for name in (*bots, "keeper")]
    dropped = [(name, "keeper", "floor", 6, 0.0, 40.0) for name in bots]
    return edges(*rows, *dropped), hours(9.5, "keeper", *bots)


def scattered():
    """Eleven bots, each at an address of its own, mail all to one account, which hands each a tool now and then."""
    bots = [f"bot{number:02}" for number in range(11)]
    rows = [(name, f"192.0.2.{number}", "address") for number, name in enumerate((*bots, "keeper"))]
    mailed = [gave(name, "keeper", 5, 200, items=30, kind="mail.send") for name in bots]
    tools = [gave("keeper", name, 1, items=1, kind="mail.send") for name in bots[:4]]
    return edges(*rows, *mailed, *tools), hours(8.0, "keeper", *bots)


GUARDS = (guild_bank, family, cafe, veteran, market_trader, raid_group)
FARMS = (star, two_hubs, chain, mules, one_address, scattered)
