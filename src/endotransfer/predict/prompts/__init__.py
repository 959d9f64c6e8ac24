"""Masks from a person's clicks: by a promptable network, or without one by growing super-pixels."""
