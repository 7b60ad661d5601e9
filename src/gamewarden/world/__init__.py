"""A synthetic online role-playing game: humans who differ, and bots of several families."""
