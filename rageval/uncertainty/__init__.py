"""How far a number could be off: by ties, by what nobody judged, by judges who err or disagree."""
