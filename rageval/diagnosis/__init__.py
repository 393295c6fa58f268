"""Diagnosis: what is suspicious in files that can be scored, and what it does to which measure."""
