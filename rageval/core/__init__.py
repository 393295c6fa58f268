"""The values that all packages pass on: judges, the basis of a number, what may be claimed."""
