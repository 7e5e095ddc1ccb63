"""Types, protocols and errors that everything else speaks; standard library only."""
