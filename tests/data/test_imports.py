"""What must start fast is imported without the heavy libraries."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "torchvision", "timm", "lightning", "skimage", "scipy", "matplotlib")


@pytest.mark.parametrize("package", ["importers", "layouts", "folders.domain", "read.read_mask"])
def test_folders_are_read_without_pytorch(package: str) -> None:
    code = f"import sys, endotransfer.data.{package}; print([name for name in {HEAVY} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
