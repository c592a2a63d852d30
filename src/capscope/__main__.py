"""`python -m capscope` is the command line."""

from capscope.cli import main

main()
