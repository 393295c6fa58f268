"""Runs meet judgements: what each query's ranking holds, joined whole or in parts."""
