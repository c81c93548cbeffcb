"""What the tests of the works share with those of the core."""

from tests.core.conftest import binary, predict  # noqa: F401
