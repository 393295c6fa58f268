"""Whether a file is as its track wants it: every rule a small function, a file a track."""
