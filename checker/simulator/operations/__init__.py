"""The operations of a kernel, computed on `Handle`s; one file a kind. `builder.py` puts them together.

`base` has what all share. `elementwise`, `casts`, `shapes`, `dot`, `libdevice` and `block_pointers` are primitives that Triton's front end asks the builder
for; `reductions` stands in for `tl.reduce` and `tl.associative_scan`.
"""
