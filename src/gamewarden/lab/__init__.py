"""Where methods are tried: synthetic worlds, and the published studies played again."""
