"""A first experiment for two folders: what the data and the machine decide, each setting with its reason."""
