"""A local page with the runs below a folder, which follows a run while it goes on.

Read only: reports are made in memory, and nothing is written into run directories. The server
listens on this machine only and answers only requests that know its token.
"""
