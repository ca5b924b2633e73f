# SPDX-License-Identifier: MIT OR Apache-2.0
"""The declarations that the package has are those of the C headers, as gcc reads them."""

import subprocess
from pathlib import Path
from typing import Any

from liblnet._library import ffi, lib

INCLUDE = Path(__file__).parents[3] / "include"
# Structures that others fill; their fields are not the package's business.
OPAQUE = {"list_head", "netstrfns", "page"}


def in_c(tmp_path: Path, expressions: list[str]) -> dict[str, int]:
    """Return the values that expressions have in C."""
    source = tmp_path / "values.c"
    lines = "".join(f'\tprintf("%lld\\n", (long long)({expression}));\n' for expression in expressions)
    source.write_text("#include <lnet/lnet.h>\n#include <stddef.h>\n#include <stdio.h>\n" + f"int main(void)\n{{\n{lines}\treturn 0;\n}}\n")
    program = tmp_path / "values"
    subprocess.run(["gcc", "-w", f"-I{INCLUDE}", source, "-o", program], check=True)
    output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return dict(zip(expressions, map(int, output.split()), strict=True))


def test_sizes_and_offsets_are_those_of_the_headers(tmp_path: Path) -> None:
    own: dict[str, int] = {}
    for name in set(ffi.list_types()[1]) - OPAQUE:
        struct: Any = ffi.typeof(f"struct {name}")
        own[f"sizeof(struct {name})"] = ffi.sizeof(struct)
        for field, about in struct.fields:
            own[f"offsetof(struct {name}, {field})"] = about.offset
            own[f"sizeof(((struct {name} *)0)->{field})"] = ffi.sizeof(about.type)
    assert "offsetof(struct lnet_event, unlinked)" in own
    assert own == in_c(tmp_path, list(own))


def test_constants_are_those_of_the_headers(tmp_path: Path) -> None:
    names = [name for name in dir(lib) if isinstance(value := getattr(lib, name, None), int) and not callable(value)]
    assert {"LNET_NID_ANY", "LNET_MTU", "LNET_EVENT_UNLINK", "LNET_MD_TRUNCATE", "LNET_MD_THRESH_INF"} <= set(names)
    # C's `long long` is signed.
    own = {name: value - 2**64 if (value := getattr(lib, name)) >= 2**63 else value for name in names}
    assert own == in_c(tmp_path, names)


def test_all_functions_are_in_the_library() -> None:
    # A constant, or a function that the library has: another name raises.
    for name in dir(lib):
        getattr(lib, name)
