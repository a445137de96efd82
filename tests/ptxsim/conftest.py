"""simulated.py, whatever folder pytest is started in."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
