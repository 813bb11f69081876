"""What a user copies: each file runs alone."""
