"""Models: the client, budgets and prices."""
