"""What can be shared, and which algorithm: slicing, shared plans, the choice."""

from sash.plan.plan import Plan, plan
from sash.plan.query import Query, by_count, by_time

__all__ = ["Plan", "Query", "by_count", "by_time", "plan"]
