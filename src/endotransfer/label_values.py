"""The numbers that stand for labels, apart from `batch.py` so that an exported bundle runs without torch."""

IGNORE = 255  # the label of a pixel that nobody labelled; losses and metrics pass it over
UNKNOWN_TAG = -1  # the tag of an image that nobody tagged
NORMAL, LESION = 0, 1  # the two tags, and the two classes of a binary mask
SMALLEST_LESION = 16  # pixels of a component; less is a speck: annotation noise, or a stray patch of the up-sampling
