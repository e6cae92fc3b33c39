"""Contenders side by side: interleaved timing, ceilings, rivals, and the table of bars.

`timing` knows nothing of `tropical`; `contenders` makes things to time, `training` those that
train, `paths`, `sequences` and `interop` what else is promised; `bars` and `bars_of_uses` say what
is promised; `table` measures it. `side_by_side` lets `rivals` compete, keeps their times in a
`report`, judges them by `statistics` and draws `plots`;
`staircase` climbs from kernel to kernel. `tune` finds the settings of this machine. Both show what
they do by `terminal`. The benchmarks in `asv_benches/` share the first three. `side_by_side` needs
the extra ``bench``, `tune` the extra ``tune``, the others NumPy alone; rivals are imported when
they are first used.
"""
