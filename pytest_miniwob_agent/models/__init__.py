"""Model calls: the client, budgets for live calls, and prices."""
