"""Building a test collection from questions, answers and a corpus, as FreshStack was built."""
