"""Contenders side by side: interleaved timing, ceilings, rivals, and the table of bars.

`timing` knows nothing of `tropical`; `contenders` makes things to time; `bars` says what is
promised; `table` measures the promises. The benchmarks in `asv_benches/` share the first two.
They need NumPy alone; rivals are the extra ``bench`` and are imported when they are first used.
"""
