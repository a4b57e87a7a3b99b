"""How a plan runs over time: rows in batches, answers out, at a cost that depends on the batch."""
