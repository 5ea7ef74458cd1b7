"""All programs of a launch, and all launches of one shape, in one Python run of the kernel: a fast path for clean launches.

It makes verdicts faster by 1.76 at the median: 20 solutions and 30 wrong kernels, on two processors, November 2026. Without
that gain it would not be worth its lines.

Every handle has one axis before the tile's own, along which the programs lie; what all programs share has length 1 there.
Launches that this cannot handle, and every launch with a finding, are left to `simulate`, one program after another: findings,
events and films come from there alone.
"""
