"""Speed and memory beside peers, one command each."""
