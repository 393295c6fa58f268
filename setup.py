"""What pyproject.toml cannot say of the compiled part, which is optional.

A wheel without it must not claim to hold it; nothing that an earlier build left may get into a wheel; and a
release (RAGEVAL_REQUIRE_KERNEL=1, or cibuildwheel) fails where it cannot be compiled.
"""

import os
import shutil
import sysconfig

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

REQUIRED = os.environ.get("RAGEVAL_REQUIRE_KERNEL") == "1" or os.environ.get("CIBUILDWHEEL") == "1"


class Compile(build_ext):
    """Compile, or forget what cannot be compiled; nothing of an earlier build stays."""

    def finalize_options(self) -> None:
        super().finalize_options()
        for extension in self.extensions:
            extension.optional = extension.optional and not REQUIRED

    def run(self) -> None:
        for extension in self.extensions:
            for path in (self.get_ext_fullpath(extension.name), self.built(extension)):
                if os.path.exists(path):
                    os.remove(path)
        super().run()

    def built(self, extension) -> str:
        return os.path.join(self.build_lib, self.get_ext_filename(extension.name))


class Pack(bdist_wheel):
    """Pack a wheel of what this build has made, tagged as what it is."""

    def run(self) -> None:
        shutil.rmtree(self.get_finalized_command("build").build_lib, ignore_errors=True)
        compiling = self.get_finalized_command("build_ext")
        self.run_command("build_ext")
        if not all(os.path.exists(compiling.built(each)) for each in self.distribution.ext_modules or ()):
            self.distribution.ext_modules = None
            self.py_limited_api, self.root_is_pure = False, True
        super().run()


if sysconfig.get_config_var("Py_GIL_DISABLED") and not REQUIRED:  # has no stable ABI
    setup(ext_modules=[], cmdclass={"build_ext": Compile, "bdist_wheel": Pack})
else:
    setup(cmdclass={"build_ext": Compile, "bdist_wheel": Pack})
