"""warden.toml as frozen dataclasses: every number of policy, a sentence each."""
