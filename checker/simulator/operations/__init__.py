"""The operations of a kernel, computed on `Handle`s. `builder.py` puts them together; one file a kind.

`base` has what all share. `arithmetic`, `logic`, `casts`, `shapes` and `dot` are primitives that Triton's front end asks the
builder for; `reductions` stands in for `tl.reduce` and `tl.associative_scan`.
"""
