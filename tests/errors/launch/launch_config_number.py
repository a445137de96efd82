"""A configuration: a number in the place of the dict."""

import tegula


def run():
    tegula.Config(128, num_warps=8)


# ----
# TypeError: Config takes a dict, {name: value}, not 128
