"""The planner's tests share a catalog of tables: `query_tables`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
