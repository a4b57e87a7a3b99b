"""Plans: from a definition to frames, shared states, and the algorithm that keeps each."""

from sash.plan.about import About, about_of
from sash.plan.aggregation import Aggregation
from sash.plan.checks import UnfitColumn, UnknownColumn
from sash.plan.choose import Choice, Need, choose
from sash.plan.definition import Query
from sash.plan.explain import Explanation, explain
from sash.plan.plan import FramePlan, Options, Output, Plan, State
from sash.plan.planner import plan_of
from sash.plan.sharing import Shared, share

__all__ = [
    "About", "Aggregation", "Choice", "Explanation", "FramePlan", "Need", "Options", "Output",
    "Plan", "Query", "Shared", "State", "UnfitColumn", "UnknownColumn", "about_of", "choose",
    "explain", "plan_of", "share",
]  # fmt: skip
