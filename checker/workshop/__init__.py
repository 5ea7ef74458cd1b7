"""A class in one room: the live board, and what a learner's notebook reports to it after `join`."""
