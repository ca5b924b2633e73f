from typing import Any

# Made from the C headers when the package is built: see cdef.py.
ffi: Any
