"""Loops over pixels, compiled by numba, which takes a second to load: a folder of its own, so that it waits."""
