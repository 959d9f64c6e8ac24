"""docs/formats.md knows the keys of a suite, and no others."""

import pytest

from endotransfer.compare.suite import PhantomConfig, Suite
from endotransfer.config import Strict
from endotransfer.config.experiment_file import SUITE_KEYS
from tests.docs.pages import spelt, table


@pytest.mark.parametrize(("title", "kind"), [("`suite`", Suite), ("`phantom`", PhantomConfig)])
def test_documented_keys_and_defaults_are_those_of_the_code(title: str, kind: type[Strict]) -> None:
    fields = {name: spelt(field.get_default(call_default_factory=True)) for name, field in kind.model_fields.items()}
    if "systems" in fields:
        fields["systems"] = "required"
    assert {key: cells[1] for key, cells in table(title).items()} == fields


def test_what_train_leaves_alone_are_keys_of_a_suite() -> None:
    assert {*SUITE_KEYS} <= {*Suite.model_fields}
