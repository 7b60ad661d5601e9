"""People look at accounts and say what they are: in which order, what becomes of a vote, and what all votes say."""
