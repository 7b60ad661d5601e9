"""What is counted while a capture is read, and the words for it."""

(
    PACKETS,
    DELIVERED,
    # Why a packet was not delivered; of the first three a closer look may still make one.
    UNKNOWN_LINK,
    NOT_IP,
    NOT_TCP_UDP,
    FRAGMENTS,
    CUT_HEADERS,
    MALFORMED,
    ENCRYPTED,
    UNOPENED,
    TOO_DEEP,
    OTHER_PORTS,
    EMPTY,
    DUPLICATES,
    DOWNWARD,
    WITHOUT_TIME,
    BAD_TIME,
    BAD_INTERFACE,
    # What else was seen.
    OVERLAPS,
    OVERLONG,
    GUESSED_FLOWS,
    GAPS_GIVEN_UP,
    OTHER_BLOCKS,
    # Of a bounded reading.
    UNPROVEN,
    CROWDED_OUT,
    NO_PLACE,
    # What packets came wrapped in; one may be wrapped in several.
    IN_VXLAN,
    IN_GENEVE,
    IN_GTP,
    IN_GRE,
    IN_ERSPAN,
    IN_IP,
    IN_MPLS,
    IN_PPPOE,
) = range(34)
COUNTERS = 34

SAYS = {
    PACKETS: "packets captured",
    DELIVERED: "packets delivered",
    UNKNOWN_LINK: "of a link type that is not read",
    NOT_IP: "not IP",
    NOT_TCP_UDP: "neither TCP nor UDP",
    FRAGMENTS: "later fragments, without ports",
    CUT_HEADERS: "cut off inside their headers",
    MALFORMED: "with headers that contradict themselves",
    ENCRYPTED: "encrypted (IPsec, MACsec or protected WiFi)",
    UNOPENED: "in tunnels that cannot be opened",
    TOO_DEEP: "in too many tunnels inside each other",
    OTHER_PORTS: "of other ports",
    EMPTY: "without payload",
    DUPLICATES: "TCP retransmissions or captured duplicates",
    OVERLAPS: "delivered with only their new bytes",
    OVERLONG: "said to be longer than their frame, counted as far as it goes",
    DOWNWARD: "from server to client",
    GUESSED_FLOWS: "flows without a captured SYN, the lower port taken as the server",
    GAPS_GIVEN_UP: "gaps in TCP streams given up, since too many were open",
    WITHOUT_TIME: "simple packet blocks, which have no time",
    BAD_TIME: "with a time beyond the calendar",
    BAD_INTERFACE: "of an interface that was not described",
    OTHER_BLOCKS: "blocks of other kinds",
    UNPROVEN: "of sources that have not proven to be there, not delivered",
    CROWDED_OUT: "such sources forgotten to make room",
    NO_PLACE: "of connections beyond those that are kept, not delivered",
}

TUNNELS = {
    IN_VXLAN: "VXLAN",
    IN_GENEVE: "GENEVE",
    IN_GTP: "GTP-U",
    IN_GRE: "GRE",
    IN_ERSPAN: "ERSPAN",
    IN_IP: "IP-in-IP",
    IN_MPLS: "MPLS",
    IN_PPPOE: "PPPoE",
}

UNREAD = (ENCRYPTED, UNOPENED, TOO_DEEP)
