# SPDX-License-Identifier: Apache-2.0
"""The exceptions of this package: one root, each also the built-in a caller would expect."""


class PandaDynamicsError(Exception):
    """Root of every error that this package raises on purpose."""


class ArgumentError(PandaDynamicsError, ValueError):
    """An argument has the wrong shape, a value that is not finite, or a value out of range."""


class RobotDescriptionError(PandaDynamicsError, ValueError):
    """A robot description is malformed or physically inconsistent; the message names the link."""


class SampleError(PandaDynamicsError, ValueError):
    """One joint-state sample cannot be used; `reason` is the same few words for every sample of its kind."""

    def __init__(self, message: str, reason: str = "unusable sample") -> None:
        super().__init__(message)
        self.reason = reason


class DataError(PandaDynamicsError, ValueError):
    """A recording cannot be read, or holds nothing that can be used."""


class DataFileNotFoundError(PandaDynamicsError, FileNotFoundError):
    """A file that was asked for does not exist."""


class MissingDependencyError(PandaDynamicsError, ImportError):
    """An optional library is needed for what was asked and is not installed."""


class ConnectionFailedError(PandaDynamicsError, ConnectionError):
    """A robot cannot be reached, or no longer; `kind` is the same few words for every error of its kind."""

    def __init__(self, message: str, kind: str = "failed") -> None:
        super().__init__(message)
        self.kind = kind
