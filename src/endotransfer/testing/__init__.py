"""Contract tests for methods, ours and yours.  Install `endotransfer[testing]` and write a test file such as

    from endotransfer.testing import MethodContract

    pytest_plugins = ["endotransfer.testing.fixtures"]  # or in conftest.py


    class TestMinEnt(MethodContract):
        methods = ("minent",)

Every preset is trained on two tiny synthetic tasks: two classes with image tags, five classes without.
"""

from endotransfer.testing.contract import MethodContract

__all__ = ["MethodContract"]
