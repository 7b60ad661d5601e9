"""Everything for eyes: plots, pages, sentences and cards; the only room that draws or writes HTML."""
