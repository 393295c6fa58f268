"""The words for facts: what values of `rageval.core` are called in sentences."""
