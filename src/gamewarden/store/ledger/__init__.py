"""The ledger: what people and policy decided, in SQLite or PostgreSQL, with an audit that shows if it was changed."""
