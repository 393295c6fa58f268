"""The version, where everybody can read it without importing anything else."""

__version__ = "0.2.0"
