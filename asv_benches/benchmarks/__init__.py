"""The suites of airspeed velocity: a file per question; `common` is what they share."""
