"""What the authors need: the paper's tables, rivals, benchmarks, records."""

# Where the records of the project are.
RESULTS = "experiments/results"
