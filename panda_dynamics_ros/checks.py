# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments at the public boundary: each is checked once, and the code behind relies on it.

Each function returns a C-contiguous float64 array or raises an `ArgumentError` that names the
argument, what was expected and what came.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panda_dynamics_ros.errors import ArgumentError

FloatArray = NDArray[np.float64]
TOLERANCE = 1e-4
"""Of R R^T = I: matrices that went through single precision, or a printed table with five digits, are within it; a
transposed (row-major) or scaled transform is not."""
FULL_TURN = 6.3  # rad, just above 2 pi
_FLOAT64 = np.dtype(np.float64)


def real_array(value: ArrayLike, name: str) -> FloatArray:
    """`value` as a float64 array of any shape, every entry finite."""
    if type(value) is np.ndarray and value.dtype is _FLOAT64 and value.flags.c_contiguous:
        array = value  # the short way for calls at 1 kHz
    else:
        try:
            given = np.asarray(value)
            if given.dtype.kind not in "fiu":
                raise TypeError(f"dtype {given.dtype}")
            array = np.ascontiguousarray(given, dtype=np.float64).reshape(given.shape)
        except (RuntimeError, TypeError, ValueError) as error:  # a tensor of torch with its gradient
            got = " ".join(repr(value).split())  # an error is one line
            raise ArgumentError(f"{name}: expected an array of real numbers, got {got:.80}") from error
    # The sum of a short one takes a fifth of the time of NumPy's isfinite.
    short = array.ndim == 1 and array.size < 32 and math.isfinite(sum(array.tolist()))
    if not (short or np.isfinite(array).all()):
        bad = np.argwhere(~np.isfinite(array))[0]
        where = "" if array.ndim == 0 else f" at index {tuple(int(i) for i in bad)}"
        raise ArgumentError(f"{name}: expected finite numbers, got {array[tuple(bad)]}{where}")
    return array


def trailing(value: ArrayLike, shape: tuple[int, ...], name: str) -> FloatArray:
    """`value` as a finite float64 array of shape (..., *shape)."""
    array = real_array(value, name)
    if array.shape[array.ndim - len(shape) :] != shape or array.ndim < len(shape):
        wanted = ", ".join(["...", *map(str, shape)])
        raise ArgumentError(f"{name}: expected shape ({wanted}), got {array.shape}")
    return array


def exactly(value: ArrayLike, shape: tuple[int, ...], name: str) -> FloatArray:
    """`value` as a finite float64 array of exactly this shape."""
    array = real_array(value, name)
    if array.shape != shape:
        raise ArgumentError(f"{name}: expected shape {shape}, got {array.shape}")
    return array


def covariance(value: ArrayLike, size: int, name: str) -> FloatArray:
    """`value` as a finite symmetric positive definite array (size, size)."""
    P = exactly(value, (size, size), name)
    if (asymmetry := np.abs(P - P.T).max(initial=0.0)) > 1e-9 * np.abs(P).max(initial=0.0):
        raise ArgumentError(f"{name}: expected a symmetric matrix, got an asymmetry of {asymmetry:.3g}")
    try:
        np.linalg.cholesky(P)
    except np.linalg.LinAlgError as error:
        raise ArgumentError(f"{name}: expected positive eigenvalues, got {np.linalg.eigvalsh(P)[0]:.3g}") from error
    return P


def number(value: Any, name: str, *, minimum: float = -math.inf, maximum: float = math.inf) -> float:
    """`value` as a finite float within [minimum, maximum]."""
    if isinstance(value, float) and math.isfinite(value) and minimum <= value <= maximum:
        return float(value)
    array = real_array(value, name)
    if array.ndim != 0:
        raise ArgumentError(f"{name}: expected a number, got an array of shape {array.shape}")
    if not minimum <= float(array) <= maximum:
        raise ArgumentError(f"{name}: expected a number in [{minimum:g}, {maximum:g}], got {float(array):g}")
    return float(array)


def radians(value: ArrayLike, name: str) -> FloatArray:
    """`value` as a finite float64 array of angles, none beyond a full turn: they would be degrees."""
    angles = real_array(value, name)
    if (np.abs(angles) > FULL_TURN).any():
        words = " ".join(f"{angle:g}" for angle in angles.flat)
        raise ArgumentError(f"{name}: expected rad within a full turn of zero, got {words}; are these degrees?")
    return angles


def path(value: str | Path, name: str) -> Path:
    """`value` as a path, in which a leading `~` or `~user` is that user's home."""
    try:
        text = str(Path(value).expanduser())
    except RuntimeError as error:  # there is no such user
        raise ArgumentError(f"{name}: expected a path, or ~ of a user that exists, got {str(value)!r:.80}") from error
    if "\0" in text:
        raise ArgumentError(f"{name}: expected a path, got one with a zero byte: {text!r:.80}")
    return Path(text)


def rigid_transform(value: ArrayLike, name: str) -> FloatArray:
    """`value` as a (..., 4, 4) array of rigid transforms, within `TOLERANCE`."""
    T = trailing(value, (4, 4), name)
    wrong = (np.abs(T[..., 3, :] - (0.0, 0.0, 0.0, 1.0)) > TOLERANCE).any(axis=-1)
    if wrong.any():
        raise ArgumentError(f"{name}: expected the last row (0, 0, 0, 1), got {T[wrong][0, 3].tolist()}")
    rotation_matrix(T[..., :3, :3], f"the rotation of {name}")
    return T


def rotation_matrix(value: ArrayLike, name: str) -> FloatArray:
    """`value` as a (..., 3, 3) array of rotation matrices (R R^T = I, det R = +1)."""
    R = trailing(value, (3, 3), name)
    if (error := np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(initial=0.0)) > TOLERANCE:
        raise ArgumentError(f"{name}: expected R R^T = I within {TOLERANCE:g}, got a deviation of {error:.3g}")
    if (np.linalg.det(R) < 0.0).any():
        raise ArgumentError(f"{name}: expected det R = +1, got -1 (a reflection)")
    return R


def read_only(array: np.ndarray, kind: type = np.float64) -> np.ndarray:
    """A read-only copy, for the fields of frozen values."""
    copy: np.ndarray = np.array(array, dtype=kind)
    copy.setflags(write=False)
    return copy


class Frozen:
    """Copies and pickles are built anew: NumPy's own are writeable. A subclass with another constructor has its own."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, each.name) for each in fields(self) if each.init)  # type: ignore[arg-type]


def freeze(value: Any, shapes: Mapping[str, tuple[int, ...]], owner: str = "") -> None:
    """Make the fields of a frozen dataclass that `shapes` names finite, read-only arrays of these shapes.

    owner: what stands before a field's name in an error.
    """
    for name, shape in shapes.items():
        object.__setattr__(value, name, read_only(exactly(getattr(value, name), shape, f"{owner}{name}")))


def not_an_input(output: Path, inputs: Iterable[str | Path], name: str) -> None:
    """Refuse an output file or folder that would replace an input: that is one of them, or has one inside."""
    for path in inputs:
        try:
            target, source = output.resolve(), Path(path).resolve()
        except (OSError, RuntimeError, ValueError):  # a null character, or a loop of links: nothing can be there
            continue
        if target == source or target in source.parents:
            raise ArgumentError(f"{name}: expected another place than that of the recording, got {str(output)!r}")


def for_kernel(array: FloatArray) -> FloatArray:
    """The array, or a copy if it is read-only or unaligned: kernels would be compiled again for such an array."""
    return array if array.flags.carray else array.copy()
