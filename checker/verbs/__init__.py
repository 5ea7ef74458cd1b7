"""The verbs behind `checker` and `python -m checker`: `actions` does them for a live kernel, `showing` for one that was read from a
file, `returned` is what they give back, the other modules are their parts.

`doctor` and `facts` look at the machine, `progress` remembers, `hints` and `resetting` help, `filming`, `xray` and `bench` put the
other rooms together, `naming` finds the puzzle that is meant, `panels` and `display` show. Nothing here is imported by a room.
"""
