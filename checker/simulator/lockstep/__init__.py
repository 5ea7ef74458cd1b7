"""All programs of a launch, and all launches of one shape, in one Python run of the kernel: a fast path that may only say "clean".

Every handle has one axis before the tile's own, along which the programs lie; what is the same for all has length 1 there.
What this cannot do, and every launch in which anything is found, is left to `simulate`, one program after another: findings,
their words and lines, events and films come from there alone.

    programs    who runs side by side, who of them runs now, whose launch is in doubt
    stacked     one parameter of all launches, their tensors end to end
    memory      loads and stores
    builder     the primitives that differ for many programs
    language    loops, conditions and assignments of which some programs take no part
    rewrite     the jitted functions with hooks at each of these
    together    launches of one shape as one run: `simulate_together`
"""
