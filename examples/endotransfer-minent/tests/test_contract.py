"""The method keeps endotransfer's contract: trains, resumes, saves, loads, exports and is compared like a built-in."""

from endotransfer.testing import MethodContract

pytest_plugins = ["endotransfer.testing.fixtures"]


class TestMinEnt(MethodContract):
    methods = ("minent_small",)
