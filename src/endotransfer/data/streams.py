"""The way from decoded images to what training reads, under one name."""

from endotransfer.data.feed import Feed, Share, to_device
from endotransfer.data.pass_set import PassSet
from endotransfer.data.stream import Item, MapReader, Stream

__all__ = ["Feed", "Item", "MapReader", "PassSet", "Share", "Stream", "to_device"]
