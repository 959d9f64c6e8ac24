"""Entropy minimisation for endotransfer."""
