"""Judges: who says how well an answer does. They make judgements and never compute a score."""
