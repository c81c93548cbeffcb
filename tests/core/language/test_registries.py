"""What the registries name is there."""

from __future__ import annotations

import pytest

from calcli.core.language.metrics import METRICS


@pytest.mark.parametrize("name", METRICS)
def test_an_entry_names_its_mathematics(name):
    assert METRICS[name].mathematics is not None
