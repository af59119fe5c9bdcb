"""Reports drawn from records: one page a kind, one design for all."""

from leakcap.report.pages.annex import annex_page
from leakcap.report.pages.attack import attack_page
from leakcap.report.pages.audit import audit_page
from leakcap.report.pages.budget import budget_page
from leakcap.report.pages.channel import channel_page
from leakcap.report.pages.convert import convert_page
from leakcap.report.pages.dalenius import dalenius_page
from leakcap.report.pages.disclosure import disclosure_page
from leakcap.report.pages.disclosure_groups import group_page
from leakcap.report.pages.disclosure_sets import table_set_page
from leakcap.report.pages.fit import fit_page
from leakcap.report.pages.hierarchy import hierarchy_page
from leakcap.report.pages.preview import preview_page
from leakcap.report.pages.release import release_page
from leakcap.report.pages.running import running_page
from leakcap.report.pages.synthesis import synthesis_page
from leakcap.report.pages.tables import tables_page

__all__ = [
    "annex_page",
    "attack_page",
    "audit_page",
    "budget_page",
    "channel_page",
    "convert_page",
    "dalenius_page",
    "disclosure_page",
    "fit_page",
    "group_page",
    "hierarchy_page",
    "preview_page",
    "release_page",
    "running_page",
    "synthesis_page",
    "table_set_page",
    "tables_page",
]
