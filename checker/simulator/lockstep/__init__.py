"""All programs of a launch, and all launches of one shape, in one Python run of the kernel: a fast path for clean launches.

It makes verdicts faster by 1.76 at the median: 20 solutions and 30 wrong kernels, on two processors, November 2026. Without
that gain it would not be worth its lines.

Every handle has one axis before the tile's own, along which the programs lie; what all programs share has length 1 there.
Launches that this cannot handle, and every launch with a finding, are left to `simulate`, one program after another: findings,
events and films come from there alone.

    programs    who runs side by side, who of them runs now, whose launch is in doubt
    stacked     one parameter of all launches, their tensors end to end
    memory      loads and stores
    builder     the primitives that differ for many programs
    language    loops, conditions and assignments of which some programs take no part
    rewrite     the jitted functions with hooks at each of these
    together    launches of one shape as one run: `simulate_together`
"""
