"""The operations of a kernel, computed on `Handle`s; one file a kind. `builder.py` puts them together."""
