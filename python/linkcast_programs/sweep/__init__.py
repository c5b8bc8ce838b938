"""A study, every combination of some axes, as one table: `linkcast sweep`."""
