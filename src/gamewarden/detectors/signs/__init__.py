"""Who looks odd among all players before anybody has said who is a bot, and what a first few labels make of it."""
