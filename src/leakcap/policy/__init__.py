"""What the owner declares: unit, columns, tables, caps and plans, as plain values.

Policy, load_policy    a policy, from TOML, a mapping or a file
Column, JoinedTable    a column with its bounds or keys, a table to join with
"""

from leakcap.policy.declared import Column
from leakcap.policy.document import Policy, load_policy
from leakcap.policy.tables import JoinedTable

__all__ = ["Column", "JoinedTable", "Policy", "load_policy"]
