"""Promises and rivals: the commands `table` and `bench`.

`bars` and `bars_of_uses` list the promises, and `table` measures them. `side_by_side` times the
`rivals`. `cliffs_command` searches among `points` for `cliffs`: products that are slow beside their
neighbors or beside an `obvious` loop. All use `record` for results and `show` for output.
`training`, `paths`, `sequences` and `interop` make contenders other than products; `plots` draws.
A rival is imported at its first use.
"""
