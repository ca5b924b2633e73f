# SPDX-License-Identifier: MIT OR Apache-2.0
"""Takes the declarations for cffi out of the C headers, so that each stands in one place."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HEADERS = ("lnet/types.h", "lnet/api.h", "lnet/nidstr.h")

# The release whose API the package uses, as the macro LNET_API of the headers names it: 2.10.
RELEASE = 0x20A00

# The types of <linux/types.h>, <stdbool.h> and <stddef.h>; cffi knows the standard ones.
BASE_TYPES = """
typedef int32_t __s32;
typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef uint64_t __u64;
"""


def declarations(include: Path) -> str:
    """Return the types, functions and constants of the headers below `include`, as `FFI.cdef` takes them."""
    text = "".join((include / header).read_text(encoding="utf-8") for header in HEADERS)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"\\\n", " ", text)
    text = _of_release(text)
    return BASE_TYPES + _constants(text) + _types_and_functions(text)


def _of_release(text: str) -> str:
    """Return the text without the branches of other releases; other conditions stay."""
    lines: list[str] = []
    # Of each condition within which the line is: whether its branch is of the release; None for another condition.
    branches: list[bool | None] = []
    for line in text.splitlines(keepends=True):
        condition = re.fullmatch(r"#if LNET_API (<|>=) (0x[0-9a-f]+)\n", line)
        is_of_other_condition = False
        if condition:
            is_before = int(condition[2], 16) > RELEASE
            branches.append(is_before == (condition[1] == "<"))
        elif line.startswith("#if"):
            branches.append(None)
            is_of_other_condition = True
        elif line.startswith("#else"):
            branch = branches.pop()
            branches.append(None if branch is None else not branch)
            is_of_other_condition = branch is None
        elif line.startswith("#endif"):
            is_of_other_condition = branches.pop() is None
        else:
            is_of_other_condition = True
        if is_of_other_condition and False not in branches:
            lines.append(line)
    return "".join(lines)


def _constants(text: str) -> str:
    """Return the macros that are numbers; the others are of no use without a C compiler."""
    values: dict[str, int] = {}
    for name, value in re.findall(r"^#define (\w+) (\S.*)$", text, flags=re.MULTILINE):
        number = _number(value, values)
        if number is not None:
            values[name] = number
    return "".join(f"#define {name} {value}\n" for name, value in values.items())


def _number(text: str, known: dict[str, int]) -> int | None:
    """Return the value of a constant expression of numbers, `<<`, `|` and constants before it."""
    # The type of -1 decides its value.
    for ctype, bits in (("lnet_nid_t", 64), ("lnet_pid_t", 32)):
        if text == f"(({ctype})-1)":
            return (1 << bits) - 1
    try:
        tree = ast.parse(re.sub(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", text), mode="eval")
        return _evaluate(tree.body, known)
    except (SyntaxError, ValueError):
        return None


def _evaluate(node: ast.expr, known: dict[str, int]) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand, known)
    if isinstance(node, ast.BinOp):
        left, right = _evaluate(node.left, known), _evaluate(node.right, known)
        if isinstance(node.op, ast.LShift):
            return left << right
        if isinstance(node.op, ast.BitOr):
            return left | right
    raise ValueError(ast.dump(node))


def _types_and_functions(text: str) -> str:
    """Return everything else but inline functions, and packed structures, which are about the wire."""
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif\n", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^static inline .*?^}\n", "", text, flags=re.DOTALL | re.MULTILINE)
    packed = set(re.findall(r"^struct (\w+) {(?:(?!^}).)*^} __attribute__\(\(packed\)\);\n", text, re.DOTALL | re.M))
    packed |= set(re.findall(r"^struct __attribute__\(\(packed\)\) (\w+)", text, re.MULTILINE))
    text = re.sub(r"__attribute__\(\(packed\)\) ?", "", text)
    for name in packed:
        text = re.sub(rf"^struct {name} {{.*?^}} ?;\n", "", text, flags=re.DOTALL | re.MULTILINE)
        text = re.sub(rf"^typedef struct {name} \w+;\n", "", text, flags=re.MULTILINE)
    return text
