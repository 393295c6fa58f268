"""Arrays in, numbers out: the bootstrap, tests, power, agreement, and judges corrected by people.

Nothing here knows of runs or files. Wherever an interval is printed it is at this level, from this seed.
"""

LEVEL = 0.95
SEED = 20130
