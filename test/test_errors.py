# SPDX-License-Identifier: Apache-2.0
"""The exceptions: one root, and each also the built-in that a caller would catch."""

import inspect

import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros import errors

BUILT_IN = {
    "ArgumentError": ValueError,
    "RobotDescriptionError": ValueError,
    "DataError": ValueError,
    "SampleError": ValueError,
    "DataFileNotFoundError": FileNotFoundError,
    "MissingDependencyError": ImportError,
    "ConnectionFailedError": ConnectionError,
}
DEFINED: dict[str, type[Exception]] = {
    name: value for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception)
}


def test_every_error_is_listed_here() -> None:
    assert set(DEFINED) == {*BUILT_IN, "PandaDynamicsError"}
    assert pdr.PandaDynamicsError is errors.PandaDynamicsError


@pytest.mark.parametrize(("name", "built_in"), BUILT_IN.items())
def test_an_error_is_caught_by_its_root_and_by_its_built_in(name: str, built_in: type[Exception]) -> None:
    assert issubclass(DEFINED[name], errors.PandaDynamicsError)
    assert issubclass(DEFINED[name], built_in)


def test_the_root_is_no_built_in_that_catches_more() -> None:
    """`except ValueError` must not swallow a missing file, nor `except OSError` a wrong argument."""
    assert errors.PandaDynamicsError.__bases__ == (Exception,)
    assert not issubclass(errors.DataFileNotFoundError, ValueError)
    assert not issubclass(errors.ArgumentError, OSError)
