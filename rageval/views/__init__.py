"""What people read: the words of values, and all tables, plots, captions and LaTeX."""
