"""The values that all packages pass on: who judged, on whose word a number rests, what may be said of it."""
