# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds the wheel: declarations out of the C headers, and liblnet.so.1 inside if LIBLNET_BUNDLE names one.

Without LIBLNET_BUNDLE the wheel is for every machine, and the package looks for a library that is installed.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from cffi import FFI
from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

from cdef import declarations  # noqa: E402

# The libraries that manylinux (PEP 600) lets a wheel take from the system, as far as liblnet needs them.
OF_THE_SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}


def version() -> str:
    """Return the version of the workspace."""
    match = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert match, "Cargo.toml has no version"
    return match.group(1)


def bundled() -> "Path | None":
    """Return the library that the wheel is to have."""
    path = os.environ.get("LIBLNET_BUNDLE")
    return Path(path) if path else None


def platform_of(library: Path) -> str:
    """Return the tag of the systems that can load the library: the oldest glibc that has its symbols."""
    dump = subprocess.run(["objdump", "-p", library], check=True, capture_output=True, text=True).stdout
    needed = set(re.findall(r"^ *NEEDED +(\S+)", dump, re.MULTILINE))
    machine = os.uname().machine
    versions = {tuple(map(int, v.split("."))) for v in re.findall(r" GLIBC_(2\.\d+)", dump)}
    if not versions or needed - OF_THE_SYSTEM:
        return f"linux_{machine}"
    return "manylinux_{}_{}_{}".format(*max(versions), machine)


class BuildPackage(build_py):
    """Adds what is made: the declarations, and the library."""

    def run(self) -> None:
        """Build the package."""
        super().run()
        package = Path(self.build_lib) / "liblnet"
        ffi = FFI()
        ffi.cdef(declarations(ROOT / "include"))
        ffi.set_source("liblnet._api", None)
        ffi.emit_python_code(str(package / "_api.py"))
        library = bundled()
        if library:
            shutil.copyfile(library, package / "liblnet.so.1")


class BuildWheel(bdist_wheel):
    """Names the wheel after what can load the library, whatever Python it is."""

    def get_tag(self) -> "tuple[str, str, str]":
        """Return the tags of Python, its ABI and the platform."""
        library = bundled()
        return "py3", "none", platform_of(library) if library else "any"


class MachineDependent(Distribution):
    """A distribution that is not for every machine."""

    def has_ext_modules(self) -> bool:
        """Say that it belongs to the machine's part of site-packages."""
        return bundled() is not None


setup(
    version=version(),
    cmdclass={"build_py": BuildPackage, "bdist_wheel": BuildWheel},
    distclass=MachineDependent,
)
