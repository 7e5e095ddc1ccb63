"""Results of runs: the file, statistics, comparison, gates, published figures."""
