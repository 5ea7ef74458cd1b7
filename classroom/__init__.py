"""A class, on top of `checker`: grading what learners hand in, and a workshop in one room."""
