"""Pages that are ahead of the code: goes away with the last of them."""

import pytest

PENDING = ("tag_transfer", "test-all", "tag_labellers", "note_on_the_labeller", "every_system", "experiment_is_valid",
           "of_a_method_are")  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/docs" in item.nodeid and any(word in item.nodeid for word in PENDING):
            item.add_marker(pytest.mark.xfail(strict=False))
