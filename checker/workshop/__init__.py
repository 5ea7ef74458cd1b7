"""A class in one room: run sheets, slides and what goes into its folder; the live board, and what notebooks report to it after `join`."""
