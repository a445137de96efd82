"""TypeError: an option of Config that is misspelt."""

import tegula


def run():
    tegula.Config({"BLOCK": 16}, numwarps=4)


# ----
# TypeError: Config() has no option 'numwarps' for a launch; did you mean 'num_warps'?
