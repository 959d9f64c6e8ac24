"""Means over some of the classes, beside mIoU, where a field reports them (`miou13` of 16 street classes)."""

from endotransfer.config.class_lists import PROTOCOLS, Protocol
from endotransfer.metrics import rates
from endotransfer.metrics.figure import Figure, register


def mean_figure(protocol: Protocol, name: str) -> Figure:
    members = protocol.means[name]
    *others, last = [one for one in protocol.classes if one not in members]
    left_out = f"{', '.join(others)} and {last}" if others else last
    return Figure(
        name=name, label=f"mIoU {len(members)}",
        description=f"the mean without {left_out}, as some report it; the paper prints none",
        statistic=rates.miou_of([protocol.classes.index(member) for member in members]),
        only_for=protocol.classes, shown="main", interval=True, leading=True, order=45,
    )  # fmt: skip


for _, _protocol in PROTOCOLS.items():
    register(*(mean_figure(_protocol, name) for name in _protocol.means))
