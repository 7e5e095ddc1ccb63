"""Which tasks and suites there are, and what is known of them."""
