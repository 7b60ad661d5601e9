"""How long an account is silent: people have to sleep."""
