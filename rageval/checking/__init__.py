"""Check files: what their track refuses, what is suspicious in them, and what it does to which measure."""
