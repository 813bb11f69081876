"""What each command of `keras-mmel` does with its arguments."""
