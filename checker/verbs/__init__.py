"""The verbs behind `checker` and `python -m checker`, one file each.

Every verb finds the kernel (`arguments` says what to do where none was passed), has another room do the work, and has `view` show
it. `progress_file` remembers what was tried, `machine` is what `doctor` sees, `ipython` what a notebook's session gets. Where a
file has a function that ends in ``_and_show`` or ``_of``, the shell calls that with a kernel that was read from a file.
"""
