"""Every method keeps the contract.  A new file in methods/ is picked up here by itself."""

from endotransfer.methods import METHODS
from endotransfer.testing import MethodContract


class TestMethods(MethodContract):
    methods = METHODS.names()
    exported = ("source_only", "lta", "dfn", "cdws", "local_layer")  # one for each kind of network
