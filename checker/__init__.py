"""Tile by Tile: the verbs a learner types."""
