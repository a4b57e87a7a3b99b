"""What `sash.functions` offers, a file for each family."""
