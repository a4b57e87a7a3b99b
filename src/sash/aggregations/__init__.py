"""The aggregations that `sash.functions` offers, one file per family."""
