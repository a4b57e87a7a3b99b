"""How a plan runs: Arrow batches in, Arrow batches out."""
