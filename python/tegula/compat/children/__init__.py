"""A folder that ``install()`` puts on the path of child processes: see triton.py."""
