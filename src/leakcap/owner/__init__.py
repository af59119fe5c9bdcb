"""What the owner does before the first spend: draft a policy, and check the data against it.

check          what is wrong with a table under a policy, in exact numbers, for the owner's eyes alone
DataFault      one thing that is
draft          a policy from a schema and public answers, never from values
PublicAnswers  what the owner says is public
KeysWithin     of it: keys that lie within those of another column
"""

from leakcap.owner.answers import KeysWithin, PublicAnswers
from leakcap.owner.check import check
from leakcap.owner.draft import draft
from leakcap.owner.finding import DataFault

__all__ = ["DataFault", "KeysWithin", "PublicAnswers", "check", "draft"]
