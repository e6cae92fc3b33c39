"""Timing and tuning for users.

`timing` times contenders in turns and knows nothing of `tropical`. `contenders` makes things to
time: products, ceilings, parts of the core. `statistics` says how sure a ratio is. `tune` finds the
settings of this machine. `terminal` prints tables. What is promised, and the rivals, are in
`tropical.bench`.
"""
