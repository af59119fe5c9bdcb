"""Programs as channels: a Python function with choices and observations, run along every path it can take.

`Program` gives the exact channel from its secret to what is observed; `Run` is what the function is handed.
"""

from leakcap.program.program import Program
from leakcap.program.run import Run

__all__ = ["Program", "Run"]
