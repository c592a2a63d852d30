"""The version of capscope: the one place where it is set.

The metadata of an installation in place (`pip install -e`) keep the version of the day on which it
was installed, so runs record this one.
"""

__version__ = "0.2.0.dev0"
