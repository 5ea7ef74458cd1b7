"""The public face of `checker`: `classroom` imports from the modules in here and from nowhere else in `checker`.

`command_line` and `room` import neither torch nor triton, `grading` does.
"""
