"""Closures of matrices that lie on disk, block by block: restarts, worker processes, clusters."""
