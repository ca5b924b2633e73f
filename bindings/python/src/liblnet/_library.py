# SPDX-License-Identifier: MIT OR Apache-2.0
"""The C library: where it is, and its functions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ._api import ffi

__all__ = ["ffi", "lib"]


def _load() -> Any:
    """Load liblnet.so.1: the one that LIBLNET names, the one in this package, or the one that is installed."""
    bundled = Path(__file__).with_name("liblnet.so.1")
    name = os.environ.get("LIBLNET") or (str(bundled) if bundled.exists() else "liblnet.so.1")
    try:
        return ffi.dlopen(name)
    except OSError as error:
        raise ImportError(
            f"liblnet.so.1 cannot be loaded ({error}); install it (`make install`, `ldconfig`), or set LIBLNET to its path"
        ) from error


lib: Any = _load()
