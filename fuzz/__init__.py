"""`make fuzz`: damaged files, hostile requests and kills from a seed, and one screen that says how it went."""
