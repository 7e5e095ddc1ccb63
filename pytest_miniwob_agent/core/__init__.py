"""Types, protocols, errors, texts and files that all other packages use; standard library only."""
