"""The way from decoded images to what training reads, under one name."""

from endotransfer.data.pipeline.batch_source import BatchSource, Share, to_device
from endotransfer.data.pipeline.pass_set import PassSet
from endotransfer.data.pipeline.stream import Item, MapReader, Stream

__all__ = ["BatchSource", "Item", "MapReader", "PassSet", "Share", "Stream", "to_device"]
